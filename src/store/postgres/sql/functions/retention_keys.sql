-- retention_keys(queue, t, most) → how many of the queue's dedupe keys were deleted: of messages that
-- are gone, the oldest first.
-- Locks: their rows, SKIP LOCKED.
CREATE OR REPLACE FUNCTION {p}retention_keys(_queue {p}queue, _t timestamptz, _most int) RETURNS int
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _count int := 0;
BEGIN
    IF _queue.dedupe_retention_s >= 0 THEN
        DELETE FROM {p}dedupe k WHERE k.ctid = ANY (ARRAY(
            SELECT d.ctid FROM {p}dedupe d
            WHERE d.queue = _queue.id AND d.created_at <= _t - _queue.dedupe_retention_s * interval '1 s' AND d.gone
            ORDER BY d.queue, d.created_at LIMIT _most FOR UPDATE SKIP LOCKED));
        GET DIAGNOSTICS _count = ROW_COUNT;
    END IF;
    RETURN _count;
END
$$;
