-- work_job_run_alone(job, instants, t): work_job_run for a job whose runs must
-- not overlap; an instant that comes while a run has not ended is skipped.
CREATE OR REPLACE FUNCTION {p}work_job_run_alone(
    _job {p}job, _instants timestamptz[], _t timestamptz,
    OUT made int, OUT last_at timestamptz, OUT last_run uuid, OUT skipped int)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _at timestamptz;
    _open boolean := false;
    _run record;
BEGIN
    made := 0;
    skipped := 0;
    FOREACH _at IN ARRAY _instants LOOP
        IF NOT _open THEN
            _open := {p}work_job_is_open(_job.name);
        END IF;
        IF _open THEN
            skipped := skipped + 1;
            CONTINUE;
        END IF;
        _run := {p}work_job_run(_job, ARRAY[_at], false, _t);
        made := made + _run.made;
        last_at := coalesce(_run.last_at, last_at);
        last_run := coalesce(_run.last_run, last_run);
    END LOOP;
END
$$;
