-- job_missing(verb, name): the error that there is no such job.
CREATE OR REPLACE FUNCTION {p}job_missing(_verb text, _name text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'P0002', MESSAGE = format('%s: there is no job "%s"', _verb, _name);
END
$$;
