-- One row per job. next_at is NULL while it is not computed, when there is none
-- any more, and while the job is paused: it is computed anew then.
CREATE VIEW {p}jobs AS
SELECT name, namespace, topic, payload, cron, timezone,
       CASE misfire WHEN 1 THEN 'once' WHEN 2 THEN 'skip' WHEN 3 THEN 'all' END AS misfire,
       misfire_limit,
       CASE overlap WHEN 1 THEN 'allow' WHEN 2 THEN 'skip' END AS overlap,
       paused, problem,
       CASE WHEN NOT paused AND next_at < 9223372036854775807 THEN {time:next_at} END AS next_at,
       {time:last_at} AS last_at,
       {uuid:last_run} AS last_run, skipped,
       {time:created_at} AS created_at,
       {time:updated_at} AS updated_at
  FROM {p}job;
