-- The rights of each role; the roles are made if they are missing (that needs
-- CREATEROLE). Grant them to your logins:
--     GRANT {s}_producer TO web_app;
-- {s}_producer  enqueues and rings the doorbell, and nothing else
-- {s}_worker    enqueues, rings, claims, settles, reaps; reads what the reader reads
-- {s}_reader    reads the views, lists and counts; runs the doctor
-- The owner of the schema may do everything, dead letters, queue settings and
-- retention among it.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['{s}_producer', '{s}_worker', '{s}_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
        EXECUTE format('GRANT USAGE ON SCHEMA {schema} TO %I', role);
        EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.{p}clock(), {schema}.{p}schema_version() TO %I', role);
    END LOOP;
    FOREACH role IN ARRAY ARRAY['{s}_producer', '{s}_worker'] LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.{p}enqueue, {schema}.{p}enqueue_many, '
                       '{schema}.{p}work_enqueue, {schema}.{p}work_enqueue_many, {schema}.{p}doorbell_ring TO %I', role);
    END LOOP;
    EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.{p}outbox_claim, {schema}.{p}outbox_ack, '
                   '{schema}.{p}outbox_abandon, {schema}.{p}outbox_fail, {schema}.{p}outbox_release, '
                   '{schema}.{p}outbox_renew, {schema}.{p}outbox_reap_expired, {schema}.{p}work_claim, '
                   '{schema}.{p}work_settle, {schema}.{p}work_renew TO %I', '{s}_worker');
    FOREACH role IN ARRAY ARRAY['{s}_worker', '{s}_reader'] LOOP
        EXECUTE format('GRANT SELECT ON {schema}.{p}outbox, {schema}.{p}dead_letters, {schema}.{p}queues TO %I', role);
        -- A view's functions run with its reader's rights.
        EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.{p}work_count, {schema}.{p}work_history, '
                       '{schema}.{p}id_number, {schema}.{p}work_list, {schema}.{p}work_queues, '
                       '{schema}.{p}work_places TO %I', role);
    END LOOP;
END
$$;
