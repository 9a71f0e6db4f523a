-- name_problem(what, name) → what is wrong with a name that is required, or null.
CREATE OR REPLACE FUNCTION {p}name_problem(_what text, _name text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN _name IS NULL THEN format('%s is null; it is required', _what)
        WHEN _name = '' THEN format('%s is empty; it is required', _what)
        WHEN char_length(_name) > 255 THEN format('%s has %s characters; at most 255 are allowed', _what, char_length(_name))
    END;
END
$$;
