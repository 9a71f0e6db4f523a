-- join_raise(where, code, join, message) → true, or an error if the code is that of a
-- problem: SQLSTATE P0002 if something is not there, 55000 if the state does not
-- allow it, otherwise 22023.
CREATE OR REPLACE FUNCTION {p}join_raise(_where text, _code smallint, _join uuid, _message uuid) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF _code > 0 THEN
        RAISE EXCEPTION USING
            ERRCODE = CASE WHEN _code IN (1, 2, 5) THEN 'P0002' WHEN _code IN (3, 4, 6) THEN '55000' ELSE '22023' END,
            MESSAGE = _where || ': ' || {p}join_problem(_code, _join, _message);
    END IF;
    RETURN true;
END
$$;
