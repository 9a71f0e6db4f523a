-- enqueue_many(messages) → (work_id, message_id, is_new) per element, in order:
-- a JSON array of objects whose keys are enqueue's arguments. All or none: one
-- bad element (or unknown key) is an error that names its index.
CREATE OR REPLACE FUNCTION {p}enqueue_many(messages jsonb) RETURNS SETOF {p}enqueued
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _problem text := {p}messages_problem(messages);
    _args record;
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'enqueue_many: ' || _problem;
    END IF;
    BEGIN
        SELECT array_agg(m.topic ORDER BY i) AS topics, array_agg(m.payload ORDER BY i) AS payloads,
               array_agg(coalesce(m.namespace, '') ORDER BY i) AS ns, array_agg(m.tenant_id ORDER BY i) AS tenant_ids,
               array_agg(m.dedupe_key ORDER BY i) AS dedupe_keys,
               array_agg(nullif(m.correlation_id, '') ORDER BY i) AS correlation_ids,
               array_agg(m.stream ORDER BY i) AS streams,
               array_agg(coalesce(m.priority, 1) ORDER BY i) AS priorities, array_agg(m.due_at ORDER BY i) AS due_ats,
               array_agg(m.expires_at ORDER BY i) AS expires_ats, array_agg(m.headers ORDER BY i) AS headers,
               array_agg(m.message_id ORDER BY i) AS message_ids, array_agg(m.max_attempts ORDER BY i) AS max_attempts,
               CASE WHEN count(m.join_id) > 0 THEN array_agg(m.join_id ORDER BY i) END AS join_ids,
               array_agg(format('message %s: %s', i - 1, c.problem) ORDER BY i) FILTER (WHERE c.problem IS NOT NULL) AS problems
        INTO _args
        FROM ROWS FROM (jsonb_to_recordset(messages) AS (
                 topic text, payload text, namespace text, tenant_id uuid, dedupe_key text, correlation_id text,
                 stream text, priority int, due_at timestamptz, expires_at timestamptz, headers jsonb,
                 message_id uuid, join_id uuid, max_attempts int)) WITH ORDINALITY
             AS m(topic, payload, namespace, tenant_id, dedupe_key, correlation_id, stream, priority, due_at,
                  expires_at, headers, message_id, join_id, max_attempts, i)
        CROSS JOIN LATERAL (SELECT
            {p}message_problem(m.topic, m.payload, coalesce(m.namespace, ''), m.tenant_id, m.dedupe_key, m.correlation_id,
                               m.stream, coalesce(m.priority, 1), m.due_at, m.expires_at, m.headers, m.max_attempts,
                               m.message_id) AS problem OFFSET 0) c;
    EXCEPTION WHEN data_exception THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = 'enqueue_many: ' || coalesce({p}messages_cast_problem(messages), SQLERRM);
    END;
    IF _args.problems IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'enqueue_many: ' || _args.problems[1];
    END IF;
    IF _args.topics IS NULL THEN
        RETURN; -- an empty array
    END IF;
    RETURN QUERY SELECT r.work_id, r.message_id, r.is_new FROM {p}work_enqueue_many(
        0::smallint, _args.ns, _args.topics, _args.payloads, _args.tenant_ids, _args.dedupe_keys,
        _args.correlation_ids, _args.streams, _args.priorities::smallint[], _args.due_ats, _args.expires_ats,
        _args.headers, _args.message_ids, _args.max_attempts::smallint[], _args.join_ids) r
    WHERE {p}raise_problem('enqueue_many', r.ord, r.problem)
      AND {p}join_raise(format('enqueue_many: message %s', r.ord), r.join_problem, _args.join_ids[r.ord + 1], r.message_id);
END
$$;
