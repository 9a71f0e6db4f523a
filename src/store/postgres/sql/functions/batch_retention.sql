-- batch_retention(t): a bite of retention for workers that know only process_work_batch; any of
-- them takes it: at most 500 messages and keys, then joins, in 15 ms or little more; once a minute,
-- and after a second if there was more.
--
-- It must not make an exchange fail: a statement_timeout would undo all, and the next exchange
-- would begin with the same bite. So it looks at the clock all the time, and until deleting is
-- known to be fast it deletes one message, then two, then four. A queue that has a lot does not
-- keep it from the others: each bite goes on behind the queue where the last one stopped. Joins of
-- more than 500 steps, which are deleted whole, are left to retention_run.
--
-- Locks: the row of the turn, without waiting; then as retention_run. It comes first in the call,
-- before leases and joins, and not in one that stores messages, which may wait for dedupe keys.
-- A strict isolation level would make a conflict of it: then it leaves the bite to others.
CREATE OR REPLACE FUNCTION {p}batch_retention(_t timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _until CONSTANT timestamptz := clock_timestamp() + interval '10 ms';
    _from int; -- the queue where the last bite stopped
    _queue {p}queue;
    _most int := 500;
    _next int := 1;
    _deleted int;
    _stops boolean := false;
    _joins_until timestamptz; -- null: they stay
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN;
    END IF;
    SELECT r.queue INTO _from FROM {p}retention_turn r WHERE r.one AND r.next_at <= _t FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    <<bite>>
    FOR _queue IN (SELECT * FROM {p}queue q WHERE q.id > _from ORDER BY q.id) UNION ALL
                  (SELECT * FROM {p}queue q WHERE q.id <= _from ORDER BY q.id) LOOP
        LOOP
            _deleted := coalesce(nullif({p}retention_settled(_queue, _t, least(_next, _most)), 0),
                                 nullif({p}retention_dead(_queue, _t, least(_next, _most)), 0),
                                 {p}retention_keys(_queue, _t, least(_next, _most)));
            _most := _most - _deleted;
            _stops := _most = 0 OR clock_timestamp() >= _until;
            EXIT bite WHEN _stops;
            EXIT WHEN _deleted = 0;
            _next := least(_next * 2, 500);
        END LOOP;
    END LOOP;
    PERFORM {p}work_instances_forget(_t, 50);
    SELECT _t - q.retention_s * interval '1 s' INTO _joins_until FROM {p}queue q
    WHERE q.door = 0 AND q.namespace = '' AND q.retention_s >= 0;
    WHILE {p}work_join_forget(_joins_until, 1, 500) > 0 LOOP -- last: see there
        _stops := _stops OR clock_timestamp() >= _until + interval '5 ms';
        EXIT WHEN clock_timestamp() >= _until + interval '5 ms';
    END LOOP;
    UPDATE {p}retention_turn r
    SET queue = coalesce(_queue.id, _from),
        next_at = _t + CASE WHEN _stops THEN interval '1 s' ELSE interval '1 minute' END
    WHERE r.one;
END
$$;
