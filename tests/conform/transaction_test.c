/* transaction_test.c - guests on the caller's connection: savepoints, odd settings, other files,
 * threads, long transactions. */
#include "common.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static long long rows(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(*) FROM {t}outbox");
}

/* Every verb once, in one transaction of conn. */
static void whole_life(ph_store *store, struct t_conn *conn)
{
    ph_message m[4] = { a_message("o", "0"), a_message("o", "1"), a_message("o", "2"),
                        a_message("o", "3") };
    ph_settlement items[4] = { { .verb = PH_ACK },
                               { .verb = PH_ABANDON, .error = "later" },
                               { .verb = PH_FAIL, .error = "never" },
                               { .verb = PH_RELEASE } };
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_message_info *info = NULL;
    ph_batch *batch = NULL;
    ph_enqueued e[4];

    m[1].headers = "{\"a\": 1.5}";
    m[2].due_at = T_EPOCH;
    t_begin(conn);
    OK(ph_enqueue_many(store, t_tx(conn), m, 4, 0, e, &t_err));
    OK(ph_outbox_claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 4);
    for (size_t i = 0; i < 4; i++)
        items[i].lease = ph_lease_ref_of(ph_batch_at(batch, i));
    ph_batch_free(batch);
    OK(ph_outbox_renew(store, t_tx(conn), owner, &items[0].lease, 1, 0, 0, NULL, &t_err));
    OK(ph_outbox_settle(store, t_tx(conn), owner, items, 4, 0, NULL, &t_err));
    OK(ph_outbox_find(store, t_tx(conn), e[2].work_id, 0, &info, &t_err));
    CHECK_INT(info->state, PH_FAILED);
    CHECK_INT(info->requested_due_at, T_EPOCH);
    ph_message_info_free(info);
    OK(ph_outbox_count(store, t_tx(conn), NULL, 0, &counts, &t_err));
    CHECK_INT(counts.dead, 1);
    CHECK_INT(counts.ready + counts.scheduled, 2);
    t_commit(conn);
    t_check_places(conn);
}

TEST(a_savepoint_takes_the_message_with_it)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");

    t_begin(conn);
    OK(try_put(store, t_tx(conn), &m));
    t_sql(conn, "SAVEPOINT s");
    OK(try_put(store, t_tx(conn), &m));
    t_sql(conn, "ROLLBACK TO SAVEPOINT s");
    t_commit(conn);
    CHECK_INT(rows(conn), 1);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(odd_settings_of_the_callers_session_do_not_matter)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    if (t_is_pg())
        t_sql(conn,
              "SET search_path = pg_catalog; SET DateStyle = 'German, DMY'; SET TimeZone = "
              "'Asia/Kathmandu'; SET IntervalStyle = 'sql_standard'; SET bytea_output = "
              "'escape'; SET standard_conforming_strings = off; SET extra_float_digits = -15; "
              "SET xmlbinary = hex; SET transform_null_equals = on; SET lc_numeric = 'C'; SET "
              "default_text_search_config = 'simple'; SET quote_all_identifiers = on");
    else
        t_sql(conn, "PRAGMA foreign_keys = on; PRAGMA recursive_triggers = on; PRAGMA "
                    "case_sensitive_like = on; PRAGMA reverse_unordered_selects = on; PRAGMA "
                    "cell_size_check = on; PRAGMA count_changes = on; PRAGMA cache_size = 1");
    whole_life(store, conn);
    t_disconnect(conn);
}

TEST(isolation_levels_of_the_caller)
{
    static const char *const levels[] = { "REPEATABLE READ", "SERIALIZABLE" };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    if (!t_is_pg())
        t_not_here("SQLite has one level");
    for (int i = 0; i < 2; i++) {
        char sql[100];
        ph_message m = a_message("orders", "x");
        ph_batch *batch = NULL;

        t_enqueue(store, "orders", "x");
        snprintf(sql, sizeof(sql), "BEGIN ISOLATION LEVEL %s", levels[i]);
        t_sql(conn, sql);
        CHECK(rows(conn) > 0); /* the snapshot is taken */
        OK(try_put(store, t_tx(conn), &m));
        CHECK(claimable(store, 1) == 1);
        CHECK_INT(ph_outbox_claim(store, t_tx(conn), ph_owner_new(), NULL, 0, &batch, &t_err),
                  PH_ECONFLICT);
        CHECK_INT(t_err.flags, PH_RETRY | PH_TX_DEAD);
        CHECK(batch == NULL);
        t_rollback(conn);
    }
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(another_encoding_of_the_callers_session_is_refused)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "\xc3\xa9");

    if (!t_is_pg())
        t_not_here("SQLite's interface is always UTF-8");
    t_sql(conn, "SET client_encoding = 'LATIN1'");
    t_begin(conn);
    CHECK_INT(try_put(store, t_tx(conn), &m), PH_EINVAL);
    CHECK(strstr(t_err.message, "client_encoding") != NULL);
    t_sql(conn, "SET LOCAL client_encoding = 'UTF8'");
    OK(try_put(store, t_tx(conn), &m));
    t_commit(conn);
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 1), "\xc3\xa9");
    t_disconnect(conn);
}

TEST(a_transaction_on_another_database_is_told_that_the_schema_is_missing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *other = t_connect_to(t_fresh_database());
    ph_message m = a_message("orders", "x");

    t_begin(other);
    CHECK_INT(try_put(store, t_tx(other), &m), PH_ENOSCHEMA);
    t_rollback(other);
    t_disconnect(other);
}

TEST(a_database_in_another_unicode_form_serves_too)
{
    struct t_conn *conn = t_connect();
    ph_store *store;

    if (t_is_pg())
        t_not_here("PostgreSQL must have UTF8");
    t_sql(conn, "PRAGMA encoding = 'UTF-16'; CREATE TABLE theirs (n text)");
    store = t_open(NULL);
    t_enqueue(store, "caf\xc3\xa9 \xf0\x9f\x93\xaf", "na\xc3\xafve \xf0\x9f\x93\xaf");
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 1), "na\xc3\xafve \xf0\x9f\x93\xaf");
    whole_life(store, conn);
    t_disconnect(conn);
}

TEST(the_callers_last_rowid_is_left_alone)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");

    if (t_is_pg())
        t_not_here("concerns SQLite only");
    t_sql(conn, "CREATE TABLE theirs (n integer PRIMARY KEY)");
    t_begin(conn);
    t_sql(conn, "INSERT INTO theirs VALUES (4711)");
    OK(try_put(store, t_tx(conn), &m));
    CHECK_INT(t_number(conn, "SELECT last_insert_rowid()"), 4711);
    t_commit(conn);
    t_disconnect(conn);
}

TEST(a_connection_that_may_not_write_is_told_so)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");
    ph_work_id id = t_enqueue(store, "orders", "x").work_id;
    ph_message_info *info = NULL;

    t_sql(conn, t_is_pg() ? "BEGIN READ ONLY" : "PRAGMA query_only = on; BEGIN");
    OK(ph_outbox_find(store, t_tx(conn), id, 0, &info, &t_err)); /* reading is fine */
    ph_message_info_free(info);
    CHECK_INT(try_put(store, t_tx(conn), &m), PH_EREADONLY);
    t_rollback(conn);
    t_disconnect(conn);
}

TEST(time_goes_on_in_a_long_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    struct timespec rest = { 0, 3000000 };
    ph_message m = a_message("orders", "x");
    ph_enqueued early, late;

    t_begin(conn);
    OK(ph_enqueue(store, t_tx(conn), &m, 0, &early, &t_err));
    nanosleep(&rest, NULL);
    OK(ph_enqueue(store, t_tx(conn), &m, 0, &late, &t_err));
    t_commit(conn);
    REQ("OBX-015",
        see(store, late.work_id).created_at >= see(store, early.work_id).created_at + 3000);
    t_disconnect(conn);
}

/* --------------------------------------------------------------------- threads */

enum { THREADS = 4, EACH = 25 };

struct guest {
    pthread_t thread;
    ph_store *store;
    struct t_conn *conn;
    int failures;
};

static void *enqueue_as_guest(void *argument)
{
    struct guest *guest = argument;

    for (int i = 0; i < EACH; i++) {
        ph_message m = a_message("orders", "x");
        ph_error err;

        t_begin(guest->conn);
        guest->failures += ph_enqueue(guest->store, t_tx(guest->conn), &m, 0, NULL, &err) < 0;
        t_commit(guest->conn);
    }
    return NULL;
}

TEST(threads_with_connections_of_their_own_share_a_store)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    struct guest guests[THREADS];

    for (int i = 0; i < THREADS; i++) {
        guests[i] = (struct guest){ .store = store, .conn = t_connect() };
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&guests[i].thread, NULL, enqueue_as_guest, &guests[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(guests[i].thread, NULL);
        CHECK_INT(guests[i].failures, 0);
        t_disconnect(guests[i].conn);
    }
    CHECK_INT(rows(conn), THREADS * EACH);
    t_check_places(conn);
    t_disconnect(conn);
}
