-- inbox_problem(source, message_id, handled) → what is wrong with the part of an inbox message that
-- an outbox message does not have, or null. message_problem checks the rest.
CREATE OR REPLACE FUNCTION {p}inbox_problem(_source text, _id text, _handled boolean) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN {p}name_problem('source', _source) IS NOT NULL THEN {p}name_problem('source', _source)
        WHEN {p}name_problem('message_id', _id) IS NOT NULL THEN {p}name_problem('message_id', _id)
        WHEN _handled IS NULL THEN 'handled is null; leave it out for false'
    END;
END
$$;
