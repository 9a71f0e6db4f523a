-- job_set(name, topic, cron, …): creates a job, or changes all of the one with
-- this name; if it is the same already, nothing changes. A scheduler computes the next instant of
-- another expression, from now on; instants due by now still run. A paused job stays paused. Bad
-- arguments: SQLSTATE 22023. The zone must be one that the server knows; if a scheduler does not
-- have it, it says so in the view jobs.
CREATE OR REPLACE FUNCTION {p}job_set(
    name text, topic text, cron text, payload text = NULL, timezone text = 'UTC', misfire text = 'once',
    misfire_limit int = 100, overlap text = 'allow', namespace text = '') RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    _problem text := coalesce(
        {p}job_problem(name, topic, cron, payload, timezone, misfire, misfire_limit, overlap, namespace),
        {p}zone_problem(timezone));
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'job_set: ' || _problem;
    END IF;
    PERFORM {p}work_job_set(
        name, topic, cron, payload, timezone, CASE misfire WHEN 'once' THEN 1 WHEN 'skip' THEN 2 ELSE 3 END::smallint,
        misfire_limit, CASE overlap WHEN 'allow' THEN 1 ELSE 2 END::smallint, namespace);
END
$$;
