-- call_is_single(name, context) → whether the caller's call of the function of that name, whose
-- PG_CONTEXT this is, is certainly all that its transaction does, after it too: it comes first
-- (call_is_first), and the query is SELECT name(…) or SELECT columns FROM name(…), without another
-- call in it and with nothing behind it. call_is_alone is less strict: there functions in the query
-- may write.
--
-- The query may be long, so a pattern sees only what is before the arguments.
CREATE OR REPLACE FUNCTION {p}call_is_single(_name text, _context text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _head CONSTANT text := '^\s*select\s+((\*|\w+(\s*,\s*\w+)*)\s+from\s+)?("?\w+"?\s*\.\s*)?"?\w*' || _name || '"?\s*$';
    _parts text[]; -- around parentheses
    _rest text[];
BEGIN
    IF NOT {p}call_is_first(_context) THEN
        RETURN false;
    END IF;
    _parts := string_to_array(current_query(), '(');
    _rest := string_to_array(_parts[2], ')');
    RETURN cardinality(_parts) = 2 AND cardinality(_rest) = 2 AND _parts[1] ~* _head AND _rest[2] ~ '^\s*;?\s*$';
END
$$;
