-- queue_set(door, namespace, settings): creates the queue if need be and sets the members of the
-- object. Keys and ranges as in ph_queue_settings; -1 is "for ever"; backoff is 'exponential' or
-- 'equal-jitter', and a change of policy sets its defaults before backoff_base_ms and
-- backoff_max_ms; dead_head 'skip' or 'block', and skip lets streams go on that are blocked by a
-- dead head.
--
-- Locks: the queue's row, then tokens of blocked streams. A call in which a head dies, where dead
-- heads block, writes the queue's row (work_heads_died), so no token comes too late to be found
-- here.
CREATE OR REPLACE FUNCTION {p}queue_set(door text, namespace text, settings jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _queue {p}queue;
    _problem text := {p}settings_problem(settings);
    _policy smallint;
    _s record;
    _blocked record;
BEGIN
    IF _problem IS NULL AND door NOT IN ('outbox', 'inbox') THEN
        SELECT s.k || ' is for streams, which only outbox and inbox have' INTO _problem FROM jsonb_each(settings) s(k, v)
        WHERE s.k IN ('dead_head', 'affinity_grace_ms') AND s.v <> 'null' ORDER BY s.k DESC LIMIT 1;
    END IF;
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'queue_set: ' || _problem;
    END IF;
    SELECT * INTO _s FROM jsonb_to_record(settings) AS x(
        max_attempts int, backoff text, backoff_base_ms bigint, backoff_max_ms bigint, retention_s bigint,
        dead_retention_s bigint, dedupe_retention_s bigint, max_payload_bytes bigint, max_lease_s int,
        delete_on_ack boolean, join_wait_topic text,
        dead_head text, affinity_grace_ms int);
    _queue := {p}queue_named('queue_set', door, namespace);
    _policy := CASE _s.backoff WHEN 'exponential' THEN 1 WHEN 'equal-jitter' THEN 2 END;
    UPDATE {p}queue q SET
        deleted = false, -- by another since queue_named
        max_attempts = coalesce(_s.max_attempts, q.max_attempts),
        backoff = coalesce(_policy, q.backoff),
        backoff_base_ms = coalesce(_s.backoff_base_ms, CASE WHEN _policy <> q.backoff THEN 1000 END, q.backoff_base_ms),
        backoff_max_ms = coalesce(_s.backoff_max_ms, CASE WHEN _policy = q.backoff THEN NULL WHEN _policy = 1 THEN 60000 WHEN _policy = 2 THEN 300000 END,
                                  q.backoff_max_ms),
        retention_s = coalesce(_s.retention_s, q.retention_s),
        dead_retention_s = coalesce(_s.dead_retention_s, q.dead_retention_s),
        dedupe_retention_s = coalesce(_s.dedupe_retention_s, q.dedupe_retention_s),
        max_payload_bytes = coalesce(_s.max_payload_bytes, q.max_payload_bytes),
        max_lease_s = coalesce(_s.max_lease_s, q.max_lease_s),
        delete_on_ack = coalesce(_s.delete_on_ack, q.delete_on_ack),
        join_wait_topic = coalesce(_s.join_wait_topic, q.join_wait_topic),
        dead_head = coalesce(array_position('{skip,block}', _s.dead_head), q.dead_head),
        affinity_grace_ms = coalesce(_s.affinity_grace_ms, q.affinity_grace_ms)
    WHERE q.id = _queue.id;
    IF _s.dead_head = 'skip' THEN
        WITH gone AS (DELETE FROM {p}pending p WHERE p.lane = -_queue.id AND p.due = 'infinity' RETURNING p.stream, p.seq)
        SELECT array_agg(g.stream) AS streams, array_agg(g.seq) AS seqs INTO _blocked FROM gone g;
        PERFORM {p}work_next_heads(_queue.id, _blocked.streams, _blocked.seqs, {p}clock());
    END IF;
END
$$;
