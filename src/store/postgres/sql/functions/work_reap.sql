-- work_reap(door, t, from, most) → how many messages were given back or buried, and the joins that
-- ended with it (see work_join_fire): takes back leases that ran out in [from, t), at most `most`
-- of them (null: all).
-- An instance whose lease ran out has no affinity until it claims again.
--
-- Locks: lease rows, SKIP LOCKED: a lease that is being settled or renewed is
-- left to that. The work on a lease's messages uses only the locked row. Then, if steps of joins
-- have died, the heads of those, SKIP LOCKED.
CREATE OR REPLACE FUNCTION {p}work_reap(_door smallint, _t timestamptz, _from timestamptz, _most int, OUT count int, OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _lease {p}lease;
    _dead uuid[];
    _owners uuid[] := '{}';
    _leases int := 0;
    _lost record;
BEGIN
    count := 0;
    WHILE _most IS NULL OR _leases < _most LOOP
        SELECT * INTO _lease FROM {p}lease l
        WHERE l.door = _door AND l.until >= _from AND l.until < _t
        ORDER BY l.door, l.until LIMIT 1 FOR UPDATE SKIP LOCKED;
        EXIT WHEN NOT FOUND;
        _leases := _leases + 1;
        _owners := _owners || _lease.owner;
        _lost := {p}work_reap_lease(_lease, _t);
        _dead := _dead || _lost.dead;
        count := count + _lost.count;
    END LOOP;
    IF _leases > 0 THEN
        PERFORM {p}work_stays_away(_owners, NULL, NULL);
    END IF;
    IF _dead IS NOT NULL AND _door = 0 THEN
        joins := {p}work_count_steps(NULL, ARRAY(SELECT x FROM unnest(_dead) x ORDER BY x), _t);
    END IF;
END
$$;
