-- work_enqueue(…) stores one message.
--
-- Answers problem (and no ids) when an argument, or the queue's settings, do
-- not allow the message: an answer, not an error, so that the caller's
-- transaction lives on. join_problem: it cannot become a step of its join (enum
-- ph__join_problem); joins: those that ended with it (see work_join_fire).
-- source: of an inbox message, whose id there is the dedupe key. handled: it is stored as done, by
-- no owner.
--
-- The usual case is a plain message for a queue that is there: a row in message and one in pending,
-- without a lock. Everything else, and every problem, is the work of work_enqueue_special.
CREATE OR REPLACE FUNCTION {p}work_enqueue(
    _door smallint, _ns text, _topic text, _payload text, _tenant_id uuid, _dedupe_key text,
    _correlation_id text, _stream text, _level smallint, _due_at timestamptz, _expires_at timestamptz,
    _headers jsonb, _message_id uuid, _max_attempts smallint, _join_id uuid,
    _source text = NULL, _handled boolean = false,
    OUT work_id uuid, OUT message_id uuid, OUT is_new boolean, OUT problem text, OUT join_problem smallint,
    OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
AS $$
#variable_conflict use_variable
BEGIN
    IF _topic <> '' AND octet_length(_topic) <= 255 AND octet_length(_ns) <= 255 AND _payload IS NOT NULL
       AND _level BETWEEN 0 AND 3 AND coalesce(octet_length(_correlation_id), 0) <= 255 AND _tenant_id IS NULL
       AND _dedupe_key IS NULL AND _stream IS NULL AND _due_at IS NULL AND _expires_at IS NULL AND _headers IS NULL
       AND _max_attempts IS NULL AND _message_id IS NULL AND _join_id IS NULL AND _door = 0 AND _source IS NULL
       AND NOT _handled THEN
        WITH q AS MATERIALIZED (
            SELECT q.id, q.by_topic, coalesce(q.clock, clock_timestamp()) AS t,           -- as in clock() and id_new(),
                   encode(int8send((nextval('{p}message_number') << 16) | 32768)          -- without the calls
                          || int4send((-2147483648) | q.store_id)
                          || substr(uuid_send(gen_random_uuid()), 1, 4), 'hex')::uuid AS work_id
            FROM {p}queue q
            WHERE q.door = 0 AND q.namespace = _ns AND NOT q.deleted AND octet_length(_payload) <= q.max_payload_bytes),
        m AS (
            INSERT INTO {p}message (id, created_at, queue, level, topic, correlation_id, payload)
            SELECT q.work_id, q.t, q.id, _level, _topic, _correlation_id, _payload FROM q)
        INSERT INTO {p}pending (due, id, lane, topic, attempts, lost)
        SELECT q.t, q.work_id, {p}lane(q.id, _level), {p}topic_mark(_topic, q.by_topic), 0, 0 FROM q RETURNING id INTO work_id;
        IF FOUND THEN
            message_id := work_id;
            is_new := true;
            RETURN;
        END IF;
    END IF;
    SELECT e.* INTO work_id, message_id, is_new, problem, join_problem, joins
    FROM {p}work_enqueue_special(
        _door, _ns, _topic, _payload, _tenant_id, _dedupe_key, _correlation_id, _stream, _level, _due_at, _expires_at,
        _headers, _message_id, _max_attempts, _join_id, _source, _handled) e;
END
$$;
