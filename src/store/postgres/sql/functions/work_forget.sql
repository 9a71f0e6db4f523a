-- work_forget(ids): the one way in which a message ends for good: body, history,
-- and a mark on its dedupe key, which retention may then delete in its time.
-- The caller has taken the messages out of done, dead or their lease.
CREATE OR REPLACE FUNCTION {p}work_forget(_ids uuid[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = {schema}, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    UPDATE {p}dedupe d SET gone = true FROM {p}message m
    WHERE m.id = ANY (_ids) AND m.dedupe_key IS NOT NULL
      AND d.queue = m.queue AND d.topic = m.topic AND d.key = m.dedupe_key AND d.id = m.id;
    DELETE FROM {p}attempt_log a WHERE a.id = ANY (_ids);
    DELETE FROM {p}message m WHERE m.id = ANY (_ids);
END
$$;
