-- batch_fail(…): the error of process_work_batch for a problem that work_batch_whole has answered.
-- n: how many completions came before the failures. SQLSTATE P0002 if something does not exist,
-- 55000 if the state does not allow it, otherwise 22023.
CREATE OR REPLACE FUNCTION {p}batch_fail(
    _part smallint, _at int, _result_problem smallint, _join_problem smallint, _problem text, _join uuid, _message uuid, _n int)
    RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _is_failure boolean := _at >= coalesce(_n, 0);
    _place text := 'process_work_batch: ' || CASE _part
        WHEN 3 THEN format('new_outbox_messages: message %s', _at)
        WHEN 4 THEN format('new_inbox_messages: item %s', _at)
        ELSE format('%s_%s: item %s', CASE _part WHEN 1 THEN 'receptor' ELSE 'checkpoint' END,
                    CASE WHEN _is_failure THEN 'failures' ELSE 'completions' END,
                    CASE WHEN _is_failure THEN _at - coalesce(_n, 0) ELSE _at END)
    END;
BEGIN
    PERFORM {p}result_raise(_place, _result_problem);
    PERFORM {p}join_raise(_place, _join_problem, _join, _message);
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = _place || ': ' || _problem;
END
$$;
