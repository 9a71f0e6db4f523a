-- work_renew(…) → one outcome per id (0 unknown, 1 stale, 7 renewed): moves the
-- end of the leases that hold these messages, up to the queue's cap.
--
-- Locks: lease rows in ascending order; waits for a settle of the same lease
-- (which is short) rather than to answer "stale" where nothing is lost.
CREATE OR REPLACE FUNCTION {p}work_renew(
    _door smallint, _owner uuid, _ids uuid[], _fences bigint[], _lease_s int) RETURNS smallint[]
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _t timestamptz;
    _outcomes smallint[] := array_fill(NULL::smallint, ARRAY[cardinality(_ids)]);
    _lease {p}lease;
    _fence bigint;
    _cap timestamptz;
BEGIN
    SELECT coalesce(s.clock, clock_timestamp()) INTO _t FROM {p}store s WHERE s.one; -- clock(), without the call
    FOREACH _fence IN ARRAY coalesce({p}work_leases(_door, _owner, _ids, _fences, _t), '{}') LOOP
        SELECT * INTO _lease FROM {p}lease l WHERE l.id = _fence AND l.owner = _owner AND l.door = _door FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        SELECT _lease.claimed_at + make_interval(secs => q.max_lease_s) INTO _cap FROM {p}queue q WHERE q.id = _lease.queue;
        CONTINUE WHEN _cap <= _t;
        SELECT array_agg(CASE WHEN u.o IS NULL AND p.pos IS NOT NULL AND array_position(_ids, u.id) = u.i
                                   AND (_lease.settled IS NULL OR get_bit(_lease.settled, p.pos - 1) = 0)
                                   AND (_fences IS NULL OR _fences[u.i] IN (0, _fence)) THEN 7 ELSE u.o END ORDER BY u.i)
        INTO _outcomes FROM unnest(_ids, _outcomes) WITH ORDINALITY u(id, o, i),
             LATERAL (SELECT array_position(_lease.ids, u.id) AS pos) p;
        CONTINUE WHEN NOT EXISTS (SELECT FROM unnest(_ids, _outcomes) u(id, o) WHERE u.o = 7 AND u.id = ANY (_lease.ids));
        UPDATE {p}lease l SET until = greatest(l.until, least(_t + make_interval(secs => _lease_s), _cap))
        WHERE l.id = _fence;
    END LOOP;
    RETURN {p}work_outcomes_rest(_door, _ids, _outcomes);
END
$$;
