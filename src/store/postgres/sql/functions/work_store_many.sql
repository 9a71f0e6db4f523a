-- work_store_many(messages, queues, ids, final, streams, seqs, waits, t): the rows of new messages,
-- without those whose id is not the final one. final, and the streams' three, are null if there are
-- no duplicates and no streams. waits: behind the head of its stream, and so not to be claimed.
--
-- A list costs time for each message, a null does not: lists are unnested side by side in one scan,
-- not as functions of their own, which would each be a table first.
CREATE OR REPLACE FUNCTION {p}work_store_many(
    _m {p}work_messages, _queues int[], _ids uuid[], _final uuid[], _streams bigint[], _seqs bigint[], _waits boolean[],
    _t timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {by_index}
AS $$
DECLARE
    _by_topic CONSTANT int[] := ARRAY( -- those of the queues that have the index on topics
        SELECT q.id FROM {p}queue q
        WHERE q.by_topic > 0 AND q.id = ANY (CASE WHEN _queues[1] = ALL (_queues) THEN _queues[1:1] ELSE _queues END));
BEGIN
    INSERT INTO {p}message (id, created_at, due_at, expires_at, message_id, tenant_id, queue, level, max_attempts, topic,
                            dedupe_key, correlation_id, stream, headers, payload, stream_id, seq, source)
    SELECT u.id, _t, u.due_at, u.expires_at, u.message_id, u.tenant_id, u.queue, u.level, u.max_attempts, u.topic,
           u.key, u.correlation_id, u.stream, u.headers, u.payload, u.stream_id, u.seq, u.source
    FROM (SELECT unnest(_ids) AS id, unnest(_final) AS final, unnest(_m.due_ats) AS due_at, unnest(_m.expires_ats) AS expires_at,
                 unnest(_m.message_ids) AS message_id, unnest(_m.tenant_ids) AS tenant_id, unnest(_queues) AS queue,
                 unnest(_m.levels) AS level, unnest(_m.max_attempts) AS max_attempts, unnest(_m.topics) AS topic,
                 unnest(_m.keys) AS key, unnest(_m.correlation_ids) AS correlation_id, unnest(_m.streams) AS stream,
                 unnest(_m.headers) AS headers, unnest(_m.payloads) AS payload, unnest(_streams) AS stream_id,
                 unnest(_seqs) AS seq, unnest(_m.sources) AS source) u
    WHERE u.final IS NULL OR u.final = u.id;
    INSERT INTO {p}pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts, stream, seq)
    SELECT greatest(u.due_at, _t), u.id, u.expires_at, {p}lane(u.queue, u.level),
           {p}topic_mark(u.topic, CASE WHEN u.queue = ANY (_by_topic) THEN 1 ELSE 0 END::smallint), 0, 0, u.max_attempts, u.stream, u.seq
    FROM (SELECT unnest(_ids) AS id, unnest(_final) AS final, unnest(_m.due_ats) AS due_at, unnest(_m.expires_ats) AS expires_at,
                 unnest(_queues) AS queue, unnest(_m.levels) AS level, unnest(_m.topics) AS topic,
                 unnest(_m.max_attempts) AS max_attempts, unnest(_streams) AS stream, unnest(_seqs) AS seq,
                 unnest(_waits) AS waits, unnest(_m.handled) AS handled) u
    WHERE (u.final IS NULL OR u.final = u.id) AND u.waits IS NOT TRUE AND u.handled IS NOT TRUE;
END
$$;
