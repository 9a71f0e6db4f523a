-- work_next_heads(queue, streams, after, t): streams whose token the caller has taken out of
-- pending or out of a lease in this transaction go on behind the given numbers: the next
-- message becomes the head. If it sees none, it leaves an empty token, for work_tokens: a message
-- may just be coming from a transaction that this one must not wait for. So it locks nothing, and
-- never touches the streams' rows.
--
-- Two tokens of one stream are an error, by a unique index.
-- Plans: pinned, since callers may be rare ones.
CREATE OR REPLACE FUNCTION {p}work_next_heads(_queue int, _streams bigint[], _after bigint[], _t timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
BEGIN
    INSERT INTO {p}pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts, stream, seq)
    SELECT greatest(m.due_at, _t), coalesce(m.id, {p}token_id(u.stream)), m.expires_at,
           coalesce({p}lane(_queue, m.level), -_queue),
           coalesce({p}topic_mark(m.topic, (SELECT q.by_topic FROM {p}queue q WHERE q.id = _queue)), -1), 0, 0, m.max_attempts, u.stream,
           coalesce(m.seq, u.after + 1)
    FROM unnest(_streams, _after) u(stream, after)
    LEFT JOIN LATERAL (
        SELECT m.id, m.due_at, m.expires_at, m.level, m.topic, m.max_attempts, m.seq FROM {p}message m
        WHERE m.stream_id = u.stream AND m.seq > u.after ORDER BY m.stream_id, m.seq LIMIT 1) m ON true;
END
$$;
