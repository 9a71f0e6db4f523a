-- work_left_lying(…): of the heads that a claim has picked, some were due before the grace began:
-- the instances that they had been left to did not come. If such an instance said that it claims
-- here before a head of its own was due, its partitions are free for all until it claims again.
--
-- Locks: as work_stays_away. Plans: pinned by the settings of work_claim, its only caller.
CREATE OR REPLACE FUNCTION {p}work_left_lying(
    _owner uuid, _door smallint, _ns text, _partitions int, _grace timestamptz, _ids uuid[], _streams bigint[], _dues timestamptz[])
    RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _service text := (SELECT i.service FROM {p}instance i WHERE i.id = _owner);
    _absent uuid[] := ARRAY(
        SELECT DISTINCT c.instance
        FROM unnest(_ids, _streams, _dues) u(id, stream, due)
        CROSS JOIN LATERAL (SELECT s.hash FROM {p}stream s WHERE s.id = u.stream OFFSET 0) s
        CROSS JOIN LATERAL (SELECT m.topic FROM {p}message m WHERE m.id = u.id OFFSET 0) m
        CROSS JOIN LATERAL (SELECT {p}partition_owner(_service, (s.hash % _partitions)::int, _door, _ns, m.topic) AS id OFFSET 0) o
        CROSS JOIN LATERAL (SELECT c.instance FROM {p}claimer c
                            WHERE c.instance = o.id AND c.door = _door AND c.namespace = _ns AND c.comes AND c.since <= u.due
                            OFFSET 0) c
        WHERE u.stream IS NOT NULL AND u.due <= _grace AND o.id <> _owner);
BEGIN
    IF _absent <> '{}' THEN
        PERFORM {p}work_stays_away(_absent, _door, _ns);
    END IF;
END
$$;
