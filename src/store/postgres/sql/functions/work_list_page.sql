-- work_list_page(…) → the ids of one page of a list, in its order; see work_list.
--
-- Which table is walked depends on the state; the order is that of ids, which is
-- the order of enqueueing. Ready and scheduled: one pass over pending, keeping the
-- best; the hash of the topic is only a filter, so each is looked at again.
CREATE OR REPLACE FUNCTION {p}work_list_page(
    _queues int[], _topic text, _state int, _oldest_first boolean, _limit int, _after uuid, _t timestamptz)
    RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $$
DECLARE
    _none CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    _at uuid := CASE WHEN _after <> _none OR _oldest_first THEN _after ELSE 'ffffffff-ffff-ffff-ffff-ffffffffffff' END;
    _source CONSTANT text := CASE
        WHEN _state = 1 THEN 'pending WHERE lane >> 42 = ANY ($1) AND due <= $5 AND ($2 IS NULL OR greatest(topic, ~topic) = {p}topic_hash($2))'
        WHEN _state = 2 THEN 'pending WHERE lane >> 42 = ANY ($1) AND due > $5 AND ($2 IS NULL OR greatest(topic, ~topic) = {p}topic_hash($2))'
        WHEN _state = 3 THEN
            'lease l CROSS JOIN LATERAL unnest(l.ids) WITH ORDINALITY u(id, i) WHERE l.queue = ANY ($1) '
            'AND (l.settled IS NULL OR get_bit(l.settled, u.i::int - 1) = 0) '
            'AND ($2 IS NULL OR EXISTS (SELECT FROM {p}message m WHERE m.id = u.id AND m.topic = $2))'
        WHEN _state = 5 THEN
            'dead x WHERE x.queue = ANY ($1) AND x.retried_as IS NULL '
            'AND ($2 IS NULL OR EXISTS (SELECT FROM {p}message m WHERE m.id = x.id AND m.topic = $2))'
        WHEN _state = 6 THEN
            'join_wait w JOIN {p}message m ON m.id = w.id WHERE m.queue = ANY ($1) AND ($2 IS NULL OR m.topic = $2)'
        WHEN _state = 7 THEN
            'work_token t JOIN {p}message m ON m.stream_id = t.stream AND m.seq > t.upto '
            'WHERE m.queue = ANY ($1) AND ($2 IS NULL OR m.topic = $2)'
        ELSE 'message WHERE queue = ANY ($1) AND ($2 IS NULL OR topic = $2)' END;
    _id CONSTANT text := CASE _state WHEN 3 THEN 'u.id' WHEN 6 THEN 'w.id' WHEN 7 THEN 'm.id' ELSE 'id' END;
    _found uuid[];
    _kept uuid[];
    _ids uuid[] := '{}';
BEGIN
    IF _state = 4 THEN
        RETURN {p}work_list_done(_queues, _topic, _oldest_first, _limit, _after);
    END IF;
    LOOP
        EXECUTE format('SELECT array_agg(c.id) FROM (SELECT %1$s AS id FROM {p}%2$s AND %1$s %3$s $3 ORDER BY 1 %4$s LIMIT $4) c',
                       _id, _source, CASE WHEN _oldest_first THEN '>' ELSE '<' END,
                       CASE WHEN _oldest_first THEN 'ASC' ELSE 'DESC' END)
        INTO _found USING _queues, _topic, _at, _limit, _t;
        EXIT WHEN _found IS NULL;
        _at := _found[cardinality(_found)];
        _kept := _found;
        IF _state IN (1, 2) AND _topic IS NOT NULL THEN
            SELECT array_agg(u.id ORDER BY u.i) INTO _kept FROM unnest(_found) WITH ORDINALITY u(id, i), {p}message m
            WHERE m.id = u.id AND m.topic = _topic;
        END IF;
        _ids := _ids || _kept;
        EXIT WHEN cardinality(_ids) >= _limit OR cardinality(_found) < _limit;
    END LOOP;
    RETURN _ids[1:_limit];
END
$$;
