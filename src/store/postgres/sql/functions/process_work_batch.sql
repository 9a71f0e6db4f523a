-- process_work_batch(…): all reports and requests of a worker, in one call. Registers the instance
-- or beats its heart; removes stale ones; keeps results of receptors and checkpoints; settles,
-- renews leases, stores new messages; then claims from outbox and inbox, and answers the claimed
-- messages.
--
-- Lists are JSON arrays of objects: completions {work_id, fence}; failures also {error,
-- permanent, delay (seconds)}; receptors {work_id, receptor, error}; checkpoints {stream,
-- consumer, seq, namespace, door, error}; new messages as in enqueue_many and inbox_receive.
-- flags: 1 keep completed messages, 2 do not claim outbox, 4 do not claim inbox, 8 report late
-- settlements and renewals. In the answer: 1 stored in this call, 2 taken over from a worker that
-- was lost, 4 a retry; message_id: of the inbox, the id at the source. 8, if asked for: the lease
-- of a message that was to be settled or renewed is not the instance's any more; all but door and
-- work_id is null. A completion that is repeated is none of these if the call can be seen to be
-- alone (query_is_single). Bad arguments: SQLSTATE 22023; no such message or stream: P0002; the
-- instance was evicted, or has left: 55000. Then nothing was done. Another's lease disturbs
-- nothing.
-- Locks: as work_batch_whole and work_claim. An idle call takes no transaction id.
CREATE OR REPLACE FUNCTION {p}process_work_batch(
    instance_id uuid, service_name text, host_name text, process_id int, metadata jsonb = NULL,
    outbox_completions jsonb = NULL, outbox_failures jsonb = NULL, inbox_completions jsonb = NULL,
    inbox_failures jsonb = NULL, receptor_completions jsonb = NULL, receptor_failures jsonb = NULL,
    checkpoint_completions jsonb = NULL, checkpoint_failures jsonb = NULL, new_outbox_messages jsonb = NULL,
    new_inbox_messages jsonb = NULL, renew_outbox_ids uuid[] = NULL, renew_inbox_ids uuid[] = NULL, flags int = 0,
    namespace text = '', topics text[] = NULL, batch_size int = 50, partition_count int = 10000,
    max_partitions_per_instance int = NULL, lease_seconds int = 300, stale_threshold_seconds int = 600)
    RETURNS SETOF {p}batch_item
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {one_plan}
AS $$
#variable_conflict use_variable
DECLARE
    _me CONSTANT {p}work_instance := (instance_id, service_name, host_name, process_id, metadata, lease_seconds,
                                      stale_threshold_seconds, partition_count);
    _problem text := coalesce(
        {p}instance_problem(instance_id, service_name, host_name, process_id, metadata, lease_seconds, stale_threshold_seconds),
        {p}claim_problem(instance_id, lease_seconds, batch_size, namespace, topics, NULL),
        {p}batch_problem(flags, partition_count, max_partitions_per_instance, renew_outbox_ids, renew_inbox_ids));
    _outbox {p}work_settlements;
    _inbox {p}work_settlements;
    _renew_outbox CONSTANT {p}work_renewals := (nullif(renew_outbox_ids[:], '{}'), NULL);
    _renew_inbox CONSTANT {p}work_renewals := (nullif(renew_inbox_ids[:], '{}'), NULL);
    _done record;
    _new uuid[];
    _tidies boolean;
    _context text;
    _again boolean := false; -- see work_settle
BEGIN
    GET DIAGNOSTICS _context = PG_CONTEXT;
    IF coalesce(outbox_completions, inbox_completions) IS NOT NULL THEN
        _again := {p}call_is_first(_context) AND {p}query_is_single('process_work_batch');
    END IF;
    IF new_inbox_messages @> '[{"handled": true}]' THEN
        _problem := coalesce(_problem, CASE WHEN {p}call_is_alone(_context)
            THEN 'new_inbox_messages: handled needs a transaction of yours, in which the work is done' END);
    END IF;
    PERFORM {p}batch_raise(_problem);
    _outbox := {p}batch_settlements('outbox', outbox_completions, outbox_failures);
    _inbox := {p}batch_settlements('inbox', inbox_completions, inbox_failures);
    IF coalesce(receptor_completions, receptor_failures, checkpoint_completions, checkpoint_failures, new_outbox_messages,
                new_inbox_messages) IS NULL THEN
        SELECT r.next_at <= coalesce(s.clock, clock_timestamp()) INTO _tidies
        FROM {p}store s CROSS JOIN {p}retention_turn r WHERE s.one AND r.one;
        IF _tidies THEN
            PERFORM {p}batch_retention({p}clock());
        END IF;
        _done := {p}work_batch(_me, flags & 1 > 0, _again, _outbox, _inbox, _renew_outbox, _renew_inbox);
    ELSE
        _done := {p}batch_whole(_me, flags & 1 > 0, _again, _outbox, _inbox, _renew_outbox, _renew_inbox, receptor_completions,
                                receptor_failures, checkpoint_completions, checkpoint_failures, new_outbox_messages,
                                new_inbox_messages);
        _new := _done.new_ids;
    END IF;
    IF _done.ended_at IS NOT NULL THEN
        PERFORM {p}batch_refuse(instance_id, _done.ended_at);
    END IF;
    RETURN QUERY
    SELECT d.name, CASE WHEN c.work_id = ANY (_new) THEN 1 ELSE 0 END | CASE WHEN c.orphan THEN 2 ELSE 0 END
                   | CASE WHEN c.retry_count > 0 THEN 4 ELSE 0 END,
           c.work_id, CASE WHEN d.door = 0 THEN c.message_id::text ELSE c.dedupe_key END, c.fence, c.topic, c.payload,
           c.tenant_id, CASE WHEN d.door = 0 THEN c.dedupe_key END, c.correlation_id, c.stream, c.headers, c.attempts,
           c.retry_count, c.created_at, c.due_at, c.last_error, c.source
    FROM (VALUES ('outbox', 0::smallint, 2), ('inbox', 1::smallint, 4)) d(name, door, unwanted)
    CROSS JOIN LATERAL {p}work_claim(d.door, instance_id, lease_seconds, batch_size, namespace, topics, NULL, NULL,
                                     partition_count, max_partitions_per_instance) c
    WHERE flags & d.unwanted = 0 AND c.work_id IS NOT NULL;
    IF flags & 8 > 0 THEN
        RETURN QUERY SELECT * FROM {p}batch_late('outbox', _outbox.ids, _done.outbox_outcomes, renew_outbox_ids[:], _done.outbox_renewed);
        RETURN QUERY SELECT * FROM {p}batch_late('inbox', _inbox.ids, _done.inbox_outcomes, renew_inbox_ids[:], _done.inbox_renewed);
    END IF;
END
$$;
