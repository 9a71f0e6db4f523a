-- work_streams_take(queues, keys, counts, t) → for each stream its id, the first of as many
-- new numbers as its count says, and whether it was busy; it is busy then. Makes streams that
-- are missing. Names without duplicates, in order of (queue, key).
--
-- Locks: the streams' rows, in that order, until the transaction ends: so the numbers of a
-- stream are given in the order of commits, and without gaps. New rows come first, in the same
-- order: a transaction that waits for one that another is making holds none that were there before.
-- A row that goes meanwhile (the stream was idle and forgotten) is made anew. The first stream of a
-- queue also updates the queue's row.
CREATE OR REPLACE FUNCTION {p}work_streams_take(
    _queues int[], _keys text[], _counts int[], _t timestamptz,
    OUT ids bigint[], OUT firsts bigint[], OUT were_busy boolean[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {by_index} {nested_loops} {one_plan}
AS $$
DECLARE
    _missing int[];
BEGIN
    LOOP
        _missing := ARRAY(SELECT u.i FROM unnest(_queues, _keys) WITH ORDINALITY u(queue, key, i)
                          WHERE NOT EXISTS (SELECT FROM {p}stream s WHERE s.queue = u.queue AND s.key = u.key));
        IF cardinality(_missing) > 0 THEN
            UPDATE {p}queue q SET has_streams = true WHERE q.id = ANY (_queues) AND NOT q.has_streams;
            INSERT INTO {p}stream (last_seq, hash, created_at, queue, busy, key)
            SELECT 0, {p}stream_hash(_keys[m]), _t, _queues[m], false, _keys[m] FROM unnest(_missing) m
            ON CONFLICT DO NOTHING;
        END IF;
        SELECT array_agg(s.id), array_agg(s.last_seq + 1), array_agg(s.busy) INTO ids, firsts, were_busy
        FROM unnest(_queues, _keys) u(queue, key)
        CROSS JOIN LATERAL (SELECT s.id, s.last_seq, s.busy FROM {p}stream s
                            WHERE s.queue = u.queue AND s.key = u.key FOR UPDATE) s;
        EXIT WHEN cardinality(ids) = cardinality(_keys);
    END LOOP;
    UPDATE {p}stream s SET last_seq = s.last_seq + u.k, busy = true FROM unnest(ids, _counts) u(id, k) WHERE s.id = u.id;
END
$$;
