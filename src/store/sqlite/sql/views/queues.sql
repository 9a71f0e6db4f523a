-- One row per queue, with its settings.
CREATE VIEW {p}queues AS
SELECT CASE door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' WHEN 2 THEN 'timers'
                 WHEN 3 THEN 'job_runs' END AS door,
       namespace, paused, max_attempts,
       CASE backoff WHEN 1 THEN 'exponential' WHEN 2 THEN 'equal-jitter' END AS backoff,
       backoff_base_ms, backoff_max_ms, retention_s, dead_retention_s, dedupe_retention_s,
       max_payload_bytes, max_lease_s, delete_on_ack, join_wait_topic,
       CASE dead_head WHEN 1 THEN 'skip' WHEN 2 THEN 'block' END AS dead_head, affinity_grace_ms
  FROM {p}queue;
