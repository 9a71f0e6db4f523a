-- inbox_receive(source, message_id, topic, payload, …) → (work_id, is_new): takes a message
-- in, in the caller's transaction, once per (namespace, source, message_id). If it had come
-- before, is_new is false and nothing is stored. handled: the caller does its work in this
-- transaction, so it is stored as done; refused if there is no such transaction, as far as that
-- can be seen (call_is_alone). Bad arguments: an error with SQLSTATE 22023.
--
-- Locks: as work_enqueue. Two at once with the same id: the second waits for the first.
CREATE OR REPLACE FUNCTION {p}inbox_receive(
    source text, message_id text, topic text, payload text, namespace text = '', tenant_id uuid = NULL,
    correlation_id text = NULL, stream text = NULL, priority int = 1, headers jsonb = NULL, handled boolean = false,
    OUT work_id uuid, OUT is_new boolean)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    _answer record;
    _context text;
    _problem text := coalesce({p}inbox_problem(source, message_id, handled), CASE
        WHEN priority IS NULL OR priority NOT BETWEEN 0 AND 3
            THEN format('priority is %s; give 0 (urgent) to 3 (bulk)', coalesce(priority::text, 'null')) END);
BEGIN
    IF handled THEN
        GET DIAGNOSTICS _context = PG_CONTEXT;
        _problem := coalesce(_problem, CASE WHEN {p}call_is_alone(_context)
            THEN 'handled needs a transaction of yours, in which the work is done; begin it with BEGIN' END);
    END IF;
    IF _problem IS NULL THEN
        SELECT * INTO _answer FROM {p}work_enqueue(
            1::smallint, namespace, topic, payload, tenant_id, message_id, nullif(correlation_id, ''), stream,
            priority::smallint, NULL, NULL, headers, NULL, NULL, NULL, source, handled);
        _problem := _answer.problem;
    END IF;
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'inbox_receive: ' || _problem;
    END IF;
    work_id := _answer.work_id;
    is_new := _answer.is_new;
END
$$;
