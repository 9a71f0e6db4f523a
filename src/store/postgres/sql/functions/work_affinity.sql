-- work_affinity(owner, partitions, max) → what a claim of an instance must know: its seed and
-- those of the other live instances of its service (null: it is alone, or no instance), and
-- the partitions of which it holds runs (only if there is a maximum of them). Reads only.
CREATE OR REPLACE FUNCTION {p}work_affinity(
    _owner uuid, _partitions int, _max int, _t timestamptz, OUT seed bigint, OUT others bigint[], OUT held bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    seed := uuid_hash_extended(_owner, 0);
    SELECT array_agg(uuid_hash_extended(o.id, 0)) INTO others
    FROM (SELECT i.service FROM {p}instance i WHERE i.id = _owner AND i.state = 1) me
    CROSS JOIN LATERAL (SELECT i.id FROM {p}instance i WHERE i.service = me.service AND i.state = 1 OFFSET 0) o
    WHERE o.id <> _owner;
    IF _max IS NOT NULL THEN
        held := ARRAY(
            SELECT DISTINCT s.hash % _partitions
            FROM {p}lease l CROSS JOIN LATERAL generate_series(1, cardinality(l.runs), 4) r(i)
            CROSS JOIN LATERAL (SELECT s.hash FROM {p}stream s WHERE s.id = l.runs[r.i] OFFSET 0) s
            WHERE l.owner = _owner AND l.until >= _t AND l.runs IS NOT NULL AND l.runs[r.i + 2] > 0);
    END IF;
END
$$;
