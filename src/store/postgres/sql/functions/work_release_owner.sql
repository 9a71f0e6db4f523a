-- work_release_owner(owner, t) → how many messages were given back; joins is for symmetry with
-- work_reap_owner: nothing ends with it. Releases every message that the owner has leased, of
-- all doors; of a run of a stream the first, and with it the rest.
--
-- Locks: the owner's lease rows in ascending order; waits for a settle or renew of one of them.
CREATE OR REPLACE FUNCTION {p}work_release_owner(_owner uuid, _t timestamptz, OUT count int, OUT joins text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _lease {p}lease;
BEGIN
    count := 0;
    FOR _lease IN SELECT * FROM {p}lease l WHERE l.owner = _owner ORDER BY l.id FOR UPDATE LOOP
        DELETE FROM {p}lease l WHERE l.id = _lease.id;
        PERFORM {p}work_give_up(_lease.ids[f], 4::smallint, coalesce(_lease.attempts[f], 1::smallint), _lease.lost, NULL, -1, _t, _owner)
        FROM unnest({p}lease_fronts(_lease)) f;
        count := count + _lease.open;
    END LOOP;
END
$$;
