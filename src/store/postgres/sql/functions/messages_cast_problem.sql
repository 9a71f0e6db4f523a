-- messages_cast_problem(messages) → which text is no UUID or no time, after a
-- cast has failed and did not say.
CREATE OR REPLACE FUNCTION {p}messages_cast_problem(_messages jsonb) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _a record;
BEGIN
    FOR _a IN SELECT e.i - 1 AS index, a.k, a.v
              FROM jsonb_array_elements(_messages) WITH ORDINALITY e(m, i), jsonb_each_text(e.m) a(k, v)
              WHERE a.k IN ('tenant_id', 'message_id', 'join_id', 'due_at', 'expires_at') ORDER BY e.i, a.k LOOP
        BEGIN
            IF _a.k IN ('due_at', 'expires_at') THEN
                PERFORM _a.v::timestamptz;
            ELSE
                PERFORM _a.v::uuid;
            END IF;
        EXCEPTION WHEN data_exception THEN
            RETURN format('message %s: %s is not a %s', _a.index, _a.k,
                          CASE WHEN _a.k IN ('due_at', 'expires_at') THEN 'time' ELSE 'UUID' END);
        END;
    END LOOP;
    RETURN NULL;
END
$$;
