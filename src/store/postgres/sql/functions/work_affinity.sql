-- work_affinity(owner, door, ns, topics, partitions, max, t, grace) → the facts that an instance's claim must
-- know: its seed; those of the other live instances of its service that claim here, and come (null:
-- there are none), each with the hash of a topic (null: of all that this claim may take), and since
-- when one of them has said so at least; and the partitions of which it holds runs (only if there
-- is a maximum of them). All null for a claimer that is no instance (partitions 0); no others if nothing is
-- left to them (grace 0). Reads only.
CREATE OR REPLACE FUNCTION {p}work_affinity(
    _owner uuid, _door smallint, _ns text, _topics text[], _partitions int, _max int, _t timestamptz, _grace interval,
    OUT seed bigint, OUT others bigint[], OUT other_topics int[], OUT since timestamptz, OUT held bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF _partitions = 0 THEN
        RETURN;
    END IF;
    seed := uuid_hash_extended(_owner, 0);
    IF _grace > interval '0' THEN
        SELECT array_agg(uuid_hash_extended(o.id, 0)), array_agg(h.topic), min(c.since) INTO others, other_topics, since
        FROM (SELECT i.service FROM {p}instance i WHERE i.id = _owner AND i.state = 1) me
        CROSS JOIN LATERAL (SELECT i.id FROM {p}instance i WHERE i.service = me.service AND i.state = 1 OFFSET 0) o
        CROSS JOIN LATERAL (SELECT c.since, c.topics,
                                   c.topics IS NULL OR coalesce(c.topics = _topics OR c.topics @> _topics, false) AS is_all
                            FROM {p}claimer c WHERE c.instance = o.id AND c.door = _door AND c.namespace = _ns AND c.comes OFFSET 0) c
        CROSS JOIN LATERAL (SELECT NULL::int AS topic WHERE c.is_all
                            UNION ALL
                            SELECT {p}topic_hash(x) FROM unnest(c.topics) x
                            WHERE NOT c.is_all AND (_topics IS NULL OR x = ANY (_topics))) h
        WHERE o.id <> _owner;
    END IF;
    IF _max IS NOT NULL THEN
        held := ARRAY(
            SELECT DISTINCT s.hash % _partitions
            FROM {p}lease l CROSS JOIN LATERAL generate_series(1, cardinality(l.runs), 4) r(i)
            CROSS JOIN LATERAL (SELECT s.hash FROM {p}stream s WHERE s.id = l.runs[r.i] OFFSET 0) s
            WHERE l.owner = _owner AND l.until >= _t AND l.runs IS NOT NULL AND l.runs[r.i + 2] > 0);
    END IF;
END
$$;
