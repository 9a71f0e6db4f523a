-- enqueue_many(messages) → (work_id, message_id, is_new) per element, in order:
-- a JSON array of objects whose keys are enqueue's arguments. All or none: one
-- bad element (or unknown key) is an error that names its index.
CREATE OR REPLACE FUNCTION {p}enqueue_many(messages jsonb) RETURNS SETOF {p}enqueued
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _args record;
BEGIN
    SELECT * INTO _args FROM {p}messages_read('enqueue_many', messages);
    IF _args.topics IS NULL THEN
        RETURN; -- an empty array
    END IF;
    RETURN QUERY SELECT r.work_id, r.message_id, r.is_new FROM {p}work_enqueue_many(
        0::smallint, _args.ns, _args.topics, _args.payloads, _args.tenant_ids, _args.keys,
        _args.correlation_ids, _args.streams, _args.levels, _args.due_ats, _args.expires_ats,
        _args.headers, _args.message_ids, _args.max_attempts, _args.join_ids) r
    WHERE {p}raise_problem('enqueue_many', r.ord, r.problem)
      AND {p}join_raise(format('enqueue_many: message %s', r.ord), r.join_problem, _args.join_ids[r.ord + 1], r.message_id);
END
$$;
