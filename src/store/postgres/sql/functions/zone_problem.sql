-- zone_problem(timezone) → what is wrong with the name of a time zone, or null. It must be one of the
-- server's, letter for letter: AT TIME ZONE would also take abbreviations, other cases and rules in
-- the POSIX form, of which a scheduler has no file. It reads the server's zone files, which takes
-- some milliseconds: for declarations only.
CREATE OR REPLACE FUNCTION {p}zone_problem(_timezone text) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF _timezone <> 'UTC' AND NOT EXISTS (SELECT FROM pg_timezone_names z WHERE z.name = _timezone) THEN
        RETURN format('there is no time zone "%s"; give one such as Europe/Berlin (pg_timezone_names has those of the server)',
                      left(_timezone, 100));
    END IF;
    RETURN NULL;
END
$$;
