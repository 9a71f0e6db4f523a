-- work_reap_owner(owner, t) → how many messages were given back or buried, and the joins that ended
-- with it (see work_join_fire): takes back every lease of an owner that was taken for dead, of all
-- doors, whether it has run out or not.
--
-- Locks: as work_reap: a lease that is being settled or renewed just now is left to that, and
-- runs out in its time.
CREATE OR REPLACE FUNCTION {p}work_reap_owner(_owner uuid, _t timestamptz, OUT count int, OUT joins text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _lease {p}lease;
    _dead uuid[];
    _lost record;
BEGIN
    count := 0;
    FOR _lease IN SELECT * FROM {p}lease l WHERE l.owner = _owner ORDER BY l.id FOR UPDATE SKIP LOCKED LOOP
        _lost := {p}work_reap_lease(_lease, _t);
        _dead := _dead || CASE WHEN _lease.door = 0 THEN _lost.dead END;
        count := count + _lost.count;
    END LOOP;
    IF _dead IS NOT NULL THEN
        joins := {p}work_count_steps(NULL, ARRAY(SELECT x FROM unnest(_dead) x ORDER BY x), _t);
    END IF;
END
$$;
