-- join_report_named(verb, join, message, failed): checks the arguments of a call from SQL, and
-- counts.
CREATE OR REPLACE FUNCTION {p}join_report_named(_verb text, _join uuid, _message uuid, _failed boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _fault text := {p}join_ids_problem(_join, ARRAY[_message]);
    _reported record;
BEGIN
    IF _fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = _verb || ': ' || _fault;
    END IF;
    _reported := {p}work_join_report(_join, _message, _failed);
    PERFORM {p}join_raise(_verb, _reported.problem, _join, _message);
END
$$;
