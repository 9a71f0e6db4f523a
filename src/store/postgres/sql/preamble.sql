-- Run in one transaction. The lock makes two migrations at once wait for each
-- other; the search path makes the names below land in the schema.
SELECT pg_advisory_xact_lock(hashtextextended('posthorn migrate {schema}.{p}', 0));
CREATE SCHEMA IF NOT EXISTS {schema};
SET LOCAL search_path = {schema}, pg_temp;
SET LOCAL client_min_messages = warning;
SET LOCAL check_function_bodies = off;
