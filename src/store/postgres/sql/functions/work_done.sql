-- work_done(ids, queue, t, owner, keep, fence) → whether the caller must forget the messages, after it has counted
-- them as steps of joins: the queue does not keep them, and keep is false. The one way into done. The
-- caller holds the lease that named these messages; ids in ascending order. fence: the claim's, if
-- there was one. Ids that lie far apart are written as several rows, so that no span is wider than
-- 100 000 numbers.
CREATE OR REPLACE FUNCTION {p}work_done(_ids uuid[], _queue int, _t timestamptz, _owner uuid, _keep boolean = false, _fence bigint = NULL)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _low CONSTANT bigint := ('x' || translate(left(_ids[1]::text, 13), '-', ''))::bit(48)::bigint; -- as in id_number, without the call
    _high CONSTANT bigint := ('x' || translate(left(_ids[cardinality(_ids)]::text, 13), '-', ''))::bit(48)::bigint;
BEGIN
    IF _high - _low < 10000 OR _high / 100000 = _low / 100000 THEN
        INSERT INTO {p}done (span, at, owner, queue, fence, ids)
        SELECT int8range(_low, _high, '[]'), _t, _owner, _queue, _fence, _ids
        WHERE _keep OR (SELECT q.delete_on_ack FROM {p}queue q WHERE q.id = _queue) IS NOT TRUE;
    ELSE
        INSERT INTO {p}done (span, at, owner, queue, fence, ids)
        SELECT int8range(min(n), max(n), '[]'), _t, _owner, _queue, _fence, array_agg(x ORDER BY x)
        FROM (SELECT x, {p}id_number(x) AS n FROM unnest(_ids) x) s
        WHERE _keep OR (SELECT q.delete_on_ack FROM {p}queue q WHERE q.id = _queue) IS NOT TRUE GROUP BY n / 100000;
    END IF;
    RETURN NOT FOUND;
END
$$;
