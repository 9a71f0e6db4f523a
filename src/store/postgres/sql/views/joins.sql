-- joins: one row per join.
CREATE OR REPLACE VIEW {p}joins AS
SELECT h.id,
       h.grouping_key,
       h.metadata,
       CASE h.status WHEN 0 THEN 'pending' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' WHEN 3 THEN 'cancelled' END AS status,
       h.status::int AS status_code,
       h.expected AS expected_steps,
       h.attached AS attached_steps,
       h.completed AS completed_steps,
       h.failed AS failed_steps,
       (SELECT count(*)::int FROM {p}join_wait w WHERE w.join_id = h.id) AS open_waits,
       h.created_at,
       h.updated_at,
       h.deadline,
       h.finished_at
FROM {p}join_head h;
