-- work_join_expire(t, most) → how many joins past their deadline were ended as failed
-- (null: all there are), and their lines; see work_join_fire. First, steps that have ended and were
-- not counted are: some of all joins (work_join_settle), and all of those past their deadline,
-- which may end as completed then.
--
-- Locks: heads, SKIP LOCKED: a join that another transaction is counting in, or ending, is left to
-- the next call. Without such joins: one look at an index.
CREATE OR REPLACE FUNCTION {p}work_join_expire(_t timestamptz, _most int, OUT count int, OUT joins text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _joins uuid[];
    _join uuid;
BEGIN
    IF EXISTS (SELECT FROM {p}join_member m WHERE m.loose IS NOT NULL) OR EXISTS (SELECT FROM {p}join_uncounted) THEN
        joins := {p}work_join_settle(_t, coalesce(_most, 1000));
    END IF;
    SELECT array_agg(x.id) INTO _joins FROM (
        SELECT h.id FROM {p}join_head h WHERE h.status = 0 AND h.deadline <= _t
        ORDER BY h.deadline LIMIT _most FOR UPDATE SKIP LOCKED) x;
    FOREACH _join IN ARRAY coalesce(_joins, '{}') LOOP
        joins := nullif(concat_ws(E'\n', joins, {p}work_join_catch_up(_join, {p}work_steps_loose(_join), _t)), '');
    END LOOP;
    SELECT array_agg(h.id) INTO _joins FROM {p}join_head h WHERE h.id = ANY (_joins) AND h.status = 0;
    count := coalesce(cardinality(_joins), 0);
    IF count > 0 THEN
        joins := concat_ws(E'\n', joins, {p}work_join_close(_joins, 2::smallint, _t));
    END IF;
END
$$;
