-- raise_problem(verb, index, problem) → true, or an error if there is a problem.
CREATE OR REPLACE FUNCTION {p}raise_problem(_verb text, _index int, _problem text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('%s: message %s: %s', _verb, _index, _problem);
    END IF;
    RETURN true;
END
$$;
