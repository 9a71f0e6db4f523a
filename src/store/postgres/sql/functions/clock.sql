-- clock() → the engine's time. Not now(), which stands still in a long
-- transaction. For tests the owner can stop it (test_clock.sql): a row that
-- only the owner can write, never a session setting, which any role could change.
CREATE OR REPLACE FUNCTION {p}clock() RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT coalesce(s.clock, clock_timestamp()) FROM {p}store s WHERE s.one);
END
$$;
