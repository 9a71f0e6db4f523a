-- job_resume(name): the job goes on with the next instant from now on; instants that passed while
-- it was paused are not made up for. No such job: SQLSTATE P0002.
CREATE OR REPLACE FUNCTION {p}job_resume(name text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT {p}work_job_pause({p}job_named('job_resume', name), false) THEN
        PERFORM {p}job_missing('job_resume', name);
    END IF;
END
$$;
