-- The rights of each role on functions and views. Only roles that may use the schema get
-- any, which roles.sql allows: so a migration, which runs this too because functions that
-- it has replaced have lost their rights, grants nothing unasked.
DO $$
DECLARE
    role text;
    kind text; -- what it is for
    door text;
BEGIN
    FOR role, kind IN SELECT r.rolname, is_for FROM {schema}.{p}store s
                    CROSS JOIN pg_catalog.unnest(ARRAY['producer', 'worker', 'scheduler', 'reader']) AS is_for
                    JOIN pg_catalog.pg_roles r ON r.rolname = coalesce(s.role_prefix, '{s}') || '_' || is_for
                    WHERE pg_catalog.has_schema_privilege(r.oid, '{s}', 'USAGE') LOOP
        EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION {schema}.{p}clock(), {schema}.{p}schema_version() TO %I', role);
        IF kind IN ('producer', 'worker') THEN
            EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION {schema}.{p}enqueue, {schema}.{p}enqueue_many, '
                           '{schema}.{p}work_enqueue, {schema}.{p}work_enqueue_many, {schema}.{p}doorbell_ring, '
                           '{schema}.{p}inbox_receive, {schema}.{p}timer_schedule, {schema}.{p}timer_cancel, '
                           '{schema}.{p}join_start, {schema}.{p}join_attach, {schema}.{p}join_attach_many, '
                           '{schema}.{p}join_report_completed, {schema}.{p}join_report_failed, {schema}.{p}join_wait, '
                           '{schema}.{p}join_cancel, {schema}.{p}work_join_start, {schema}.{p}work_join_attach, '
                           '{schema}.{p}work_join_report, {schema}.{p}work_join_wait, {schema}.{p}work_join_cancel TO %I', role);
        END IF;
        IF kind = 'worker' THEN
            FOREACH door IN ARRAY ARRAY['outbox', 'inbox', 'timers', 'job_runs'] LOOP
                EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION {schema}.{p}%1$s_claim, {schema}.{p}%1$s_ack, {schema}.{p}%1$s_abandon, '
                               '{schema}.{p}%1$s_fail, {schema}.{p}%1$s_release, {schema}.{p}%1$s_renew, '
                               '{schema}.{p}%1$s_reap_expired TO %2$I', door, role);
            END LOOP;
            EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION {schema}.{p}work_claim, {schema}.{p}work_settle, {schema}.{p}work_renew, '
                           '{schema}.{p}work_reap_expired, '
                           '{schema}.{p}job_trigger, {schema}.{p}work_job_trigger, '
                           '{schema}.{p}process_work_batch, {schema}.{p}work_batch, {schema}.{p}work_batch_whole, '
                           '{schema}.{p}instance_leave, {schema}.{p}work_leave, '
                           '{schema}.{p}receptor_complete, {schema}.{p}receptor_fail, {schema}.{p}work_receptors, '
                           '{schema}.{p}checkpoint_complete, {schema}.{p}checkpoint_fail, {schema}.{p}checkpoint_rewind, '
                           '{schema}.{p}work_checkpoints, {schema}.{p}work_checkpoint_rewind TO %I', role);
        END IF;
        IF kind = 'scheduler' THEN
            EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION {schema}.{p}work_tick, {schema}.{p}work_advance, '
                           '{schema}.{p}doorbell_ring TO %I', role);
        END IF;
        IF kind IN ('worker', 'reader') THEN
            EXECUTE pg_catalog.format('GRANT SELECT ON {schema}.{p}work_state, {schema}.{p}outbox, {schema}.{p}dead_letters, {schema}.{p}queues, '
                           '{schema}.{p}timers, {schema}.{p}job_runs, {schema}.{p}jobs, {schema}.{p}joins, '
                           '{schema}.{p}join_members, {schema}.{p}inbox, {schema}.{p}instances, {schema}.{p}streams, '
                           '{schema}.{p}receptors, {schema}.{p}checkpoints TO %I', role);
            -- A view's functions run with its reader's rights.
            EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION {schema}.{p}work_count, {schema}.{p}work_history, '
                           '{schema}.{p}id_number, {schema}.{p}lane, {schema}.{p}work_list, {schema}.{p}work_queues, {schema}.{p}queue_is_used, '
                           '{schema}.{p}work_places, {schema}.{p}work_joins, {schema}.{p}work_streams, {schema}.{p}work_unclaimed, '
                           '{schema}.{p}work_stream_read, {schema}.{p}stream_read, {schema}.{p}partition_owner TO %I', role);
        END IF;
    END LOOP;
END
$$;
