-- join_cancel(join_id) → whether it was open: ends it as cancelled; its waits send
-- their message for failure. Errors: SQLSTATE 22023 (bad arguments), P0002 (no such join).
CREATE OR REPLACE FUNCTION {p}join_cancel(join_id uuid) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _fault text := {p}join_ids_problem(join_id, '{}');
    _cancel record;
BEGIN
    IF _fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'join_cancel: ' || _fault;
    END IF;
    _cancel := {p}work_join_cancel(join_id);
    PERFORM {p}join_raise('join_cancel', _cancel.problem, join_id, NULL);
    RETURN _cancel.cancelled;
END
$$;
