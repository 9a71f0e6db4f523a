-- result_raise(where, code): an error if the code is that of a problem (enum
-- ph__result_problem): SQLSTATE 55000 if the state does not allow it, otherwise P0002.
CREATE OR REPLACE FUNCTION {p}result_raise(_where text, _code smallint) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF _code > 0 THEN
        RAISE EXCEPTION USING ERRCODE = CASE WHEN _code = 4 THEN '55000' ELSE 'P0002' END,
            MESSAGE = _where || ': ' || {p}result_problem(_code);
    END IF;
END
$$;
