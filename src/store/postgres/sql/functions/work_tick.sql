-- work_tick(owner, n, timers, job_runs): a scheduler's round trip. Ends joins whose deadline has
-- passed; turns up to n due timers and n due job runs into outbox messages, if it may; then names
-- up to n jobs whose next instant is due or not known.
--
-- Answers one row with the numbers, then one per job, which has only the columns
-- from name on. next_at: when something that is done here is due next; null:
-- nothing is planned. more: n was reached somewhere. namespaces: those that have
-- new messages.
-- With nothing to do it reads one index entry per queue and one or two of jobs
-- and joins, writes nothing and takes no transaction id. Locks: see work_fire
-- and work_join_expire; jobs are not locked, work_advance looks at them again.
CREATE OR REPLACE FUNCTION {p}work_tick(_owner uuid, _n int, _timers boolean, _job_runs boolean)
    RETURNS TABLE (now timestamptz, timers bigint, job_runs bigint, joins bigint, join_ends text, next_at timestamptz,
                   more boolean, namespaces text[], name text, cron text, timezone text, generation bigint,
                   job_next_at timestamptz, anchor_at timestamptz, misfire smallint, misfire_limit int,
                   owed_from timestamptz, owed_cron text, owed_timezone text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz := {p}clock();
    _fired record;
    _runs record;
    _joins record;
    _ahead timestamptz;
    _deadline timestamptz;
BEGIN
    IF _n IS NULL OR _n NOT BETWEEN 1 AND 10000 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('work_tick: n is %s; give 1 to 10000', coalesce(_n::text, 'null'));
    END IF;
    SELECT * INTO _joins FROM {p}work_join_expire(_t, _n);
    IF _timers THEN
        _fired := {p}work_fire(2::smallint, _owner, _n, _t);
    ELSE
        SELECT 0 AS fired, NULL::text[] AS namespaces, NULL::timestamptz AS next_at INTO _fired;
    END IF;
    IF _job_runs THEN
        _runs := {p}work_fire(3::smallint, _owner, _n, _t);
    ELSE
        SELECT 0 AS fired, NULL::text[] AS namespaces, NULL::timestamptz AS next_at INTO _runs;
    END IF;
    SELECT j.next_at INTO _ahead FROM {p}job j
    WHERE NOT j.paused AND j.problem IS NULL AND coalesce(j.next_at, '-infinity') > _t
    ORDER BY coalesce(j.next_at, '-infinity'), j.name LIMIT 1;
    SELECT h.deadline INTO _deadline FROM {p}join_head h
    WHERE h.status = 0 AND h.deadline > _t ORDER BY h.deadline LIMIT 1;
    RETURN QUERY SELECT _t, _fired.fired::bigint, _runs.fired::bigint, _joins.count::bigint, _joins.joins,
                        nullif(least(_fired.next_at, _runs.next_at, _ahead, _deadline), 'infinity'),
                        greatest(_fired.fired, _runs.fired, _joins.count) >= _n,
                        _fired.namespaces || _runs.namespaces, NULL::text, NULL::text, NULL::text, NULL::bigint,
                        NULL::timestamptz, NULL::timestamptz, NULL::smallint, NULL::int, NULL::timestamptz, NULL::text,
                        NULL::text;
    RETURN QUERY SELECT NULL::timestamptz, NULL::bigint, NULL::bigint, NULL::bigint, NULL::text, NULL::timestamptz,
                        NULL::boolean, NULL::text[], j.name, j.cron, j.timezone, j.generation, j.next_at, j.anchor_at,
                        j.misfire, j.misfire_limit, j.owed_from, j.owed_cron, j.owed_timezone
    FROM {p}job j
    WHERE NOT j.paused AND j.problem IS NULL AND coalesce(j.next_at, '-infinity') <= _t
    ORDER BY coalesce(j.next_at, '-infinity'), j.name LIMIT _n;
END
$$;
