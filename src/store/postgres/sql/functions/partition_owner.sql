-- partition_owner(service, partition, door, ns, topic) → the live instance of the service to which
-- the partition belongs, for heads of this queue and topic (null: of any): among those that claim
-- them, and come, the one with the highest score (rendezvous hashing, so that an instance that
-- comes or goes moves only its own share). Null: there is none. work_claim compares the same
-- scores.
CREATE OR REPLACE FUNCTION {p}partition_owner(_service text, _partition int, _door smallint, _ns text, _topic text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT i.id FROM {p}instance i
    CROSS JOIN LATERAL (SELECT FROM {p}claimer c
                        WHERE c.instance = i.id AND c.door = _door AND c.namespace = _ns AND c.comes
                          AND (_topic IS NULL OR c.topics IS NULL OR _topic = ANY (c.topics)) OFFSET 0) c
    WHERE i.service = _service AND i.state = 1
    ORDER BY hashint8extended(_partition, uuid_hash_extended(i.id, 0)) DESC, i.id LIMIT 1
$$;
