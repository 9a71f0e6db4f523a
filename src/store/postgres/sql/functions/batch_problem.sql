-- batch_problem(me, wanted, flags, renew_outbox_ids, renew_inbox_ids) → what is wrong with the plain
-- arguments of process_work_batch, or null.
CREATE OR REPLACE FUNCTION {p}batch_problem(
    _me {p}work_instance, _wanted {p}work_wanted, _flags int, _renew_outbox_ids uuid[], _renew_inbox_ids uuid[]) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN coalesce(
        {p}instance_problem(_me.id, _me.service, _me.host, _me.process_id, _me.metadata, _me.lease_s, _me.stale_s),
        {p}claim_problem(_me.id, _wanted.lease_s, _wanted.batch_size, _wanted.ns, _wanted.topics, NULL),
        CASE WHEN _flags IS NULL OR _flags NOT BETWEEN 0 AND 15
                 THEN format('flags is %s; give the bits 1, 2, 4 and 8', coalesce(_flags::text, 'null'))
             WHEN _me.partitions IS NULL OR _me.partitions NOT BETWEEN 1 AND 1000000
                 THEN format('partition_count is %s; give 1 to 1000000', coalesce(_me.partitions::text, 'null'))
             WHEN _wanted.max_partitions < 1
                 THEN format('max_partitions_per_instance is %s; give 1 or more, or leave it out', _wanted.max_partitions)
        END,
        CASE WHEN _renew_outbox_ids IS NOT NULL THEN 'renew_outbox_ids: ' || {p}ids_problem(_renew_outbox_ids) END,
        CASE WHEN _renew_inbox_ids IS NOT NULL THEN 'renew_inbox_ids: ' || {p}ids_problem(_renew_inbox_ids) END);
END
$$;
