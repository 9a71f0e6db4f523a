-- schema_version() → the version of the schema, and the oldest library it serves.
CREATE OR REPLACE FUNCTION {p}schema_version(OUT version int, OUT serves_from int)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT s.version, s.serves_from FROM {p}store s WHERE s.one $$;
