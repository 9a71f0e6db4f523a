-- work_handled(ids, queue, t): messages of one queue that were stored in this transaction are done
-- at once, by no owner.
CREATE OR REPLACE FUNCTION {p}work_handled(_ids uuid[], _queue int, _t timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF {p}work_done(_ids, _queue, _t, '00000000-0000-0000-0000-000000000000') THEN
        PERFORM {p}work_forget(_ids, 1::smallint);
    END IF;
END
$$;
