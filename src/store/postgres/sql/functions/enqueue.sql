-- enqueue(topic, payload, …) → (work_id, message_id, is_new): stores a message
-- in the caller's transaction. A duplicate dedupe key answers is_new = false
-- with the existing ids. Bad arguments: an error with SQLSTATE 22023. With join_id it
-- becomes a step of that join, with the errors of join_attach.
CREATE OR REPLACE FUNCTION {p}enqueue(
    topic text, payload text, namespace text = '', tenant_id uuid = NULL, dedupe_key text = NULL,
    correlation_id text = NULL, stream text = NULL, priority int = 1, due_at timestamptz = NULL,
    expires_at timestamptz = NULL, headers jsonb = NULL, message_id uuid = NULL, join_id uuid = NULL,
    max_attempts int = NULL) RETURNS {p}enqueued
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    _answer record;
    _problem text;
BEGIN
    IF priority BETWEEN 0 AND 3 AND coalesce(max_attempts, 1) BETWEEN 1 AND 30000 THEN -- they fit a smallint
        _answer := {p}work_enqueue(
            0::smallint, namespace, topic, payload, tenant_id, dedupe_key, nullif(correlation_id, ''), stream,
            priority::smallint, due_at, expires_at, headers, message_id, max_attempts::smallint, join_id);
        IF _answer.work_id IS NOT NULL AND _answer.join_problem IS NULL THEN
            RETURN ROW(_answer.work_id, _answer.message_id, _answer.is_new)::{p}enqueued;
        END IF;
        PERFORM {p}join_raise('enqueue', _answer.join_problem, join_id, _answer.message_id);
        _problem := _answer.problem;
    ELSE
        _problem := {p}message_problem(topic, payload, namespace, tenant_id, dedupe_key, correlation_id,
                                       stream, priority, due_at, expires_at, headers, max_attempts, message_id);
    END IF;
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'enqueue: ' || _problem;
END
$$;
