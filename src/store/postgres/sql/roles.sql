-- The roles, made if they are missing (that needs CREATEROLE); grants.sql gives them
-- their rights. Grant them to your logins:
--     GRANT {s}_producer TO web_app;
-- {s}_producer  enqueues, receives into the inbox, schedules and cancels timers, starts and steers joins,
--               rings the doorbell, and nothing else
-- {s}_worker    the same, and claims, settles, reaps behind every door, as an instance or not; reports of
--               receptors and checkpoints, and rewinds those; runs the scheduler and triggers jobs; reads
--               what the reader reads
-- {s}_reader    reads the views, lists, streams and counts; runs the doctor
-- The owner of the schema may do everything, dead letters, jobs, queue settings
-- and retention among it.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['{s}_producer', '{s}_worker', '{s}_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role) THEN
            EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', role);
        END IF;
        EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA {schema} TO %I', role);
    END LOOP;
END
$$;
