/* handler_tx_test.c - the store's connection in the hands of a handler: its effect and the ack are
 * one transaction, and whatever it leaves behind does not disturb the next one. */
#include "common.h"

#include "core/call.h"

#include <libpq-fe.h>
#include <sqlite3.h>

/* A statement of the handler's, on the connection it was given. */
static bool run(ph_tx tx, const char *sql)
{
    if (t_is_pg()) {
        PGresult *result = PQexec((PGconn *)tx.connection, sql);
        bool ok =
            PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;

        PQclear(result);
        return ok;
    }
    return sqlite3_exec((sqlite3 *)tx.connection, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static ph_tx begin(ph_store *store)
{
    PH__CALL(call);
    ph_tx tx = PH_OWN_TX;

    OK(ph__call_own(&call, store, 0, &t_err));
    OK(store->backend->tx_begin(&call, &tx));
    CHECK(tx.backend == store->backend && tx.connection);
    return tx;
}

/* Not by ph__call_begin(), which would look whether the connection is free. */
static int end(ph_store *store, bool commit)
{
    struct ph__call call = { .store = store, .deadline = ph__deadline_in(20000), .err = &t_err };

    memset(&t_err, 0, sizeof(t_err));
    return store->backend->tx_end(&call, commit);
}

static long long effects(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(*) FROM {schema}.effect");
}

/* What a handler is for. */
static bool write_effect(ph_tx tx)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "INSERT INTO %s.effect VALUES (1)", t_is_pg() ? t_schema() : "main");
    return run(tx, sql);
}

/* A message is handled: effect, ack, a message that follows from it. */
static int handle(ph_store *store, bool commit)
{
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref = take_one(store, owner);
    ph_message next = a_message("next", "n");
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;
    ph_tx tx = begin(store);

    CHECK(write_effect(tx));
    OK(try_put(store, tx, &next));
    OK(ph_outbox_ack(store, tx, owner, &ref, 1, 0, &outcome, &t_err));
    CHECK_INT(outcome, PH_OUTCOME_ACKED);
    return end(store, commit);
}

static ph_store *a_store(struct t_conn **ret_conn)
{
    ph_store *store = t_open(NULL);

    *ret_conn = t_connect();
    t_sql(*ret_conn, "CREATE TABLE {schema}.effect (n integer)");
    return store;
}

TEST(effect_and_ack_are_committed_together)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);
    ph_enqueued e = t_enqueue(store, "o", "x");

    OK(handle(store, true));
    CHECK_INT(effects(conn), 1);
    CHECK_INT(see(store, e.work_id).status, PH_DONE);
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 10), "n");
    t_check_places(conn);
}

TEST(a_rollback_leaves_neither_effect_nor_ack)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);
    ph_enqueued e = t_enqueue(store, "o", "x");

    OK(handle(store, false));
    CHECK_INT(effects(conn), 0);
    CHECK_INT(see(store, e.work_id).status, PH_IN_PROGRESS);
    CHECK_INT(claimable(store, 10), 0);
    t_check_places(conn);
}

TEST(one_transaction_follows_the_other)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);

    for (int i = 0; i < 20; i++) {
        t_enqueue(store, "o", "x");
        OK(handle(store, i % 2 == 0));
    }
    CHECK_INT(effects(conn), 10);
    t_check_places(conn);
}

/* It must not be told that all is well: its effect may be stored without the ack, or not at all. */
TEST(a_handler_that_ends_the_transaction_is_told)
{
    static const char *const ways[] = { "COMMIT", "ROLLBACK" };
    struct t_conn *conn;
    ph_store *store = a_store(&conn);

    for (size_t i = 0; i < 2; i++) {
        ph_tx tx = begin(store);

        CHECK(write_effect(tx));
        (void)run(tx, ways[i]); /* which may be refused */
        CHECK_INT(end(store, true), PH_ENOTX);
        tx = begin(store);
        (void)run(tx, ways[i]);
        OK(end(store, false));
    }
    t_sql(conn, "DELETE FROM {schema}.effect");
    t_enqueue(store, "o", "x");
    OK(handle(store, true));
    CHECK_INT(effects(conn), 1);
    t_check_places(conn);
}

/* A statement that fails breaks the transaction on PostgreSQL, and nothing else on SQLite. */
TEST(a_statement_that_fails_is_not_taken_for_success)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);
    ph_tx tx = begin(store);

    CHECK(write_effect(tx));
    CHECK(!run(tx, "INSERT INTO no_such_table VALUES (1)"));
    if (t_is_pg()) {
        CHECK_INT(end(store, true), PH_ETXDEAD);
        CHECK_INT(effects(conn), 0);
    } else {
        OK(end(store, true));
        CHECK_INT(effects(conn), 1);
    }
    t_enqueue(store, "o", "x");
    OK(handle(store, true));
    t_check_places(conn);
}

TEST(a_temporary_table_of_a_handler_is_gone_afterwards)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);

    for (int i = 0; i < 3; i++) {
        ph_tx tx = begin(store);

        CHECK(run(tx, t_is_pg() ? "CREATE TEMP TABLE message (n integer)"
                                : "CREATE TEMP TABLE posthorn_message (n integer)"));
        OK(end(store, i < 2));
        t_enqueue(store, "o", "x");
    }
    CHECK_INT(claimable(store, 10), 3);
    t_check_places(conn);
}
