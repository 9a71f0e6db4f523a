-- jobs: one row per job. next_at is null while it is not computed, when there is
-- none any more, and while the job is paused: it is computed anew then. problem
-- says why a scheduler cannot run it; job_set clears it.
CREATE OR REPLACE VIEW {p}jobs AS
SELECT j.name, j.namespace, j.topic, j.payload, j.cron, j.timezone,
       CASE j.misfire WHEN 1 THEN 'once' WHEN 2 THEN 'skip' WHEN 3 THEN 'all' END AS misfire,
       j.misfire_limit,
       CASE j.overlap WHEN 1 THEN 'allow' WHEN 2 THEN 'skip' END AS overlap,
       j.paused, j.problem,
       CASE WHEN NOT j.paused THEN nullif(j.next_at, 'infinity') END AS next_at,
       j.last_at, j.last_run, j.skipped, j.created_at, j.updated_at
FROM {p}job j;
