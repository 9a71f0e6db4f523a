/* connection_test.c - connections to PostgreSQL that are cut: while idle, before the question
 * reaches the server, before its answer reaches us, by a restart; and a server that is frozen. */
#include "common.h"
#include "proxy.h"
#include "server.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void only_pg(void)
{
    if (!t_is_pg())
        t_not_here("concerns servers only");
}

static void nap(void)
{
    struct timespec rest = { 0, 10000000 };

    nanosleep(&rest, NULL);
}

/* ------------------------------------------------------------------ the proxy */

/* A store whose connection goes through the proxy. */
static ph_store *open_through_proxy(void)
{
    static char socket_path[300], url[600];
    struct t_conn *conn = t_connect();
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    int port;

    snprintf(socket_path, sizeof(socket_path), "%s/.s.PGSQL.%s", PQhost((PGconn *)t_native(conn)),
             PQport((PGconn *)t_native(conn)));
    if (socket_path[0] != '/')
        t_skip("needs a server on a Unix socket");
    port = proxy_start(socket_path);
    snprintf(url, sizeof(url), "postgresql://%s@127.0.0.1:%d/%s?sslmode=disable",
             PQuser((PGconn *)t_native(conn)), port, PQdb((PGconn *)t_native(conn)));
    t_disconnect(conn);
    opts.schema = t_schema();
    opts.deploy_schema = true;
    opts.timeout_ms = 10000;
    OK(t_try_open(url, &opts, &store));
    t_enqueue(store, "warm", "up"); /* whatever is prepared at the first use is prepared now */
    t_ack_all(store, ph_owner_new(), t_claim(store, ph_owner_new(), 1));
    return store;
}

static long long count_of(struct t_conn *conn, const char *topic)
{
    char sql[100];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM {t}outbox WHERE topic = '%s'", topic);
    return t_number(conn, sql);
}

/* The call ended without an answer: it must say so unless it knows better. */
static void check_unknown(int r)
{
    CHECK_INT(r, PH_EUNKNOWN);
    CHECK_INT(t_err.code, PH_EUNKNOWN);
    CHECK(t_err.flags & PH_UNKNOWN);
}

TEST(an_idle_connection_that_was_cut_is_replaced_silently)
{
    ph_store *store;
    struct t_conn *conn;

    only_pg();
    store = open_through_proxy();
    conn = t_connect();
    for (int i = 1; i <= 3; i++) {
        proxy_set(PROXY_CUT_NOW);
        for (int k = 0; k < 10; k++)
            nap();
        t_enqueue(store, "orders", "x");
        CHECK_INT(count_of(conn, "orders"), i);
    }
    t_disconnect(conn);
}

TEST(an_enqueue_whose_question_is_lost_has_not_happened)
{
    ph_message m = a_message("orders", "x");
    ph_store *store;
    struct t_conn *conn;

    only_pg();
    store = open_through_proxy();
    conn = t_connect();
    proxy_set(PROXY_CUT_QUESTION);
    check_unknown(try_put(store, PH_OWN_TX, &m));
    CHECK_INT(count_of(conn, "orders"), 0);
    OK(try_put(store, PH_OWN_TX, &m)); /* the store goes on by itself */
    CHECK_INT(count_of(conn, "orders"), 1);
    t_disconnect(conn);
}

TEST(an_enqueue_whose_answer_is_lost_is_unknown_and_has_happened_once)
{
    ph_message m = a_message("orders", "x");
    ph_store *store;
    struct t_conn *conn;

    only_pg();
    store = open_through_proxy();
    conn = t_connect();
    proxy_set(PROXY_CUT_ANSWER);
    check_unknown(try_put(store, PH_OWN_TX, &m));
    for (int i = 0; i < 500 && count_of(conn, "orders") == 0; i++)
        nap();
    CHECK_INT(count_of(conn, "orders"), 1);
    t_enqueue(store, "other", "y");
    CHECK_INT(count_of(conn, "orders"), 1);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_dedupe_key_makes_a_lost_answer_harmless)
{
    ph_message m = a_message("orders", "x");
    ph_store *store;
    struct t_conn *conn;
    int r;

    only_pg();
    store = open_through_proxy();
    conn = t_connect();
    m.dedupe_key = "k";
    proxy_set(PROXY_CUT_ANSWER);
    r = try_put(store, PH_OWN_TX, &m);
    CHECK(r == 0 || r == PH_EUNKNOWN); /* it may be repeated, by us or by the caller */
    OK(try_put(store, PH_OWN_TX, &m));
    CHECK_INT(count_of(conn, "orders"), 1);
    t_disconnect(conn);
}

/* What was settled is settled, what was claimed comes back when its lease has run out. */
TEST(an_exchange_whose_answer_is_lost_is_unknown)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_settlement item = { .verb = PH_ACK };
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;
    ph_batch *batch = NULL;
    ph_store *store;
    struct t_conn *conn;

    only_pg();
    store = open_through_proxy();
    conn = t_connect();
    t_enqueue(store, "orders", "0");
    t_enqueue(store, "orders", "1");
    item.lease = take_one(store, owner);
    opts.topics = (const char *const[]){ "nothing" };
    opts.topic_count = 1;
    OK(ph_outbox_exchange(store, PH_OWN_TX, ph_owner_new(), &item, 1, &opts, 0, &outcome, &batch,
                          &t_err)); /* not its lease; but from here on it is prepared */
    CHECK_INT(outcome, PH_OUTCOME_STALE);
    CHECK_INT(ph_batch_count(batch), 0);
    ph_batch_free(batch);
    batch = NULL;
    outcome = PH_OUTCOME_UNKNOWN;
    opts.topics = NULL;
    proxy_set(PROXY_CUT_ANSWER);
    check_unknown(
        ph_outbox_exchange(store, PH_OWN_TX, owner, &item, 1, &opts, 0, &outcome, &batch, &t_err));
    CHECK(batch == NULL);
    CHECK_INT(outcome, PH_OUTCOME_UNKNOWN);
    for (int i = 0; i < 500 && see(store, item.lease.work_id).status != PH_DONE; i++)
        nap();
    CHECK_INT(see(store, item.lease.work_id).status, PH_DONE);
    CHECK_INT(ack(store, owner, item.lease), PH_OUTCOME_ACKED); /* it was */
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status = 'in_progress' "
                             "AND topic = 'orders'"),
              1);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_claim_whose_answer_is_lost_loses_no_message)
{
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;
    ph_store *store;
    struct t_conn *conn;
    size_t seen = 0;
    int r;

    only_pg();
    store = open_through_proxy();
    conn = t_connect();
    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 5, NULL);
    proxy_set(PROXY_CUT_ANSWER);
    r = ph_outbox_claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &t_err);
    CHECK(r == 0 || r == PH_EUNKNOWN);
    if (r == 0)
        seen += t_ack_all(store, owner, batch);
    t_check_places(conn);
    t_clock_advance(store, 31 * T_SECOND);
    for (int i = 0; i < 5; i++)
        seen += t_ack_all(store, owner, t_claim(store, owner, 10));
    CHECK_INT(seen, 5);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(an_ack_whose_answer_is_lost_is_repeated_or_unknown)
{
    ph_owner owner = ph_owner_new();
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;
    ph_lease_ref ref;
    ph_store *store;
    int r;

    only_pg();
    store = open_through_proxy();
    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    proxy_set(PROXY_CUT_ANSWER);
    r = ph_outbox_ack(store, PH_OWN_TX, owner, &ref, 1, 0, &outcome, &t_err);
    if (r == 0) /* then it must not say that the lease was lost to somebody else */
        CHECK_INT(outcome, PH_OUTCOME_ACKED);
    else
        check_unknown(r);
    CHECK_INT(see(store, ref.work_id).status, PH_DONE);
}

TEST(reading_is_repeated_when_the_line_was_cut)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_store *store;
    ph_work_id id;

    only_pg();
    store = open_through_proxy();
    id = t_enqueue(store, "orders", "x").work_id;
    CHECK_INT(see(store, id).status, PH_READY);
    proxy_set(PROXY_CUT_QUESTION);
    CHECK_INT(see(store, id).status, PH_READY);
    proxy_set(PROXY_CUT_ANSWER);
    CHECK_INT(see(store, id).status, PH_READY);
    proxy_set(PROXY_CUT_ANSWER);
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    CHECK_INT(counts.ready, 1);
}

TEST(a_cut_in_the_callers_transaction_is_his)
{
    ph_message m = a_message("orders", "x");
    ph_store *store;
    struct t_conn *conn, *through;
    char url[300];

    only_pg();
    store = open_through_proxy();
    conn = t_connect();
    snprintf(url, sizeof(url), "%s", store ? ph_store_id(store) : "");
    snprintf(url + strlen(url), sizeof(url) - strlen(url), "?user=%s&sslmode=disable",
             PQuser((PGconn *)t_native(conn)));
    through = t_connect_to(url);
    t_begin(through);
    OK(try_put(store, t_tx(through), &m));
    proxy_set(PROXY_CUT_ANSWER);
    CHECK(try_put(store, t_tx(through), &m) < 0);
    CHECK(t_err.flags & PH_TX_DEAD);
    CHECK(!(t_err.flags & PH_UNKNOWN)); /* it was not committing: it is rolled back */
    CHECK(try_put(store, t_tx(through), &m) < 0);
    CHECK_INT(count_of(conn, "orders"), 0);
    t_disconnect(through);
    t_disconnect(conn);
}

/* -------------------------------------------------------------- terminated sessions */

TEST(a_session_terminated_while_idle_is_replaced_silently)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    struct t_conn *conn;
    const char *url;

    only_pg();
    url = t_fresh_database();
    opts.deploy_schema = true;
    OK(t_try_open(url, &opts, &store));
    conn = t_connect_to(url);
    for (int i = 1; i <= 3; i++) {
        t_sql(conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                    "current_database() AND pid <> pg_backend_pid()");
        while (t_number(conn, "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                              "current_database() AND pid <> pg_backend_pid()") > 0)
            nap();
        t_enqueue(store, "orders", "x");
        CHECK_INT(t_number(conn, "SELECT count(*) FROM posthorn.outbox"), i);
    }
    t_disconnect(conn);
}

/* In a child: an enqueue that hangs at a lock; ends with its status, flags in the second byte. */
static pid_t blocked_enqueue(const char *url)
{
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        ph_message m = a_message("orders", "x");
        ph_store *store = NULL;
        int r;

        if (ph_open(url, NULL, &store, &t_err) < 0)
            _exit(99);
        r = ph_enqueue(store, PH_OWN_TX, &m, 20000, NULL, &t_err);
        _exit(r == 0 ? 0 : (t_err.flags & PH_UNKNOWN) ? 1 : 2);
    }
    return pid;
}

/* The URL of a new database with our schema. */
static const char *database_with_schema(void)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    const char *url = t_fresh_database();
    ph_store *store = NULL;

    opts.deploy_schema = true;
    OK(t_try_open(url, &opts, &store));
    ph_close(store);
    return url;
}

TEST(a_session_terminated_while_a_statement_runs)
{
    struct t_conn *conn, *watcher;
    const char *url;
    long long stored;
    int status = -1;
    pid_t pid;

    only_pg();
    url = database_with_schema();
    conn = t_connect_to(url);
    watcher = t_connect_to(url);
    t_begin(conn);
    t_sql(conn, "LOCK TABLE posthorn.message IN ACCESS EXCLUSIVE MODE");
    pid = blocked_enqueue(url);
    while (t_number(watcher, "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                             "current_database() AND wait_event_type = 'Lock'") == 0)
        nap();
    t_sql(watcher, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                   "current_database() AND wait_event_type = 'Lock'");
    t_commit(conn);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    stored = t_number(conn, "SELECT count(*) FROM posthorn.outbox");
    CHECK(WEXITSTATUS(status) <= 2);
    if (WEXITSTATUS(status) == 0)
        CHECK_INT(stored, 1);
    else
        CHECK_INT(stored, 0); /* the server killed it before it was done */
    t_disconnect(watcher);
    t_disconnect(conn);
}

/* Exits with 0 if the error of a call that waits for a lock is the server's own. */
static pid_t blocked_count(const char *url)
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
        ph_store *store = NULL;
        int r;

        OK(ph_open(url, NULL, &store, &t_err));
        r = ph_outbox_count(store, PH_OWN_TX, NULL, 2000, &counts, &t_err);
        printf("%d: %s\n", r, t_err.message);
        fflush(stdout);
        _exit(r != PH_ECONNECT || !strstr(t_err.message, "not currently accepting connections"));
    }
    return pid;
}

TEST(a_call_that_cannot_connect_again_says_why_when_its_time_is_over)
{
    struct t_conn *conn, *other;
    char name[80], sql[200];
    const char *url;
    int status = -1;
    pid_t pid;

    only_pg();
    url = database_with_schema();
    conn = t_connect_to(url);
    snprintf(name, sizeof(name), "%s", t_value(conn, "SELECT current_database()"));
    t_begin(conn);
    t_sql(conn, "LOCK TABLE posthorn.message, posthorn.pending, posthorn.lease, posthorn.dead");
    other = t_connect();
    pid = blocked_count(url);
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM pg_stat_activity WHERE datname = '%s' AND "
             "wait_event_type = 'Lock'",
             name);
    while (t_number(other, sql) == 0)
        nap();
    snprintf(sql, sizeof(sql), "ALTER DATABASE %s ALLOW_CONNECTIONS false", name);
    t_sql(other, sql);
    snprintf(sql, sizeof(sql),
             "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
             "datname = '%s' AND wait_event_type = 'Lock'",
             name);
    t_sql(other, sql);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    t_rollback(conn);
    t_disconnect(conn);
    t_disconnect(other);
}

/* ------------------------------------------------------------------- the restart */

TEST(a_store_goes_on_by_itself_after_a_restart)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_message m = a_message("orders", "after");
    ph_owner owner = ph_owner_new();
    ph_store *store = NULL;
    ph_lease_ref ref;
    int r;

    only_pg();
    server_start_new();
    opts.deploy_schema = true;
    OK(t_try_open(server_url(), &opts, &store));
    t_enqueue(store, "orders", "before");
    ref = take_one(store, owner);
    server_crash();
    server_start();
    server_wait();
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
    server_stop();
    server_start(); /* calls that come while it starts may fail, and can be repeated */
    while ((r = try_put(store, PH_OWN_TX, &m)) < 0) {
        CHECK_INT(r, PH_ECONNECT);
        CHECK_INT(t_err.flags, PH_RETRY);
        nap();
    }
    CHECK_STR(claimed_payloads(store, owner, 10), "after");
    CHECK_INT(see(store, ref.work_id).status, PH_DONE);
    ph_close(store);
}

TEST(a_server_that_is_down_is_reported_in_time_and_found_again)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_message m = a_message("orders", "x");
    ph_store *store = NULL;
    int r;

    only_pg();
    server_start_new();
    opts.deploy_schema = true;
    OK(t_try_open(server_url(), &opts, &store));
    OK(try_put(store, PH_OWN_TX, &m));
    server_stop();
    r = ph_enqueue(store, PH_OWN_TX, &m, 500, NULL, &t_err);
    CHECK(r == PH_ECONNECT || r == PH_ETIMEOUT);
    CHECK(t_err.flags & PH_RETRY);
    CHECK(!(t_err.flags & PH_UNKNOWN));
    server_start();
    server_wait();
    OK(try_put(store, PH_OWN_TX, &m));
    CHECK_INT(claimable(store, 10), 2);
    ph_close(store);
}

static void check_given_up(int r, bool may_have_happened, double started)
{
    CHECK(t_now_s() - started < 10);
    CHECK(r == PH_ETIMEOUT || r == PH_ECONNECT || r == PH_EUNKNOWN);
    CHECK(t_err.flags & PH_RETRY);
    CHECK_INT(!!(t_err.flags & PH_UNKNOWN), may_have_happened);
}

/* Not even a request to cancel is answered. */
TEST(a_server_that_stopped_answering_is_given_up_at_the_time_limit)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_message m = a_message("orders", "x");
    ph_store *stores[3];
    ph_batch *batch = NULL;
    struct t_conn *conn;
    double at;
    int pids[3];

    only_pg();
    server_start_new();
    opts.deploy_schema = true;
    conn = t_connect_to(server_url());
    for (int i = 0; i < 3; i++) {
        OK(t_try_open(server_url(), &opts, &stores[i]));
        pids[i] = (int)t_number(conn, "SELECT pid FROM pg_stat_activity WHERE application_name = "
                                      "'posthorn' ORDER BY backend_start DESC");
    }
    OK(try_put(stores[0], PH_OWN_TX, &m));
    (void)t_clock(stores[0]); /* the doorbell's answer has been read: nothing is under way */
    for (int i = 0; i < 3; i++)
        server_freeze(pids[i]);
    at = t_now_s();
    check_given_up(ph_enqueue(stores[0], PH_OWN_TX, &m, 400, NULL, &t_err), true, at);
    at = t_now_s(); /* the next connection is not answered either */
    check_given_up(ph_enqueue(stores[0], PH_OWN_TX, &m, 400, NULL, &t_err), false, at);
    at = t_now_s();
    check_given_up(ph_outbox_claim(stores[1], PH_OWN_TX, ph_owner_new(), NULL, 400, &batch, &t_err),
                   true, at);
    at = t_now_s();
    check_given_up(ph_outbox_count(stores[2], PH_OWN_TX, NULL, 400, &counts, &t_err), false, at);
    for (int i = 0; i < 3; i++)
        server_thaw(pids[i]);
    for (int i = 0; i < 3; i++)
        OK(try_put(stores[i], PH_OWN_TX, &m));
    CHECK(t_number(conn, "SELECT count(*) FROM posthorn.outbox") >= 4);
    t_disconnect(conn);
}
