-- clock() → the engine's time. Not now(), which stands still in a long
-- transaction. Tests let the owner replace this function (test_clock.sql).
CREATE OR REPLACE FUNCTION {p}clock() RETURNS timestamptz
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$ SELECT clock_timestamp() $$;
