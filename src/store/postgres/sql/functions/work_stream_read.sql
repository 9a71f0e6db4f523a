-- work_stream_read(door, ns, key, after, n) → up to n messages of a stream with a seq above
-- after, in order, in the columns of the library's look-up; fewer if they are too many bytes
-- (work_list_fit). Reads only.
CREATE OR REPLACE FUNCTION {p}work_stream_read(_door smallint, _ns text, _key text, _after bigint, _n int)
    RETURNS TABLE ({lookup})
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {in_order} SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT * FROM {p}work_list_rows({p}work_list_fit(ARRAY(
        SELECT m.id FROM {p}message m
        WHERE m.stream_id = (SELECT s.id FROM {p}queue q JOIN {p}stream s ON s.queue = q.id
                             WHERE q.door = _door AND q.namespace = _ns AND s.key = _key)
          AND m.seq > _after
          AND NOT EXISTS (SELECT FROM {p}message n WHERE n.stream_id = m.stream_id AND n.seq = m.seq AND n.id > m.id)
        ORDER BY m.stream_id, m.seq LIMIT _n)), true); -- by the index, not by sorting all that is ahead
END
$$;
