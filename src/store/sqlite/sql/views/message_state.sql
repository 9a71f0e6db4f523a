-- Every message of every door with its place and history, in stored form, for
-- the other views and the library's own lookup. A message of a stream is found in
-- pending as the stream's token, if that does not merely block (p: others, t: these);
-- one that is in no place is parked. Internal: its columns may change.
CREATE VIEW {p}message_state AS
SELECT m.id, m.salt, m.queue, q.door, q.namespace, m.level, m.topic, m.payload, m.message_id,
       m.tenant_id, m.dedupe_key, m.correlation_id, m.headers, m.created_at, m.due_at, m.expires_at,
       m.stream AS stream_number, m.seq, m.source,
       (SELECT k.key FROM {p}stream k WHERE k.id = m.stream) AS stream,
       coalesce(m.max_attempts, q.max_attempts) AS max_attempts,
       {work_id:m} AS work_id,
       CASE WHEN p.id IS NOT NULL OR t.id IS NOT NULL THEN 0 WHEN l.fence IS NOT NULL THEN 1
            WHEN d.id IS NOT NULL THEN 2 WHEN x.id IS NOT NULL THEN 3
            WHEN w.id IS NOT NULL THEN 4 WHEN m.stream IS NOT NULL THEN 5 END AS status,
       CASE WHEN p.id IS NOT NULL THEN p.attempts
            WHEN t.id IS NOT NULL THEN t.attempts
            WHEN l.fence IS NOT NULL THEN
                coalesce(CAST(substr(l.attempts,
                                     (instr(l.ids, printf(',%012x', m.id)) - 1) / 13 * 5 + 1, 5)
                              AS INTEGER), 1)
            ELSE (d.id IS NOT NULL) + (SELECT count(*) FROM {p}attempt_log a
                                        WHERE a.message = m.id AND a.kind IN (1, 2, 4))
       END AS attempts,
       (SELECT count(*) FROM {p}attempt_log a
         WHERE a.message = m.id AND a.kind = 1) AS retry_count,
       (SELECT a.error FROM {p}attempt_log a
         WHERE a.message = m.id AND a.kind IN (1, 2) ORDER BY a.n DESC LIMIT 1) AS last_error,
       coalesce(p.due, t.due) AS next_due, l.fence, l.owner AS lease_owner, l.until AS locked_until,
       nullif(d.owner, zeroblob(16)) AS done_owner, d.at AS done_at,
       x.owner AS dead_owner, x.died_at, x.reason, x.retried_as,
       CASE WHEN j.id IS NOT NULL THEN {work_id:j} END AS waits_for,
       max(m.created_at,
           coalesce((SELECT max(a.at) FROM {p}attempt_log a WHERE a.message = m.id), m.created_at),
           coalesce(l.claimed_at, d.at, x.died_at, m.created_at)) AS updated_at
  FROM {p}message m CROSS JOIN {p}queue q ON q.id = m.queue
  LEFT JOIN {p}pending p
    ON m.stream IS NULL AND p.queue = m.queue AND p.level = m.level AND p.line = 0 AND p.id = m.id
   AND p.due = coalesce((SELECT a.next_due FROM {p}attempt_log a
                          WHERE a.message = m.id ORDER BY a.n DESC LIMIT 1),
                        max(coalesce(m.due_at, m.created_at), m.created_at))
  LEFT JOIN {p}pending t
    ON t.stream = m.stream AND t.id = m.id AND t.due < 9223372036854775807
  LEFT JOIN {p}lease l
    ON l.lo <= m.id AND l.hi >= m.id AND instr(l.ids, printf(',%012x', m.id)) > 0
   AND coalesce(substr(l.settled, (instr(l.ids, printf(',%012x', m.id)) - 1) / 13 + 1, 1),
                '0') = '0'
  LEFT JOIN {p}done d
    ON d.hi BETWEEN m.id AND m.id + 1000 AND d.lo <= m.id
   AND instr(d.ids, printf(',%012x', m.id)) > 0
  LEFT JOIN {p}dead x ON x.id = m.id
  LEFT JOIN {p}join_wait w ON w.id = m.id
  LEFT JOIN {p}join_head j ON j.id = w.join_id;
