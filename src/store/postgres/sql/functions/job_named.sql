-- job_named(verb, name) → the name that a caller from SQL gave, or an error if there cannot be such a job.
CREATE OR REPLACE FUNCTION {p}job_named(_verb text, _name text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF _name IS NULL OR _name = '' OR char_length(_name) > 255 THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = _verb || ': name is null, empty or has more than 255 characters';
    END IF;
    RETURN _name;
END
$$;
