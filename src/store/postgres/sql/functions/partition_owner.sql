-- partition_owner(service, partition) → the live instance of the service to which the
-- partition belongs: the one with the highest score (rendezvous hashing, so that an instance
-- that comes or goes moves only its own share). Null: there is none. work_claim compares the
-- same scores.
CREATE OR REPLACE FUNCTION {p}partition_owner(_service text, _partition int) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT i.id FROM {p}instance i WHERE i.service = _service AND i.state = 1
    ORDER BY hashint8extended(_partition, uuid_hash_extended(i.id, 0)) DESC, i.id LIMIT 1
$$;
