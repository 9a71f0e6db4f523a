-- One row per join.
CREATE VIEW {p}joins AS
SELECT {work_id:h} AS id, h.grouping_key, h.metadata,
       CASE h.status WHEN 0 THEN 'pending' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed'
                     WHEN 3 THEN 'cancelled' END AS status,
       h.status AS status_code, h.expected AS expected_steps, h.attached AS attached_steps,
       h.completed AS completed_steps, h.failed AS failed_steps,
       (SELECT count(*) FROM {p}join_wait w WHERE w.join_id = h.id) AS open_waits,
       {time:h.created_at} AS created_at,
       {time:h.updated_at} AS updated_at,
       {time:h.deadline} AS deadline,
       {time:h.finished_at} AS finished_at
  FROM {p}join_head h;
