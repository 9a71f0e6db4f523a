-- ahead: how many are completed above the gap; lag: how many messages lie ahead.
CREATE VIEW {p}checkpoints AS
SELECT CASE q.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' END AS door, q.namespace,
       s.key AS stream, c.consumer, c.seq,
       (SELECT coalesce(sum(json_extract(r.value, '$[1]') - json_extract(r.value, '$[0]') + 1), 0)
          FROM json_each('[[' || replace(replace(c.ahead, ',', '],['), '-', ',') || ']]') r)
           AS ahead,
       (SELECT count(*) FROM {p}message m WHERE m.stream = s.id AND m.seq > c.seq) AS lag,
       c.error, c.error_seq,
       {time:c.error_at} AS error_at,
       {time:c.updated_at} AS updated_at,
       {time:c.rewound_at} AS rewound_at
  FROM {p}checkpoint c CROSS JOIN {p}stream s ON s.id = c.stream
 CROSS JOIN {p}queue q ON q.id = s.queue;
