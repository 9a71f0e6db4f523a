/* memory.c - every allocation of every function of the extension fails once.
 *
 * The extension's objects are part of this program, which is a host with SQLite
 * linked in, so that the test hook of util/alloc.h is within reach. A function
 * must then say so, and leave nothing behind: no message, no transaction, no
 * memory (the sanitizers look). Prints the number of failures that were made. */
#include "util/alloc.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWNER "'5e1f1e55-0000-4000-8000-000000000001'"
#define IDS "(SELECT json_group_array(id) FROM posthorn_outbox)"
#define DEAD "(SELECT json_group_array(id) FROM posthorn_dead_letters)"

int sqlite3_posthorn_init(sqlite3 *db, char **ret_error, const void *api);

static const char *const statements[] = {
    "SELECT posthorn_migrate()",
    "SELECT posthorn_config('table_prefix', 'posthorn_')",
    "SELECT posthorn_enqueue('a', 'first')",
    "SELECT posthorn_enqueue('a', 'second', '{\"dedupe_key\":\"k\",\"headers\":{\"h\":[1]},"
    "\"tenant_id\":null,\"message_id\":\"5e1f1e55-0000-4000-8000-00000000000a\","
    "\"due_at\":\"2020-01-01\",\"priority\":2}')",
    "SELECT count(*) FROM posthorn_enqueue_many('[{\"topic\":\"b\",\"payload\":\"third\"},"
    "{\"topic\":\"b\",\"payload\":\"fourth\",\"headers\":{\"x\":\"y\"}}]')",
    "INSERT INTO kept SELECT posthorn_enqueue('c', 'nested')",
    "SELECT count(*) FROM posthorn_outbox_claim(" OWNER ", 30, 10, '', '[\"a\",\"b\"]')",
    "SELECT count(*) FROM posthorn_outbox_renew(" OWNER ", " IDS ", 60)",
    "SELECT count(*) FROM posthorn_outbox_abandon(" OWNER ", " IDS ", 'again', 0)",
    "CREATE TEMP TABLE batch AS SELECT * FROM posthorn_outbox_claim(" OWNER ", 30, 3)",
    "SELECT count(*) FROM posthorn_outbox_fail(" OWNER ", " IDS ", 'for good')",
    "SELECT count(*) FROM posthorn_dead_retry(" DEAD ")",
    "SELECT posthorn_dead_discard(" DEAD ")",
    "SELECT count(*) FROM posthorn_outbox_claim(" OWNER ", 30, 2)",
    "SELECT count(*) FROM posthorn_outbox_release(" OWNER ", " IDS ")",
    "SELECT count(*) FROM posthorn_outbox_claim(" OWNER ", 30, 2)",
    "SELECT count(*) FROM posthorn_outbox_ack(" OWNER ", " IDS ")",
    "SELECT posthorn_outbox_reap_expired()",
    "SELECT posthorn_queue_set('outbox', 'n', '{\"max_attempts\":3}')",
    "SELECT posthorn_queue_pause('outbox', 'n')",
    "SELECT posthorn_queue_resume('outbox', 'n')",
    "SELECT posthorn_retention_run(10)",
    "SELECT posthorn_clock()",
};

static void stop(const char *statement, const char *what, const char *detail)
{
    fprintf(stderr, "%s\n    %s: %s\n", statement, what, detail ? detail : "");
    exit(1);
}

/* Everything that the file holds of us, as a number that changes with it. */
static sqlite3_int64 fingerprint(sqlite3 *db, const char *statement)
{
    static const char sql[] =
        "SELECT (SELECT count(*) FROM posthorn_message) * 1000000"
        "     + (SELECT count(*) FROM posthorn_pending) * 10000"
        "     + (SELECT count(*) FROM posthorn_lease) * 1000"
        "     + (SELECT count(*) FROM posthorn_done) * 100"
        "     + (SELECT count(*) FROM posthorn_dead) * 10"
        "     + (SELECT count(*) FROM posthorn_attempt_log) + (SELECT count(*) FROM kept)";
    sqlite3_stmt *stmt;
    sqlite3_int64 number = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return -1; /* not migrated yet */
    if (sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    if (sqlite3_finalize(stmt) != SQLITE_OK)
        stop(statement, "the tables cannot be read", sqlite3_errmsg(db));
    return number;
}

/* Runs it until it succeeds, with one allocation more each time; says how often it failed. */
static long run(sqlite3 *db, const char *statement)
{
    for (long allowed = 0; allowed < 100000; allowed++) {
        sqlite3_int64 before = fingerprint(db, statement);
        char *error = NULL;
        int rc;

        ph__alloc_fail_after = allowed;
        rc = sqlite3_exec(db, statement, NULL, NULL, &error);
        ph__alloc_fail_after = -1;
        if (rc == SQLITE_OK)
            return allowed;
        if (!sqlite3_get_autocommit(db))
            stop(statement, "left a transaction open", error);
        if (!strstr(error, "out of memory"))
            stop(statement, "failed with another error", error);
        if (fingerprint(db, statement) != before)
            stop(statement, "failed, and changed something", error);
        sqlite3_free(error);
    }
    stop(statement, "never succeeded", NULL);
    return 0;
}

/* Loading, too, without memory. */
static long load(sqlite3 **ret_db)
{
    for (long allowed = 0;; allowed++) {
        int rc;

        ph__alloc_fail_after = allowed;
        rc = sqlite3_open(":memory:", ret_db); /* runs our entry point */
        ph__alloc_fail_after = -1;
        if (rc == SQLITE_OK)
            return allowed;
        if (allowed > 1000)
            stop("sqlite3_open()", "never succeeded", sqlite3_errmsg(*ret_db));
        sqlite3_close(*ret_db);
    }
}

int main(void)
{
    sqlite3 *db;
    long failures;

    if (sqlite3_auto_extension((void (*)(void))sqlite3_posthorn_init) != SQLITE_OK)
        return 1;
    failures = load(&db);
    if (sqlite3_exec(db, "CREATE TABLE kept (answer)", NULL, NULL, NULL) != SQLITE_OK)
        stop("CREATE TABLE", "failed", sqlite3_errmsg(db));
    for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++)
        failures += run(db, statements[i]);
    if (sqlite3_close(db) != SQLITE_OK)
        stop("sqlite3_close()", "something is still open", sqlite3_errmsg(db));
    printf("%ld\n", failures);
    return 0;
}
