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
    _problem text := coalesce(
        {p}instance_problem(instance_id, service_name, host_name, process_id, metadata, lease_seconds, stale_threshold_seconds),
        {p}claim_problem(instance_id, lease_seconds, batch_size, namespace, topics, NULL),
        CASE WHEN flags IS NULL OR flags NOT BETWEEN 0 AND 15
                 THEN format('flags is %s; give the bits 1, 2, 4 and 8', coalesce(flags::text, 'null'))
             WHEN partition_count IS NULL OR partition_count NOT BETWEEN 1 AND 1000000
                 THEN format('partition_count is %s; give 1 to 1000000', coalesce(partition_count::text, 'null'))
             WHEN max_partitions_per_instance < 1
                 THEN format('max_partitions_per_instance is %s; give 1 or more, or leave it out', max_partitions_per_instance)
        END,
        CASE WHEN renew_outbox_ids IS NOT NULL THEN 'renew_outbox_ids: ' || {p}ids_problem(renew_outbox_ids) END,
        CASE WHEN renew_inbox_ids IS NOT NULL THEN 'renew_inbox_ids: ' || {p}ids_problem(renew_inbox_ids) END);
    _outbox record;
    _inbox record;
    _receptors record;
    _checkpoints record;
    _out record;
    _in record;
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
    SELECT * INTO _outbox FROM {p}batch_settlements('outbox', outbox_completions, outbox_failures);
    SELECT * INTO _inbox FROM {p}batch_settlements('inbox', inbox_completions, inbox_failures);
    IF coalesce(receptor_completions, receptor_failures, checkpoint_completions, checkpoint_failures, new_outbox_messages,
                new_inbox_messages) IS NULL THEN
        SELECT r.next_at <= coalesce(s.clock, clock_timestamp()) INTO _tidies
        FROM {p}store s CROSS JOIN {p}retention_turn r WHERE s.one AND r.one;
        IF _tidies THEN
            PERFORM {p}batch_retention({p}clock());
        END IF;
        SELECT * INTO _done FROM {p}work_batch(
            instance_id, service_name, host_name, process_id, metadata, lease_seconds, stale_threshold_seconds, partition_count,
            flags & 1 > 0,
            _outbox.ids, _outbox.fences, _outbox.verbs, _outbox.errors, _outbox.delays,
            _inbox.ids, _inbox.fences, _inbox.verbs, _inbox.errors, _inbox.delays,
            nullif(renew_outbox_ids[:], '{}'), NULL, nullif(renew_inbox_ids[:], '{}'), NULL, _again);
    ELSE
        SELECT * INTO _receptors FROM {p}batch_receptors(receptor_completions, receptor_failures);
        SELECT * INTO _checkpoints FROM {p}batch_checkpoints(checkpoint_completions, checkpoint_failures);
        SELECT * INTO _out FROM {p}messages_read('process_work_batch: new_outbox_messages', coalesce(new_outbox_messages, '[]'));
        SELECT * INTO _in FROM {p}batch_inbox(new_inbox_messages);
        SELECT * INTO _done FROM {p}work_batch_whole(
            instance_id, service_name, host_name, process_id, metadata, lease_seconds, stale_threshold_seconds, partition_count,
            flags & 1 > 0,
            _outbox.ids, _outbox.fences, _outbox.verbs, _outbox.errors, _outbox.delays,
            _inbox.ids, _inbox.fences, _inbox.verbs, _inbox.errors, _inbox.delays,
            nullif(renew_outbox_ids[:], '{}'), NULL, nullif(renew_inbox_ids[:], '{}'), NULL,
            _receptors.ids, _receptors.names, _receptors.failed, _receptors.errors,
            _checkpoints.doors, _checkpoints.ns, _checkpoints.streams, _checkpoints.consumers, _checkpoints.seqs,
            _checkpoints.failed, _checkpoints.errors,
            _out.ns, _out.topics, _out.payloads, _out.tenant_ids, _out.keys, _out.correlation_ids, _out.streams, _out.levels,
            _out.due_ats, _out.expires_ats, _out.headers, _out.message_ids, _out.max_attempts, _out.join_ids, NULL, NULL,
            _in.ns, _in.topics, _in.payloads, _in.tenant_ids, _in.keys, _in.correlation_ids, _in.streams, _in.levels,
            _in.due_ats, _in.expires_ats, _in.headers, _in.message_ids, _in.max_attempts, _in.join_ids, _in.sources,
            _in.handled, _again);
        IF _done.part IS NOT NULL THEN
            PERFORM {p}batch_fail(_done.part, _done.at, _done.result_problem, _done.join_problem, _done.problem,
                                  _out.join_ids[_done.at + 1], _done.problem_message,
                                  jsonb_array_length(CASE _done.part WHEN 1 THEN receptor_completions ELSE checkpoint_completions END));
        END IF;
        _new := ARRAY(SELECT u.id FROM unnest(_done.new_outbox_ids || _done.new_inbox_ids,
                                              _done.new_outbox_is_new || _done.new_inbox_is_new) u(id, is_new) WHERE u.is_new);
    END IF;
    IF _done.ended_at IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = format(
            'process_work_batch: instance %s %s at %s; register anew under a fresh id', instance_id,
            (SELECT CASE WHEN i.state = 2 THEN 'has left' ELSE 'was taken for dead' END FROM {p}instance i WHERE i.id = instance_id),
            to_char(_done.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'));
    END IF;
    IF flags & 2 = 0 THEN
        RETURN QUERY SELECT 'outbox', CASE WHEN c.work_id = ANY (_new) THEN 1 ELSE 0 END | CASE WHEN c.orphan THEN 2 ELSE 0 END
                                      | CASE WHEN c.retry_count > 0 THEN 4 ELSE 0 END,
                            c.work_id, c.message_id::text, c.fence, c.topic, c.payload, c.tenant_id, c.dedupe_key, c.correlation_id,
                            c.stream, c.headers, c.attempts, c.retry_count, c.created_at, c.due_at, c.last_error, NULL::text
        FROM {p}work_claim(0::smallint, instance_id, lease_seconds, batch_size, namespace, topics, NULL, NULL, partition_count,
                           max_partitions_per_instance) c WHERE c.work_id IS NOT NULL;
    END IF;
    IF flags & 4 = 0 THEN
        RETURN QUERY SELECT 'inbox', CASE WHEN c.work_id = ANY (_new) THEN 1 ELSE 0 END | CASE WHEN c.orphan THEN 2 ELSE 0 END
                                     | CASE WHEN c.retry_count > 0 THEN 4 ELSE 0 END,
                            c.work_id, c.dedupe_key, c.fence, c.topic, c.payload, c.tenant_id, NULL::text, c.correlation_id,
                            c.stream, c.headers, c.attempts, c.retry_count, c.created_at, c.due_at, c.last_error, c.source
        FROM {p}work_claim(1::smallint, instance_id, lease_seconds, batch_size, namespace, topics, NULL, NULL, partition_count,
                           max_partitions_per_instance) c WHERE c.work_id IS NOT NULL;
    END IF;
    IF flags & 8 > 0 THEN
        RETURN QUERY SELECT * FROM {p}batch_late('outbox', _outbox.ids, _done.outbox_outcomes, renew_outbox_ids[:], _done.outbox_renewed);
        RETURN QUERY SELECT * FROM {p}batch_late('inbox', _inbox.ids, _done.inbox_outcomes, renew_inbox_ids[:], _done.inbox_renewed);
    END IF;
END
$$;
