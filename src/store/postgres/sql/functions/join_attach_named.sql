-- join_attach_named(verb, join, messages): checks the arguments of a call from SQL, and attaches.
CREATE OR REPLACE FUNCTION {p}join_attach_named(_verb text, _join uuid, _messages uuid[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _fault text := {p}join_ids_problem(_join, _messages);
    _attached record;
BEGIN
    IF _fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = _verb || ': ' || _fault;
    END IF;
    _attached := {p}work_join_attach(_join, _messages);
    PERFORM {p}join_raise(_verb, _attached.problem, _join, _attached.message);
END
$$;
