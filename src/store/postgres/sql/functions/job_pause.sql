-- job_pause(name): a paused job makes no runs, but by job_trigger. No such job: SQLSTATE P0002.
CREATE OR REPLACE FUNCTION {p}job_pause(name text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT {p}work_job_pause({p}job_named('job_pause', name), true) THEN
        PERFORM {p}job_missing('job_pause', name);
    END IF;
END
$$;
