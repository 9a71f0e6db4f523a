-- work_join_cancel(join) → the problem (enum ph__join_problem; 0: none), whether it was
-- open, and what ended with it, or null. Locks: the head.
CREATE OR REPLACE FUNCTION {p}work_join_cancel(
    _join uuid, OUT problem smallint, OUT cancelled boolean, OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_memoize = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _head {p}join_head;
BEGIN
    SELECT * INTO _head FROM {p}join_head h WHERE h.id = _join FOR UPDATE;
    problem := CASE WHEN FOUND THEN 0 ELSE 1 END;
    cancelled := FOUND AND _head.status = 0;
    IF cancelled THEN
        joins := {p}work_join_close(ARRAY[_join], 3::smallint, {p}clock());
    END IF;
END
$$;
