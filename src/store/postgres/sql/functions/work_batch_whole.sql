-- work_batch_whole(…): the one exchange with all its parts, before the claims: results of
-- receptors and checkpoints (first, while their messages are still there: an ack may delete them),
-- then work_batch, then new messages of outbox and inbox. Parts that are null cost nothing.
--
-- A part that is wrong undoes everything, and is an answer, not an error, so that the caller's
-- transaction lives on: part (1 receptors, 2 checkpoints, 3 outbox, 4 inbox), at (which item,
-- from 0), and one of result_problem (enum ph__result_problem), join_problem (enum
-- ph__join_problem, with problem_message) and problem, in words.
-- Locks: as its parts, in this order: receptors' and checkpoints' rows, instances, leases, joins;
-- then, of the outbox, then of the inbox: dedupe keys, joins, streams.
CREATE OR REPLACE FUNCTION {p}work_batch_whole(
    _me {p}work_instance, _keep boolean, _again boolean, _outbox {p}work_settlements, _inbox {p}work_settlements,
    _renew_outbox {p}work_renewals, _renew_inbox {p}work_renewals, _receptors {p}work_receptor_results,
    _checkpoints {p}work_checkpoint_results, _new_outbox {p}work_messages, _new_inbox {p}work_messages,
    OUT registered boolean, OUT evicted int, OUT evicted_one uuid, OUT ended_at timestamptz,
    OUT outbox_outcomes smallint[], OUT inbox_outcomes smallint[], OUT outbox_renewed smallint[], OUT inbox_renewed smallint[],
    OUT joins text,
    OUT new_outbox_ids uuid[], OUT new_outbox_message_ids uuid[], OUT new_outbox_is_new boolean[],
    OUT new_inbox_ids uuid[], OUT new_inbox_message_ids uuid[], OUT new_inbox_is_new boolean[],
    OUT part smallint, OUT at int, OUT result_problem smallint, OUT join_problem smallint, OUT problem_message uuid,
    OUT problem text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {one_plan}
AS $$
#variable_conflict use_column
DECLARE
    _more text;
BEGIN
    SELECT i.ended_at INTO ended_at FROM {p}instance i WHERE i.id = _me.id AND i.state <> 1;
    IF FOUND THEN -- refused, even if more is wrong; work_batch looks again
        RETURN;
    END IF;
    BEGIN
        IF _receptors.ids IS NOT NULL THEN
            part := 1;
            SELECT nullif(r.problem, 0), r.at INTO result_problem, at
            FROM {p}work_receptors(_receptors.ids, _receptors.names, _receptors.failed, _receptors.errors) r;
            IF result_problem IS NOT NULL THEN
                RAISE SQLSTATE 'PH001';
            END IF;
        END IF;
        IF _checkpoints.doors IS NOT NULL THEN
            part := 2;
            SELECT nullif(c.problem, 0), c.at INTO result_problem, at
            FROM {p}work_checkpoints(_checkpoints.doors, _checkpoints.ns, _checkpoints.streams, _checkpoints.consumers,
                                     _checkpoints.seqs, _checkpoints.failed, _checkpoints.errors) c;
            IF result_problem IS NOT NULL THEN
                RAISE SQLSTATE 'PH001';
            END IF;
        END IF;
        part := NULL;
        SELECT b.* INTO registered, evicted, evicted_one, ended_at, outbox_outcomes, inbox_outcomes, outbox_renewed,
                        inbox_renewed, joins
        FROM {p}work_batch(_me, _keep, _again, _outbox, _inbox, _renew_outbox, _renew_inbox) b;
        IF ended_at IS NOT NULL THEN -- refused: the results have not happened either
            RAISE SQLSTATE 'PH001';
        END IF;
        IF _new_outbox.topics IS NOT NULL THEN
            part := 3;
            SELECT m.ids, m.message_ids, m.is_new, m.joins, m.problem, m.at, m.join_problem, m.problem_message
            INTO new_outbox_ids, new_outbox_message_ids, new_outbox_is_new, _more, problem, at, join_problem, problem_message
            FROM {p}work_enqueue_many(0::smallint, _new_outbox) m;
            IF problem IS NOT NULL OR join_problem IS NOT NULL THEN
                RAISE SQLSTATE 'PH001';
            END IF;
            joins := CASE WHEN _more IS NULL THEN joins ELSE concat_ws(E'\n', joins, _more) END;
        END IF;
        IF _new_inbox.topics IS NOT NULL THEN
            part := 4;
            SELECT m.ids, m.message_ids, m.is_new, m.problem, m.at
            INTO new_inbox_ids, new_inbox_message_ids, new_inbox_is_new, problem, at
            FROM {p}work_enqueue_many(1::smallint, _new_inbox) m;
            IF problem IS NOT NULL THEN
                RAISE SQLSTATE 'PH001';
            END IF;
        END IF;
        part := NULL;
    EXCEPTION WHEN SQLSTATE 'PH001' THEN
        joins := NULL; -- it has not happened
    END;
END
$$;
