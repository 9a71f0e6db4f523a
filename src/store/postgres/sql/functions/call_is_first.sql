-- call_is_first(context) → whether the caller's call, whose PG_CONTEXT this is, can be seen to come
-- first in its transaction: nothing was begun or written before, and no function calls it. With the
-- extended protocol, as drivers with parameters use it, the server tells less: then it is false.
CREATE OR REPLACE FUNCTION {p}call_is_first(_context text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN statement_timestamp() = transaction_timestamp() AND pg_current_xact_id_if_assigned() IS NULL
           AND position(E'\n' IN _context) = 0;
END
$$;
