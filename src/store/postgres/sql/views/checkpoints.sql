-- checkpoints: one row per stream and consumer that has reported: how far it has come without
-- a gap, how many above that are completed, and how many messages lie ahead.
CREATE OR REPLACE VIEW {p}checkpoints AS
SELECT CASE q.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' END AS door,
       q.namespace,
       s.key AS stream,
       c.consumer,
       c.seq,
       (SELECT coalesce(sum(upper(r) - lower(r)), 0)::bigint FROM unnest(c.ahead) r) AS ahead,
       (SELECT count(*) FROM {p}message m WHERE m.stream_id = c.stream AND m.seq > c.seq) AS lag,
       c.error,
       c.error_seq,
       c.error_at,
       c.updated_at,
       c.rewound_at
FROM {p}checkpoint c JOIN {p}stream s ON s.id = c.stream JOIN {p}queue q ON q.id = s.queue;
