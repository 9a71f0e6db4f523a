-- job_trigger(name) → the id of a run for now, also of a paused job; its
-- cadence stays. No such job: SQLSTATE P0002.
CREATE OR REPLACE FUNCTION {p}job_trigger(name text) RETURNS uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _run uuid := {p}work_job_trigger({p}job_named('job_trigger', name));
BEGIN
    IF _run IS NULL THEN
        PERFORM {p}job_missing('job_trigger', name);
    END IF;
    RETURN _run;
END
$$;
