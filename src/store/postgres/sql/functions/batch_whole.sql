-- batch_whole(…): work_batch_whole with results and new messages as process_work_batch takes them.
-- new_ids: the work ids that it has stored. Bad ones, and what work_batch_whole does not do, are
-- errors (batch_raise, batch_fail).
--
-- Locks: as work_batch_whole.
CREATE OR REPLACE FUNCTION {p}batch_whole(
    _me {p}work_instance, _keep boolean, _again boolean, _outbox {p}work_settlements, _inbox {p}work_settlements,
    _renew_outbox {p}work_renewals, _renew_inbox {p}work_renewals,
    _receptor_completions jsonb, _receptor_failures jsonb, _checkpoint_completions jsonb, _checkpoint_failures jsonb,
    _new_outbox jsonb, _new_inbox jsonb,
    OUT ended_at timestamptz, OUT outbox_outcomes smallint[], OUT inbox_outcomes smallint[],
    OUT outbox_renewed smallint[], OUT inbox_renewed smallint[], OUT new_ids uuid[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _receptors CONSTANT {p}work_receptor_results := {p}batch_receptors(_receptor_completions, _receptor_failures);
    _checkpoints CONSTANT {p}work_checkpoint_results := {p}batch_checkpoints(_checkpoint_completions, _checkpoint_failures);
    _out CONSTANT {p}work_messages := {p}messages_read('process_work_batch: new_outbox_messages', coalesce(_new_outbox, '[]'));
    _in CONSTANT {p}work_messages := {p}batch_inbox(_new_inbox);
    _done record;
BEGIN
    _done := {p}work_batch_whole(_me, _keep, _again, _outbox, _inbox, _renew_outbox, _renew_inbox, _receptors, _checkpoints,
                                 _out, _in);
    IF _done.part IS NOT NULL THEN
        PERFORM {p}batch_fail(_done.part, _done.at, _done.result_problem, _done.join_problem, _done.problem,
                              _out.join_ids[_done.at + 1], _done.problem_message,
                              jsonb_array_length(CASE _done.part WHEN 1 THEN _receptor_completions ELSE _checkpoint_completions END));
    END IF;
    ended_at := _done.ended_at;
    outbox_outcomes := _done.outbox_outcomes;
    inbox_outcomes := _done.inbox_outcomes;
    outbox_renewed := _done.outbox_renewed;
    inbox_renewed := _done.inbox_renewed;
    new_ids := ARRAY(SELECT u.id FROM unnest(_done.new_outbox_ids, _done.new_outbox_is_new) u(id, is_new)
                     WHERE u.is_new IS NOT FALSE) ||
               ARRAY(SELECT u.id FROM unnest(_done.new_inbox_ids, _done.new_inbox_is_new) u(id, is_new)
                     WHERE u.is_new IS NOT FALSE);
END
$$;
