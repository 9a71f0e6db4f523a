-- work_queues_get(door, ns, payloads) → the queues of new messages, which are made if they are
-- missing, and the time (see clock); or the first message, from 0, whose payload is too long for its
-- queue, and that in words.
--
-- Locks: as queue_get, in order of namespace.
CREATE OR REPLACE FUNCTION {p}work_queues_get(
    _door smallint, _ns text[], _payloads text[], OUT queues int[], OUT t timestamptz, OUT at int, OUT problem text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {by_index}
AS $$
DECLARE
    _one {p}queue;
    _name text;
    _limits int[];
BEGIN
    IF _ns[1] = ALL (_ns) THEN
        SELECT * INTO _one FROM {p}queue q WHERE q.door = _door AND q.namespace = _ns[1] AND NOT q.deleted;
        IF NOT FOUND THEN
            _one := {p}queue_get(_door, _ns[1]);
        END IF;
        queues := array_fill(_one.id, ARRAY[cardinality(_ns)]);
        t := coalesce(_one.clock, clock_timestamp());
        IF pg_column_size(_payloads) <= _one.max_payload_bytes THEN
            RETURN; -- not even all together are too long for one
        END IF;
        _limits := array_fill(_one.max_payload_bytes, ARRAY[cardinality(_ns)]);
    ELSE
        FOR _name IN SELECT DISTINCT x FROM unnest(_ns) x ORDER BY x LOOP
            _one := {p}queue_get(_door, _name);
        END LOOP;
        t := coalesce(_one.clock, clock_timestamp());
        SELECT array_agg(q.id ORDER BY u.i), array_agg(q.max_payload_bytes ORDER BY u.i) INTO queues, _limits
        FROM unnest(_ns) WITH ORDINALITY u(ns, i), {p}queue q WHERE q.door = _door AND q.namespace = u.ns;
    END IF;
    SELECT u.i - 1, format('payload has %s bytes; this queue allows %s: raise max_payload_bytes, or store it '
                           'elsewhere and send a reference', octet_length(u.payload), u.most) INTO at, problem
    FROM unnest(_payloads, _limits) WITH ORDINALITY u(payload, most, i)
    WHERE octet_length(u.payload) > u.most ORDER BY u.i LIMIT 1;
END
$$;
