-- messages_problem(messages) → what is wrong with the shape of enqueue_many's
-- argument, or null: the array, its objects, their keys and JSON types. The
-- first bad message is named by its index.
CREATE OR REPLACE FUNCTION {p}messages_problem(_messages jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _problem text;
BEGIN
    IF _messages IS NULL OR jsonb_typeof(_messages) <> 'array' THEN
        RETURN 'messages is not a JSON array';
    END IF;
    IF jsonb_array_length(_messages) > 10000 THEN
        RETURN format('%s messages; at most 10000 are allowed', jsonb_array_length(_messages));
    END IF;
    SELECT format('message %s: %s', e.i - 1, coalesce(x.problem, 'is not a JSON object')) INTO _problem
    FROM jsonb_array_elements(_messages) WITH ORDINALITY e(m, i)
    LEFT JOIN LATERAL (
        SELECT CASE
            WHEN a.k NOT IN ('topic', 'payload', 'namespace', 'tenant_id', 'dedupe_key', 'correlation_id', 'stream', 'priority',
                             'due_at', 'expires_at', 'headers', 'message_id', 'join_id', 'max_attempts')
                THEN format('unknown key "%s"', a.k)
            WHEN jsonb_typeof(a.v) = 'null' OR a.k = 'headers' THEN NULL
            WHEN a.k IN ('priority', 'max_attempts')
                THEN CASE WHEN a.v::text !~ '^-?[0-9]{1,9}$' THEN format('%s is not a whole number', a.k) END
            WHEN jsonb_typeof(a.v) <> 'string' THEN format('%s is not a JSON string', a.k)
            WHEN a.k IN ('due_at', 'expires_at') -- whose midnight would it be, without a zone?
                 AND a.v #>> '{}' !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?([Zz]|[-+][0-9]{2}(:?[0-9]{2})?)$'
                THEN format('%s is not a time with its zone; give one such as 2030-01-31T09:30:00Z', a.k)
            END AS problem
        FROM jsonb_each(CASE WHEN jsonb_typeof(e.m) = 'object' THEN e.m ELSE '{}' END) a(k, v)) x ON x.problem IS NOT NULL
    WHERE x.problem IS NOT NULL OR jsonb_typeof(e.m) <> 'object'
    ORDER BY e.i, x.problem LIMIT 1;
    RETURN _problem;
END
$$;
