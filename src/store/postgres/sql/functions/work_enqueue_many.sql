-- work_enqueue_many(door, messages) stores messages in the order given, all or none.
-- Answers, in that order, ids, and message_ids (null: the same) and is_new (null: all are); or why
-- nothing was stored: at (which one, from 0), and problem in words, or join_problem (enum
-- ph__join_problem) and the message that it is about. joins: those that ended with it (see
-- work_join_fire).
--
-- Locks: the dedupe keys, in sorted order (work_keys_take). With joins: of duplicates the messages
-- that have the keys, where they are; then the heads, in order of id. With streams, last:
-- their rows, in order of queue and key (work_streams_take). See work_enqueue for streams,
-- sources and handled.
CREATE OR REPLACE FUNCTION {p}work_enqueue_many(
    _door smallint, _m {p}work_messages,
    OUT ids uuid[], OUT message_ids uuid[], OUT is_new boolean[], OUT problem text, OUT at int, OUT join_problem smallint,
    OUT problem_message uuid, OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {one_plan}
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz;
    _wrong record;
    _queues int[];
    _ids uuid[];
    _taken record;   -- its keys: the ids that answer; null: their own
    _steps record;   -- that this makes
    _place record;   -- in the streams
    _final uuid[];
    _shown uuid[];
BEGIN
    _wrong := {p}work_messages_problem(_door, _m);
    IF _wrong.problem IS NULL THEN
        IF coalesce(cardinality(_m.topics), 0) = 0 THEN
            RETURN;
        END IF;
        _wrong := {p}work_queues_get(_door, _m.ns, _m.payloads);
    END IF;
    IF _wrong.problem IS NOT NULL THEN
        at := _wrong.at;
        problem := _wrong.problem;
        RETURN;
    END IF;
    _queues := _wrong.queues;
    _t := _wrong.t;
    _ids := {p}ids_new(_door, cardinality(_queues));
    IF array_remove(_m.keys, NULL) <> '{}' THEN
        _taken := {p}work_keys_take(_queues, CASE WHEN _door = 1 THEN _m.sources ELSE _m.topics END, _m.keys, _ids,
                                    _m.message_ids, _t);
        _final := _taken.final;
        _shown := _taken.shown;
    END IF;
    ids := coalesce(_final, _ids);
    IF _final IS NOT NULL THEN
        message_ids := _shown;
        is_new := ARRAY(SELECT u.id = u.final FROM unnest(_ids, _final) WITH ORDINALITY u(id, final, i) ORDER BY u.i);
    ELSIF _m.message_ids IS NOT NULL THEN
        message_ids := ARRAY(SELECT coalesce(u.own, u.id) FROM unnest(_ids, _m.message_ids) WITH ORDINALITY u(id, own, i) ORDER BY u.i);
    END IF;
    IF _m.join_ids IS NOT NULL THEN
        _steps := {p}work_join_prepare(_m.join_ids, _ids, ids, message_ids);
        IF _steps.problem IS NOT NULL THEN
            DELETE FROM {p}dedupe d USING unnest(_ids, _queues, _m.topics, _m.keys) u(id, queue, topic, key)
            WHERE d.queue = u.queue AND d.topic = u.topic AND d.key = u.key AND d.id = u.id;
            at := _steps.at - 1;
            join_problem := _steps.problem;
            problem_message := _steps.messages[_steps.at];
            RETURN;
        END IF;
    END IF;
    IF array_remove(_m.streams, NULL) <> '{}' THEN
        _place := {p}work_streams_number(_queues, _m.streams, _ids, ids, _t);
        PERFORM {p}work_store_many(_m, _queues, _ids, _final, _place.streams, _place.seqs, _place.waits, _t);
    ELSE
        PERFORM {p}work_store_many(_m, _queues, _ids, _final, NULL, NULL, NULL, _t);
    END IF;
    IF true = ANY (_m.handled) THEN
        PERFORM {p}work_handled(h.ids, h.queue, _t)
        FROM (SELECT u.queue, array_agg(u.id ORDER BY u.id) AS ids
              FROM unnest(_ids, ids, _queues, _m.handled) u(id, final, queue, handled)
              WHERE u.handled AND u.id = u.final GROUP BY u.queue) h;
    END IF;
    IF _m.join_ids IS NOT NULL THEN
        joins := {p}work_join_add(_m.join_ids, _steps.ids, _steps.messages, _steps.states, _t);
    END IF;
END
$$;
