-- work_advance(…) → how many job runs were made: stores a scheduler's plan for due jobs, one
-- element per job in each list but the last. ends: how many of the instants belong to this job and
-- those before it. next: null for never again. problem: not null if the job cannot be run; then it
-- is marked, and nothing else.
--
-- It believes the instants, for SQL knows no calendar: its callers decide when jobs run. So it is
-- for the role that runs schedulers, not for workers.
-- Locks: the jobs' rows, without waiting: a job that another transaction holds is
-- left for the next look, so that a transaction that sets a job and does not commit holds up no
-- other job. A job is left out, too, if it is not as the scheduler saw it (generation, next_at):
-- another scheduler was faster, or the job was changed. So each instant is made once, by whichever
-- scheduler comes first.
CREATE OR REPLACE FUNCTION {p}work_advance(
    _names text[], _generations bigint[], _seen timestamptz[], _next timestamptz[], _problems text[], _ends bigint[],
    _instants timestamptz[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {by_index} {nested_loops} {one_plan}
AS $$
DECLARE
    _t timestamptz := {p}clock();
    _job {p}job;
    _i int;
    _mine timestamptz[];
    _run record;
    _made bigint := 0;
BEGIN
    IF (cardinality(_names) <= 10000 AND cardinality(_instants) <= 20000
        AND cardinality(_names) = ALL (ARRAY[cardinality(_generations), cardinality(_seen), cardinality(_next),
                                             cardinality(_problems), cardinality(_ends)])) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE =
            'work_advance: the lists are not all of one length, or longer than 10000 jobs and 20000 instants';
    END IF;
    FOR _i IN SELECT u.i FROM unnest(_names) WITH ORDINALITY u(name, i) ORDER BY u.name COLLATE "C" LOOP
        SELECT * INTO _job FROM {p}job j WHERE j.name = _names[_i] FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND OR _job.generation <> _generations[_i] OR _job.next_at IS DISTINCT FROM _seen[_i];
        IF _problems[_i] IS NOT NULL THEN
            UPDATE {p}job j SET problem = _problems[_i] WHERE j.name = _job.name;
            CONTINUE;
        END IF;
        _mine := _instants[coalesce(_ends[_i - 1], 0) + 1 : _ends[_i]];
        IF _job.overlap = 2 THEN
            _run := {p}work_job_run_alone(_job, _mine, _t);
        ELSE
            SELECT r.*, 0 AS skipped INTO _run FROM {p}work_job_run(_job, _mine, false, _t) r;
        END IF;
        UPDATE {p}job j
        SET next_at = coalesce(_next[_i], 'infinity'), last_at = coalesce(_run.last_at, j.last_at),
            last_run = coalesce(_run.last_run, j.last_run), skipped = j.skipped + _run.skipped,
            owed_from = NULL
        WHERE j.name = _job.name;
        _made := _made + _run.made;
    END LOOP;
    RETURN _made;
END
$$;
