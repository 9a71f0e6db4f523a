-- retention_run(batch) → how many messages were deleted: settled and dead ones
-- whose retention is over, about `batch` of each kind per queue (a settled
-- batch goes as a whole), and dedupe keys whose message is gone. Never what is
-- pending or leased. Rows that another run is deleting are passed over.
CREATE OR REPLACE FUNCTION {p}retention_run(batch int = 1000) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _t timestamptz := {p}clock();
    _queue {p}queue;
    _row record;
    _gone uuid[];
    _count bigint := 0;
    _before bigint;
BEGIN
    IF batch IS NULL OR batch NOT BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'retention_run: batch must be 1 to 100000';
    END IF;
    FOR _queue IN SELECT * FROM {p}queue q ORDER BY q.id LOOP
        _before := _count;
        WHILE _queue.retention_s >= 0 AND _count < _before + batch LOOP
            SELECT d.ctid AS tid, d.ids INTO _row FROM {p}done d
            WHERE d.queue = _queue.id AND d.at <= _t - _queue.retention_s * interval '1 s'
            ORDER BY d.queue, d.at LIMIT 1 FOR UPDATE SKIP LOCKED;
            EXIT WHEN NOT FOUND;
            DELETE FROM {p}done d WHERE d.ctid = _row.tid;
            DELETE FROM {p}attempt_log a WHERE a.id = ANY (_row.ids);
            DELETE FROM {p}message m WHERE m.id = ANY (_row.ids);
            _count := _count + cardinality(_row.ids);
        END LOOP;
        IF _queue.dead_retention_s >= 0 THEN
            SELECT array_agg(x.id) INTO _gone FROM (
                SELECT d.id FROM {p}dead d
                WHERE d.queue = _queue.id AND d.died_at <= _t - _queue.dead_retention_s * interval '1 s'
                ORDER BY d.queue, d.died_at LIMIT batch FOR UPDATE SKIP LOCKED) x;
            _count := _count + {p}work_discard(coalesce(_gone, '{}'));
        END IF;
        IF _queue.dedupe_retention_s >= 0 THEN
            DELETE FROM {p}dedupe k WHERE k.ctid = ANY (ARRAY(
                SELECT d.ctid FROM {p}dedupe d
                WHERE d.queue = _queue.id AND d.created_at <= _t - _queue.dedupe_retention_s * interval '1 s'
                  AND NOT EXISTS (SELECT FROM {p}message m WHERE m.id = d.id)
                ORDER BY d.queue, d.created_at LIMIT batch FOR UPDATE SKIP LOCKED));
        END IF;
    END LOOP;
    RETURN _count;
END
$$;
