-- A clock that stands still, for tests: clock_set, clock_advance and
-- clock_reset in a schema of their own, which only the owner of the schema can
-- install and use.
CREATE SCHEMA IF NOT EXISTS "{s}_test";
CREATE OR REPLACE FUNCTION "{s}_test".{p}clock_set(t timestamptz) RETURNS void
    LANGUAGE sql SET search_path = {schema}, pg_temp
AS $$
    UPDATE {p}store SET clock = t;
    UPDATE {p}queue SET clock = t
$$;
CREATE OR REPLACE FUNCTION "{s}_test".{p}clock_advance(d interval) RETURNS timestamptz
    LANGUAGE sql SET search_path = {schema}, pg_temp
AS $$
    SELECT "{s}_test".{p}clock_set({p}clock() + d);
    SELECT {p}clock()
$$;
CREATE OR REPLACE FUNCTION "{s}_test".{p}clock_reset() RETURNS void
    LANGUAGE sql SET search_path = {schema}, pg_temp
AS $$ SELECT "{s}_test".{p}clock_set(NULL) $$;
REVOKE ALL ON FUNCTION "{s}_test".{p}clock_set, "{s}_test".{p}clock_advance, "{s}_test".{p}clock_reset FROM PUBLIC;
