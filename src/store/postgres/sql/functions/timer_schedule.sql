-- timer_schedule(topic, payload, due_at, …) → the timer's id: a message for
-- later, in the caller's transaction. It can be cancelled until a worker claims it or a scheduler
-- turns it into a message. Bad arguments: SQLSTATE 22023.
CREATE OR REPLACE FUNCTION {p}timer_schedule(
    topic text, payload text, due_at timestamptz, namespace text = '', correlation_id text = NULL,
    headers jsonb = NULL) RETURNS uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    _answer record;
BEGIN
    SELECT * INTO _answer FROM {p}work_enqueue(
        2::smallint, namespace, topic, payload, NULL, NULL, nullif(correlation_id, ''), NULL, 1::smallint, due_at, NULL,
        headers, NULL, NULL, NULL);
    IF _answer.problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'timer_schedule: ' || _answer.problem;
    END IF;
    RETURN _answer.work_id;
END
$$;
