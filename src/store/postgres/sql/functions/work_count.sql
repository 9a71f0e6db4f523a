-- work_count(door, ns) → how many messages are where; ns null: all namespaces.
-- Counts the small tables only; numbers in a stream have no gaps, so parked messages need not be
-- read.
CREATE OR REPLACE FUNCTION {p}work_count(
    _door smallint, _ns text, OUT ready bigint, OUT scheduled bigint, OUT in_progress bigint, OUT dead bigint,
    OUT expired_leases bigint, OUT oldest_ready_ms bigint, OUT parked bigint,
    OUT waiting bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _t timestamptz := {p}clock();
    _queues int[] := ARRAY(SELECT q.id FROM {p}queue q WHERE q.door = _door AND (_ns IS NULL OR q.namespace = _ns));
BEGIN
    SELECT count(*) FILTER (WHERE p.due <= _t), count(*) FILTER (WHERE p.due > _t),
           coalesce(floor(extract(epoch FROM _t - min(p.due) FILTER (WHERE p.due <= _t)) * 1000), 0)
    INTO ready, scheduled, oldest_ready_ms FROM {p}pending p WHERE p.lane >> 42 = ANY (_queues);
    SELECT coalesce(sum(l.open), 0), coalesce(sum(l.open) FILTER (WHERE l.until < _t), 0)
    INTO in_progress, expired_leases FROM {p}lease l WHERE l.queue = ANY (_queues);
    SELECT count(*) INTO dead FROM {p}dead d WHERE d.queue = ANY (_queues) AND d.retried_as IS NULL;
    SELECT coalesce(sum(s.last_seq - t.upto), 0) INTO parked
    FROM {p}work_token t JOIN {p}stream s ON s.id = t.stream WHERE s.queue = ANY (_queues);
    SELECT count(*) INTO waiting FROM {p}join_wait w JOIN {p}message m ON m.id = w.id WHERE m.queue = ANY (_queues);
END
$$;
