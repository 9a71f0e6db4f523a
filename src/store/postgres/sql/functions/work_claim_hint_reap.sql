-- work_claim_hint_reap(…): after a slow look for expired leases that found none
-- (it walked over dead index entries that vacuum may not remove yet): the next
-- looks start here, except once a minute. One writer at a time, once a second,
-- and not while the index is small: then something else was slow.
CREATE OR REPLACE FUNCTION {p}work_claim_hint_reap(_queue int, _t timestamptz) RETURNS void
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO {p}hint AS h (queue, written_at, reap_from, reap_whole_next)
    SELECT _queue, '-infinity', _t, _t + interval '60 s'
    WHERE pg_relation_size('{p}lease_until') >= 1048576 AND pg_try_advisory_xact_lock(hashtextextended('{schema}.{p}hint', _queue))
    ON CONFLICT (queue) DO UPDATE SET reap_from = _t, reap_whole_next = _t + interval '60 s'
    WHERE h.reap_from < _t - interval '1 s' OR h.reap_from > _t
$$;
