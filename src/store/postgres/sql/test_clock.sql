-- A clock that stands still, for tests: clock_set, clock_advance and
-- clock_reset in a schema of their own, which only the owner of the schema can
-- install, because they replace its function clock().
CREATE SCHEMA IF NOT EXISTS "{s}_test";
CREATE TABLE IF NOT EXISTS "{s}_test".{p}clock_now (now timestamptz NOT NULL);
CREATE OR REPLACE FUNCTION "{s}_test".{p}clock_set(t timestamptz) RETURNS void
    LANGUAGE sql SET search_path = "{s}_test", pg_temp
AS $$
    DELETE FROM {p}clock_now;
    INSERT INTO {p}clock_now VALUES (t)
$$;
CREATE OR REPLACE FUNCTION "{s}_test".{p}clock_advance(d interval) RETURNS timestamptz
    LANGUAGE sql SET search_path = "{s}_test", pg_temp
AS $$ UPDATE {p}clock_now SET now = now + d RETURNING now $$;
CREATE OR REPLACE FUNCTION "{s}_test".{p}clock_reset() RETURNS void
    LANGUAGE sql SET search_path = "{s}_test", pg_temp
AS $$ DELETE FROM {p}clock_now $$;
REVOKE ALL ON FUNCTION "{s}_test".{p}clock_set, "{s}_test".{p}clock_advance, "{s}_test".{p}clock_reset FROM PUBLIC;
CREATE OR REPLACE FUNCTION {schema}.{p}clock() RETURNS timestamptz
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = "{s}_test", pg_temp
AS $$ SELECT coalesce((SELECT c.now FROM {p}clock_now c), clock_timestamp()) $$;
