-- work_job_pause(name, paused) → whether there is such a job: pauses or resumes
-- it. Resuming one that is neither paused nor has a problem changes nothing. Locks:
-- the job's row.
CREATE OR REPLACE FUNCTION {p}work_job_pause(_name text, _paused boolean) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _job {p}job;
BEGIN
    SELECT * INTO _job FROM {p}job j WHERE j.name = _name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF _paused THEN
        UPDATE {p}job j SET paused = true, generation = j.generation + 1 WHERE j.name = _name;
    ELSIF _job.paused OR _job.problem IS NOT NULL THEN
        UPDATE {p}job j SET paused = false, problem = NULL, anchor_at = {p}clock(), next_at = NULL,
                            owed_from = NULL, generation = j.generation + 1
        WHERE j.name = _name;
    END IF;
    RETURN true;
END
$$;
