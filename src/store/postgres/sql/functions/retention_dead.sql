-- retention_dead(queue, t, most) → how many of the queue's dead messages whose retention is over were
-- deleted, the oldest first.
-- Locks: the rows of dead, SKIP LOCKED; then as work_discard.
CREATE OR REPLACE FUNCTION {p}retention_dead(_queue {p}queue, _t timestamptz, _most int) RETURNS int
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _gone uuid[];
BEGIN
    IF _queue.dead_retention_s < 0 THEN
        RETURN 0;
    END IF;
    SELECT array_agg(x.id) INTO _gone FROM (
        SELECT d.id FROM {p}dead d
        WHERE d.queue = _queue.id AND d.died_at <= _t - _queue.dead_retention_s * interval '1 s'
        ORDER BY d.queue, d.died_at LIMIT _most FOR UPDATE SKIP LOCKED) x;
    RETURN CASE WHEN _gone IS NULL THEN 0 ELSE {p}work_discard(_gone) END;
END
$$;
