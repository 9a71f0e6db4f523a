-- work_forget(ids, status): the one way in which a message ends for good: body, history,
-- and a mark on its dedupe key, which retention may then delete in its time. Steps of
-- joins keep what the message showed (0 pending, 1 completed, 2 failed) as a status of
-- their own. The caller has taken the messages out of done, dead or their lease, and
-- has counted them.
--
-- Locks: the steps of these messages, which nobody else gives a status (work_join_close).
CREATE OR REPLACE FUNCTION {p}work_forget(_ids uuid[], _status smallint) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = {schema}, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF EXISTS (SELECT FROM {p}join_member m WHERE m.work_id >= (SELECT x FROM unnest(_ids) x ORDER BY x LIMIT 1)
                                              AND m.work_id <= (SELECT x FROM unnest(_ids) x ORDER BY x DESC LIMIT 1)) THEN
        UPDATE {p}join_member m SET status = _status WHERE m.work_id = ANY (_ids) AND m.status IS NULL;
    END IF;
    UPDATE {p}dedupe d SET gone = true FROM {p}message m
    WHERE m.id = ANY (_ids) AND m.dedupe_key IS NOT NULL
      AND d.queue = m.queue AND d.topic = m.topic AND d.key = m.dedupe_key AND d.id = m.id;
    DELETE FROM {p}attempt_log a WHERE a.id = ANY (_ids);
    IF EXISTS (SELECT FROM unnest(_ids) x WHERE get_byte(uuid_send(x), 8) >> 4 = 11) THEN -- an id of the door job_runs
        DELETE FROM {p}job_run r WHERE r.id = ANY (_ids);
    END IF;
    DELETE FROM {p}message m WHERE m.id = ANY (_ids);
END
$$;
