-- work_join_wait(…) → the problem (enum ph__join_problem; 0: none), the wait's work id,
-- and the continuation that was sent, or null: stores a wait for an open join, or fires it at once.
-- Other faults of the arguments, which the library does not let through: SQLSTATE 22023.
--
-- Steps that have ended before are counted first.
-- Locks: the head, so that the join cannot end between the look and the insert. An open
-- one is updated, though nothing changes: a REPEATABLE READ transaction that ends it, with a
-- snapshot without the wait, fails with 40001, instead of leaving the wait behind.
CREATE OR REPLACE FUNCTION {p}work_join_wait(
    _join uuid, _fail_if_any_step_failed boolean, _on_complete_topic text, _on_complete_payload text,
    _on_fail_topic text, _on_fail_payload text, _ns text, OUT problem smallint, OUT id uuid, OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
#variable_conflict use_variable
DECLARE
    _t timestamptz := {p}clock();
    _queue {p}queue;
    _wait uuid;
    _fault text := {p}wait_problem(_fail_if_any_step_failed, _on_complete_topic, _on_complete_payload, _on_fail_topic, _ns);
BEGIN
    IF _fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'join_wait: ' || _fault;
    END IF;
    _on_fail_payload := coalesce(_on_fail_payload, '');
    PERFORM FROM {p}join_head h WHERE h.id = _join FOR UPDATE;
    IF NOT FOUND THEN
        problem := 1;
        RETURN;
    END IF;
    _queue := {p}queue_get(0::smallint, _ns);
    IF greatest(octet_length(_on_complete_payload), octet_length(_on_fail_payload)) > _queue.max_payload_bytes THEN
        problem := 8;
        RETURN;
    END IF;
    problem := 0;
    _wait := {p}id_new(0::smallint);
    INSERT INTO {p}message (id, created_at, queue, level, topic, payload)
    VALUES (_wait, _t, _queue.id, 1, _queue.join_wait_topic,
            format('{"join_id":"%s","fail_if_any_step_failed":%s,"on_complete_topic":%s,"on_complete_payload":%s,'
                   '"on_fail_topic":%s,"on_fail_payload":%s}', _join, _fail_if_any_step_failed::text,
                   to_json(_on_complete_topic), to_json(_on_complete_payload),
                   coalesce(to_json(_on_fail_topic), 'null'), to_json(_on_fail_payload)));
    joins := {p}work_join_catch_up(_join, NULL, _t);
    UPDATE {p}join_head h SET updated_at = h.updated_at WHERE h.id = _join AND h.status = 0;
    IF FOUND THEN
        INSERT INTO {p}join_wait (id, join_id) VALUES (_wait, _join);
    ELSE
        joins := nullif(concat_ws(E'\n', joins, {p}work_wait_fire(ARRAY[_wait], ARRAY[_join], _t)), '');
    END IF;
    id := _wait;
END
$$;
