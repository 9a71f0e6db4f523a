-- work_renew(…) → one outcome per id (0 unknown, 1 stale, 7 renewed, 8 renewed for less than
-- was asked): moves the end of the leases that hold these messages, up to the queue's cap.
--
-- Locks: lease rows in ascending order; waits for a settle of the same lease
-- (which is short) rather than to answer "stale" where nothing is lost.
CREATE OR REPLACE FUNCTION {p}work_renew(
    _door smallint, _owner uuid, _ids uuid[], _fences bigint[], _lease_s int) RETURNS smallint[]
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _t timestamptz;
    _outcomes smallint[] := array_fill(NULL::smallint, ARRAY[cardinality(_ids)]);
    _lease {p}lease;
    _fence bigint;
    _cap timestamptz;
    _until timestamptz;
    _at int[];
    _i int;
BEGIN
    SELECT coalesce(s.clock, clock_timestamp()) INTO _t FROM {p}store s WHERE s.one; -- clock(), without the call
    FOREACH _fence IN ARRAY coalesce({p}work_leases(_door, _owner, _ids, _fences, _t), '{}') LOOP
        SELECT * INTO _lease FROM {p}lease l WHERE l.id = _fence AND l.owner = _owner AND l.door = _door FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        SELECT _lease.claimed_at + make_interval(secs => q.max_lease_s) INTO _cap FROM {p}queue q WHERE q.id = _lease.queue;
        CONTINUE WHEN _cap <= _t;
        _at := ({p}work_lease_match(_lease.ids, _lease.settled, _fence, _ids, _fences, _outcomes)).at;
        CONTINUE WHEN _at IS NULL;
        _until := least(_t + make_interval(secs => _lease_s), _cap);
        FOREACH _i IN ARRAY _at LOOP
            _outcomes[_i] := CASE WHEN _until = _cap THEN 8 ELSE 7 END;
        END LOOP;
        UPDATE {p}lease l SET until = greatest(l.until, _until)
        WHERE l.id = _fence;
    END LOOP;
    RETURN {p}work_outcomes_rest(_door, _ids, _outcomes);
END
$$;
