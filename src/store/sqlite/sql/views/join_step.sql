-- A step with the status that it shows: its own, else that of its message. Internal: its columns
-- may change.
CREATE VIEW {p}join_step AS
SELECT m.join_id, m.message_id, m.message AS id, m.salt, m.n, m.created_at,
       CASE WHEN m.status IS NOT NULL THEN m.status
            WHEN EXISTS (SELECT 1 FROM {p}dead x WHERE x.id = m.message) THEN 2
            WHEN EXISTS (SELECT 1 FROM {p}done d
                          WHERE d.hi BETWEEN m.message AND m.message + 1000 AND d.lo <= m.message
                            AND instr(d.ids, printf(',%012x', m.message)) > 0) THEN 1
            ELSE 0 END AS status,
       (SELECT b.topic FROM {p}message b WHERE b.id = m.message) AS topic
  FROM {p}join_member m;
