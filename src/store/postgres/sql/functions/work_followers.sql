-- work_followers(stream, after, n, topics, t) → up to n messages of a stream behind a number, in
-- order, up to the first that a run may not hold: it is not due, has expired, or its topic is
-- not wanted. due: when each could have been claimed at the earliest.
-- The names in the body are bound when it is created, and it is put in the place of the call.
CREATE OR REPLACE FUNCTION {p}work_followers(_stream bigint, _after bigint, _n int, _topics text[], _t timestamptz)
    RETURNS TABLE (id uuid, due timestamptz, seq bigint)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT f.id, f.due, f.seq
    FROM (SELECT m.id, greatest(m.due_at, m.created_at) AS due, m.seq,
                 bool_and(coalesce(m.due_at <= _t, true) AND coalesce(m.expires_at > _t, true)
                          AND (_topics IS NULL OR m.topic = ANY (_topics))) OVER (ORDER BY m.seq) AS fits
          FROM (SELECT m.id, m.due_at, m.created_at, m.expires_at, m.topic, m.seq FROM {p}message m
                WHERE m.stream_id = _stream AND m.seq > _after ORDER BY m.stream_id, m.seq LIMIT _n) m) f
    WHERE f.fits;
END;
