-- queue_is_used(queue) → whether there is anything in it: a message in any place, a dedupe key, a
-- stream. One look at each index, and at the few leases and waits.
CREATE OR REPLACE FUNCTION {p}queue_is_used(_queue int) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {by_index}
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM {p}pending p WHERE p.lane >= {p}lane(_queue, 0) AND p.lane < {p}lane(_queue, 4))
        OR EXISTS (SELECT FROM {p}done d WHERE d.queue = _queue)
        OR EXISTS (SELECT FROM {p}dead x WHERE x.queue = _queue)
        OR EXISTS (SELECT FROM {p}dedupe k WHERE k.queue = _queue)
        OR EXISTS (SELECT FROM {p}stream s WHERE s.queue = _queue) -- parked messages, too
        OR EXISTS (SELECT FROM {p}lease l WHERE l.queue = _queue)
        OR EXISTS (SELECT FROM {p}join_wait w JOIN {p}message m ON m.id = w.id WHERE m.queue = _queue);
END
$$;
