/* delete_test.c - acked messages are deleted by few statements. */
#include "seam.h"
#include "store/sqlite/connection.h"

#define COUNT 200

/* How often a statement of the store ran since the last call. */
static int runs(ph_store *store, enum ph__sqlite_statement which)
{
    const struct ph__sqlite *own = store->own;
    sqlite3_stmt *stmt = own->statements.all[which];

    return stmt ? sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_RUN, true) : 0;
}

static void delete_at_ack(ph_store *store)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.delete_on_ack = 1;
    OK(ph_outbox_queue_set(store, PH_OWN_TX, "", &settings, 0, &t_err));
}

TEST(messages_without_a_gap_are_deleted_by_one_statement)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();

    delete_at_ack(store);
    for (int i = 0; i < COUNT; i++)
        t_enqueue(store, "topic", "payload");
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, COUNT)), COUNT);
    CHECK_INT(runs(store, PH__SQL_message_delete), 1);
    CHECK_INT(runs(store, PH__SQL_attempt_log_delete), 0); /* nothing has a history, … */
    CHECK_INT(runs(store, PH__SQL_dedupe_gone), 0);        /* … nor a key, … */
    CHECK_INT(runs(store, PH__SQL_job_run_delete), 0);     /* … nor is one a job's */
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
}

TEST(a_gap_makes_two_statements)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;
    ph_lease_ref refs[COUNT];
    size_t count = 0;

    delete_at_ack(store);
    for (int i = 0; i < COUNT; i++)
        t_enqueue(store, "topic", "payload");
    batch = t_claim(store, owner, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        if (i != 70)
            refs[count++] = ph_lease_ref_of(ph_batch_at(batch, i));
    }
    ph_batch_free(batch);
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, count, 0, NULL, &t_err));
    CHECK_INT(runs(store, PH__SQL_message_delete), 2);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 1);
    t_check_places(conn);
}
