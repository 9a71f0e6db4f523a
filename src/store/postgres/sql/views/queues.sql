-- queues: one row per queue, with its settings.
CREATE OR REPLACE VIEW {p}queues AS
SELECT CASE q.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' WHEN 2 THEN 'timers' WHEN 3 THEN 'job_runs' END AS door,
       q.namespace,
       q.paused,
       q.max_attempts::int AS max_attempts,
       CASE q.backoff WHEN 1 THEN 'exponential' WHEN 2 THEN 'equal-jitter' END AS backoff,
       q.backoff_base_ms,
       q.backoff_max_ms,
       q.retention_s,
       q.dead_retention_s,
       q.dedupe_retention_s,
       q.max_payload_bytes,
       q.max_lease_s,
       q.delete_on_ack,
       q.join_wait_topic,
       CASE q.dead_head WHEN 1 THEN 'skip' WHEN 2 THEN 'block' END AS dead_head,
       q.affinity_grace_ms
FROM {p}queue q
WHERE NOT q.deleted OR {p}queue_is_used(q.id);
