-- batch_raise(problem): an error of process_work_batch, if there is a problem.
CREATE OR REPLACE FUNCTION {p}batch_raise(_problem text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'process_work_batch: ' || _problem;
    END IF;
END
$$;
