/* upgrade_test.c - a file of an older schema version is brought up with what is in it. */
#include "harness.h"
#include "store/sqlite/sql_text.h"
#include "store/store.h"
#include "util/buffer.h"

#include <sqlite3.h>
#include <stdlib.h>

/* The file as version 1 left it: one message in each place. */
static void make_version_1(void)
{
    struct t_conn *conn = t_connect();
    struct ph__buffer sql = { 0 };

    CHECK_STR(ph__sqlite_migration_texts[0].name, "0001_outbox");
    ph__sqlite_expand(&sql, ph__sqlite_migration_texts[0].text, "posthorn_");
    CHECK(!sql.failed);
    CHECK_INT(sqlite3_exec(t_native(conn), sql.data, NULL, NULL, NULL), SQLITE_OK);
    ph__buffer_free(&sql);
    t_sql(conn,
          "UPDATE posthorn_store SET clock_us = 1700000000000000;"
          "INSERT INTO posthorn_message (id, salt, queue, level, topic, created_at, payload)"
          "    SELECT value, -9223372036854775808 + value, 1, 1, 'topic', 1600000000000000, value"
          "      FROM json_each('[1,2,3,4]');"
          "INSERT INTO posthorn_pending VALUES (1, 1, 1600000000000000, 1, 0, 0, 0);"
          "INSERT INTO posthorn_lease (owner, queue, claimed_at, until, lost, open, lo, hi, ids)"
          "    VALUES (zeroblob(16), 1, 1600000000000000, 1800000000000000, 0, 1, 2, 2,"
          "            ',000000000002');"
          "INSERT INTO posthorn_done (queue, owner, at, lo, hi, ids)"
          "    VALUES (1, zeroblob(16), 1700000000000000, 3, 3, ',000000000003');"
          "INSERT INTO posthorn_dead (id, queue, reason, died_at)"
          "    VALUES (4, 1, 1, 1700000000000000)");
    t_disconnect(conn);
}

static ph_schema_status inspect(ph_store *store)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;

    OK(ph_schema_inspect(store, 0, &status, &t_err));
    return status;
}

TEST(a_file_of_version_1_is_refused_until_it_is_migrated)
{
    ph_store *store = NULL;
    ph_schema_status status;
    int applied = 0;

    make_version_1();
    CHECK_INT(t_try_open(t_url(), NULL, &store), PH_ETOOOLD);
    CHECK(strstr(t_err.message, "ph_migrate()") != NULL);
    OK(ph_open_lazy(t_url(), NULL, &store, &t_err));
    status = inspect(store);
    CHECK_INT(status.installed, 1);
    CHECK_INT(status.library, PH__SCHEMA_VERSION);
    CHECK(!status.usable);
    CHECK(status.pending);
    OK(ph_migrate(store, 0, &applied, &t_err));
    CHECK_INT(applied, PH__SCHEMA_VERSION - 1);
    status = inspect(store);
    CHECK_INT(status.installed, PH__SCHEMA_VERSION);
    CHECK_INT(status.serves_from, PH__SCHEMA_SERVES_FROM);
    CHECK(status.usable);
    CHECK(!status.pending);
    OK(ph_migrate(store, 0, &applied, &t_err));
    CHECK_INT(applied, 0);
    ph_close(store);
}

TEST(what_was_in_the_file_is_still_there_and_works)
{
    ph_owner owner = ph_owner_new();
    struct t_conn *conn;
    ph_store *store;
    ph_batch *batch;

    make_version_1();
    store = t_open(NULL); /* deploys */
    conn = t_connect();
    t_check_places(conn);
    CHECK_INT(t_number(conn, "SELECT version FROM posthorn_store"), PH__SCHEMA_VERSION);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM posthorn_migration"), PH__SCHEMA_VERSION);
    CHECK_STR(t_value(conn, "SELECT group_concat(status) FROM (SELECT status FROM posthorn_outbox "
                            "ORDER BY id)"),
              "ready,in_progress,done,failed");
    batch = t_claim(store, owner, 10);
    CHECK_INT(ph_batch_count(batch), 1);
    CHECK_STR(ph_batch_at(batch, 0)->payload, "1");
    CHECK_INT(t_ack_all(store, owner, batch), 1);
    t_enqueue(store, "topic", "new");
    t_check_places(conn);
}

/* The tables of an upgraded file are those of a fresh one. */
TEST(an_upgraded_schema_is_like_a_fresh_one)
{
    const char *sql = "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema "
                      "ORDER BY type, name)";
    char *fresh;

    t_open(NULL);
    fresh = strdup(t_value(t_connect(), sql));
    t_start_over();
    make_version_1();
    t_open(NULL);
    CHECK_STR(t_value(t_connect(), sql), fresh);
    free(fresh);
}
