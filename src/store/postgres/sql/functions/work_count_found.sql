-- work_count_found(…) → the joins that ended with it, or null: see work_count_steps. low and high:
-- the ends of the range of ids.
--
-- Locks: the open heads, SKIP LOCKED. Between the look at the steps and that lock, one of these
-- steps may be reported by hand. If a join ever had such a report, or has loose steps among them,
-- or its head is not to be had at once, the heads are tried again for a moment (work_heads_get),
-- and the steps read again, under the locks. Loose ones are loose no longer then; one that comes
-- while this runs, or later, is not seen, stays loose, and is counted by work_join_settle. Of joins
-- whose heads others still hold, and may hold for long, the steps are put aside: the next call that
-- gets the head counts them (work_join_catch_up).
CREATE OR REPLACE FUNCTION {p}work_count_found(_done uuid[], _dead uuid[], _low uuid, _high uuid, _t timestamptz)
    RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _found record;
    _joins uuid[];
    _loose uuid[]; -- joins with loose steps among them
    _held uuid[];
    _at_once int;  -- how many heads were to be had at once, and had no report
BEGIN
    SELECT array_agg(DISTINCT m.join_id) INTO _loose FROM {p}join_member m
    WHERE m.loose IS NOT NULL AND m.work_id >= _low AND m.work_id <= _high AND (m.work_id = ANY (_done) OR m.work_id = ANY (_dead));
    _found := {p}work_steps_of(_done, _dead, _low, _high, NULL);
    _joins := _found.joins || _loose;
    IF _joins IS NULL THEN
        RETURN NULL;
    END IF;
    IF _loose IS NULL THEN
        SELECT count(*) FILTER (WHERE l.reports = 0) INTO _at_once
        FROM (SELECT h.reports FROM {p}join_head h WHERE h.id = ANY (_joins) AND h.status = 0 ORDER BY h.id FOR UPDATE SKIP LOCKED) l;
    END IF;
    IF _at_once < cardinality(_joins) OR _loose IS NOT NULL THEN
        _held := coalesce({p}work_heads_get(_joins), '{}');
        UPDATE {p}join_member m SET loose = NULL
        WHERE m.loose IS NOT NULL AND m.work_id >= _low AND m.work_id <= _high
          AND (m.work_id = ANY (_done) OR m.work_id = ANY (_dead)) AND m.join_id = ANY (_held);
        _found := {p}work_steps_of(_done, _dead, _low, _high, _held);
        PERFORM {p}work_put_aside(_done, _dead, _joins, _held);
    END IF;
    IF _found.joins IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN {p}work_join_tally(_found.joins, NULL, _found.completed, _found.failed, _t);
END
$$;
