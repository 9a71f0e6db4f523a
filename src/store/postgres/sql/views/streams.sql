-- streams: one row per ordered stream. next_seq: of the first message that is not settled;
-- head: that message, or the dead one that blocks; partition: of 10 000.
CREATE OR REPLACE VIEW {p}streams AS
SELECT CASE q.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' END AS door,
       q.namespace,
       s.key AS stream,
       CASE w.code WHEN 0 THEN 'idle' WHEN 1 THEN 'ready' WHEN 2 THEN 'scheduled' WHEN 3 THEN 'in_progress'
                   WHEN 4 THEN 'blocked' END AS state,
       (s.hash % 10000)::int AS partition,
       s.last_seq,
       coalesce(t.next_seq, s.last_seq + 1) AS next_seq,
       coalesce(s.last_seq - t.next_seq + 1, 0) AS unsettled,
       coalesce(t.head, m.id) AS head,
       CASE WHEN w.code IN (1, 2) THEN coalesce(m.due, t.due) END AS head_due_at,
       CASE WHEN w.code BETWEEN 1 AND 3 THEN t.attempts::int END AS head_attempts,
       t.owner,
       t.until AS locked_until,
       s.created_at
FROM {p}stream s
JOIN {p}queue q ON q.id = s.queue
LEFT JOIN {p}work_token t ON t.stream = s.id
LEFT JOIN LATERAL ( -- an empty token, and meanwhile a message has come
    SELECT m.id, greatest(m.due_at, m.created_at) AS due FROM {p}message m
    WHERE t.kind = 2 AND m.stream_id = s.id AND m.seq >= t.next_seq ORDER BY m.stream_id, m.seq LIMIT 1) m ON true
CROSS JOIN LATERAL (
    SELECT CASE WHEN t.kind = 4 THEN 3 WHEN t.kind = 3 THEN 4 WHEN t.kind IS NULL OR (t.kind = 2 AND m.id IS NULL) THEN 0
                WHEN coalesce(m.due, t.due) <= {p}clock() THEN 1 ELSE 2 END AS code) w;
