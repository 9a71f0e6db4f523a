-- work_job_is_open(job) → whether a run of the job has not ended: the newest
-- message with its id as message id (the one that a scheduler made of it, or an operator's retry)
-- or, if there is none, the run itself is pending or leased.
--
-- The newest runs are looked at first. Those that have ended are marked, so that
-- the next look passes them over. The caller holds the job's row.
CREATE OR REPLACE FUNCTION {p}work_job_is_open(_job text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _run uuid;
    _ended uuid[] := '{}';
    _open boolean := false;
BEGIN
    FOR _run IN (SELECT r.id FROM {p}job_run r WHERE r.job = _job AND r.maybe_open ORDER BY r.job DESC, r.id DESC)
                UNION ALL -- the queue may have forgotten the last one when it became a message (delete_on_ack)
                SELECT j.last_run FROM {p}job j WHERE j.name = _job AND j.last_run IS NOT NULL LOOP
        -- In one statement, for a message that moves is in exactly one place at each moment.
        SELECT NOT EXISTS (SELECT FROM {p}dead x WHERE x.id = w.id)
               AND NOT EXISTS (SELECT FROM {p}done d WHERE d.span @> {p}id_number(w.id) AND d.ids @> ARRAY[w.id])
               AND EXISTS (SELECT FROM {p}message m WHERE m.id = w.id)
        INTO _open
        FROM (SELECT coalesce((SELECT (array_agg(m.id ORDER BY m.id DESC))[1] FROM {p}message m WHERE m.message_id = _run),
                              _run) AS id) w;
        EXIT WHEN _open;
        _ended := _ended || _run;
    END LOOP;
    UPDATE {p}job_run r SET maybe_open = false WHERE r.id = ANY (_ended);
    RETURN _open;
END
$$;
