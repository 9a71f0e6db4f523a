-- work_join_cancel(join) → the problem (enum ph__join_problem; 0: none), whether it was open, and
-- the joins that ended with it, or null. Steps that have ended before are counted first. Locks: the
-- head.
CREATE OR REPLACE FUNCTION {p}work_join_cancel(
    _join uuid, OUT problem smallint, OUT cancelled boolean, OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _t timestamptz := {p}clock();
BEGIN
    PERFORM FROM {p}join_head h WHERE h.id = _join FOR UPDATE;
    problem := CASE WHEN FOUND THEN 0 ELSE 1 END;
    joins := {p}work_join_catch_up(_join, {p}work_steps_loose(_join), _t);
    cancelled := EXISTS (SELECT FROM {p}join_head h WHERE h.id = _join AND h.status = 0);
    IF cancelled THEN
        joins := nullif(concat_ws(E'\n', joins, {p}work_join_close(ARRAY[_join], 3::smallint, _t)), '');
    END IF;
END
$$;
