-- work_job_set(…) → true if the job is new, false if it was changed, null if it was
-- the same already: then nothing is written, for services declare their jobs at
-- every start. The arguments have been checked.
--
-- A change of anything but cron and timezone leaves the next instant as it is. With
-- another expression it is computed anew from now on; instants that were due by now, and that no
-- scheduler has made yet, are still owed. If an earlier change still owes, its old expression is
-- taken to have held until now. A job with a problem has nothing due; setting it, also to the same,
-- lets the schedulers try again.
--
-- Locks: the job's row, if something changes. Two that make the same job at once: the second waits
-- at the insert, and changes the first one's job.
-- generation begins anywhere: a scheduler that still knows an older job of this
-- name must not take the new one for it.
CREATE OR REPLACE FUNCTION {p}work_job_set(
    _name text, _topic text, _cron text, _payload text, _timezone text, _misfire smallint, _misfire_limit int,
    _overlap smallint, _ns text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _t timestamptz := {p}clock();
    _job {p}job;
BEGIN
    LOOP
        IF EXISTS (SELECT FROM {p}job j
                   WHERE j.name = _name AND j.problem IS NULL
                     AND (j.topic, j.cron, j.payload, j.timezone, j.misfire, j.misfire_limit, j.overlap, j.namespace)
                         IS NOT DISTINCT FROM
                         (_topic, _cron, _payload, _timezone, _misfire, _misfire_limit, _overlap, _ns)) THEN
            RETURN NULL;
        END IF;
        SELECT * INTO _job FROM {p}job j WHERE j.name = _name FOR UPDATE;
        IF FOUND THEN
            IF (_job.cron, _job.timezone) IS DISTINCT FROM (_cron, _timezone) THEN
                IF _job.owed_from IS NULL AND NOT _job.paused AND _job.problem IS NULL
                   AND (_job.next_at <= _t OR _job.next_at IS NULL) THEN
                    _job.owed_from := coalesce(_job.next_at, _job.anchor_at + interval '1 microsecond');
                    _job.owed_cron := _job.cron;
                    _job.owed_timezone := _job.timezone;
                END IF;
                _job.anchor_at := _t;
                _job.next_at := NULL;
            END IF;
            UPDATE {p}job j
            SET topic = _topic, cron = _cron, payload = _payload, timezone = _timezone, misfire = _misfire,
                misfire_limit = _misfire_limit, overlap = _overlap, namespace = _ns, anchor_at = _job.anchor_at,
                updated_at = _t, next_at = _job.next_at, problem = NULL, generation = j.generation + 1,
                owed_from = _job.owed_from, owed_cron = _job.owed_cron, owed_timezone = _job.owed_timezone
            WHERE j.name = _name;
            RETURN false;
        END IF;
        INSERT INTO {p}job (name, namespace, topic, payload, cron, timezone, misfire, misfire_limit, overlap, created_at,
                            updated_at, generation, anchor_at)
        VALUES (_name, _ns, _topic, _payload, _cron, _timezone, _misfire, _misfire_limit, _overlap, _t, _t,
                ('x' || left(gen_random_uuid()::text, 8))::bit(32)::bigint, _t)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN true;
        END IF;
    END LOOP;
END
$$;
