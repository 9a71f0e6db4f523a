-- query_is_single(name) → whether the query that runs is SELECT name(…) or SELECT columns FROM
-- name(…), without another call in it and with nothing behind it. If the call is the first of its
-- transaction, too (call_is_first), then it is certainly all that the transaction does.
-- call_is_alone is less strict: there functions in the query may write.
--
-- The query may be long, so a pattern sees only what is before the arguments.
CREATE OR REPLACE FUNCTION {p}query_is_single(_name text) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _head CONSTANT text := '^\s*select\s+((\*|\w+(\s*,\s*\w+)*)\s+from\s+)?("?\w+"?\s*\.\s*)?"?\w*' || _name || '"?\s*$';
    _parts CONSTANT text[] := string_to_array(current_query(), '('); -- around parentheses
    _rest CONSTANT text[] := string_to_array(_parts[2], ')');
BEGIN
    RETURN cardinality(_parts) = 2 AND cardinality(_rest) = 2 AND _parts[1] ~* _head AND _rest[2] ~ '^\s*;?\s*$';
END
$$;
