-- retention_settled(queue, t, most) → how many settled messages were deleted: of the queue's oldest
-- batch whose retention is over, at most that many. 0: there is none.
-- Locks: the row of done, SKIP LOCKED; then as work_forget.
CREATE OR REPLACE FUNCTION {p}retention_settled(_queue {p}queue, _t timestamptz, _most int) RETURNS int
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _row record;
    _gone uuid[];
BEGIN
    IF _queue.retention_s < 0 THEN
        RETURN 0;
    END IF;
    SELECT d.ctid AS tid, d.ids INTO _row FROM {p}done d
    WHERE d.queue = _queue.id AND d.at <= _t - _queue.retention_s * interval '1 s'
    ORDER BY d.queue, d.at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    _gone := _row.ids[:_most];
    IF cardinality(_gone) = cardinality(_row.ids) THEN
        DELETE FROM {p}done d WHERE d.ctid = _row.tid;
    ELSE
        UPDATE {p}done d SET ids = d.ids[cardinality(_gone) + 1:] WHERE d.ctid = _row.tid;
    END IF;
    PERFORM {p}work_forget(_gone, 1::smallint);
    RETURN cardinality(_gone);
END
$$;
