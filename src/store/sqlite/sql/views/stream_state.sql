-- Every stream with its token, in stored form. head is the message of the row in pending or, if
-- the stream is being worked on, the first of its run that is not settled. Internal: its columns
-- may change.
CREATE VIEW {p}stream_state AS
SELECT s.id, s.queue, q.door, q.namespace, s.key, s.hash, s.last_seq, s.busy, s.created_at,
       h.id AS head, h.salt AS head_salt, h.seq AS head_seq, p.due,
       CASE WHEN p.id IS NOT NULL THEN p.attempts
            WHEN l.fence IS NOT NULL THEN
                coalesce(CAST(substr(l.attempts,
                                     (instr(l.ids, printf(',%012x', h.id)) - 1) / 13 * 5 + 1, 5)
                              AS INTEGER), 1)
       END AS attempts,
       l.fence, l.owner, l.until
  FROM {p}stream s CROSS JOIN {p}queue q ON q.id = s.queue
  LEFT JOIN {p}pending p ON p.stream = s.id
  LEFT JOIN {p}message h
    ON s.busy
   AND h.id = coalesce(p.id, (
           SELECT m.id
             FROM {p}lease r
            CROSS JOIN {p}message m
               ON m.stream = s.id
              AND m.seq >= CAST(substr(r.runs, instr(r.runs, ',' || s.id || ':')
                                               + length(s.id) + 2) AS INTEGER)
              AND m.seq < CAST(substr(r.runs, instr(r.runs, ',' || s.id || ':')
                                              + length(s.id) + 2) AS INTEGER) + length(r.ids) / 13
            WHERE r.runs IS NOT NULL AND instr(r.runs, ',' || s.id || ':') > 0
              AND instr(r.ids, printf(',%012x', m.id)) > 0
              AND coalesce(substr(r.settled, (instr(r.ids, printf(',%012x', m.id)) - 1) / 13 + 1,
                                  1), '0') = '0'
            ORDER BY m.seq LIMIT 1))
  LEFT JOIN {p}lease l
    ON p.id IS NULL AND l.runs IS NOT NULL AND l.lo <= h.id AND l.hi >= h.id
   AND instr(l.ids, printf(',%012x', h.id)) > 0
   AND coalesce(substr(l.settled, (instr(l.ids, printf(',%012x', h.id)) - 1) / 13 + 1, 1),
                '0') = '0';
