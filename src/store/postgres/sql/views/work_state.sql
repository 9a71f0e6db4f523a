-- work_state: one row per message of every door, with the columns that the views
-- of the doors show. Each place is looked up by key, so that one message is found
-- among millions.
CREATE OR REPLACE VIEW {p}work_state AS
SELECT m.id,
       coalesce(m.message_id, m.id) AS message_id,
       q.namespace,
       m.topic,
       m.payload,
       m.tenant_id,
       m.dedupe_key,
       m.correlation_id,
       m.stream,
       m.level AS priority,
       m.headers,
       m.created_at,
       m.due_at AS due_time_utc,
       m.expires_at,
       CASE w.code WHEN 0 THEN 'ready' WHEN 1 THEN 'in_progress' WHEN 2 THEN 'done' WHEN 3 THEN 'failed'
                   WHEN 4 THEN 'waiting' WHEN 5 THEN 'parked' END AS status,
       w.code AS status_code,
       coalesce(p.attempts, l.attempts, h.tried + CASE WHEN d.at IS NOT NULL THEN 1 ELSE 0 END)::int AS attempts,
       coalesce(m.max_attempts, q.max_attempts)::int AS max_attempts,
       h.retry_count,
       h.last_error,
       p.due AS next_attempt_at,
       l.until AS locked_until,
       l.owner AS owner_token,
       l.owner AS locked_by,
       l.fence,
       d.at IS NOT NULL AS is_processed,
       d.at AS processed_at,
       nullif(d.owner, '00000000-0000-0000-0000-000000000000')::text AS processed_by, -- nobody's: a wait, or handled when it was stored
       greatest(m.created_at, h.last_at, l.claimed_at, d.at, x.died_at) AS updated_at,
       j.join_id AS waits_for,
       q.door,
       m.queue * 4 + m.level AS queue_level,
       m.seq,
       m.source,
       m.stream_id
FROM {p}message m
JOIN {p}queue q ON q.id = m.queue
CROSS JOIN LATERAL (
    SELECT (count(*) FILTER (WHERE a.kind IN (1, 2, 4)))::int AS tried,
           (count(*) FILTER (WHERE a.kind = 1))::int AS retry_count,
           (array_agg(a.error ORDER BY a.n DESC) FILTER (WHERE a.kind IN (1, 2)))[1] AS last_error,
           max(a.at) AS last_at,
           coalesce((array_agg(a.next_due ORDER BY a.n DESC))[1], greatest(m.due_at, m.created_at)) AS due
    FROM {p}attempt_log a WHERE a.id = m.id) h
-- From here on each look-up stays whole (OFFSET 0), so that an index is entered with its whole key, and
-- is made only if the ones before found nothing. Leases come last: they are read one after the other.
LEFT JOIN LATERAL (
    SELECT p.due, p.attempts FROM {p}pending p
    WHERE m.stream_id IS NULL AND p.lane = {p}lane(m.queue, m.level) AND p.due = h.due AND p.id = m.id
    OFFSET 0) pp ON true
LEFT JOIN LATERAL ( -- the token of its stream: it is its head, or parked, or neither
    SELECT p.id, p.due, p.attempts, p.id <> m.id AND (m.seq > p.seq OR (m.seq = p.seq AND p.lane < 0 AND p.due < 'infinity')) AS parks
    FROM {p}pending p WHERE p.stream = m.stream_id
    OFFSET 0) t ON true
CROSS JOIN LATERAL (
    SELECT coalesce(pp.due, CASE WHEN t.id = m.id THEN t.due END) AS due,
           coalesce(pp.attempts, CASE WHEN t.id = m.id THEN t.attempts END) AS attempts, coalesce(t.parks, false) AS parked
    OFFSET 0) p
LEFT JOIN LATERAL (
    SELECT x.id, x.died_at FROM {p}dead x WHERE p.due IS NULL AND NOT p.parked AND x.id = m.id
    OFFSET 0) x ON true
LEFT JOIN LATERAL (
    SELECT j.join_id FROM {p}join_wait j WHERE p.due IS NULL AND NOT p.parked AND x.id IS NULL AND j.id = m.id
    OFFSET 0) j ON true
LEFT JOIN LATERAL (
    SELECT d.at, d.owner FROM {p}done d
    WHERE p.due IS NULL AND NOT p.parked AND x.id IS NULL AND j.join_id IS NULL AND d.span @> {p}id_number(m.id) AND d.ids @> ARRAY[m.id]
    LIMIT 1) d ON true
LEFT JOIN LATERAL (
    SELECT l.id AS fence, l.owner, l.until, l.claimed_at,
           coalesce(l.attempts[array_position(l.ids, m.id)], 1) AS attempts
    FROM {p}lease l
    WHERE p.due IS NULL AND NOT p.parked AND x.id IS NULL AND j.join_id IS NULL AND d.at IS NULL AND l.ids @> ARRAY[m.id]
      AND (l.settled IS NULL OR get_bit(l.settled, array_position(l.ids, m.id) - 1) = 0)
    LIMIT 1) l ON true
CROSS JOIN LATERAL (
    SELECT CASE WHEN p.due IS NOT NULL THEN 0 WHEN l.fence IS NOT NULL THEN 1
                WHEN d.at IS NOT NULL THEN 2 WHEN x.id IS NOT NULL THEN 3
                WHEN j.join_id IS NOT NULL THEN 4
                WHEN m.stream_id IS NOT NULL THEN 5 END AS code) w; -- in no place: behind its stream's head
