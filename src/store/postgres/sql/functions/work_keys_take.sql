-- work_keys_take(queues, scopes, keys, ids, message_ids, t): takes the dedupe keys of new messages.
-- final, shown: of each the work id and the message id that answer, which are those of the message
-- that has its key; null, if all are their own. scopes: topics, or sources of the inbox.
--
-- Locks: the keys, in sorted order, so that two calls with the same keys never wait for each other
-- crosswise. Two at once with one key: the second waits; if the first commits, the second reads its
-- ids in a new statement (and snapshot); if it rolled back, the second takes the key. A key whose
-- holder is deleted between the two statements is taken out of that order: should another call want
-- it in the same instant, the server ends one of them as a deadlock, which the library repeats.
CREATE OR REPLACE FUNCTION {p}work_keys_take(
    _queues int[], _scopes text[], _keys text[], _ids uuid[], _message_ids uuid[], _t timestamptz,
    OUT final uuid[], OUT shown uuid[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {by_index} {nested_loops}
AS $$
#variable_conflict use_column
DECLARE
    _wanted CONSTANT int := cardinality(array_remove(_keys, NULL));
    _taken int;
    _taker record;
    _i int;
BEGIN
    INSERT INTO {p}dedupe (created_at, id, message_id, queue, topic, key)
    SELECT _t, u.id, u.message_id, u.queue, u.scope, u.key
    FROM unnest(_ids, _message_ids, _queues, _scopes, _keys) WITH ORDINALITY u(id, message_id, queue, scope, key, i)
    WHERE u.key IS NOT NULL ORDER BY u.queue, u.scope COLLATE "C", u.key COLLATE "C", u.i
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS _taken = ROW_COUNT;
    IF _taken = _wanted THEN
        RETURN;
    END IF;
    final := _ids;
    shown := ARRAY(SELECT coalesce(u.message_id, u.id) FROM unnest(_ids, _message_ids) WITH ORDINALITY u(id, message_id, i) ORDER BY u.i);
    FOR _i IN SELECT u.i FROM unnest(_ids, _queues, _scopes, _keys) WITH ORDINALITY u(id, queue, scope, key, i)
              WHERE u.key IS NOT NULL ORDER BY u.queue, u.scope COLLATE "C", u.key COLLATE "C", u.i LOOP
        LOOP
            SELECT d.id, d.message_id INTO _taker FROM {p}dedupe d
            WHERE d.queue = _queues[_i] AND d.topic = _scopes[_i] AND d.key = _keys[_i];
            IF FOUND THEN
                final[_i] := _taker.id;
                shown[_i] := coalesce(_taker.message_id, _taker.id);
                EXIT;
            END IF;
            INSERT INTO {p}dedupe (created_at, id, message_id, queue, topic, key)
            VALUES (_t, _ids[_i], _message_ids[_i], _queues[_i], _scopes[_i], _keys[_i])
            ON CONFLICT DO NOTHING;
        END LOOP;
    END LOOP;
END
$$;
