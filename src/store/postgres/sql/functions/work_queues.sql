-- work_queues(door, ns) → the queues by namespace, with settings and counts; ns
-- null: all. Reads the small tables once, however many queues there are.
CREATE OR REPLACE FUNCTION {p}work_queues(_door smallint, _ns text)
    RETURNS TABLE (
        namespace text, paused boolean, max_attempts int, backoff int, backoff_base_ms bigint, backoff_max_ms bigint,
        retention_s bigint, dead_retention_s bigint, dedupe_retention_s bigint, max_payload_bytes bigint,
        max_lease_s int, delete_on_ack boolean, ready bigint, scheduled bigint, in_progress bigint, dead bigint,
        expired_leases bigint, oldest_ready_ms bigint, join_wait_topic text, parked bigint,
        dead_head int, affinity_grace_ms int, waiting bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz := {p}clock();
BEGIN
    RETURN QUERY
    SELECT q.namespace, q.paused, q.max_attempts::int, q.backoff::int, q.backoff_base_ms, q.backoff_max_ms,
           q.retention_s, q.dead_retention_s, q.dedupe_retention_s, q.max_payload_bytes::bigint, q.max_lease_s,
           q.delete_on_ack, coalesce(p.ready, 0), coalesce(p.scheduled, 0), coalesce(l.open, 0)::bigint,
           coalesce(x.dead, 0), coalesce(l.expired, 0)::bigint, coalesce(p.oldest_ms, 0)::bigint,
           q.join_wait_topic, coalesce(w.parked, 0)::bigint, q.dead_head::int, q.affinity_grace_ms,
           coalesce(j.waiting, 0)
    FROM {p}queue q
    LEFT JOIN (SELECT p.lane >> 42 AS queue, count(*) FILTER (WHERE p.due <= _t) AS ready,
                      count(*) FILTER (WHERE p.due > _t) AS scheduled,
                      floor(extract(epoch FROM _t - min(p.due) FILTER (WHERE p.due <= _t)) * 1000) AS oldest_ms
               FROM {p}pending p GROUP BY 1) p ON p.queue = q.id
    LEFT JOIN (SELECT l.queue, sum(l.open) AS open, sum(l.open) FILTER (WHERE l.until < _t) AS expired
               FROM {p}lease l GROUP BY 1) l ON l.queue = q.id
    LEFT JOIN (SELECT x.queue, count(*) AS dead FROM {p}dead x WHERE x.retried_as IS NULL GROUP BY 1) x ON x.queue = q.id
    LEFT JOIN (SELECT s.queue, sum(s.last_seq - t.upto) AS parked
               FROM {p}work_token t JOIN {p}stream s ON s.id = t.stream GROUP BY 1) w ON w.queue = q.id
    LEFT JOIN (SELECT m.queue, count(*) AS waiting
               FROM {p}join_wait w JOIN {p}message m ON m.id = w.id GROUP BY 1) j ON j.queue = q.id
    WHERE q.door = _door AND (_ns IS NULL OR q.namespace = _ns) AND (NOT q.deleted OR {p}queue_is_used(q.id))
    ORDER BY q.namespace;
END
$$;
