-- stream_read(stream, after_seq, batch_size) → its messages with a seq above after_seq, in
-- order, whatever state they are in, as long as retention keeps them; instead of a dead head that
-- was put back in its place, its replacement; fewer than batch_size if they are too many bytes
-- (work_list_fit). Changes nothing, and locks nothing. message_id: of the inbox, the id that the
-- message has at its source.
CREATE OR REPLACE FUNCTION {p}stream_read(
    stream text, after_seq bigint = 0, batch_size int = 50, namespace text = '', door text = 'outbox')
    RETURNS TABLE (seq bigint, work_id uuid, message_id text, topic text, payload text, tenant_id uuid, correlation_id text,
                   headers jsonb, created_at timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {in_order} SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    _problem text := CASE
        WHEN after_seq IS NULL OR after_seq < 0 THEN format('after_seq is %s; give 0 or more', coalesce(after_seq::text, 'null'))
        WHEN batch_size IS NULL OR batch_size NOT BETWEEN 1 AND 10000
            THEN format('batch_size is %s; give 1 to 10000', coalesce(batch_size::text, 'null'))
        ELSE {p}stream_problem(door, namespace, stream_read.stream, 'any', 0, 0)
    END;
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'stream_read: ' || _problem;
    END IF;
    RETURN QUERY
    SELECT m.seq, m.id, CASE stream_read.door WHEN 'inbox' THEN m.dedupe_key ELSE coalesce(m.message_id, m.id)::text END,
           m.topic, m.payload, m.tenant_id, m.correlation_id, m.headers, m.created_at
    FROM unnest({p}work_list_fit(ARRAY(
        SELECT m.id FROM {p}message m
        WHERE m.stream_id = (SELECT s.id FROM {p}queue q JOIN {p}stream s ON s.queue = q.id
                             WHERE q.door = {p}door_number(stream_read.door) AND q.namespace = stream_read.namespace
                               AND s.key = stream_read.stream)
          AND m.seq > after_seq
          AND NOT EXISTS (SELECT FROM {p}message n WHERE n.stream_id = m.stream_id AND n.seq = m.seq AND n.id > m.id)
        ORDER BY m.stream_id, m.seq LIMIT batch_size))) u(id) -- by the index, not by sorting all that is ahead
    CROSS JOIN LATERAL (SELECT * FROM {p}message m WHERE m.id = u.id OFFSET 0) m;
END
$$;
