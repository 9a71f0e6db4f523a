-- retention_run(batch) → how many messages and joins were deleted: settled and dead
-- messages whose retention is over, joins that ended as long ago as the outbox queue
-- '' keeps its messages, with their steps; and, not counted, dedupe keys whose message
-- is gone, and instances that ended a day ago. At most `batch` of each kind; never what is pending or leased. Rows that
-- another run is deleting are passed over.
CREATE OR REPLACE FUNCTION {p}retention_run(batch int = 1000) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _t timestamptz := {p}clock();
    _queue {p}queue;
    _row record;
    _gone uuid[];
    _settled int := 0;
    _dead int := 0;
    _keys int := 0;
    _deleted int;
    _joins_until timestamptz; -- null: they stay
BEGIN
    IF batch IS NULL OR batch NOT BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'retention_run: batch must be 1 to 100000';
    END IF;
    FOR _queue IN SELECT * FROM {p}queue q ORDER BY q.id LOOP
        WHILE _queue.retention_s >= 0 AND _settled < batch LOOP
            SELECT d.ctid AS tid, d.ids INTO _row FROM {p}done d
            WHERE d.queue = _queue.id AND d.at <= _t - _queue.retention_s * interval '1 s'
            ORDER BY d.queue, d.at LIMIT 1 FOR UPDATE SKIP LOCKED;
            EXIT WHEN NOT FOUND;
            _gone := _row.ids[:batch - _settled];
            IF cardinality(_gone) = cardinality(_row.ids) THEN
                DELETE FROM {p}done d WHERE d.ctid = _row.tid;
            ELSE
                UPDATE {p}done d SET ids = d.ids[cardinality(_gone) + 1:] WHERE d.ctid = _row.tid;
            END IF;
            PERFORM {p}work_forget(_gone, 1::smallint);
            _settled := _settled + cardinality(_gone);
        END LOOP;
        IF _queue.dead_retention_s >= 0 AND _dead < batch THEN
            SELECT array_agg(x.id) INTO _gone FROM (
                SELECT d.id FROM {p}dead d
                WHERE d.queue = _queue.id AND d.died_at <= _t - _queue.dead_retention_s * interval '1 s'
                ORDER BY d.queue, d.died_at LIMIT batch - _dead FOR UPDATE SKIP LOCKED) x;
            _dead := _dead + {p}work_discard(coalesce(_gone, '{}'));
        END IF;
        IF _queue.dedupe_retention_s >= 0 AND _keys < batch THEN
            DELETE FROM {p}dedupe k WHERE k.ctid = ANY (ARRAY(
                SELECT d.ctid FROM {p}dedupe d
                WHERE d.queue = _queue.id AND d.created_at <= _t - _queue.dedupe_retention_s * interval '1 s'
                  AND d.gone
                ORDER BY d.queue, d.created_at LIMIT batch - _keys FOR UPDATE SKIP LOCKED));
            GET DIAGNOSTICS _deleted = ROW_COUNT;
            _keys := _keys + _deleted;
        END IF;
        IF _queue.door = 0 AND _queue.namespace = '' AND _queue.retention_s >= 0 THEN
            _joins_until := _t - _queue.retention_s * interval '1 s';
        END IF;
    END LOOP;
    PERFORM {p}work_instances_forget(_t, batch);
    RETURN _settled + _dead + {p}work_join_forget(_joins_until, batch); -- joins last: see there
END
$$;
