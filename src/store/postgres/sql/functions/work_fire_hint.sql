-- work_fire_hint(door, t): after a slow look at the timers or job runs, remembers
-- where their first rows are, for queues where it takes long to get there: an old transaction keeps
-- vacuum from removing fired rows. The table hint and its rules are those of claims
-- (work_claim_hint): only a hint, one writer at a time, and a look from the start at most for 5 %
-- of the time, which finds rows that were committed late.
CREATE OR REPLACE FUNCTION {p}work_fire_hint(_door smallint, _t timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _queue int;
    _hint {p}hint;
    _whole boolean;
    _first timestamptz;
    _started timestamptz;
    _took interval;
BEGIN
    IF pg_relation_size('{p}pending_pkey') < 4194304 THEN -- 4 MB
        RETURN;
    END IF;
    FOR _queue IN SELECT q.id FROM {p}queue q WHERE q.door = _door AND NOT q.paused LOOP
        SELECT * INTO _hint FROM {p}hint h WHERE h.queue = _queue;
        _whole := (_hint.written_at <= _t AND _t < _hint.whole_look_next) IS NOT TRUE;
        CONTINUE WHEN NOT _whole AND _hint.written_at > _t - interval '1 s';
        _started := clock_timestamp();
        SELECT p.due INTO _first FROM {p}pending p
        WHERE p.lane = {p}lane(_queue, 1) AND p.due >= CASE WHEN _whole THEN '-infinity' ELSE coalesce(_hint.from_due[2], '-infinity') END
        ORDER BY p.lane, p.due, p.id LIMIT 1;
        _took := clock_timestamp() - _started;
        CONTINUE WHEN _took < interval '1 ms'
            OR NOT pg_try_advisory_xact_lock(hashtextextended('{schema}.{p}hint', _queue));
        _first := least(_first, _t);
        INSERT INTO {p}hint AS h (queue, written_at, from_due, whole_look_next)
        VALUES (_queue, _t, array_fill(_first, ARRAY[4]), _t + 20 * _took)
        ON CONFLICT (queue) DO UPDATE SET written_at = _t, from_due = array_fill(_first, ARRAY[4]),
            whole_look_next = CASE WHEN _whole THEN _t + 20 * _took ELSE h.whole_look_next END;
    END LOOP;
END
$$;
