-- work_fire_store(ids, topics, outboxes, t): an outbox message for each of these
-- timers or job runs, in their order, with the same contents; its message id is their work id.
-- topics: hashes. outboxes: the queue of each.
CREATE OR REPLACE FUNCTION {p}work_fire_store(_ids uuid[], _topics int[], _outboxes int[], _t timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _new uuid[] := {p}ids_new(0::smallint, cardinality(_ids));
BEGIN
    INSERT INTO {p}message (id, created_at, message_id, queue, level, topic, correlation_id, headers, payload)
    SELECT u.new, _t, m.id, u.outbox, 1, m.topic, m.correlation_id, m.headers, m.payload
    FROM unnest(_ids, _new, _outboxes) u(id, new, outbox)
    CROSS JOIN LATERAL (SELECT * FROM {p}message m WHERE m.id = u.id OFFSET 0) m;
    INSERT INTO {p}pending (due, id, lane, topic, attempts, lost)
    SELECT _t, u.new, {p}lane(u.outbox, 1), CASE WHEN q.by_topic > 0 THEN greatest(u.topic, ~u.topic) ELSE least(u.topic, ~u.topic) END, 0, 0
    FROM unnest(_new, _outboxes, _topics) u(new, outbox, topic)
    CROSS JOIN LATERAL (SELECT q.by_topic FROM {p}queue q WHERE q.id = u.outbox OFFSET 0) q;
END
$$;
