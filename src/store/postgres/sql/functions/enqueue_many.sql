-- enqueue_many(messages) → (work_id, message_id, is_new) per element, in order:
-- a JSON array of objects whose keys are enqueue's arguments. All or none: one
-- bad element (or unknown key) is an error that names its index.
CREATE OR REPLACE FUNCTION {p}enqueue_many(messages jsonb) RETURNS SETOF {p}enqueued
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _known CONSTANT text[] := '{topic,payload,namespace,tenant_id,dedupe_key,correlation_id,stream,priority,'
                              'due_at,expires_at,headers,message_id,join_id,max_attempts}';
    _problem text;
    _args record;
BEGIN
    IF messages IS NULL OR jsonb_typeof(messages) <> 'array' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'enqueue_many: messages is not a JSON array';
    END IF;
    IF jsonb_array_length(messages) > 10000 THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = format('enqueue_many: %s messages; at most 10000 are allowed', jsonb_array_length(messages));
    END IF;
    SELECT format('message %s: %s', e.i - 1,
                  CASE WHEN jsonb_typeof(e.m) <> 'object' THEN 'is not a JSON object'
                       ELSE (SELECT format('unknown key "%s"', k) FROM jsonb_object_keys(
                                 CASE WHEN jsonb_typeof(e.m) = 'object' THEN e.m ELSE '{}' END) k
                             WHERE k <> ALL (_known) LIMIT 1) END)
    INTO _problem FROM jsonb_array_elements(messages) WITH ORDINALITY e(m, i)
    WHERE jsonb_typeof(e.m) <> 'object'
       OR EXISTS (SELECT FROM jsonb_object_keys(CASE WHEN jsonb_typeof(e.m) = 'object' THEN e.m ELSE '{}' END) k
                  WHERE k <> ALL (_known))
    ORDER BY e.i LIMIT 1;
    IF _problem IS NULL THEN
        SELECT array_agg(m.topic ORDER BY i) AS topics, array_agg(m.payload ORDER BY i) AS payloads,
               array_agg(coalesce(m.namespace, '') ORDER BY i) AS ns, array_agg(m.tenant_id ORDER BY i) AS tenant_ids,
               array_agg(m.dedupe_key ORDER BY i) AS dedupe_keys,
               array_agg(nullif(m.correlation_id, '') ORDER BY i) AS correlation_ids,
               array_agg(m.stream ORDER BY i) AS streams,
               array_agg(coalesce(m.priority, 1) ORDER BY i) AS priorities, array_agg(m.due_at ORDER BY i) AS due_ats,
               array_agg(m.expires_at ORDER BY i) AS expires_ats, array_agg(m.headers ORDER BY i) AS headers,
               array_agg(m.message_id ORDER BY i) AS message_ids, array_agg(m.max_attempts ORDER BY i) AS max_attempts,
               min(format('message %s: %s', lpad((i - 1)::text, 5), coalesce(
                   {p}message_problem(m.topic, m.payload, coalesce(m.namespace, ''), m.tenant_id, m.dedupe_key,
                                      m.correlation_id, m.stream, coalesce(m.priority, 1), m.due_at, m.expires_at,
                                      m.headers, m.max_attempts),
                   CASE WHEN m.join_id IS NOT NULL
                        THEN 'join_id is not supported by this version of the schema; leave it out' END)))
                   FILTER (WHERE m.join_id IS NOT NULL OR {p}message_problem(
                       m.topic, m.payload, coalesce(m.namespace, ''), m.tenant_id, m.dedupe_key, m.correlation_id,
                       m.stream, coalesce(m.priority, 1), m.due_at, m.expires_at, m.headers, m.max_attempts) IS NOT NULL)
                   AS problem
        INTO _args
        FROM ROWS FROM (jsonb_to_recordset(messages) AS (
                 topic text, payload text, namespace text, tenant_id uuid, dedupe_key text, correlation_id text,
                 stream text, priority int, due_at timestamptz, expires_at timestamptz, headers jsonb,
                 message_id uuid, join_id uuid, max_attempts int)) WITH ORDINALITY
             AS m(topic, payload, namespace, tenant_id, dedupe_key, correlation_id, stream, priority, due_at,
                  expires_at, headers, message_id, join_id, max_attempts, i);
        _problem := regexp_replace(_args.problem, '^message +', 'message ');
    END IF;
    IF _problem IS NULL AND _args.topics IS NULL THEN
        RETURN; -- an empty array
    END IF;
    IF _problem IS NULL THEN
        RETURN QUERY SELECT r.work_id, r.message_id, r.is_new FROM {p}work_enqueue_many(
            0::smallint, _args.ns, _args.topics, _args.payloads, _args.tenant_ids, _args.dedupe_keys,
            _args.correlation_ids, _args.streams, _args.priorities::smallint[], _args.due_ats, _args.expires_ats,
            _args.headers, _args.message_ids, _args.max_attempts::smallint[]) r
        WHERE {p}raise_problem('enqueue_many', r.ord, r.problem);
        RETURN;
    END IF;
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'enqueue_many: ' || _problem;
END
$$;
