-- work_unclaimed(door, ns, age, most) → topics of a queue that is not paused, of which messages have
-- been due for that long, and which no live instance claims: how many messages, and since when. One
-- row more, the first, without a topic: whether some live instance claims from the queue at all.
--
-- Looks at the first 100 000 messages of the queue. Topics are told apart by their hashes.
-- Reads only.
CREATE OR REPLACE FUNCTION {p}work_unclaimed(_door smallint, _ns text, _age_s int, _most int)
    RETURNS TABLE (topic text, messages bigint, oldest timestamptz, worked boolean, t timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz := {p}clock();
    _queue int := (SELECT q.id FROM {p}queue q WHERE q.door = _door AND q.namespace = _ns AND NOT q.paused);
    _known record;
BEGIN
    SELECT count(c.instance) > 0 AS some, coalesce(bool_or(c.topics IS NULL), false) AS all_topics,
           array_agg({p}topic_hash(u.topic)) FILTER (WHERE u.topic IS NOT NULL) AS hashes
    INTO _known
    FROM {p}claimer c JOIN {p}instance i ON i.id = c.instance AND i.state = 1
    LEFT JOIN LATERAL unnest(c.topics) u(topic) ON true
    WHERE c.door = _door AND c.namespace = _ns;
    RETURN QUERY SELECT NULL::text, 0::bigint, NULL::timestamptz, _known.some, _t;
    IF _queue IS NULL OR _known.all_topics THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT m.topic, x.messages, x.oldest, _known.some, _t
    FROM (SELECT count(*) AS messages, min(p.due) AS oldest, (array_agg(p.id))[1] AS id
          FROM (SELECT greatest(p.topic, ~p.topic) AS topic, p.due, p.id FROM {p}pending p
                WHERE p.lane = ANY (ARRAY[{p}lane(_queue, 0), {p}lane(_queue, 1), {p}lane(_queue, 2), {p}lane(_queue, 3)])
                  AND p.due <= _t - make_interval(secs => _age_s) LIMIT 100000) p
          WHERE _known.hashes IS NULL OR p.topic <> ALL (_known.hashes)
          GROUP BY p.topic ORDER BY 2 LIMIT _most) x
    JOIN {p}message m ON m.id = x.id ORDER BY x.oldest;
END
$$;
