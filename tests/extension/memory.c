/* memory.c - every allocation of every function of the extension fails once.
 *
 * The extension's objects are part of this program, which is a host with SQLite
 * linked in, so that the test hook of util/alloc.h is within reach. A function
 * must then say so, and leave nothing behind: no message, no transaction, no
 * memory (the sanitizers look). Prints the number of failures that were made. */
#include "util/alloc.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWNER "'5e1f1e55-0000-4000-8000-000000000001'"
#define IDS "(SELECT json_group_array(id) FROM posthorn_outbox)"
#define DEAD "(SELECT json_group_array(id) FROM posthorn_dead_letters)"
#define JOIN "(SELECT id FROM posthorn_joins ORDER BY id LIMIT 1)"
#define NEWEST_JOIN "(SELECT id FROM posthorn_joins ORDER BY id DESC LIMIT 1)"
#define STEP "(SELECT message_id FROM posthorn_join_members WHERE status = 'pending' LIMIT 1)"

#define TEXT_SIZE 1000

int sqlite3_posthorn_init(sqlite3 *db, char **ret_error, const void *api);

static const char *const statements[] = {
    "SELECT posthorn_migrate()",
    "SELECT posthorn_config('table_prefix', 'posthorn_')",
    "SELECT posthorn_enqueue('a', 'first')",
    "SELECT posthorn_enqueue('a', 'second', '{\"dedupe_key\":\"k\",\"headers\":{\"h\":[1]},"
    "\"tenant_id\":null,\"message_id\":\"5e1f1e55-0000-4000-8000-00000000000a\","
    "\"due_at\":\"2020-01-01T00:00:00Z\",\"priority\":2}')",
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
    "SELECT posthorn_queue_delete('outbox', 'n')",
    "SELECT posthorn_retention_run(10)",
    "SELECT posthorn_clock()",

    "INSERT INTO kept SELECT posthorn_join_start(4, 'key', 'meta', '2050-01-01')",
    "SELECT posthorn_enqueue('j', 'p', json_object('join_id', " JOIN "))",
    "SELECT count(*) FROM posthorn_enqueue_many(json_array(json_object('topic', 'j', 'payload', "
    "'', 'join_id', " JOIN ")))",
    "SELECT posthorn_enqueue('k', '')",
    "SELECT posthorn_join_attach(" JOIN ", "
    "(SELECT message_id FROM posthorn_outbox WHERE topic = 'k'))",
    "SELECT posthorn_join_attach_many(" JOIN ", json_array((SELECT message_id FROM "
    "posthorn_outbox WHERE topic = 'a' LIMIT 1)))",
    "SELECT posthorn_join_wait(" JOIN ", TRUE, 'next', 'p', 'alarm', 'p', 'w')",
    "SELECT posthorn_join_report_completed(" JOIN ", " STEP ")",
    "SELECT count(*) FROM posthorn_outbox_claim(" OWNER ", 30, 10, '', '[\"j\"]')",
    "SELECT count(*) FROM posthorn_outbox_ack(" OWNER ", " IDS ")",
    "SELECT posthorn_join_report_failed(" JOIN ", " STEP ")",
    "SELECT posthorn_join_report_completed(" JOIN ", " STEP ")", /* the last one: the wait fires */
    "SELECT posthorn_join_start(1)",
    "SELECT posthorn_join_wait(" NEWEST_JOIN ", FALSE, 'next', 'p', 'alarm')",
    "SELECT posthorn_join_cancel(" NEWEST_JOIN ")",

    "UPDATE posthorn_store SET clock_us = unixepoch('2040-01-01') * 1000000",
    "SELECT posthorn_timer_schedule('t', 'p', '2040-01-01T00:01:00Z', 'n', 'c', '{\"h\":1}')",
    "SELECT posthorn_timer_schedule('gone', 'p', '2041-01-01')",
    "SELECT posthorn_timer_cancel((SELECT id FROM posthorn_timers WHERE topic = 'gone'))",
    "SELECT count(*) FROM posthorn_job_next('0 3 * * *', 'Europe/Berlin', 3)",
    "SELECT posthorn_job_set('job', 't', '*/10 * * * *', 'p', 'Europe/Berlin', 'all', 3)",
    "SELECT posthorn_job_pause('job')",
    "SELECT posthorn_job_resume('job')",
    "SELECT posthorn_job_trigger('job')",
    "SELECT count(*) FROM posthorn_job_runs_claim(" OWNER ", 30, 10)",
    "SELECT count(*) FROM posthorn_job_runs_ack(" OWNER ", "
    "(SELECT json_group_array(id) FROM posthorn_job_runs))",
    "SELECT posthorn_schedule_run('{\"batch_size\":5}')",
    "UPDATE posthorn_store SET clock_us = unixepoch('2040-01-01 02:00') * 1000000",
    "BEGIN; SELECT posthorn_schedule_run(); ROLLBACK",
    "SELECT posthorn_schedule_run()",
    "SELECT count(*) FROM posthorn_timers_claim(" OWNER ", 30, 10)",
    "SELECT posthorn_timers_reap_expired()",
    "SELECT posthorn_job_runs_reap_expired()",
    "SELECT posthorn_job_delete('job')",
};

static void stop(const char *statement, const char *what, const char *detail)
{
    fprintf(stderr, "%s\n    %s: %s\n", statement, what, detail ? detail : "");
    exit(1);
}

/* How much the file holds of us, in every place: a text that changes with it. */
static void fingerprint(sqlite3 *db, const char *statement, char ret_text[TEXT_SIZE])
{
    static const char sql[] =
        "SELECT json_array((SELECT count(*) FROM posthorn_message),"
        " (SELECT count(*) FROM posthorn_pending), (SELECT count(*) FROM posthorn_lease),"
        " (SELECT count(*) FROM posthorn_done), (SELECT count(*) FROM posthorn_dead),"
        " (SELECT count(*) FROM posthorn_attempt_log), (SELECT count(*) FROM kept),"
        " (SELECT json_group_array(json_array(attached, completed, failed, status))"
        "    FROM posthorn_join_head),"
        " (SELECT count(*) FROM posthorn_join_member), (SELECT count(*) FROM posthorn_join_wait),"
        " (SELECT json_group_array(json_array(generation, next_at)) FROM posthorn_job),"
        " (SELECT count(*) FROM posthorn_job_run), (SELECT count(*) FROM posthorn_queue))";
    sqlite3_stmt *stmt;

    strcpy(ret_text, "not migrated yet");
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        snprintf(ret_text, TEXT_SIZE, "%s", (const char *)sqlite3_column_text(stmt, 0));
    if (sqlite3_finalize(stmt) != SQLITE_OK)
        stop(statement, "the tables cannot be read", sqlite3_errmsg(db));
}

/* In a transaction of the statement's own, or in the caller's, which must go on. */
static void check_transaction(sqlite3 *db, const char *statement, const char *error)
{
    bool open = !sqlite3_get_autocommit(db);

    if (open != (strncmp(statement, "BEGIN", 5) == 0))
        stop(statement, open ? "left a transaction open" : "ended the transaction", error);
}

/* Runs it until it succeeds, with one allocation more each time; says how often it failed. */
static long run(sqlite3 *db, const char *statement)
{
    for (long allowed = 0; allowed < 100000; allowed++) {
        char before[TEXT_SIZE], after[TEXT_SIZE], *error = NULL;
        int rc;

        fingerprint(db, statement, before);
        ph__alloc_fail_after = allowed;
        rc = sqlite3_exec(db, statement, NULL, NULL, &error);
        ph__alloc_fail_after = -1;
        if (rc == SQLITE_OK)
            return allowed;
        check_transaction(db, statement, error);
        if (!strstr(error, "out of memory"))
            stop(statement, "failed with another error", error);
        fingerprint(db, statement, after);
        if (strcmp(before, after) != 0)
            stop(statement, "failed, and changed something", error);
        sqlite3_free(error);
        if (!sqlite3_get_autocommit(db))
            sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
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
