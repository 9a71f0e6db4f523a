-- work_messages_problem(door, messages) → the first message that may not be stored, from 0, and why;
-- nulls if all may. Anything about the lists themselves is reported for message 0.
CREATE OR REPLACE FUNCTION {p}work_messages_problem(_door smallint, _m {p}work_messages, OUT at int, OUT problem text)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _n CONSTANT int := greatest(cardinality(_m.topics), cardinality(_m.ns), cardinality(_m.payloads), 0);
    _dims CONSTANT text := format('[1:%s]', _n);
BEGIN
    at := 0;
    problem := CASE
        WHEN _door IS NULL OR _door NOT IN (0, 1) THEN 'only outbox and inbox take many messages at once'
        WHEN _door = 1 AND _m.join_ids IS NOT NULL THEN 'a message of the inbox cannot be a step of a join'
        WHEN _n > 10000 THEN format('%s messages; at most 10000 are allowed', _n)
        WHEN _n = 0 THEN NULL
        WHEN (_dims = ALL (ARRAY[array_dims(_m.topics), array_dims(_m.ns), array_dims(_m.payloads),
                                 array_dims(_m.levels)])) IS NOT TRUE
             OR _dims <> ANY (ARRAY[ -- those that are null or empty do not count
                array_dims(_m.tenant_ids), array_dims(_m.keys), array_dims(_m.correlation_ids), array_dims(_m.streams),
                array_dims(_m.due_ats), array_dims(_m.expires_ats), array_dims(_m.headers), array_dims(_m.message_ids),
                array_dims(_m.max_attempts), array_dims(_m.join_ids), array_dims(_m.sources), array_dims(_m.handled)])
            THEN 'the lists are not plain ones of one length'
        ELSE {p}messages_bytes_problem(_m.payloads, _m.headers) END;
    IF _n = 0 OR problem IS NOT NULL THEN
        RETURN; -- below, items are found by their place
    END IF;
    IF _door = 0 AND (_m.tenant_ids, _m.keys, _m.streams, _m.due_ats, _m.expires_ats, _m.headers, _m.message_ids,
                      _m.max_attempts, _m.sources, _m.handled) IS NULL AND (
        SELECT bool_and((u.topic <> '' AND octet_length(u.topic) <= 255 AND octet_length(u.ns) <= 255
                         AND u.payload IS NOT NULL AND u.level BETWEEN 0 AND 3
                         AND coalesce(octet_length(u.correlation_id), 0) <= 255) IS TRUE)
        FROM (SELECT unnest(_m.topics) AS topic, unnest(_m.ns) AS ns, unnest(_m.payloads) AS payload,
                     unnest(_m.levels) AS level, unnest(_m.correlation_ids) AS correlation_id) u) THEN
        at := NULL; -- all are plain, and right
        RETURN;
    END IF;
    SELECT b.i - 1, b.problem INTO at, problem FROM (
        SELECT u.i, {p}message_problem(u.topic, u.payload, u.ns, u.tenant_id, u.key, u.correlation_id, u.stream, u.level,
                                       u.due_at, u.expires_at, u.headers, u.max_attempts, u.message_id, _door, u.source,
                                       coalesce(u.handled, false)) AS problem
        FROM unnest(_m.topics, _m.payloads, _m.ns, _m.tenant_ids, _m.keys, _m.correlation_ids, _m.streams, _m.levels,
                    _m.due_ats, _m.expires_ats, _m.headers, _m.max_attempts, _m.message_ids, _m.sources, _m.handled)
             WITH ORDINALITY u(topic, payload, ns, tenant_id, key, correlation_id, stream, level, due_at,
                               expires_at, headers, max_attempts, message_id, source, handled, i)
        WHERE (u.topic <> '' AND octet_length(u.topic) <= 255 AND octet_length(u.ns) <= 255 AND u.payload IS NOT NULL
               AND u.level BETWEEN 0 AND 3 AND coalesce(octet_length(u.correlation_id), 0) <= 255
               AND u.tenant_id IS NULL AND coalesce(octet_length(u.key), 1) BETWEEN 1 AND 255
               AND coalesce(octet_length(u.stream), 1) BETWEEN 1 AND 255 AND u.due_at IS NULL
               AND u.expires_at IS NULL AND u.headers IS NULL AND u.max_attempts IS NULL
               AND u.message_id IS NULL AND _door = 0 AND u.source IS NULL AND u.handled IS NOT TRUE) IS NOT TRUE) b -- not plainly right: look closer
    WHERE b.problem IS NOT NULL ORDER BY b.i LIMIT 1;
END
$$;
