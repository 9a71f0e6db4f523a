-- work_claim_reap(…): what a claim does about expired leases: at most 20 of
-- them. The look is one index probe; if it was slow (dead index entries that
-- vacuum may not remove yet), the next ones start where this one did, except
-- once a minute.
CREATE OR REPLACE FUNCTION {p}work_claim_reap(
    _door smallint, _queue int, _t timestamptz, _from timestamptz, _whole_next timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = {schema}, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _started timestamptz := clock_timestamp();
    _start timestamptz := CASE WHEN _from < _t AND _t < _whole_next THEN _from ELSE '-infinity' END;
BEGIN
    IF EXISTS (SELECT FROM {p}lease l WHERE l.door = _door AND l.until >= _start AND l.until < _t
               ORDER BY l.door, l.until LIMIT 1) THEN
        PERFORM {p}work_reap(_door, _t, _start, 20);
    ELSIF clock_timestamp() - _started > interval '2 ms' AND pg_try_advisory_xact_lock(hashtextextended('{schema}.{p}hint', _queue)) THEN
        INSERT INTO {p}hint AS h (queue, written_at, reap_from, reap_whole_next)
        VALUES (_queue, '-infinity', _t, _t + interval '60 s')
        ON CONFLICT (queue) DO UPDATE SET reap_from = _t, reap_whole_next = _t + interval '60 s'
        WHERE h.reap_from < _t - interval '1 s' OR h.reap_from > _t;
    END IF;
END
$$;
