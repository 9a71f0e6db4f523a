-- work_queue_delete(door, ns) → whether there was such a queue, and it was deleted; or, if it was
-- not, its contents: messages, dedupe keys and streams, and those that will come into it by
-- themselves (timers and job runs that will be messages of the outbox; jobs).
--
-- The row stays, with the settings of a new queue, and is marked. An enqueue reads it and locks
-- nothing, so one that is under way, or whose REPEATABLE READ snapshot is older than this call,
-- goes on with a queue that must not vanish. Others find the mark and make the queue anew
-- (queue_get). A queue with the mark that has something in it is shown as if it had none.
--
-- Locks: the queue's row, before it looks, so that it sees the work of transactions that were
-- making the queue anew. has_streams stays: a producer may have read it. Then empty tokens and idle
-- streams, SKIP LOCKED, since claims clean those up and there may be none any more.
CREATE OR REPLACE FUNCTION {p}work_queue_delete(
    _door smallint, _ns text, OUT deleted boolean, OUT messages bigint, OUT keys bigint, OUT streams bigint,
    OUT coming bigint, OUT jobs bigint)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _queue {p}queue;
BEGIN
    SELECT false, 0, 0, 0, 0, 0 INTO deleted, messages, keys, streams, coming, jobs;
    SELECT * INTO _queue FROM {p}queue q WHERE q.door = _door AND q.namespace = _ns FOR UPDATE;
    IF _queue.has_streams THEN
        PERFORM {p}work_tokens(_queue.id, {p}clock(), '-infinity', true);
        PERFORM {p}work_streams_drop(ARRAY(SELECT s.id FROM {p}stream s WHERE s.queue = _queue.id AND NOT s.busy LIMIT 1000));
    END IF;
    IF {p}queue_is_used(_queue.id) THEN
        SELECT c.ready + c.scheduled + c.in_progress + c.parked + c.waiting
               + (SELECT coalesce(sum(cardinality(d.ids)), 0) FROM {p}done d WHERE d.queue = _queue.id)
               + (SELECT count(*) FROM {p}dead x WHERE x.queue = _queue.id),
               (SELECT count(*) FROM {p}dedupe k WHERE k.queue = _queue.id),
               (SELECT count(*) FROM {p}stream s WHERE s.queue = _queue.id)
        INTO messages, keys, streams FROM {p}work_count(_door, _ns) c;
    ELSIF _queue.deleted IS NOT FALSE THEN -- there was none
        RETURN;
    END IF;
    IF _door = 0 THEN
        SELECT count(*) INTO coming FROM {p}queue q JOIN {p}pending p ON p.lane >= {p}lane(q.id, 0) AND p.lane < {p}lane(q.id, 4)
        WHERE q.door IN (2, 3) AND q.namespace = _ns;
    END IF;
    IF _door IN (0, 3) THEN
        SELECT count(*) INTO jobs FROM {p}job j WHERE j.namespace = _ns;
    END IF;
    IF messages + keys + streams + coming + jobs = 0 THEN
        UPDATE {p}queue q SET
            deleted = true, paused = DEFAULT, max_attempts = DEFAULT, backoff = DEFAULT, backoff_base_ms = DEFAULT,
            backoff_max_ms = DEFAULT, retention_s = DEFAULT, dead_retention_s = DEFAULT,
            dedupe_retention_s = CASE WHEN _door = 1 THEN -1 ELSE 604800 END, max_payload_bytes = DEFAULT,
            max_lease_s = DEFAULT, delete_on_ack = DEFAULT, join_wait_topic = DEFAULT, dead_head = DEFAULT,
            affinity_grace_ms = DEFAULT
        WHERE q.id = _queue.id;
        deleted := true;
    END IF;
END
$$;
