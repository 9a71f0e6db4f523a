-- work_join_fire(joins, t) → the joins that ended, for the library, a line each:
--     J <join> <status> <expected> <completed> <failed> <waits settled>
-- and those of work_wait_fire. The caller holds the heads, which say by now how
-- their joins ended.
CREATE OR REPLACE FUNCTION {p}work_join_fire(_joins uuid[], _t timestamptz) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _waits uuid[];
    _of uuid[];
    _sent text;
BEGIN
    WITH gone AS (DELETE FROM {p}join_wait w WHERE w.join_id = ANY (_joins) RETURNING w.id, w.join_id)
    SELECT array_agg(g.id ORDER BY g.id), array_agg(g.join_id ORDER BY g.id) INTO _waits, _of FROM gone g;
    IF _waits IS NOT NULL THEN
        _sent := {p}work_wait_fire(_waits, _of, _t);
    END IF;
    RETURN (SELECT concat_ws(E'\n', string_agg(concat_ws(' ', 'J', h.id, h.status, h.expected, h.completed, h.failed,
                                                        coalesce(cardinality(array_positions(_of, h.id)), 0)), E'\n'),
                             _sent)
            FROM {p}join_head h WHERE h.id = ANY (_joins));
END
$$;
