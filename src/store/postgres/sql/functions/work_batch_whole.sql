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
    _id uuid, _service text, _host text, _process_id int, _metadata jsonb, _lease_s int, _stale_s int,
    _partitions int, _keep boolean,
    _outbox_ids uuid[], _outbox_fences bigint[], _outbox_verbs smallint[], _outbox_errors text[], _outbox_delays bigint[],
    _inbox_ids uuid[], _inbox_fences bigint[], _inbox_verbs smallint[], _inbox_errors text[], _inbox_delays bigint[],
    _renew_outbox_ids uuid[], _renew_outbox_fences bigint[], _renew_inbox_ids uuid[], _renew_inbox_fences bigint[],
    _receptor_ids uuid[], _receptors text[], _receptor_failed boolean[], _receptor_errors text[],
    _checkpoint_doors smallint[], _checkpoint_ns text[], _checkpoint_streams text[], _checkpoint_consumers text[],
    _checkpoint_seqs bigint[], _checkpoint_failed boolean[], _checkpoint_errors text[],
    _out_ns text[], _out_topics text[], _out_payloads text[], _out_tenant_ids uuid[], _out_keys text[],
    _out_correlation_ids text[], _out_streams text[], _out_levels smallint[], _out_due_ats timestamptz[],
    _out_expires_ats timestamptz[], _out_headers jsonb[], _out_message_ids uuid[], _out_max_attempts smallint[],
    _out_join_ids uuid[], _out_sources text[], _out_handled boolean[],
    _in_ns text[], _in_topics text[], _in_payloads text[], _in_tenant_ids uuid[], _in_keys text[],
    _in_correlation_ids text[], _in_streams text[], _in_levels smallint[], _in_due_ats timestamptz[],
    _in_expires_ats timestamptz[], _in_headers jsonb[], _in_message_ids uuid[], _in_max_attempts smallint[],
    _in_join_ids uuid[], _in_sources text[], _in_handled boolean[], _again boolean = false,
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
    SELECT i.ended_at INTO ended_at FROM {p}instance i WHERE i.id = _id AND i.state <> 1;
    IF FOUND THEN -- refused, even if more is wrong; work_batch looks again
        RETURN;
    END IF;
    BEGIN
        IF _receptor_ids IS NOT NULL THEN
            part := 1;
            SELECT nullif(r.problem, 0), r.at INTO result_problem, at
            FROM {p}work_receptors(_receptor_ids, _receptors, _receptor_failed, _receptor_errors) r;
            IF result_problem IS NOT NULL THEN
                RAISE SQLSTATE 'PH001';
            END IF;
        END IF;
        IF _checkpoint_doors IS NOT NULL THEN
            part := 2;
            SELECT nullif(c.problem, 0), c.at INTO result_problem, at
            FROM {p}work_checkpoints(_checkpoint_doors, _checkpoint_ns, _checkpoint_streams, _checkpoint_consumers,
                                     _checkpoint_seqs, _checkpoint_failed, _checkpoint_errors) c;
            IF result_problem IS NOT NULL THEN
                RAISE SQLSTATE 'PH001';
            END IF;
        END IF;
        part := NULL;
        SELECT b.* INTO registered, evicted, evicted_one, ended_at, outbox_outcomes, inbox_outcomes, outbox_renewed,
                        inbox_renewed, joins
        FROM {p}work_batch(
            _id, _service, _host, _process_id, _metadata, _lease_s, _stale_s, _partitions, _keep,
            _outbox_ids, _outbox_fences, _outbox_verbs, _outbox_errors, _outbox_delays,
            _inbox_ids, _inbox_fences, _inbox_verbs, _inbox_errors, _inbox_delays,
            _renew_outbox_ids, _renew_outbox_fences, _renew_inbox_ids, _renew_inbox_fences, _again) b;
        IF ended_at IS NOT NULL THEN -- refused: the results have not happened either
            RAISE SQLSTATE 'PH001';
        END IF;
        IF _out_topics IS NOT NULL THEN
            part := 3;
            SELECT array_agg(m.work_id ORDER BY m.ord), array_agg(m.message_id ORDER BY m.ord),
                   array_agg(m.is_new ORDER BY m.ord), min(m.joins), min(m.problem), min(m.join_problem), min(m.ord)
            INTO new_outbox_ids, new_outbox_message_ids, new_outbox_is_new, _more, problem, join_problem, at
            FROM {p}work_enqueue_many(
                0::smallint, _out_ns, _out_topics, _out_payloads, _out_tenant_ids, _out_keys, _out_correlation_ids,
                _out_streams, _out_levels, _out_due_ats, _out_expires_ats, _out_headers, _out_message_ids,
                _out_max_attempts, _out_join_ids, _out_sources, _out_handled) m;
            IF problem IS NOT NULL OR join_problem IS NOT NULL THEN
                problem_message := new_outbox_message_ids[1];
                RAISE SQLSTATE 'PH001';
            END IF;
            joins := CASE WHEN _more IS NULL THEN joins ELSE concat_ws(E'\n', joins, _more) END;
        END IF;
        IF _in_topics IS NOT NULL THEN
            part := 4;
            SELECT array_agg(m.work_id ORDER BY m.ord), array_agg(m.message_id ORDER BY m.ord),
                   array_agg(m.is_new ORDER BY m.ord), min(m.problem), min(m.ord)
            INTO new_inbox_ids, new_inbox_message_ids, new_inbox_is_new, problem, at
            FROM {p}work_enqueue_many(
                1::smallint, _in_ns, _in_topics, _in_payloads, _in_tenant_ids, _in_keys, _in_correlation_ids, _in_streams,
                _in_levels, _in_due_ats, _in_expires_ats, _in_headers, _in_message_ids, _in_max_attempts, _in_join_ids,
                _in_sources, _in_handled) m;
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
