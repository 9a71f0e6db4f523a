-- A clock that stands still, for tests: clock_set, clock_advance and
-- clock_reset in a schema of their own, which only the owner of the schema can
-- install and use. If another role has made that schema, it is not used.
CREATE SCHEMA IF NOT EXISTS "{s}_test";
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_namespace n WHERE n.nspname OPERATOR(pg_catalog.=) '{s}_test'
               AND pg_catalog.pg_get_userbyid(n.nspowner) OPERATOR(pg_catalog.<>) current_user) THEN
        RAISE EXCEPTION USING ERRCODE = 'PH002', MESSAGE = 'schema "{s}_test" belongs to another role';
    END IF;
END
$$;
CREATE OR REPLACE FUNCTION "{s}_test".{p}clock_set(t timestamptz) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE {schema}.{p}store SET clock = t;
    UPDATE {schema}.{p}queue SET clock = t
$$;
CREATE OR REPLACE FUNCTION "{s}_test".{p}clock_advance(d interval) RETURNS timestamptz
    LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
    SELECT "{s}_test".{p}clock_set({schema}.{p}clock() + d);
    SELECT {schema}.{p}clock()
$$;
CREATE OR REPLACE FUNCTION "{s}_test".{p}clock_reset() RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT "{s}_test".{p}clock_set(NULL) $$;
REVOKE ALL ON FUNCTION "{s}_test".{p}clock_set, "{s}_test".{p}clock_advance, "{s}_test".{p}clock_reset FROM PUBLIC;
