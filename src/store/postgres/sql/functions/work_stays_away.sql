-- work_stays_away(instances, door, ns): these instances have left a head of this queue lying (or,
-- door null: a lease of theirs ran out): no partition is theirs until they claim again.
--
-- Locks: rows of claimer, SKIP LOCKED; otherwise as work_comes.
CREATE OR REPLACE FUNCTION {p}work_stays_away(_instances uuid[], _door smallint, _ns text) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {by_index} {one_plan}
AS $$
BEGIN
    UPDATE {p}claimer c SET comes = false WHERE c.ctid = ANY (ARRAY(
        SELECT o.ctid FROM {p}claimer o
        WHERE o.instance = ANY (_instances) AND o.comes AND (_door IS NULL OR (o.door = _door AND o.namespace = _ns))
        FOR UPDATE SKIP LOCKED));
EXCEPTION WHEN serialization_failure THEN
    NULL;
END
$$;
