-- batch_claim(door, instance, wanted, new) → what process_work_batch answers for the messages that
-- this claims. new: work ids that this call has stored.
--
-- Locks: as work_claim.
CREATE OR REPLACE FUNCTION {p}batch_claim(_door smallint, _instance uuid, _wanted {p}work_wanted, _new uuid[])
    RETURNS SETOF {p}batch_item
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT CASE _door WHEN 0 THEN 'outbox' ELSE 'inbox' END,
           CASE WHEN c.work_id = ANY (_new) THEN 1 ELSE 0 END | CASE WHEN c.orphan THEN 2 ELSE 0 END
           | CASE WHEN c.retry_count > 0 THEN 4 ELSE 0 END,
           c.work_id, CASE _door WHEN 0 THEN c.message_id::text ELSE c.dedupe_key END, c.fence, c.topic, c.payload, c.tenant_id,
           CASE _door WHEN 0 THEN c.dedupe_key END, c.correlation_id, c.stream, c.headers, c.attempts, c.retry_count,
           c.created_at, c.due_at, c.last_error, c.source
    FROM {p}work_claim(_door, _instance, _wanted.lease_s, _wanted.batch_size, _wanted.ns, _wanted.topics, NULL, NULL,
                       _wanted.partition_count, _wanted.max_partitions) c
    WHERE c.work_id IS NOT NULL;
END
$$;
