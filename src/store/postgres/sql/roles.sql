-- The roles, made if they are missing (that needs CREATEROLE); grants.sql gives them their rights, and
-- every later migration does so again. Run it as the owner of the schema or a superuser. Grant them to
-- your logins:
--     GRANT {s}_producer TO web_app;
-- {s}_producer   enqueues, receives into the inbox, schedules and cancels timers, starts and steers joins,
--                rings the doorbell, and nothing else
-- {s}_worker     the same, and claims, settles, reaps behind every door, as an instance or not; reports of
--                receptors and checkpoints, and rewinds those; triggers jobs; reads what the reader reads
-- {s}_scheduler  runs the scheduler, and so decides when jobs run; a dispatcher that schedules needs this
--                one and the worker's
-- {s}_reader     reads the views, lists, streams and counts; runs the doctor
-- The owner of the schema may do everything, also with dead letters, jobs, queue settings and
-- retention.
--
-- Roles belong to the whole server: a login that has the worker's role of one database is a worker in
-- every other one whose schema has the same name. Give each database roles of its own then, called
-- shop_eu_producer and so on, by running this before:
--     SET posthorn.role_prefix = 'shop_eu';
-- The name is kept in the schema. Roles that had rights before keep them until you revoke them:
--     REVOKE USAGE ON SCHEMA {schema} FROM {s}_producer, {s}_worker, {s}_scheduler, {s}_reader;
DO $$
DECLARE
    prefix text := nullif(pg_catalog.current_setting('posthorn.role_prefix', true), '');
    role text;
BEGIN
    IF prefix !~ '^[A-Za-z_][A-Za-z0-9_]{0,39}$' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE =
            'posthorn.role_prefix has at most 40 letters, digits and underscores, and begins with no digit';
    END IF;
    UPDATE {schema}.{p}store SET role_prefix = prefix WHERE prefix IS NOT NULL;
    SELECT coalesce(s.role_prefix, '{s}') INTO prefix FROM {schema}.{p}store s;
    FOREACH role IN ARRAY ARRAY[prefix || '_producer', prefix || '_worker', prefix || '_scheduler', prefix || '_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role) THEN
            EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', role);
        END IF;
        EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA {schema} TO %I', role);
    END LOOP;
END
$$;
