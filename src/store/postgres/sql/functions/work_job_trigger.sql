-- work_job_trigger(name) → the id of a run for now; null if there is no such job.
-- Locks: the job's row.
CREATE OR REPLACE FUNCTION {p}work_job_trigger(_name text) RETURNS uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _t timestamptz := {p}clock();
    _job {p}job;
    _run record;
BEGIN
    SELECT * INTO _job FROM {p}job j WHERE j.name = _name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    _run := {p}work_job_run(_job, ARRAY[_t], true, _t);
    UPDATE {p}job j SET last_at = _run.last_at, last_run = _run.last_run WHERE j.name = _name;
    RETURN _run.last_run;
END
$$;
