-- messages_read(where, messages) → new messages of the outbox, from a JSON array of objects whose
-- keys are enqueue's arguments; nulls if it is empty, and for lists without a value. A bad one is an
-- error (SQLSTATE 22023) that begins with where and names its index.
CREATE OR REPLACE FUNCTION {p}messages_read(_where text, _messages jsonb) RETURNS {p}work_messages
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _m {p}work_messages;
    _problem text := {p}messages_problem(_messages);
    _priorities int[]; -- they fit, once there is no problem
    _most int[];
BEGIN
    IF _problem IS NULL THEN
        BEGIN
            SELECT array_agg(m.topic ORDER BY i), array_agg(m.payload ORDER BY i),
                   array_agg(coalesce(m.namespace, '') ORDER BY i),
                   CASE WHEN count(m.tenant_id) > 0 THEN array_agg(m.tenant_id ORDER BY i) END,
                   CASE WHEN count(m.dedupe_key) > 0 THEN array_agg(m.dedupe_key ORDER BY i) END,
                   CASE WHEN count(m.correlation_id) > 0 THEN array_agg(nullif(m.correlation_id, '') ORDER BY i) END,
                   CASE WHEN count(m.stream) > 0 THEN array_agg(m.stream ORDER BY i) END,
                   array_agg(coalesce(m.priority, 1) ORDER BY i),
                   CASE WHEN count(m.due_at) > 0 THEN array_agg(m.due_at ORDER BY i) END,
                   CASE WHEN count(m.expires_at) > 0 THEN array_agg(m.expires_at ORDER BY i) END,
                   CASE WHEN count(m.headers) > 0 THEN array_agg(m.headers ORDER BY i) END,
                   CASE WHEN count(m.message_id) > 0 THEN array_agg(m.message_id ORDER BY i) END,
                   CASE WHEN count(m.max_attempts) > 0 THEN array_agg(m.max_attempts ORDER BY i) END,
                   CASE WHEN count(m.join_id) > 0 THEN array_agg(m.join_id ORDER BY i) END,
                   (array_agg(format('message %s: %s', i - 1, c.problem) ORDER BY i) FILTER (WHERE c.problem IS NOT NULL))[1]
            INTO _m.topics, _m.payloads, _m.ns, _m.tenant_ids, _m.keys, _m.correlation_ids, _m.streams, _priorities,
                 _m.due_ats, _m.expires_ats, _m.headers, _m.message_ids, _most, _m.join_ids, _problem
            FROM ROWS FROM (jsonb_to_recordset(_messages) AS (
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
            _problem := coalesce({p}messages_cast_problem(_messages), SQLERRM);
        END;
    END IF;
    _problem := coalesce(_problem, {p}messages_bytes_problem(_m.payloads, _m.headers));
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = _where || ': ' || _problem;
    END IF;
    _m.levels := _priorities;
    _m.max_attempts := _most;
    RETURN _m;
END
$$;
