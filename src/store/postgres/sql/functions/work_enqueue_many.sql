-- work_enqueue_many(…) stores n messages in the order given, all or none.
-- Answers one row per message, in order; or, when an argument or the queue's
-- settings do not allow one, a single row with its index (from 0) and the problem;
-- likewise with join_problem (enum ph__join_problem) and the message it is about.
-- The first row has the joins that ended with it (see work_join_fire). join_ids: null if there are
-- none.
--
-- Locks: the dedupe keys, in sorted order, so that two calls with the same
-- keys never wait for each other crosswise. With joins: of duplicates the messages
-- that have the keys, where they are; then the heads, in order of id. With streams, last:
-- their rows, in order of queue and key (work_streams_take). See work_enqueue for streams,
-- sources and handled; these three are null if there are none.
CREATE OR REPLACE FUNCTION {p}work_enqueue_many(
    _door smallint, _ns text[], _topics text[], _payloads text[], _tenant_ids uuid[], _dedupe_keys text[],
    _correlation_ids text[], _streams text[], _levels smallint[], _due_ats timestamptz[],
    _expires_ats timestamptz[], _headers jsonb[], _message_ids uuid[], _max_attempts smallint[], _join_ids uuid[],
    _sources text[] = NULL, _handled boolean[] = NULL)
    RETURNS TABLE (ord int, work_id uuid, message_id uuid, is_new boolean, problem text, join_problem smallint, joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {by_index} {nested_loops} {one_plan}
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz := {p}clock();
    _n int := greatest(cardinality(_topics), cardinality(_ns), cardinality(_payloads), 0);
    _dims text := format('[1:%s]', _n);
    _one {p}queue;
    _name text;
    _queues int[];
    _limits int[];
    _ids uuid[];
    _final uuid[];    -- the id that answers: its own, or that of the message which has its key
    _shown uuid[];    -- the message id that answers
    _taker record;
    _i int;
    _bad int;
    _problem text;
    _prepared record; -- the steps that this makes
    _joins text;
    _scopes text[] := _topics; -- of the dedupe keys
    _stream_ids bigint[];
    _seqs bigint[];
    _waits boolean[]; -- behind their streams' heads
BEGIN
    IF _door IS NULL OR _door NOT IN (0, 1) OR (_door = 1 AND _join_ids IS NOT NULL) THEN
        RETURN QUERY SELECT 0, NULL::uuid, NULL::uuid, NULL::boolean,
                            CASE WHEN _door = 1 THEN 'a message of the inbox cannot be a step of a join'
                                 ELSE 'only outbox and inbox take many messages at once' END,
                            NULL::smallint, NULL::text;
        RETURN;
    END IF;
    _problem := CASE
        WHEN _n > 10000 THEN format('%s messages; at most 10000 are allowed', _n)
        WHEN (_dims = ALL (ARRAY[array_dims(_topics), array_dims(_ns), array_dims(_payloads), array_dims(_levels)])) IS NOT TRUE
             OR _dims <> ANY (ARRAY[ -- those that are null or empty do not count
                array_dims(_tenant_ids), array_dims(_dedupe_keys), array_dims(_correlation_ids), array_dims(_streams),
                array_dims(_due_ats), array_dims(_expires_ats), array_dims(_headers), array_dims(_message_ids),
                array_dims(_max_attempts), array_dims(_join_ids), array_dims(_sources), array_dims(_handled)])
            THEN 'the lists are not plain ones of one length'
        WHEN pg_column_size(_payloads)::bigint + coalesce(pg_column_size(_headers), 0) > {p}enqueue_bytes_max()
            THEN {p}messages_bytes_problem(_payloads, _headers) END;
    IF _n > 0 AND _problem IS NOT NULL THEN
        RETURN QUERY SELECT 0, NULL::uuid, NULL::uuid, NULL::boolean, _problem, NULL::smallint, NULL::text;
        RETURN; -- below, items are found by their place
    END IF;
    SELECT b.i, b.problem INTO _bad, _problem FROM (
        SELECT u.i, {p}message_problem(u.topic, u.payload, u.ns, u.tenant_id, u.key, u.correlation_id, u.stream, u.level,
                                       u.due_at, u.expires_at, u.headers, u.max_attempts, u.message_id, _door, u.source,
                                       coalesce(u.handled, false)) AS problem
        FROM unnest(_topics, _payloads, _ns, _tenant_ids, _dedupe_keys, _correlation_ids, _streams, _levels, _due_ats,
                    _expires_ats, _headers, _max_attempts, _message_ids, _sources, _handled)
             WITH ORDINALITY u(topic, payload, ns, tenant_id, key, correlation_id, stream, level, due_at,
                               expires_at, headers, max_attempts, message_id, source, handled, i)
        WHERE (u.topic <> '' AND octet_length(u.topic) <= 255 AND octet_length(u.ns) <= 255 AND u.payload IS NOT NULL
               AND u.level BETWEEN 0 AND 3 AND coalesce(octet_length(u.correlation_id), 0) <= 255
               AND u.tenant_id IS NULL AND u.key IS NULL AND u.stream IS NULL AND u.due_at IS NULL
               AND u.expires_at IS NULL AND u.headers IS NULL AND u.max_attempts IS NULL
               AND u.message_id IS NULL AND _door = 0 AND u.source IS NULL AND u.handled IS NOT TRUE) IS NOT TRUE) b -- not plainly right: look closer
    WHERE b.problem IS NOT NULL ORDER BY b.i LIMIT 1;
    IF FOUND THEN
        RETURN QUERY SELECT _bad - 1, NULL::uuid, NULL::uuid, NULL::boolean, _problem, NULL::smallint, NULL::text;
        RETURN;
    END IF;
    FOR _name IN SELECT DISTINCT x FROM unnest(_ns) x ORDER BY x LOOP
        _one := {p}queue_get(_door, _name);
    END LOOP;
    SELECT array_agg(q.id ORDER BY u.i), array_agg(q.max_payload_bytes ORDER BY u.i) INTO _queues, _limits
    FROM unnest(_ns) WITH ORDINALITY u(ns, i), {p}queue q WHERE q.door = _door AND q.namespace = u.ns;

    SELECT u.i INTO _bad FROM unnest(_payloads, _limits) WITH ORDINALITY u(payload, most, i)
    WHERE octet_length(u.payload) > u.most ORDER BY u.i LIMIT 1;
    IF FOUND THEN
        RETURN QUERY SELECT _bad - 1, NULL::uuid, NULL::uuid, NULL::boolean,
            format('payload has %s bytes; this queue allows %s: raise max_payload_bytes, or store it '
                   'elsewhere and send a reference', octet_length(_payloads[_bad]), _limits[_bad]), NULL::smallint, NULL::text;
        RETURN;
    END IF;

    _ids := {p}ids_new(_door, _n);
    _final := _ids;
    _shown := _message_ids;
    IF _door = 1 THEN
        _scopes := _sources;
    END IF;

    FOR _i IN SELECT u.i FROM unnest(_queues, _scopes, _dedupe_keys) WITH ORDINALITY u(queue, topic, key, i)
              WHERE u.key IS NOT NULL ORDER BY u.queue, u.topic COLLATE "C", u.key COLLATE "C", u.i LOOP
        LOOP
            INSERT INTO {p}dedupe (created_at, id, message_id, queue, topic, key)
            VALUES (_t, _ids[_i], _message_ids[_i], _queues[_i], _scopes[_i], _dedupe_keys[_i])
            ON CONFLICT DO NOTHING;
            EXIT WHEN FOUND;
            SELECT d.id, d.message_id INTO _taker FROM {p}dedupe d
            WHERE d.queue = _queues[_i] AND d.topic = _scopes[_i] AND d.key = _dedupe_keys[_i];
            IF FOUND THEN
                _final[_i] := _taker.id;
                _shown[_i] := _taker.message_id;
                EXIT;
            END IF;
        END LOOP;
    END LOOP;

    IF _join_ids IS NOT NULL AND _door = 0 THEN
        _prepared := {p}work_join_prepare(_join_ids, _ids, _final, _shown);
        IF _prepared.problem IS NOT NULL THEN
            DELETE FROM {p}dedupe d USING unnest(_ids, _queues, _scopes, _dedupe_keys) u(id, queue, topic, key)
            WHERE d.queue = u.queue AND d.topic = u.topic AND d.key = u.key AND d.id = u.id;
            RETURN QUERY SELECT _prepared.at - 1, NULL::uuid, _prepared.messages[_prepared.at], NULL::boolean, NULL::text,
                                _prepared.problem, NULL::text;
            RETURN;
        END IF;
    END IF;
    IF _door = 0 AND (array_remove(_streams, NULL) <> '{}') IS NOT TRUE THEN -- plain: each list more would cost something
        INSERT INTO {p}message (id, created_at, due_at, expires_at, message_id, tenant_id, queue, level,
                                max_attempts, topic, dedupe_key, correlation_id, headers, payload)
        SELECT u.id, _t, u.due_at, u.expires_at, u.message_id, u.tenant_id, u.queue, u.level,
               u.max_attempts, u.topic, u.key, u.correlation_id, u.headers, u.payload
        FROM unnest(_ids, _final, _due_ats, _expires_ats, _message_ids, _tenant_ids, _queues, _levels,
                    _max_attempts, _topics, _dedupe_keys, _correlation_ids, _headers, _payloads)
             u(id, final, due_at, expires_at, message_id, tenant_id, queue, level,
               max_attempts, topic, key, correlation_id, headers, payload)
        WHERE u.id = u.final;
        INSERT INTO {p}pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts)
        SELECT greatest(u.due_at, _t), u.id, u.expires_at, {p}lane(u.queue, u.level),
               {p}topic_mark(u.topic, (SELECT q.by_topic FROM {p}queue q WHERE q.id = u.queue)), 0, 0,
               u.max_attempts
        FROM unnest(_ids, _final, _due_ats, _expires_ats, _queues, _levels, _max_attempts, _topics)
             u(id, final, due_at, expires_at, queue, level, max_attempts, topic)
        WHERE u.id = u.final;
    ELSE
        IF array_remove(_streams, NULL) <> '{}' THEN
            SELECT x.streams, x.seqs, x.waits INTO _stream_ids, _seqs, _waits
            FROM {p}work_streams_number(_queues, _streams, _ids, _final, _t) x;
        END IF;
        INSERT INTO {p}message (id, created_at, due_at, expires_at, message_id, tenant_id, queue, level,
                                max_attempts, topic, dedupe_key, correlation_id, stream, headers, payload, stream_id, seq, source)
        SELECT u.id, _t, u.due_at, u.expires_at, u.message_id, u.tenant_id, u.queue, u.level,
               u.max_attempts, u.topic, u.key, u.correlation_id, u.stream, u.headers, u.payload, u.stream_id, u.seq, u.source
        FROM unnest(_ids, _final, _due_ats, _expires_ats, _message_ids, _tenant_ids, _queues, _levels,
                    _max_attempts, _topics, _dedupe_keys, _correlation_ids, _streams, _headers, _payloads, _stream_ids, _seqs, _sources)
             u(id, final, due_at, expires_at, message_id, tenant_id, queue, level,
               max_attempts, topic, key, correlation_id, stream, headers, payload, stream_id, seq, source)
        WHERE u.id = u.final;
        INSERT INTO {p}pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts, stream, seq)
        SELECT greatest(u.due_at, _t), u.id, u.expires_at, {p}lane(u.queue, u.level),
               {p}topic_mark(u.topic, (SELECT q.by_topic FROM {p}queue q WHERE q.id = u.queue)), 0, 0,
               u.max_attempts, u.stream, u.seq
        FROM unnest(_ids, _final, _due_ats, _expires_ats, _queues, _levels, _max_attempts, _topics, _stream_ids, _seqs, _waits, _handled)
             u(id, final, due_at, expires_at, queue, level, max_attempts, topic, stream, seq, waits, handled)
        WHERE u.id = u.final AND u.waits IS NOT TRUE AND u.handled IS NOT TRUE;
        IF true = ANY (_handled) THEN
            PERFORM {p}work_handled(h.ids, h.queue, _t)
            FROM (SELECT u.queue, array_agg(u.id ORDER BY u.id) AS ids
                  FROM unnest(_ids, _final, _queues, _handled) u(id, final, queue, handled)
                  WHERE u.handled AND u.id = u.final GROUP BY u.queue) h;
        END IF;
    END IF;

    IF _join_ids IS NOT NULL AND _door = 0 THEN
        _joins := {p}work_join_add(_join_ids, _prepared.ids, _prepared.messages, _prepared.states, _t);
    END IF;
    RETURN QUERY SELECT u.i::int - 1, u.final, coalesce(u.shown, u.final), u.id = u.final, NULL::text, NULL::smallint,
                        CASE WHEN u.i = 1 THEN _joins END
    FROM unnest(_ids, _final, _shown) WITH ORDINALITY u(id, final, shown, i);
END
$$;
