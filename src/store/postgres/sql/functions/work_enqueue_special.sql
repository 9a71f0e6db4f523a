-- work_enqueue_special(…) → as work_enqueue: any message, and what is wrong with one.
--
-- Locks: the dedupe key, until the caller's transaction ends. With a join: of a
-- duplicate the message that has the key, where it is; then the join's head. With a
-- stream, last: the stream's row (work_streams_take), until the caller's transaction ends.
-- The first message of an idle stream is its head; others are parked behind it.
-- Two at once with one key: the second waits at the insert; if the first
-- commits, the second reads its ids in a new statement (and snapshot); if it
-- rolled back, the second's insert succeeds; if the key vanished in between,
-- it tries again.
CREATE OR REPLACE FUNCTION {p}work_enqueue_special(
    _door smallint, _ns text, _topic text, _payload text, _tenant_id uuid, _dedupe_key text,
    _correlation_id text, _stream text, _level smallint, _due_at timestamptz, _expires_at timestamptz,
    _headers jsonb, _message_id uuid, _max_attempts smallint, _join_id uuid,
    _source text, _handled boolean,
    OUT work_id uuid, OUT message_id uuid, OUT is_new boolean, OUT problem text, OUT join_problem smallint,
    OUT joins text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
AS $$
#variable_conflict use_variable
DECLARE
    _t timestamptz;
    _q {p}queue;
    _attached record;
    _scope CONSTANT text := coalesce(_source, _topic); -- of the dedupe key
    _stream_id bigint;
    _seq bigint;
    _waits boolean := false; -- behind its stream's head
BEGIN
    problem := coalesce(
        {p}message_problem(_topic, _payload, _ns, _tenant_id, _dedupe_key, _correlation_id, _stream, _level,
                           _due_at, _expires_at, _headers, _max_attempts, _message_id, _door, _source, _handled),
        CASE _door
            WHEN 0 THEN NULL
            WHEN 1 THEN CASE WHEN _join_id IS NOT NULL THEN 'a message of the inbox cannot be a step of a join' END
            ELSE {p}timer_problem(_door, _tenant_id, _dedupe_key, _level, _due_at, _expires_at, _message_id, _max_attempts, _join_id)
        END);
    IF problem IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT * INTO _q FROM {p}queue q WHERE q.door = _door AND q.namespace = _ns AND NOT q.deleted;
    IF NOT FOUND THEN
        _q := {p}queue_get(_door, _ns);
    END IF;
    _t := coalesce(_q.clock, clock_timestamp());
    work_id := {p}id_new(_door);
    IF octet_length(_payload) > _q.max_payload_bytes THEN
        work_id := NULL;
        problem := format('payload has %s bytes; this queue allows %s: raise max_payload_bytes, or '
                          'store it elsewhere and send a reference', octet_length(_payload), _q.max_payload_bytes);
        RETURN;
    END IF;

    message_id := coalesce(_message_id, work_id);
    is_new := true;
    IF _dedupe_key IS NOT NULL THEN
        LOOP
            INSERT INTO {p}dedupe (created_at, id, message_id, queue, topic, key)
            VALUES (_t, work_id, _message_id, _q.id, _scope, _dedupe_key) ON CONFLICT DO NOTHING;
            EXIT WHEN FOUND;
            SELECT d.id, coalesce(d.message_id, d.id), false INTO work_id, message_id, is_new
            FROM {p}dedupe d WHERE d.queue = _q.id AND d.topic = _scope AND d.key = _dedupe_key;
            IF FOUND THEN
                IF _join_id IS NOT NULL AND _door = 0 THEN
                    _attached := {p}work_join_attach(_join_id, ARRAY[message_id]);
                    join_problem := nullif(_attached.problem, 0);
                    joins := _attached.joins;
                END IF;
                RETURN;
            END IF;
            work_id := {p}id_new(_door);
            message_id := coalesce(_message_id, work_id);
            is_new := true;
        END LOOP;
    END IF;

    IF _join_id IS NOT NULL AND _door = 0 THEN
        join_problem := ({p}work_join_check(ARRAY[_join_id], ARRAY[message_id], NULL)).problem;
        IF join_problem IS NOT NULL THEN
            DELETE FROM {p}dedupe d
            WHERE d.queue = _q.id AND d.topic = _scope AND d.key = _dedupe_key AND d.id = work_id;
            RETURN;
        END IF;
    END IF;
    IF _stream IS NOT NULL THEN
        SELECT k.ids[1], k.firsts[1], k.were_busy[1] INTO _stream_id, _seq, _waits
        FROM {p}work_streams_take(ARRAY[_q.id], ARRAY[_stream], '{1}', _t) k;
    END IF;
    INSERT INTO {p}message (id, created_at, due_at, expires_at, message_id, tenant_id, queue, level,
                            max_attempts, topic, dedupe_key, correlation_id, stream, headers, payload, stream_id, seq, source)
    VALUES (work_id, _t, _due_at, _expires_at, _message_id, _tenant_id, _q.id, _level,
            _max_attempts, _topic, _dedupe_key, _correlation_id, _stream, _headers, _payload, _stream_id, _seq, _source);
    IF _handled THEN
        PERFORM {p}work_handled(ARRAY[work_id], _q.id, _t);
    ELSIF NOT _waits THEN
        INSERT INTO {p}pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts, stream, seq)
        VALUES (greatest(_due_at, _t), work_id, _expires_at, {p}lane(_q.id, _level), {p}topic_mark(_topic, _q.by_topic), 0, 0,
                _max_attempts, _stream_id, _seq);
    END IF;
    IF _join_id IS NOT NULL AND _door = 0 THEN
        joins := {p}work_join_add(ARRAY[_join_id], ARRAY[work_id], ARRAY[message_id], NULL, _t);
    END IF;
END
$$;
