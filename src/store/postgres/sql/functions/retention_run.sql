-- retention_run(batch) → how many messages and joins were deleted: settled and dead
-- messages whose retention is over, joins that ended as long ago as the outbox queue
-- '' keeps its messages, with their steps; and, not counted, dedupe keys whose message
-- is gone, and instances that ended a day ago. At most `batch` of each kind; never pending or
-- leased ones. Rows that another run is deleting are passed over.
CREATE OR REPLACE FUNCTION {p}retention_run(batch int = 1000) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _t timestamptz := {p}clock();
    _queue {p}queue;
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
        WHILE _settled < batch LOOP
            _deleted := {p}retention_settled(_queue, _t, batch - _settled);
            EXIT WHEN _deleted = 0;
            _settled := _settled + _deleted;
        END LOOP;
        IF _dead < batch THEN
            _dead := _dead + {p}retention_dead(_queue, _t, batch - _dead);
        END IF;
        IF _keys < batch THEN
            _keys := _keys + {p}retention_keys(_queue, _t, batch - _keys);
        END IF;
        IF _queue.door = 0 AND _queue.namespace = '' AND _queue.retention_s >= 0 THEN
            _joins_until := _t - _queue.retention_s * interval '1 s';
        END IF;
    END LOOP;
    PERFORM {p}work_instances_forget(_t, batch);
    RETURN _settled + _dead + {p}work_join_forget(_joins_until, batch); -- joins last: see there
END
$$;
