/* outage_test.c - the database goes away and comes back: the dispatcher goes on by itself, and says
 * so once. */
#include "proxy.h"
#include "rig.h"
#include "server.h"

#include <libpq-fe.h>

/* The rig with a store that waits this long for the database. */
static void open_impatient(struct rig *rig)
{
    ph_store_opts opts = rig_store_opts();

    rig_open(rig);
    opts.timeout_ms = 300;
    rig->store = t_open(&opts);
}

static void rest(int ms)
{
    for (double end = t_now_s() + ms / 1e3; t_now_s() < end;)
        nap();
}

static void check_said_once(struct rig *rig)
{
    if (journal_count(rig->journal, PH_LOG_WARN, "dispatcher", "cannot be used") != 1)
        journal_print(rig->journal);
    CHECK_INT(journal_count(rig->journal, PH_LOG_WARN, "dispatcher", "cannot be used"), 1);
    CHECK_INT(journal_count(rig->journal, PH_LOG_ERROR, NULL, NULL), 0);
    CHECK_INT(journal_count(rig->journal, PH_LOG_WARN, "dispatcher", "back"), 1);
}

static void lock_everything(struct t_conn *conn)
{
    t_begin(conn);
    if (t_is_pg())
        t_sql(conn, "LOCK TABLE {t}lease IN ACCESS EXCLUSIVE MODE");
}

/* Handlers end while everything is locked, so that there is something to write. */
TEST(a_database_that_is_locked_for_a_while_is_found_again)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    open_impatient(&rig);
    put_many(rig.side, "t", 2, NULL);
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 2);
    lock_everything(rig.conn);
    gate_open(&gate);
    AWAIT(rig_stats(&rig).outages == 1);
    CHECK(!rig_stats(&rig).connected);
    rest(1500); /* many tries fail meanwhile */
    CHECK_INT(rig_stats(&rig).outages, 1);
    t_rollback(rig.conn);
    AWAIT(rig_stats(&rig).connected);
    rig_put(&rig, "t");
    rig_drain(&rig);
    CHECK_INT(part.calls, 3);
    CHECK_INT(rig_stats(&rig).outages, 1);
    check_said_once(&rig);
    rig_end(&rig);
}

/* What handlers have finished meanwhile is settled when the database is back, and not done again. */
TEST(results_wait_for_the_database)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    open_impatient(&rig);
    put_many(rig.side, "t", 4, NULL);
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 4);
    lock_everything(rig.conn);
    gate_open(&gate);
    AWAIT(rig_stats(&rig).outages == 1);
    t_rollback(rig.conn);
    rig_drain(&rig);
    CHECK_INT(part.calls, 4);
    CHECK_INT(rig_stats(&rig).done, 4);
    rig_end(&rig);
}

TEST(a_stop_during_an_outage_returns_and_says_so)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    static struct gate gate = GATE_INIT;
    struct rig rig;
    int r;

    open_impatient(&rig);
    put_many(rig.side, "t", 4, NULL);
    part.gate = &gate;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 4);
    lock_everything(rig.conn);
    gate_open(&gate);
    AWAIT(rig_stats(&rig).outages == 1);
    r = ph_dispatcher_stop(rig.dispatcher, 100, &t_err);
    CHECK(r == PH_ETIMEOUT || r == PH_EBUSY);
    CHECK(t_err.message[0] != '\0');
    ph_dispatcher_free(rig.dispatcher);
    t_rollback(rig.conn);
    t_check_places(rig.conn);
    /* Their leases run out: nothing is lost. */
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 1"), 4);
}

static void *stop_slowly(void *context)
{
    struct rig *rig = context;

    CHECK(ph_dispatcher_stop(rig->dispatcher, 40000, NULL) < 0);
    return NULL;
}

/* All handlers have ended, and the first stop tries to settle until its limit is over. */
TEST(a_second_stop_during_an_outage_may_be_in_a_hurry)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    pthread_t stopper;
    struct rig rig;
    double begin;

    open_impatient(&rig);
    put_many(rig.side, "t", 4, NULL);
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 4);
    lock_everything(rig.conn);
    gate_open(&gate);
    AWAIT(rig_stats(&rig).outages == 1);
    CHECK(pthread_create(&stopper, NULL, stop_slowly, &rig) == 0);
    rest(1500);
    begin = t_now_s();
    CHECK(ph_dispatcher_stop(rig.dispatcher, 0, &t_err) < 0);
    CHECK(t_now_s() - begin < 20);
    pthread_join(stopper, NULL);
    ph_dispatcher_free(rig.dispatcher);
    t_rollback(rig.conn);
    t_check_places(rig.conn);
}

TEST(a_database_that_is_not_there_at_the_start_is_waited_for)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    open_impatient(&rig);
    rig_put(&rig, "t");
    lock_everything(rig.conn);
    rig_run(&rig, NULL, play, &part);
    AWAIT(rig_stats(&rig).outages == 1);
    t_rollback(rig.conn);
    AWAIT(rig_stats(&rig).done == 1);
    check_said_once(&rig);
    rig_end(&rig);
}

TEST(a_schema_that_comes_later_is_waited_for)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct rig rig = { .opts = PH_DISPATCHER_OPTS_INIT };

    opts.schema = t_schema();
    if (!t_is_pg())
        t_disconnect(t_connect()); /* an empty file */
    OK(ph_open_lazy(t_url(), &opts, &rig.store, &t_err));
    rig_run(&rig, NULL, play, &part);
    AWAIT(rig_stats(&rig).outages == 1);
    rig.side = t_open(NULL); /* makes the schema */
    rig.conn = t_connect();
    rig_put(&rig, "t");
    AWAIT(rig_stats(&rig).done == 1);
    rig_end(&rig);
    ph_close(rig.store);
}

/* ------------------------------------------------------------------ files only */

TEST(a_file_that_was_replaced_is_noticed)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *other = NULL;
    struct rig rig;
    char aside[600];

    if (t_is_pg())
        t_not_here("concerns files only");
    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, play, &part);
    AWAIT(part.calls == 1);
    for (const char *const *end = (const char *const[]){ "-wal", "-shm", "", NULL }; *end; end++) {
        char path[600];

        snprintf(path, sizeof(path), "%s%s", t_url() + strlen("sqlite:"), *end);
        snprintf(aside, sizeof(aside), "%s.old%s", t_url() + strlen("sqlite:"), *end);
        CHECK(rename(path, aside) == 0);
    }
    opts.deploy_schema = true;
    OK(t_try_open(t_url(), &opts, &other));
    t_enqueue(other, "t", "in the new file");
    AWAIT(part.calls == 2);
    CHECK(journal_count(rig.journal, PH_LOG_WARN, "connect", "replaced") >= 1);
    rig_stop(&rig);
    ph_dispatcher_free(rig.dispatcher);
    ph_close(other);
}

/* ---------------------------------------------------------------- servers only */

static void only_pg(void)
{
    if (!t_is_pg())
        t_not_here("concerns servers only");
}

#define CUT                                                                                        \
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "   \
    "AND pid <> pg_backend_pid() AND application_name = 'posthorn'"

static ph_verdict write_once(void *context, ph_work *work)
{
    _Atomic int *calls = context;

    (*calls)++;
    return effect_write(work) ? PH_VERDICT_DONE : PH_VERDICT_RETRY;
}

/* A database of its own, so that only this test's sessions are cut. */
static void open_alone(struct rig *rig)
{
    const char *url = t_fresh_database();
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.deploy_schema = true;
    opts.schema = t_schema();
    opts.timeout_ms = 5000;
    *rig = (struct rig){ .opts = PH_DISPATCHER_OPTS_INIT };
    OK(t_try_open(url, &opts, &rig->store));
    OK(ph_open_lazy(url, &opts, &rig->side, &t_err)); /* for calls in transactions only */
    rig->conn = t_connect_to(url);
    rig->opts.poll_ms = 50;
}

TEST(sessions_that_are_cut_again_and_again)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    static _Atomic int calls;
    struct rig rig;

    only_pg();
    open_alone(&rig);
    effects_make(rig.conn);
    rig.opts.lease_s = 3; /* a claim whose answer was lost runs out soon */
    rig_new(&rig);
    rig_handle(&rig, "t", play, &part);
    rig_handle_in_tx(&rig, "tx", write_once, &calls);
    rig_start(&rig);
    for (int i = 0; i < 10; i++) {
        t_begin(rig.conn);
        for (int k = 0; k < 20; k++) {
            ph_message message = a_message(k % 2 ? "t" : "tx", "x");

            OK(ph_enqueue(rig.side, t_tx(rig.conn), &message, 0, NULL, &t_err));
        }
        t_commit(rig.conn);
        rest(30);
        t_sql(rig.conn, CUT);
    }
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2") == 200);
    CHECK_INT(effects(rig.conn), 100);
    CHECK_INT(effects_distinct(rig.conn), 100);
    CHECK(part.calls >= 100);
    rig_end(&rig);
    ph_close(rig.side);
}

/* A store whose connections go through the proxy. */
static ph_store *open_through_proxy(struct rig *rig)
{
    static char socket_path[300], url[600]; /* the proxy keeps the path */
    PGconn *conn = t_native(rig->conn);
    ph_store_opts opts = rig_store_opts();
    ph_store *store = NULL;

    snprintf(socket_path, sizeof(socket_path), "%s/.s.PGSQL.%s", PQhost(conn), PQport(conn));
    if (socket_path[0] != '/')
        t_skip("needs a server on a Unix socket");
    snprintf(url, sizeof(url), "postgresql://%s@127.0.0.1:%d/%s?sslmode=disable", PQuser(conn),
             proxy_start(socket_path), PQdb(conn));
    opts.schema = t_schema();
    opts.timeout_ms = 5000;
    OK(t_try_open(url, &opts, &store));
    return store;
}

/* A settlement whose answer was lost has happened or not; it is not counted as lost to others. */
TEST(questions_and_answers_that_are_lost)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    only_pg();
    rig_open(&rig);
    rig.store = open_through_proxy(&rig);
    rig.opts.lease_s = 2; /* a claim whose answer was lost runs out soon */
    rig.opts.batch_size = 5;
    rig_run(&rig, NULL, play, &part);
    for (int i = 0; i < 12; i++) {
        put_many(rig.side, "t", 20, NULL);
        proxy_set(i % 3 == 0 ? PROXY_CUT_ANSWER : i % 3 == 1 ? PROXY_CUT_QUESTION : PROXY_CUT_NOW);
        rest(40);
    }
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2") == 240);
    rig_drain(&rig);
    CHECK(part.calls >= 240);
    CHECK_INT(rig_stats(&rig).stale + rig_stats(&rig).done, part.calls);
    CHECK_INT(journal_count(rig.journal, PH_LOG_ERROR, NULL, NULL), 0);
    rig_end(&rig);
}

/* The server does not know that the client is gone, and its session holds the row of a lease. */
TEST(a_commit_that_is_lost_on_its_way_holds_up_nobody_for_long)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    static _Atomic int calls;
    struct rig rig;

    only_pg();
    rig_open(&rig);
    effects_make(rig.conn);
    rig.store = open_through_proxy(&rig);
    rig.opts.batch_size = 5;
    rig_new(&rig);
    rig_handle_in_tx(&rig, "tx", write_once, &calls);
    rig_handle(&rig, "t", play, &part);
    proxy_set(PROXY_STRAND_COMMIT);
    put_many(rig.side, "tx", 10, NULL);
    rig_start(&rig);
    AWAIT(calls > 0);
    put_many(rig.side, "t", 10, NULL);
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2") == 20);
    CHECK_INT(effects(rig.conn), 10);
    CHECK_INT(effects_distinct(rig.conn), 10);
    rig_end(&rig);
}

TEST(a_server_that_is_restarted_is_found_again)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_store_opts opts = rig_store_opts();
    struct rig rig;

    only_pg();
    if (UNDER_TSAN)
        t_not_here("a server of its own takes long, and the others show the same races");
    server_start_new();
    rig_open(&rig);
    opts.deploy_schema = true;
    OK(t_try_open(server_url(), &opts, &rig.store));
    opts.log = NULL;
    OK(t_try_open(server_url(), &opts, &rig.side));
    rig_run(&rig, NULL, play, &part);
    put_many(rig.side, "t", 10, NULL);
    rig_drain(&rig);
    server_crash();
    AWAIT(rig_stats(&rig).outages == 1);
    rest(300);
    server_start();
    server_wait();
    AWAIT(rig_stats(&rig).connected);
    put_many(rig.side, "t", 10, NULL);
    AWAIT(rig_stats(&rig).done == 20);
    CHECK_INT(rig_stats(&rig).outages, 1);
    check_said_once(&rig);
    rig_stop(&rig);
    ph_dispatcher_free(rig.dispatcher);
    ph_close(rig.side);
    ph_close(rig.store);
}
