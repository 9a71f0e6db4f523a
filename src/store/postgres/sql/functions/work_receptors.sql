-- work_receptors(ids, names, failed, errors): how receptors fared with messages, in the order
-- given, all or none. problem (enum ph__result_problem) and at (from 0): why nothing was
-- stored, and because of which; 0: all is well. Errors are fit to store.
--
-- Locks: the messages' rows against being forgotten, in order of id; then receptors' rows in
-- order of (message id, name), so that two reports wait for each other and never crosswise.
CREATE OR REPLACE FUNCTION {p}work_receptors(
    _ids uuid[], _names text[], _failed boolean[], _errors text[], OUT problem smallint, OUT at int)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {by_index} {nested_loops} {one_plan}
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz := {p}clock();
    _messages uuid[];
    _r record;
BEGIN
    SELECT array_agg(coalesce(m.message_id, m.id) ORDER BY u.i), (min(u.i) FILTER (WHERE m.id IS NULL))::int - 1
    INTO _messages, at
    FROM (SELECT * FROM unnest(_ids) WITH ORDINALITY u(id, i) ORDER BY u.id OFFSET 0) u
    LEFT JOIN LATERAL (
        SELECT m.id, m.message_id FROM {p}message m
        WHERE m.id = u.id AND get_byte(uuid_send(m.id), 8) >> 4 IN (8, 9) -- an id of the outbox or the inbox
        FOR KEY SHARE) m ON true;
    problem := CASE WHEN at IS NULL THEN 0 ELSE 1 END;
    IF problem > 0 THEN
        RETURN;
    END IF;
    FOR _r IN SELECT u.message_id, u.name, coalesce(u.failed, false) AS failed, u.error
              FROM unnest(_messages, _names, _failed, _errors) WITH ORDINALITY u(message_id, name, failed, error, i)
              ORDER BY u.message_id, u.name COLLATE "C", u.i LOOP
        INSERT INTO {p}receptor AS r (message_id, first_at, last_at, attempts, completed, name, error)
        VALUES (_r.message_id, _t, _t, 1, NOT _r.failed, _r.name, CASE WHEN _r.failed THEN _r.error END)
        ON CONFLICT (message_id, name) DO UPDATE
        SET last_at = _t, attempts = r.attempts + 1, completed = excluded.completed, error = excluded.error
        WHERE NOT r.completed;
    END LOOP;
END
$$;
