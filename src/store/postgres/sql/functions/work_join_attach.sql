-- work_join_attach(join, messages) → the problem (enum ph__join_problem; 0: none) with the message
-- it is about, and the joins that ended with it, or null; also which were steps before (see
-- work_join_add). All or none.
--
-- Locks: those of the messages that wait to be claimed (work_hold), then the head.
CREATE OR REPLACE FUNCTION {p}work_join_attach(
    _join uuid, _messages uuid[], OUT problem smallint, OUT message uuid, OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _held record;
    _check record;
    _of uuid[];
    _at int[];
BEGIN
    problem := 0;
    SELECT array_agg(u.id ORDER BY u.i) FILTER (WHERE NOT u.known), array_agg(u.i - 1 ORDER BY u.i) FILTER (WHERE NOT u.known),
           string_agg('A ' || (u.i - 1), E'\n' ORDER BY u.i) FILTER (WHERE u.known)
    INTO _messages, _at, joins
    FROM (SELECT u.id, u.i, EXISTS (SELECT FROM {p}join_member m WHERE m.join_id = _join AND m.message_id = u.id) AS known
          FROM unnest(_messages) WITH ORDINALITY u(id, i) OFFSET 0) u;
    IF _messages IS NULL THEN
        RETURN; -- they all are steps already
    END IF;
    IF NOT EXISTS (SELECT FROM {p}join_head h WHERE h.id = _join) THEN
        problem := 1;
        RETURN;
    END IF;
    _held := {p}work_hold(_messages);
    _of := array_fill(_join, ARRAY[cardinality(_messages)]);
    _check := {p}work_join_check(_of, _messages, _held.states);
    IF _check.problem IS NOT NULL THEN
        problem := _check.problem;
        message := _messages[_check.at];
        RETURN;
    END IF;
    joins := nullif(concat_ws(E'\n', joins, {p}work_join_add(_of, _held.ids, _messages, _held.states, {p}clock(), _at)), '');
END
$$;
