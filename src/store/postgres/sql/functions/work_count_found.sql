-- work_count_found(…) → what ended with it, or null: see work_count_steps. low and high:
-- the ends of the range of ids.
--
-- Locks: the open heads, in order of id, by the update that counts. Between the look at
-- the steps and that update a join may end, which the update sees; and somebody may
-- report one of these steps by hand. If a join in this range ever had such a report, all
-- heads are locked first, and the steps read again. One whose first report comes just in
-- between is left out by the update, and counted in a second round. Loose steps are counted
-- here, too, under the heads' locks, and are loose no longer; one that comes while this runs, or
-- later, is not seen, stays loose, and is counted by work_join_settle.
CREATE OR REPLACE FUNCTION {p}work_count_found(_done uuid[], _dead uuid[], _low uuid, _high uuid, _t timestamptz)
    RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_memoize = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _found record;
    _tally record;
    _locked boolean;
    _reported uuid[];
    _loose uuid[]; -- joins with loose steps among them
    _ended text;
BEGIN
    SELECT array_agg(DISTINCT m.join_id) INTO _loose FROM {p}join_member m
    WHERE m.loose IS NOT NULL AND m.work_id >= _low AND m.work_id <= _high AND (m.work_id = ANY (_done) OR m.work_id = ANY (_dead));
    _found := {p}work_steps_of(_done, _dead, _low, _high, NULL);
    IF _found.joins IS NULL AND _loose IS NULL THEN
        RETURN NULL;
    END IF;
    _locked := _loose IS NOT NULL OR EXISTS (SELECT FROM {p}join_head h WHERE h.reports > 0 AND h.status = 0 AND h.id >= _found.joins[1]
                       AND h.id <= _found.joins[cardinality(_found.joins)]);
    IF _locked THEN
        PERFORM FROM {p}join_head h WHERE h.id = ANY (_found.joins || _loose) ORDER BY h.id FOR UPDATE;
        UPDATE {p}join_member m SET loose = NULL
        WHERE m.loose IS NOT NULL AND m.work_id >= _low AND m.work_id <= _high
          AND (m.work_id = ANY (_done) OR m.work_id = ANY (_dead)) AND m.join_id = ANY (_loose);
        _found := {p}work_steps_of(_done, _dead, _low, _high, NULL);
        IF _found.joins IS NULL THEN
            RETURN NULL;
        END IF;
    END IF;
    SELECT * INTO _tally FROM {p}work_join_tally(_found.joins, NULL, _found.completed, _found.failed, _t, _locked);
    IF _locked OR _tally.counted = cardinality(_found.joins) THEN
        RETURN _tally.joins;
    END IF;
    _ended := _tally.joins;
    SELECT array_agg(l.id) INTO _reported
    FROM (SELECT h.id FROM {p}join_head h WHERE h.id = ANY (_found.joins) AND h.status = 0 AND h.reports > 0
          ORDER BY h.id FOR UPDATE) l;
    IF _reported IS NOT NULL THEN
        _found := {p}work_steps_of(_done, _dead, _low, _high, _reported);
        SELECT * INTO _tally FROM {p}work_join_tally(_found.joins, NULL, _found.completed, _found.failed, _t, true);
        _ended := nullif(concat_ws(E'\n', _ended, _tally.joins), '');
    END IF;
    RETURN _ended;
END
$$;
