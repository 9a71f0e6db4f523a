/* lock_test.c - a database that is locked by others: the call ends at its time limit, the store
 * works afterwards. */
#include "common.h"

#define LIMIT_MS 300

/* Holds what every verb needs, until the transaction ends. */
static void lock_everything(struct t_conn *conn)
{
    t_begin(conn);
    if (t_is_pg())
        t_sql(conn,
              "LOCK TABLE {t}message, {t}pending, {t}lease, {t}queue IN ACCESS EXCLUSIVE MODE");
}

static void check_limited(int r, double started)
{
    double took = t_now_s() - started;

    CHECK(r == PH_EBUSY || r == PH_ETIMEOUT);
    CHECK_INT(t_err.code, r);
    CHECK(t_err.flags & PH_RETRY);
    CHECK(!(t_err.flags & PH_UNKNOWN));
    if (took < LIMIT_MS / 1e3 * 0.9 || took > 5)
        printf("it took %.3f s\n", took);
    CHECK(took >= LIMIT_MS / 1e3 * 0.9 && took < 5);
}

TEST(enqueue_ends_at_its_time_limit_and_works_afterwards)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");
    double started;

    lock_everything(conn);
    started = t_now_s();
    check_limited(ph_enqueue(store, PH_OWN_TX, &m, LIMIT_MS, NULL, &t_err), started);
    t_rollback(conn);
    OK(ph_enqueue(store, PH_OWN_TX, &m, LIMIT_MS * 10, NULL, &t_err));
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 1);
    t_disconnect(conn);
}

TEST(claim_and_settle_end_at_their_time_limit)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;
    ph_lease_ref ref;
    double started;

    put_many(store, "orders", 2, NULL);
    ref = take_one(store, owner);
    lock_everything(conn);
    started = t_now_s();
    check_limited(ph_outbox_claim(store, PH_OWN_TX, owner, NULL, LIMIT_MS, &batch, &t_err),
                  started);
    CHECK(batch == NULL);
    started = t_now_s();
    check_limited(ph_outbox_ack(store, PH_OWN_TX, owner, &ref, 1, LIMIT_MS, NULL, &t_err), started);
    started = t_now_s();
    check_limited(ph_outbox_renew(store, PH_OWN_TX, owner, &ref, 1, 30, LIMIT_MS, NULL, &t_err),
                  started);
    t_rollback(conn);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
    CHECK_INT(claimable(store, 10), 1);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(the_stores_default_limit_is_used)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");
    ph_store *store;
    double started;

    t_open(NULL);
    opts.timeout_ms = LIMIT_MS;
    opts.schema = t_schema();
    OK(t_try_open(t_url(), &opts, &store));
    lock_everything(conn);
    started = t_now_s();
    check_limited(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err), started);
    t_rollback(conn);
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    t_disconnect(conn);
}

TEST(a_migration_ends_at_its_time_limit)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct t_conn *conn = t_connect();
    ph_store *store = NULL;
    double started;

    opts.schema = t_schema();
    OK(ph_open_lazy(t_url(), &opts, &store, &t_err));
    if (t_is_pg()) {
        t_open(NULL);
        lock_everything(conn);
        t_sql(conn, "LOCK TABLE {t}store IN ACCESS EXCLUSIVE MODE");
    } else {
        t_sql(conn, "PRAGMA journal_mode = wal");
        t_begin(conn);
        t_sql(conn, "CREATE TABLE theirs (n integer)");
    }
    started = t_now_s();
    check_limited(ph_migrate(store, LIMIT_MS, NULL, &t_err), started);
    t_rollback(conn);
    OK(ph_migrate(store, 0, NULL, &t_err));
    ph_close(store);
    t_disconnect(conn);
}

TEST(in_the_callers_transaction_the_limit_kills_it)
{
    ph_store *store = t_open(NULL);
    struct t_conn *holder = t_connect(), *conn = t_connect();
    ph_message m = a_message("orders", "x");
    double started;

    if (!t_is_pg())
        t_not_here("SQLite waits where the caller begins, by his own busy handler");
    lock_everything(holder);
    t_begin(conn);
    started = t_now_s();
    check_limited(ph_enqueue(store, t_tx(conn), &m, LIMIT_MS, NULL, &t_err), started);
    CHECK(t_err.flags & PH_TX_DEAD);
    CHECK_INT(try_put(store, t_tx(conn), &m), PH_ETXDEAD);
    t_rollback(conn);
    t_rollback(holder);
    t_begin(conn);
    OK(ph_enqueue(store, t_tx(conn), &m, LIMIT_MS, NULL, &t_err));
    t_commit(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 1);
    t_disconnect(conn);
    t_disconnect(holder);
}

TEST(a_deferred_transaction_that_cannot_become_a_writer_is_told_how)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");

    if (t_is_pg())
        t_not_here("concerns SQLite only");
    t_sql(conn, "BEGIN");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 0);
    t_enqueue(store, "orders", "in between");
    REQ_INT("OBX-099", try_put(store, t_tx(conn), &m), PH_EBUSY);
    REQ("OBX-099", t_err.flags & PH_RETRY);
    CHECK(strstr(t_err.message, "BEGIN IMMEDIATE") != NULL);
    t_rollback(conn);
    t_begin(conn);
    OK(try_put(store, t_tx(conn), &m));
    t_commit(conn);
    CHECK_INT(claimable(store, 10), 2);
    t_disconnect(conn);
}
