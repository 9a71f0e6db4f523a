-- enqueue_many(messages) → (work_id, message_id, is_new) per element, in order:
-- a JSON array of objects whose keys are enqueue's arguments. All or none: one
-- bad element (or unknown key) is an error that names its index.
CREATE OR REPLACE FUNCTION {p}enqueue_many(messages jsonb) RETURNS SETOF {p}enqueued
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _m {p}work_messages := {p}messages_read('enqueue_many', messages);
    _r record;
BEGIN
    _r := {p}work_enqueue_many(0::smallint, _m);
    PERFORM {p}raise_problem('enqueue_many', _r.at, _r.problem);
    PERFORM {p}join_raise(format('enqueue_many: message %s', _r.at), _r.join_problem, _m.join_ids[_r.at + 1], _r.problem_message);
    RETURN QUERY SELECT u.id, coalesce(u.message_id, u.id), coalesce(u.is_new, true)
                 FROM unnest(_r.ids, _r.message_ids, _r.is_new) WITH ORDINALITY u(id, message_id, is_new, i) ORDER BY u.i;
END
$$;
