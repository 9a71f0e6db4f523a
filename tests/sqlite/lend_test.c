/* lend_test.c - the store's connection in the hands of handlers, good and bad ones. */
#include "seam.h"

#include <posthorn/sqlite.h>
#include <stdlib.h>
#include <sys/stat.h>

struct stage {
    ph_store *store;
    struct t_conn *conn; /* somebody else's */
    ph_owner owner;
    ph_lease_ref lease;
};

/* A store with a claimed message, and a table of the handler's. */
static struct stage set_up(void)
{
    struct stage s = { .store = t_open(NULL), .conn = t_connect(), .owner = ph_owner_new() };
    ph_batch *batch;

    t_sql(s.conn, "CREATE TABLE effect (x)");
    t_enqueue(s.store, "topic", "payload");
    batch = t_claim(s.store, s.owner, 1);
    CHECK_INT(ph_batch_count(batch), 1);
    s.lease = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    return s;
}

static ph_outcome ack_in(const struct stage *s, ph_tx tx)
{
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;

    OK(ph_outbox_ack(s->store, tx, s->owner, &s->lease, 1, 0, &outcome, &t_err));
    return outcome;
}

static long long effects(const struct stage *s)
{
    return t_number(s->conn, "SELECT count(*) FROM effect");
}

static const char *status(const struct stage *s)
{
    return t_view(s->conn, s->lease.work_id, "status");
}

/* After whatever the handler did: another one runs as if nothing had been. */
static void next_one_works(struct stage *s)
{
    long long before = effects(s);
    ph_tx tx = begin_lent(s->store);

    run_on(tx, "INSERT INTO effect VALUES (2)");
    OK(end_lent(s->store, true));
    CHECK_INT(effects(s), before + 1);
    t_enqueue(s->store, "topic", "after");
    t_sql(s->conn, "INSERT INTO effect VALUES (3)"); /* nobody holds the lock */
    t_check_places(s->conn);
}

TEST(effect_ack_and_new_messages_are_stored_together)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);
    ph_message m = PH_MESSAGE_INIT;

    run_on(tx, "INSERT INTO effect VALUES (1)");
    m.topic = m.payload = "next";
    OK(ph_enqueue(s.store, tx, &m, 0, NULL, &t_err));
    CHECK_INT(ack_in(&s, tx), PH_OUTCOME_ACKED);
    CHECK_INT(effects(&s), 0);
    CHECK_STR(status(&s), "in_progress");
    OK(end_lent(s.store, true));
    CHECK_INT(effects(&s), 1);
    CHECK_STR(status(&s), "done");
    CHECK_INT(t_number(s.conn, "SELECT count(*) FROM {t}pending"), 1);
    next_one_works(&s);
}

TEST(a_rollback_leaves_nothing)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);

    run_on(tx, "INSERT INTO effect VALUES (1)");
    CHECK_INT(ack_in(&s, tx), PH_OUTCOME_ACKED);
    OK(end_lent(s.store, false));
    CHECK_INT(effects(&s), 0);
    CHECK_STR(status(&s), "in_progress");
    next_one_works(&s);
}

TEST(a_handler_cannot_commit)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);
    ph_outcome outcome;

    run_on(tx, "INSERT INTO effect VALUES (1)");
    CHECK(sqlite3_exec(ph_tx_sqlite_connection(tx), "COMMIT", NULL, NULL, NULL) != SQLITE_OK);
    CHECK_INT(ph_outbox_ack(s.store, tx, s.owner, &s.lease, 1, 0, &outcome, &t_err), PH_ENOTX);
    CHECK_INT(end_lent(s.store, true), PH_ENOTX);
    CHECK(strstr(t_err.message, "must not commit") != NULL);
    CHECK_INT(effects(&s), 0);
    CHECK_STR(status(&s), "in_progress");
    next_one_works(&s);
}

TEST(a_transaction_that_replaces_ours_is_not_committed)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);

    run_on(tx, "INSERT INTO effect VALUES (1); ROLLBACK; BEGIN; INSERT INTO effect VALUES (1)");
    CHECK_INT(ack_in(&s, tx), PH_OUTCOME_ACKED);
    CHECK_INT(end_lent(s.store, true), PH_ENOTX);
    CHECK_INT(effects(&s), 0);
    CHECK_STR(status(&s), "in_progress");
    next_one_works(&s);
}

TEST(a_transaction_that_the_handler_rolled_back_can_be_rolled_back)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);

    run_on(tx, "ROLLBACK");
    OK(end_lent(s.store, false));
    next_one_works(&s);
}

TEST(statements_that_a_handler_left_running_do_not_stop_the_commit)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);
    sqlite3 *db = ph_tx_sqlite_connection(tx);
    sqlite3_stmt *reading = NULL, *writing = NULL;

    run_on(tx, "INSERT INTO effect VALUES (1), (1), (1)");
    CHECK_INT(sqlite3_prepare_v2(db, "SELECT x FROM effect", -1, &reading, NULL), SQLITE_OK);
    CHECK_INT(sqlite3_step(reading), SQLITE_ROW);
    CHECK_INT(ack_in(&s, tx), PH_OUTCOME_ACKED);
    CHECK_INT(sqlite3_prepare_v2(db, "INSERT INTO effect VALUES (1), (1) RETURNING x", -1, &writing,
                                 NULL),
              SQLITE_OK);
    CHECK_INT(sqlite3_step(writing), SQLITE_ROW);
    OK(end_lent(s.store, true));
    CHECK_INT(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
    CHECK_INT(effects(&s), 5);
    CHECK_STR(status(&s), "done");
    next_one_works(&s);

    CHECK_INT(sqlite3_step(reading), SQLITE_ROW); /* a handler may keep its statements */
    tx = begin_lent(s.store);
    OK(end_lent(s.store, true));
    CHECK_INT(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
    ph_close(s.store); /* with statements of the handler's still there */
    t_sql(s.conn, "INSERT INTO effect VALUES (4)");
    CHECK_INT(sqlite3_finalize(reading), SQLITE_OK);
    sqlite3_finalize(writing);
}

TEST(a_store_that_is_closed_in_the_middle_holds_nothing)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);
    sqlite3_stmt *left = NULL;

    run_on(tx, "INSERT INTO effect VALUES (1)");
    CHECK_INT(
        sqlite3_prepare_v2(ph_tx_sqlite_connection(tx), "SELECT x FROM effect", -1, &left, NULL),
        SQLITE_OK);
    CHECK_INT(sqlite3_step(left), SQLITE_ROW);
    ph_close(s.store);
    t_sql(s.conn, "INSERT INTO effect VALUES (2)");
    CHECK_INT(effects(&s), 1);
    sqlite3_finalize(left);
}

static int refuse_everything(void *context, int action, const char *a, const char *b, const char *c,
                             const char *d)
{
    (void)context;
    (void)action;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return SQLITE_DENY;
}

static int interrupt(void *context)
{
    (void)context;
    return 1;
}

TEST(settings_of_a_handler_do_not_outlive_it)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);
    sqlite3 *db = ph_tx_sqlite_connection(tx);
    struct t_conn *other = t_connect();

    run_on(tx, "INSERT INTO effect VALUES (1); PRAGMA busy_timeout = 0; PRAGMA locking_mode = "
               "EXCLUSIVE; PRAGMA wal_autocheckpoint = 1; PRAGMA cache_size = 1; PRAGMA query_only "
               "= ON");
    sqlite3_set_authorizer(db, refuse_everything, NULL);
    sqlite3_progress_handler(db, 1, interrupt, NULL);
    OK(end_lent(s.store, true));
    CHECK_INT(effects(&s), 1);
    next_one_works(&s);
    t_begin(other); /* nor may the busy handler be missing */
    {
        struct ph__call call = { .store = s.store, .deadline = ph__deadline_in(50), .err = &t_err };
        ph_tx none;

        CHECK_INT(s.store->backend->tx_begin(&call, &none), PH_EBUSY);
    }
    t_rollback(other);
    next_one_works(&s);
}

TEST(tables_that_hide_ours_do_not_outlive_the_handler)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);

    run_on(tx, "CREATE TEMP TABLE posthorn_store (one); CREATE TEMP TABLE posthorn_pending (x)");
    OK(end_lent(s.store, true));
    next_one_works(&s);
    tx = begin_lent(s.store);
    run_on(tx, "CREATE TEMP TRIGGER t AFTER INSERT ON main.posthorn_message BEGIN SELECT "
               "raise(ABORT, 'no'); END");
    OK(end_lent(s.store, false));
    next_one_works(&s);
}

TEST(a_database_that_a_handler_attached_does_not_stay)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);
    sqlite3 *db;

    run_on(tx, "ATTACH ':memory:' AS extra; CREATE TABLE extra.posthorn_message (id)");
    OK(end_lent(s.store, true));
    next_one_works(&s);
    tx = begin_lent(s.store);
    db = ph_tx_sqlite_connection(tx);
    CHECK(sqlite3_db_name(db, 2) == NULL);
    OK(end_lent(s.store, true));
}

TEST(a_constraint_that_fails_at_the_commit_is_told_as_a_rollback)
{
    struct stage s = set_up();
    ph_tx tx;

    t_sql(s.conn, "CREATE TABLE parent (id INTEGER PRIMARY KEY);"
                  "CREATE TABLE child (id REFERENCES parent DEFERRABLE INITIALLY DEFERRED)");
    tx = begin_lent(s.store);
    sqlite3_db_config(ph_tx_sqlite_connection(tx), SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    run_on(tx, "INSERT INTO child VALUES (7); INSERT INTO effect VALUES (1)");
    CHECK_INT(ack_in(&s, tx), PH_OUTCOME_ACKED);
    CHECK_INT(end_lent(s.store, true), PH_ETXDEAD);
    CHECK_INT(effects(&s), 0);
    CHECK_STR(status(&s), "in_progress");
    next_one_works(&s);
}

TEST(a_handler_that_changes_the_schema_is_fine)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);

    run_on(tx, "CREATE TABLE made_by_handler (x); INSERT INTO made_by_handler VALUES (1)");
    CHECK_INT(ack_in(&s, tx), PH_OUTCOME_ACKED);
    OK(end_lent(s.store, true));
    CHECK_INT(t_number(s.conn, "SELECT count(*) FROM made_by_handler"), 1);
    next_one_works(&s);
}

TEST(a_call_that_fails_inside_leaves_the_transaction_as_it_was)
{
    struct stage s = set_up();
    ph_tx tx = begin_lent(s.store);
    ph_message m = PH_MESSAGE_INIT;
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.max_payload_bytes = 10;
    run_on(tx, "INSERT INTO effect VALUES (1)");
    OK(ph_outbox_queue_set(s.store, tx, NULL, &settings, 0, &t_err));
    m.topic = "topic";
    m.payload = "longer than ten bytes";
    CHECK_INT(ph_enqueue(s.store, tx, &m, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ack_in(&s, tx), PH_OUTCOME_ACKED);
    OK(end_lent(s.store, true));
    CHECK_INT(effects(&s), 1);
    CHECK_STR(status(&s), "done");
}

TEST(the_log_does_not_grow_without_end)
{
    struct stage s = set_up();
    struct stat file;
    char path[500];

    for (int i = 0; i < 200; i++) {
        ph_tx tx = begin_lent(s.store);

        run_on(tx, "INSERT INTO effect VALUES (zeroblob(200000))");
        OK(end_lent(s.store, true));
    }
    snprintf(path, sizeof(path), "%s-wal", t_url() + strlen("sqlite:"));
    CHECK_INT(stat(path, &file), 0);
    CHECK(file.st_size < 12 * 1024 * 1024); /* of 40 MB that were written */
}
