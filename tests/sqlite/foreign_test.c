/* foreign_test.c - what a file may bring along: triggers and views of others, names in the way. */
#include "seam.h"

#include "store/sqlite/connection.h"
#include "util/deadline.h"

#include <posthorn/sqlite.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDLESS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "

static int try_enqueue(ph_store *store, ph_tx tx, int timeout_ms)
{
    ph_message message = PH_MESSAGE_INIT;

    message.topic = message.payload = "x";
    return ph_enqueue(store, tx, &message, timeout_ms, NULL, &t_err);
}

static sqlite3 *own_of(ph_store *store)
{
    return ((struct ph__sqlite *)store->own)->db;
}

/* ------------------------------------------------------------- triggers on our tables */

/* Made while the store is connected, and its statements are prepared. */
TEST(a_trigger_of_others_on_our_tables_is_refused_by_name)
{
    ph_store *store = t_open(NULL), *other = NULL;
    struct t_conn *conn = t_connect();

    t_enqueue(store, "x", "before");
    t_sql(conn, "CREATE TRIGGER stall AFTER INSERT ON posthorn_message BEGIN " ENDLESS
                "count(*) FROM n; END");
    CHECK_INT(try_enqueue(store, PH_OWN_TX, 0), PH_ESTATE);
    CHECK_STR(t_err.message,
              "the trigger \"stall\" on posthorn_message is not Posthorn's, and would run inside "
              "its statements; drop it, or put it on a table of your own");
    CHECK_INT(t_try_open(t_url(), NULL, &other), PH_ESTATE);
    t_sql(conn, "DROP TRIGGER stall");
    t_enqueue(store, "x", "after");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM posthorn_message"), 2);
}

TEST(the_doctor_names_triggers_of_others)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_report *report = NULL;
    int named = 0;

    t_sql(conn, "CREATE TRIGGER one AFTER DELETE ON Posthorn_Pending BEGIN SELECT 1; END;"
                "CREATE TRIGGER two AFTER UPDATE ON posthorn_lease BEGIN SELECT 1; END;"
                "CREATE TABLE posthorn_notes (x);"
                "CREATE TRIGGER mine AFTER INSERT ON posthorn_notes BEGIN SELECT 1; END");
    OK(ph_doctor(store, NULL, 0, &report, &t_err));
    for (size_t i = 0; i < ph_report_count(report); i++) {
        const ph_finding *finding = ph_report_at(report, i);

        if (strcmp(finding->check, "foreign") != 0)
            continue;
        CHECK_INT(finding->level, PH_FINDING_ERROR);
        CHECK(strstr(finding->text, "\"one\"") || strstr(finding->text, "\"two\""));
        named++;
    }
    CHECK_INT(named, 2);
    ph_report_free(report);
}

/* Every table that we have is looked at. */
TEST(a_trigger_on_any_table_of_ours_is_refused)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    char tables[64][64], sql[300];
    int count = (int)t_number(conn, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                                    "name LIKE 'posthorn^_%' ESCAPE '^'");

    CHECK(count > 15 && count <= 64);
    for (int i = 0; i < count; i++) {
        snprintf(sql, sizeof(sql),
                 "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'posthorn^_%%' "
                 "ESCAPE '^' ORDER BY name LIMIT 1 OFFSET %d",
                 i);
        snprintf(tables[i], sizeof(tables[i]), "%s", t_value(conn, sql));
    }
    for (int i = 0; i < count; i++) {
        snprintf(sql, sizeof(sql),
                 "CREATE TRIGGER foreign_one AFTER INSERT ON %s BEGIN SELECT 1; END", tables[i]);
        t_sql(conn, sql);
        CHECK_INT(try_enqueue(store, PH_OWN_TX, 0), PH_ESTATE);
        t_sql(conn, "DROP TRIGGER foreign_one");
        CHECK_INT(try_enqueue(store, PH_OWN_TX, 0), 0);
    }
}

/* ---------------------------------------------------------------------- time limits */

/* Even one that was not noticed. */
TEST(a_statement_that_never_ends_is_stopped_at_the_time_limit)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    struct ph__sqlite *own = store->own;
    double began;

    t_sql(conn,
          "ALTER TABLE posthorn_store RENAME TO hidden;"
          "CREATE VIEW posthorn_store AS SELECT one, store_id, version, serves_from, clock_us "
          "FROM hidden WHERE (" ENDLESS "count(*) FROM n) > 0");
    CHECK_INT(try_enqueue(store, PH_OWN_TX, 300), PH_ESTATE);
    own->code_checked = true;
    began = t_now_s();
    CHECK_INT(try_enqueue(store, PH_OWN_TX, 300), PH_ETIMEOUT);
    CHECK(t_err.flags & PH_RETRY);
    CHECK(t_now_s() - began < 10);
    t_sql(conn, "DROP VIEW posthorn_store; ALTER TABLE hidden RENAME TO posthorn_store");
    CHECK_INT(try_enqueue(store, PH_OWN_TX, 0), 0);
}

/* As our own, but at every step: statements count theirs from run to run, so that any can be the one
 * at which the clock is looked at. */
static int is_late(void *context)
{
    const struct ph__sqlite *own = context;

    return own->run_until != 0 && ph__deadline_left_ms(own->run_until) == 0;
}

/* The time limit passes while SQLite commits. */
static int pass_limit(void *context)
{
    struct ph__sqlite *own = context;

    if (own->run_until != 0)
        own->run_until = 1;
    return 0;
}

TEST(a_call_is_not_stopped_between_its_commit_and_its_answer)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    sqlite3_progress_handler(own_of(store), 1, is_late, store->own);
    sqlite3_commit_hook(own_of(store), pass_limit, store->own);
    CHECK_INT(try_enqueue(store, PH_OWN_TX, 0), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM posthorn_message"), 1);
}

/* ------------------------------------------------------------------ names in the way */

TEST(temporary_tables_of_the_caller_do_not_hide_ours)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect(), *other = t_connect();

    t_sql(conn, "CREATE TEMP TABLE posthorn_store AS SELECT * FROM main.posthorn_store;"
                "CREATE TEMP TABLE posthorn_queue AS SELECT * FROM main.posthorn_queue;"
                "CREATE TEMP TABLE posthorn_message AS SELECT * FROM main.posthorn_message;"
                "CREATE TEMP TABLE posthorn_pending AS SELECT * FROM main.posthorn_pending;"
                "CREATE TEMP TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT)");
    t_begin(conn);
    CHECK_INT(try_enqueue(store, t_tx(conn), 0), 0);
    t_commit(conn);
    CHECK_INT(t_number(other, "SELECT count(*) FROM posthorn_message"), 1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM temp.posthorn_message"), 0);
    t_begin(conn);
    t_sql(conn, "INSERT INTO counted DEFAULT VALUES");
    {
        ph_batch *batch = NULL;

        OK(ph_outbox_claim(store, t_tx(conn), ph_owner_new(), NULL, 0, &batch, &t_err));
        CHECK_INT(ph_batch_count(batch), 1);
        ph_batch_free(batch);
    }
    t_commit(conn);
    t_check_places(other);
}

/* ---------------------------------------------------------- whose settings are whose */

static int setting(sqlite3 *db, int which)
{
    int on = -1;

    CHECK_INT(sqlite3_db_config(db, which, -1, &on), SQLITE_OK);
    return on;
}

static void check_distrust(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;

    CHECK(db != NULL);
    CHECK_INT(setting(db, SQLITE_DBCONFIG_DEFENSIVE), 1);
    CHECK_INT(setting(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA), 0);
    CHECK_INT(sqlite3_prepare_v2(db, "PRAGMA cell_size_check", -1, &stmt, NULL), SQLITE_OK);
    CHECK_INT(sqlite3_step(stmt), SQLITE_ROW);
    CHECK_INT(sqlite3_column_int(stmt, 0), 1);
    sqlite3_finalize(stmt);
}

/* All of them are opened by one function (tests/meta): those of stores, of sets, routers and
 * dispatchers, and the one for checkpoints. */
TEST(our_own_connections_trust_no_file)
{
    ph_store *store = t_open(NULL);
    struct ph__sqlite *own = store->own;

    t_enqueue(store, "x", "y");
    check_distrust(own->db);
    own->checkpoint_at = 1;
    t_enqueue(store, "x", "y");
    check_distrust(own->sibling);
}

/* One that a handler had is set up again, whatever the handler has set. */
TEST(a_connection_that_comes_back_from_a_handler_trusts_no_file)
{
    ph_store *store = t_open(NULL);
    struct ph__sqlite *own = store->own;
    ph_tx tx = begin_lent(store);

    run_on(tx, "PRAGMA trusted_schema = ON; PRAGMA cell_size_check = OFF");
    CHECK_INT(sqlite3_db_config(ph_tx_sqlite_connection(tx), SQLITE_DBCONFIG_DEFENSIVE, 0, NULL),
              SQLITE_OK);
    CHECK_INT(end_lent(store, true), 0);
    t_enqueue(store, "x", "y");
    check_distrust(own->db);
}

static void seven(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3_result_int(context, 7);
}

/* A function in a trigger is what an untrusted schema may not have. */
TEST(in_a_handlers_transaction_triggers_of_the_user_work_as_on_his_own_connection)
{
    ph_store *store = NULL;
    struct t_conn *conn;
    ph_tx tx;

    t_open(NULL);
    conn = t_connect();
    OK(ph_open_lazy(t_url(), NULL, &store, &t_err));
    store->lends = true; /* as the dispatcher makes them */
    t_sql(
        conn,
        "CREATE TABLE mine (x); CREATE TABLE copies (x);"
        "CREATE TRIGGER copy AFTER INSERT ON mine BEGIN INSERT INTO copies VALUES (seven()); END");
    for (int i = 1; i <= 2; i++) {
        tx = begin_lent(store);
        CHECK_INT(sqlite3_create_function(ph_tx_sqlite_connection(tx), "seven", 0, SQLITE_UTF8,
                                          NULL, seven, NULL, NULL),
                  SQLITE_OK);
        run_on(tx, "INSERT INTO mine VALUES (1)");
        CHECK_INT(try_enqueue(store, tx, 0), 0);
        CHECK_INT(end_lent(store, true), 0);
        CHECK_INT(t_number(conn, "SELECT sum(x) FROM copies"), 7 * i);
    }
    ph_close(store);
}

TEST(a_handlers_statements_take_as_long_as_they_take)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store;
    ph_tx tx;

    opts.timeout_ms = 50;
    store = t_open(&opts);
    tx = begin_lent(store);
    usleep(60000); /* the time limit of the call that began it is over */
    run_on(tx,
           "CREATE TABLE mine AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
           "WHERE i < 200000) SELECT sum(i) FROM n");
    CHECK_INT(end_lent(store, true), 0);
}

static int count_steps(void *context)
{
    ++*(int *)context;
    return 0;
}

TEST(a_callers_connection_keeps_its_settings_and_its_progress_handler)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    int steps = 0, defensive = setting(t_native(conn), SQLITE_DBCONFIG_DEFENSIVE),
        trusted = setting(t_native(conn), SQLITE_DBCONFIG_TRUSTED_SCHEMA);

    sqlite3_progress_handler(t_native(conn), 1, count_steps, &steps);
    t_begin(conn);
    CHECK_INT(try_enqueue(store, t_tx(conn), 0), 0);
    steps = 0;
    t_commit(conn);
    t_sql(conn, "SELECT count(*) FROM posthorn_message");
    CHECK(steps > 0);
    CHECK_INT(setting(t_native(conn), SQLITE_DBCONFIG_DEFENSIVE), defensive);
    CHECK_INT(setting(t_native(conn), SQLITE_DBCONFIG_TRUSTED_SCHEMA), trusted);
    sqlite3_progress_handler(t_native(conn), 0, NULL, NULL);
}

/* --------------------------------------------------------------------- files, rights */

static mode_t mode_of(const char *suffix)
{
    char path[500];
    struct stat status;

    snprintf(path, sizeof(path), "%s%s", t_url() + strlen("sqlite:"), suffix);
    CHECK_INT(stat(path, &status), 0);
    return status.st_mode & 0777;
}

TEST(a_file_that_we_make_is_its_owners_alone)
{
    ph_store *store;

    umask(022);
    store = t_open(NULL);
    t_enqueue(store, "x", "y");
    CHECK_INT(mode_of(""), 0600);
    CHECK_INT(mode_of("-wal"), 0600);
    CHECK_INT(mode_of("-shm"), 0600);
}

TEST(a_file_that_was_there_keeps_its_rights)
{
    FILE *file = fopen(t_url() + strlen("sqlite:"), "w");
    ph_store *store;

    CHECK(file && fclose(file) == 0);
    CHECK_INT(chmod(t_url() + strlen("sqlite:"), 0640), 0);
    store = t_open(NULL);
    t_enqueue(store, "x", "y");
    CHECK_INT(mode_of(""), 0640);
    CHECK_INT(mode_of("-wal"), 0640);
}

/* ------------------------------------------------------------------------ the log */

static int warnings;

static void count_warnings(void *context, const ph_log_event *event)
{
    (void)context;
    warnings += event->level == PH_LOG_WARN && strstr(event->text, "the log (-wal)") != NULL;
}

/* What was committed before is in a file that has no name any more. */
static void delete_log(bool another)
{
    char path[500];
    FILE *file;

    snprintf(path, sizeof(path), "%s-wal", t_url() + strlen("sqlite:"));
    CHECK_INT(unlink(path), 0);
    if (another) {
        file = fopen(path, "w");
        CHECK(file && fclose(file) == 0);
    }
}

static ph_store *open_noting_warnings(void)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.log = count_warnings;
    opts.log_level = PH_LOG_WARN;
    return t_open(&opts);
}

TEST(a_log_that_was_deleted_under_us_is_noticed_and_what_was_in_it_is_saved)
{
    ph_store *store = open_noting_warnings();
    struct t_conn *conn;

    for (int i = 0; i < 3; i++)
        t_enqueue(store, "x", "before");
    delete_log(false);
    t_enqueue(store, "x", "after");
    CHECK_INT(warnings, 1);
    t_enqueue(store, "x", "after");
    CHECK_INT(warnings, 1);
    conn = t_connect();
    CHECK_INT(t_number(conn, "SELECT count(*) FROM posthorn_message"), 5);
    CHECK_STR(t_value(conn, "PRAGMA integrity_check"), "ok");
    t_check_places(conn);
}

TEST(a_log_that_was_replaced_under_us_is_noticed)
{
    ph_store *store = open_noting_warnings();
    int64_t time;

    t_enqueue(store, "x", "before");
    delete_log(true);
    (void)!ph_clock(store, PH_OWN_TX, 0, &time, &t_err);
    CHECK_INT(warnings, 1);
}
