-- One row per step of a join.
CREATE VIEW {p}join_members AS
SELECT {work_id:h} AS join_id, {uuid:s.message_id} AS message_id, {work_id:s} AS work_id,
       CASE s.status WHEN 0 THEN 'pending' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' END
           AS status,
       s.status AS status_code,
       {time:s.created_at} AS created_at, s.topic
  FROM {p}join_head h CROSS JOIN {p}join_step s ON s.join_id = h.id;
