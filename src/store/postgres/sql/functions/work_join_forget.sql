-- work_join_forget(until, most, widest) → how many joins that ended until then were deleted, with their
-- steps; only joins with at most `widest` steps.
--
-- Locks: heads, then their steps, both SKIP LOCKED. A join with a step that another
-- retention is giving a status is left to the next run: that one may wait for a step
-- held here, and both would wait for ever. For the same reason retention does this last, and waits
-- for no lock after it.
CREATE OR REPLACE FUNCTION {p}work_join_forget(_until timestamptz, _most int, _widest int = NULL) RETURNS int
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _join uuid;
    _steps bigint;
    _count int := 0;
BEGIN
    FOR _join IN SELECT h.id FROM {p}join_head h WHERE h.finished_at <= _until AND (_widest IS NULL OR h.attached <= _widest)
                 ORDER BY h.finished_at LIMIT _most FOR UPDATE SKIP LOCKED LOOP
        SELECT count(*) INTO _steps
        FROM (SELECT FROM {p}join_member m WHERE m.join_id = _join FOR UPDATE SKIP LOCKED) x;
        IF _steps = (SELECT count(*) FROM {p}join_member m WHERE m.join_id = _join) THEN
            DELETE FROM {p}join_uncounted u WHERE u.join_id = _join;
            DELETE FROM {p}join_member m WHERE m.join_id = _join;
            DELETE FROM {p}join_head h WHERE h.id = _join;
            _count := _count + 1;
        END IF;
    END LOOP;
    RETURN _count;
END
$$;
