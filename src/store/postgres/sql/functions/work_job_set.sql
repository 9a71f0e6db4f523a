-- work_job_set(…) → true if the job is new. The arguments have been checked.
--
-- Locks: the job's row. Two that make the same job at once: the second waits at
-- the insert, and changes what the first has made.
-- generation begins anywhere: a scheduler that still knows an older job of this
-- name must not take the new one for it.
CREATE OR REPLACE FUNCTION {p}work_job_set(
    _name text, _topic text, _cron text, _payload text, _timezone text, _misfire smallint, _misfire_limit int,
    _overlap smallint, _ns text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _t timestamptz := {p}clock();
BEGIN
    LOOP
        UPDATE {p}job j
        SET topic = _topic, cron = _cron, payload = _payload, timezone = _timezone, misfire = _misfire,
            misfire_limit = _misfire_limit, overlap = _overlap, namespace = _ns, anchor_at = _t, updated_at = _t,
            next_at = NULL, problem = NULL, generation = j.generation + 1
        WHERE j.name = _name;
        IF FOUND THEN
            RETURN false;
        END IF;
        INSERT INTO {p}job (name, namespace, topic, payload, cron, timezone, misfire, misfire_limit, overlap, created_at,
                            updated_at, generation, anchor_at)
        VALUES (_name, _ns, _topic, _payload, _cron, _timezone, _misfire, _misfire_limit, _overlap, _t, _t,
                floor(random() * 4294967296)::bigint, _t)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN true;
        END IF;
    END LOOP;
END
$$;
