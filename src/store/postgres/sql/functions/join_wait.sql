-- join_wait(join_id, …) → the work id of the wait, which sends one message when the join
-- has ended, at once if it has. Errors: SQLSTATE 22023 (bad arguments), P0002 (no such
-- join).
CREATE OR REPLACE FUNCTION {p}join_wait(
    join_id uuid, fail_if_any_step_failed boolean, on_complete_topic text, on_complete_payload text,
    on_fail_topic text = NULL, on_fail_payload text = NULL, namespace text = '') RETURNS uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _fault text := {p}join_ids_problem(join_id, '{}');
    _wait record;
BEGIN
    IF _fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'join_wait: ' || _fault;
    END IF;
    _wait := {p}work_join_wait(join_id, fail_if_any_step_failed, on_complete_topic, on_complete_payload, on_fail_topic,
                               on_fail_payload, namespace);
    PERFORM {p}join_raise('join_wait', _wait.problem, join_id, NULL);
    RETURN _wait.id;
END
$$;
