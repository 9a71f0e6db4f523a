-- call_is_alone(context) → whether the caller's call, whose PG_CONTEXT this is, can be seen to be
-- all that its transaction does: it comes first (call_is_first), and the query is one statement that
-- writes nothing else by itself.
CREATE OR REPLACE FUNCTION {p}call_is_alone(_context text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN {p}call_is_first(_context) AND current_query() !~* ';\s*\S|\m(insert|update|delete|merge)\M';
END
$$;
