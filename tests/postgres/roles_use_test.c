/* roles_use_test.c - what the roles are for, through the library and in SQL,
 * and the error that a lacking right is. */
#include "roles.h"

/* The error of a lacking right names the cure. */
static void denied(int status)
{
    if (status != PH_EPERM)
        printf("got %d: %s\n", status, t_err.message);
    REQ_INT("OBX-124", status, PH_EPERM);
    CHECK_STR(t_err.sqlstate, "42501");
    CHECK(strstr(t_err.message, "permission denied") != NULL);
    CHECK(strstr(t_err.message, "; grant the role what it needs: see ph_migrate_sql()") != NULL);
}

static void operating_is_denied(ph_store *store)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_work_id id = { { 1 } };

    settings.max_attempts = 3;
    denied(ph_outbox_queue_set(store, PH_OWN_TX, NULL, &settings, 0, &t_err));
    denied(ph_outbox_queue_pause(store, PH_OWN_TX, NULL, 0, &t_err));
    denied(ph_outbox_queue_resume(store, PH_OWN_TX, NULL, 0, &t_err));
    denied(ph_outbox_queue_delete(store, PH_OWN_TX, NULL, 0, NULL, &t_err));
    denied(ph_dead_retry(store, PH_OWN_TX, &id, 1, 0, NULL, &t_err));
    denied(ph_dead_discard(store, PH_OWN_TX, &id, 1, 0, NULL, &t_err));
    denied(ph_retention_run(store, PH_OWN_TX, 0, 0, NULL, &t_err));
    REQ_INT("OBX-124", ph_migrate(store, 0, NULL, &t_err), PH_EPERM);
    CHECK(strstr(t_err.message, say("belongs to %s", login("owner"))) != NULL);
}

static void looking_is_denied(ph_store *store)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_messages *list = NULL;
    ph_queues *queues = NULL;
    ph_message_info *info = NULL;
    ph_report *report = NULL;
    ph_work_id id = { { 1 } };

    denied(ph_outbox_find(store, PH_OWN_TX, id, 0, &info, &t_err));
    denied(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    denied(ph_outbox_list(store, PH_OWN_TX, NULL, 0, &list, &t_err));
    denied(ph_queue_list(store, PH_OWN_TX, NULL, 0, &queues, &t_err));
    denied(ph_inbox_list(store, PH_OWN_TX, NULL, 0, &list, &t_err));
    denied(ph_stream_read(store, PH_OWN_TX, PH_OUTBOX, NULL, "a", 0, 0, 0, &list, &t_err));
    denied(ph_doctor(store, NULL, 0, &report, &t_err));
}

/* The version of the schema is no secret from those who may use it. */
static void inspecting_is_allowed(ph_store *store)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;

    OK(ph_schema_inspect(store, 0, &status, &t_err));
    CHECK(status.usable && !status.pending);
    CHECK_INT(status.installed, status.library);
}

static void looking_is_allowed(ph_store *store, ph_work_id id, size_t messages)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_doctor_opts deep = PH_DOCTOR_OPTS_INIT;
    ph_messages *list = NULL;
    ph_queues *queues = NULL;
    ph_message_info *info = NULL;
    ph_report *report = NULL;

    OK(ph_outbox_find(store, PH_OWN_TX, id, 0, &info, &t_err));
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    OK(ph_outbox_list(store, PH_OWN_TX, NULL, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), messages);
    OK(ph_queue_list(store, PH_OWN_TX, NULL, 0, &queues, &t_err));
    CHECK_INT(ph_queues_count(queues), 1);
    deep.deep = true;
    OK(ph_doctor(store, &deep, 0, &report, &t_err));
    CHECK(ph_report_count(report) >= 8);
    ph_message_info_free(info);
    ph_messages_free(list);
    ph_queues_free(queues);
    ph_report_free(report);
    inspecting_is_allowed(store);
}

static void coordinating_is_denied(ph_store *store)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_receptor_result receptor = { { { 1 } }, "r", false, NULL };
    ph_checkpoint_result checkpoint = { PH_OUTBOX, NULL, "a", "c", 1, false, NULL };
    ph_work_batch *batch = NULL;

    opts.instance_id = ph_owner_new();
    opts.service_name = "s";
    denied(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &batch, &t_err));
    denied(ph_instance_leave(store, PH_OWN_TX, opts.instance_id, 0, NULL, &t_err));
    denied(ph_receptor_report(store, PH_OWN_TX, &receptor, 1, 0, &t_err));
    denied(ph_checkpoint_report(store, PH_OWN_TX, &checkpoint, 1, 0, &t_err));
    denied(ph_checkpoint_rewind(store, PH_OWN_TX, PH_OUTBOX, NULL, "a", "c", 0, 0, NULL, &t_err));
}

static void working_is_denied(ph_store *store)
{
    ph_lease_ref ref = { { { 1 } }, 0, 0, 0 };
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;

    denied(ph_outbox_claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &t_err));
    denied(ph_outbox_ack(store, PH_OWN_TX, owner, &ref, 1, 0, NULL, &t_err));
    denied(ph_outbox_renew(store, PH_OWN_TX, owner, &ref, 1, 0, 0, NULL, &t_err));
    denied(ph_outbox_reap_expired(store, PH_OWN_TX, 0, NULL, &t_err));
    denied(ph_inbox_claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &t_err));
    denied(ph_inbox_ack(store, PH_OWN_TX, owner, &ref, 1, 0, NULL, &t_err));
    coordinating_is_denied(store);
}

TEST(the_producer_enqueues)
{
    ph_message m[2] = { PH_MESSAGE_INIT, PH_MESSAGE_INIT };
    ph_inbox_message received = PH_INBOX_MESSAGE_INIT;
    struct t_conn *conn;
    ph_batch *batch = NULL;
    ph_store *store;

    roles_set_up();
    store = open_as("producer");
    m[0].topic = m[1].topic = "t";
    m[0].payload = m[1].payload = "p";
    m[1].ns = "a namespace that is new";
    m[1].dedupe_key = "k";
    OK(ph_enqueue(store, PH_OWN_TX, &m[0], 0, NULL, &t_err));
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 2, 0, NULL, &t_err));
    OK(ph_enqueue(store, PH_OWN_TX, &m[1], 0, NULL, &t_err));
    CHECK(t_clock(store) > T_EPOCH);

    conn = a_connection(url_as(&producer));
    t_begin(conn);
    t_sql(conn, "SELECT {t}enqueue('t', 'p', dedupe_key => 'k')");
    t_sql(conn, "SELECT {t}enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\"}]')");
    OK(ph_enqueue(store, t_tx(conn), &m[0], 0, NULL, &t_err));
    t_commit(conn);
    CHECK_INT(t_number(super, "SELECT count(*) FROM {t}outbox"), 6);

    received.source = "s";
    received.source_id = "1";
    received.topic = "t";
    received.payload = "p";
    OK(ph_inbox_receive(store, PH_OWN_TX, &received, 0, NULL, &t_err));
    t_sql(conn, "SELECT {t}inbox_receive('s', '2', 't', 'p', stream => 'a')");
    t_sql(conn, "SELECT {t}enqueue('t', 'p', stream => 'a')");
    CHECK_INT(t_number(super, "SELECT count(*) FROM {t}inbox"), 2);

    OK(ph_doorbell_ring(store, "a namespace that is new", 0, &t_err));
    t_sql(conn, "SELECT {t}doorbell_ring()");
    working_is_denied(store);
    looking_is_denied(store);
    operating_is_denied(store);
    inspecting_is_allowed(store);
    t_begin(conn);
    denied(ph_outbox_claim(store, t_tx(conn), ph_owner_new(), NULL, 0, &batch, &t_err));
    CHECK(t_err.flags & PH_TX_DEAD);
    t_rollback(conn);
    t_disconnect(conn);
    ph_close(store);
    roles_tear_down();
}

/* The functions beneath take checked arguments. Called directly, they must not
 * let a message into another door or another queue's lane. */
TEST(the_producer_cannot_smuggle)
{
    static const char *const attempts[] = {
        "work_enqueue(1::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, 1::smallint, NULL, NULL, "
        "NULL, NULL, NULL)",
        "work_enqueue(NULL, '', 't', 'p', NULL, NULL, NULL, NULL, 1::smallint, NULL, NULL, NULL, "
        "NULL, NULL)",
        "work_enqueue(0::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, 4::smallint, NULL, NULL, "
        "NULL, NULL, NULL)",
        "work_enqueue(0::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, -1::smallint, NULL, NULL, "
        "NULL, NULL, NULL)",
        "work_enqueue_many(1::smallint, ROW('{\"\"}', ARRAY['t'], ARRAY['p'], NULL, NULL, NULL, "
        "NULL, "
        "'{1}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::{t}work_messages)",
        "work_enqueue_many(0::smallint, ROW('{\"\"}', ARRAY['t'], ARRAY['p'], NULL, NULL, NULL, "
        "NULL, "
        "'{5}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::{t}work_messages)",
    };
    struct t_conn *conn;

    roles_set_up();
    conn = a_connection(url_as(&producer));
    for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
        if (t_try_sql(conn, say("SELECT {t}%s", attempts[i])))
            printf("%s\n", attempts[i]);
        CHECK_INT(t_number(super, "SELECT count(*) FROM {t}message"), 0);
        CHECK_INT(t_number(super, "SELECT count(*) FROM {t}queue"), 1);
    }
    t_disconnect(conn);
    roles_tear_down();
}

TEST(the_worker_works)
{
    ph_owner owner = ph_owner_new();
    ph_message m = PH_MESSAGE_INIT;
    ph_lease_ref refs[5];
    ph_batch *batch = NULL;
    ph_store *store;

    roles_set_up();
    store = open_as("worker");
    m.topic = "t";
    m.payload = "p";
    for (int i = 0; i < 5; i++)
        OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    batch = t_claim(store, owner, 5);
    REQ_INT("OBX-123", ph_batch_count(batch), 5);
    for (size_t i = 0; i < 5; i++)
        refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    ph_batch_free(batch);
    OK(ph_outbox_renew(store, PH_OWN_TX, owner, refs, 5, 60, 0, NULL, &t_err));
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, 1, 0, NULL, &t_err));
    OK(ph_outbox_abandon(store, PH_OWN_TX, owner, refs + 1, 1, "e", PH_DELAY_POLICY, 0, NULL,
                         &t_err));
    OK(ph_outbox_fail(store, PH_OWN_TX, owner, refs + 2, 1, "e", 0, NULL, &t_err));
    OK(ph_outbox_release(store, PH_OWN_TX, owner, refs + 3, 1, 0, NULL, &t_err));
    OK(ph_outbox_reap_expired(store, PH_OWN_TX, 0, NULL, &t_err));
    REQ_STR("OBX-123",
            t_value(super, "SELECT string_agg(status, ' ' ORDER BY status) FROM {t}outbox"),
            "done failed in_progress ready ready");
    OK(ph_doorbell_ring(store, NULL, 0, &t_err));
    looking_is_allowed(store, refs[2].work_id, 5);
    operating_is_denied(store);
    ph_close(store);
    roles_tear_down();
}

/* "Never again" and runs of instants that no cron expression has: not for workers. */
TEST(a_worker_cannot_say_when_jobs_run_but_a_scheduler_can)
{
    ph_schedule done = PH_SCHEDULE_INIT;
    ph_scheduler *schedule = NULL;
    struct t_conn *conn;
    ph_store *store;

    roles_set_up();
    t_sql(super, "SELECT {t}job_set('j', 't', '* * * * *')");
    conn = a_connection(url_as(&worker));
    refused(conn, "42501", "permission denied for function work_advance",
            "SELECT {t}work_advance('{j}', '{1}', '{NULL}', '{NULL}', '{NULL}', '{0}', '{}')");
    refused(conn, "42501", "permission denied for function work_tick",
            "SELECT {t}work_tick(gen_random_uuid(), 1, true, true)");
    t_sql(conn, "SELECT {t}job_trigger('j')");
    t_disconnect(conn);
    store = open_as("scheduler");
    OK(ph_scheduler_new(store, NULL, &schedule, &t_err));
    OK(ph_scheduler_run(schedule, 0, &done, &t_err));
    CHECK_INT(done.job_runs, 1);
    CHECK_INT(t_number(super, "SELECT count(*) FROM {t}job WHERE next_at > now()"), 1);
    ph_scheduler_free(schedule);
    ph_close(store);
    conn = a_connection(url_as(&scheduler));
    refused(conn, "22023", "the lists are not all of one length",
            "SELECT {t}work_advance('{j}', '{1,2}', '{NULL}', '{NULL}', '{NULL}', '{0}', '{}')");
    refused(conn, "22023", "the lists are not all of one length",
            "SELECT {t}work_advance('{j}', '{1}', '{NULL}', '{NULL}', '{NULL}', '{20001}', "
            "array_fill(now(), '{20001}'))");
    refused(conn, "22023", "n is null; give 1 to 10000",
            "SELECT {t}work_tick(gen_random_uuid(), NULL, true, true)");
    t_disconnect(conn);
    roles_tear_down();
}

/* Roles belong to the whole server. */
TEST(a_worker_of_one_database_is_none_in_another_that_has_roles_of_its_own)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    const char *url = t_fresh_database();
    char prefix[60];
    struct t_conn *there = a_connection(url), *conn;
    ph_store *store = NULL;
    char *sql = NULL;

    roles_set_up(); /* in a database of its own, with the same name of the schema */
    snprintf(prefix, sizeof(prefix), "%s_b", t_schema());
    opts.schema = t_schema();
    opts.deploy_schema = true;
    OK(t_try_open(url, &opts, &store));
    OK(ph_migrate_sql(store, true, &sql, &t_err));
    refused(there, "22023", "posthorn.role_prefix has at most 40 letters",
            say("SET posthorn.role_prefix = 'a b'; %s", sql));
    t_sql(there, say("SET posthorn.role_prefix = '%s'", prefix));
    t_sql(there, sql);
    t_sql(there, "RESET posthorn.role_prefix");
    t_sql(there, sql); /* it was kept */
    conn = a_connection(url_with(url, say("user=%s", login("worker"))));
    refused(conn, "42501", "permission denied for schema",
            "SELECT {t}outbox_claim(gen_random_uuid(), 30, 1)");
    t_sql(super, say("GRANT %s_worker TO %s", prefix, login("worker")));
    t_sql(conn, "SELECT {t}outbox_claim(gen_random_uuid(), 30, 1)");
    t_sql(there, "UPDATE {t}store SET functions = ''"); /* a migration grants anew, by that name */
    t_sql(there, say("REVOKE EXECUTE ON FUNCTION {t}outbox_claim FROM %s_worker", prefix));
    OK(ph_migrate(store, 0, NULL, &t_err));
    t_sql(conn, "SELECT {t}outbox_claim(gen_random_uuid(), 30, 1)");
    t_disconnect(conn);
    ph_free(sql);
    ph_close(store);
    t_sql(there, say("DROP OWNED BY %s_producer, %s_worker, %s_scheduler, %s_reader", prefix,
                     prefix, prefix, prefix));
    t_sql(there, say("DROP ROLE %s_producer, %s_worker, %s_scheduler, %s_reader", prefix, prefix,
                     prefix, prefix));
    roles_tear_down();
}

TEST(the_reader_reads)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_message m = PH_MESSAGE_INIT;
    ph_message_info *info = NULL;
    ph_store *work, *store;
    ph_owner owner = ph_owner_new();
    ph_enqueued ids[3];
    ph_lease_ref refs[2];
    ph_batch *batch;
    struct t_conn *conn;

    roles_set_up();
    work = open_as("worker");
    store = open_as("reader");
    m.topic = "t";
    m.payload = "p";
    for (int i = 0; i < 3; i++)
        OK(ph_enqueue(work, PH_OWN_TX, &m, 0, &ids[i], &t_err));
    batch = t_claim(work, owner, 2);
    refs[0] = ph_lease_ref_of(ph_batch_at(batch, 0));
    refs[1] = ph_lease_ref_of(ph_batch_at(batch, 1));
    ph_batch_free(batch);
    OK(ph_outbox_ack(work, PH_OWN_TX, owner, refs, 1, 0, NULL, &t_err));
    OK(ph_outbox_fail(work, PH_OWN_TX, owner, refs + 1, 1, "e", 0, NULL, &t_err));

    for (int i = 0; i < 3; i++) {
        OK(ph_outbox_find(store, PH_OWN_TX, ids[i].work_id, 0, &info, &t_err));
        ph_message_info_free(info);
    }
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    CHECK_INT(counts.ready + counts.dead, 2);
    conn = a_connection(url_as(&reader));
    CHECK_STR(t_value(conn, "SELECT string_agg(status, ' ' ORDER BY status) FROM {t}outbox"),
              "done failed ready");
    CHECK_STR(t_value(conn, "SELECT reason FROM {t}dead_letters"), "failed");
    CHECK_STR(t_value(conn, "SELECT door FROM {t}queues"), "outbox");

    looking_is_allowed(store, ids[0].work_id, 3);
    denied(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    denied(ph_doorbell_ring(store, NULL, 0, &t_err));
    working_is_denied(store);
    operating_is_denied(store);
    t_disconnect(conn);
    ph_close(work);
    ph_close(store);
    roles_tear_down();
}

/* Streams, the inbox, instances, receptors and checkpoints: the worker works, the reader looks. */
TEST(the_worker_coordinates_and_the_reader_looks_on)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_checkpoint_result checkpoint = { PH_OUTBOX, NULL, "a", "c", 1, false, NULL };
    ph_receptor_result receptor = { .receptor = "r" };
    ph_settlement item = { .verb = PH_ACK };
    ph_message m = PH_MESSAGE_INIT;
    ph_inbox_message i = PH_INBOX_MESSAGE_INIT;
    ph_instances *instances = NULL;
    ph_checkpoints *checkpoints = NULL;
    ph_receptors *receptors = NULL;
    ph_streams *streams = NULL;
    ph_messages *messages = NULL;
    ph_work_batch *batch = NULL;
    ph_store *work, *store;

    roles_set_up();
    work = open_as("worker");
    store = open_as("reader");
    m.topic = i.topic = "t";
    m.payload = i.payload = "p";
    m.stream = i.stream = "a";
    i.source = "s";
    i.source_id = "1";
    opts.instance_id = ph_owner_new();
    opts.service_name = "svc";
    opts.new_outbox = &m;
    opts.new_outbox_count = 1;
    opts.new_inbox = &i;
    opts.new_inbox_count = 1;
    OK(ph_process_work_batch(work, PH_OWN_TX, &opts, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch->outbox) + ph_batch_count(batch->inbox), 2);
    item.lease = ph_lease_ref_of(ph_batch_at(batch->outbox, 0));
    receptor.work_id = item.lease.work_id;
    ph_work_batch_free(batch);
    opts.new_outbox_count = opts.new_inbox_count = 0;
    opts.outbox = &item;
    opts.outbox_count = 1;
    opts.checkpoints = &checkpoint;
    opts.checkpoint_count = 1;
    opts.receptors = &receptor;
    opts.receptor_count = 1;
    OK(ph_process_work_batch(work, PH_OWN_TX, &opts, 0, &batch, &t_err));
    REQ_INT("OBX-123", batch->outbox_outcomes[0], PH_OUTCOME_ACKED);
    ph_work_batch_free(batch);
    OK(ph_receptor_report(work, PH_OWN_TX, &receptor, 1, 0, &t_err));
    OK(ph_checkpoint_report(work, PH_OWN_TX, &checkpoint, 1, 0, &t_err));
    OK(ph_checkpoint_rewind(work, PH_OWN_TX, PH_OUTBOX, NULL, "a", "c", 0, 0, NULL, &t_err));

    OK(ph_instance_list(store, PH_OWN_TX, NULL, 0, &instances, &t_err));
    CHECK_INT(ph_instances_count(instances), 1);
    OK(ph_stream_list(store, PH_OWN_TX, NULL, 0, &streams, &t_err));
    OK(ph_stream_read(store, PH_OWN_TX, PH_OUTBOX, NULL, "a", 0, 0, 0, &messages, &t_err));
    CHECK_INT(ph_messages_count(messages), 1);
    OK(ph_receptor_list(store, PH_OWN_TX,
                        T_OPTS(ph_receptor_list_opts, .work_id = item.lease.work_id), 0, &receptors,
                        &t_err));
    CHECK_INT(ph_receptors_count(receptors), 1);
    OK(ph_checkpoint_list(store, PH_OWN_TX, T_OPTS(ph_checkpoint_list_opts, .stream = "a"), 0,
                          &checkpoints, &t_err));
    CHECK_INT(ph_checkpoints_count(checkpoints), 1);
    coordinating_is_denied(store);
    denied(ph_inbox_receive(store, PH_OWN_TX, &i, 0, NULL, &t_err));
    OK(ph_instance_leave(work, PH_OWN_TX, opts.instance_id, 0, NULL, &t_err));
    ph_instances_free(instances);
    ph_streams_free(streams);
    ph_messages_free(messages);
    ph_receptors_free(receptors);
    ph_checkpoints_free(checkpoints);
    ph_close(work);
    ph_close(store);
    roles_tear_down();
}
