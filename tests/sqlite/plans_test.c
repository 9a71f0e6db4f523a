/* plans_test.c - the plan of every statement that the SQLite backend has, as
 * EXPLAIN QUERY PLAN tells it: by key or index, without sorting, on tables that
 * were never analysed. */
#include "harness.h"
#include "store/sqlite/sql_text.h"
#include "util/buffer.h"
#include "util/embedded.h"

#include <sqlite3.h>

/* Statements whose purpose is to look at all of a small table, and the scan they
 * do (a table that has an alias is shown by that); and one that sorts. */
static const struct {
    const char *statement, *detail;
} allowed[] = {
    { "store_get", "SCAN main.posthorn_store" }, /* has one row */
    { "clock_set", "SCAN main.posthorn_store" },
    { "outlook", "SCAN l" },         /* the four levels */
    { "outlook", "SCAN (subquery" }, /* a row for each, and one for leases */
    { "lock", "SCAN main.posthorn_store" },
    { "count_pending", "SCAN" }, /* statistics: no verb of a worker runs them */
    { "count_lease", "SCAN" },
    { "count_dead", "SCAN" },
    { "count_waiting", "SCAN w" },
    { "queue_coming", "SCAN main.posthorn_job" }, /* an operator's verb */
    { "retention_done", "SCAN q" },               /* each queue has its own retention */
    { "retention_dead", "SCAN q" },
    { "retention_dedupe", "SCAN q" },
    { "places_joins", "SCAN" },          /* the doctor's, deep: reads everything */
    { "state_get", "SCAN l LEFT-JOIN" }, /* one row per batch that is being worked on */
    { "message_status", "SCAN l LEFT-JOIN" },
    { "instance_stale", "SCAN" }, /* a row per worker */
    { "instance_list", "SCAN" },
    { "instance_list", "USE TEMP B-TREE" },
    { "retention_instance", "SCAN" },
    { "retention_claimer", "SCAN" },
    { "claimer_all", "SCAN i" },
    { "stream_shown", "SCAN r" }, /* one row per batch that is being worked on */
    { "stream_shown", "SCAN l" },
    { "stream_shown", "USE TEMP B-TREE FOR ORDER BY" }, /* of one run */
    { "steps_given_any", "SCAN" },                      /* no further than the first */
    { "belongings_any", "SCAN" },                       /* no further than the first */
    { "lease_with_runs", "SCAN" },
    { "places_streams", "SCAN" }, /* deep */
    { "places_busy", "SCAN" },
    { "tick_queues", "USE TEMP B-TREE FOR ORDER BY" }, /* of queues where something is due */
    { "fence_last", "SCAN main.sqlite_sequence" },     /* a row per table */
    { "temp_any", "SCAN sqlite_temp_schema" },
    { "schema_objects",
      "SCAN main.sqlite_schema" },  /* once per connection and change of the schema */
    { "index_is_plain", "SCAN l" }, /* then, for each index of others: those of a table */
    { "index_is_plain", "SCAN x" },
    { "places_range", "SCAN" }, /* the deep examination reads everything */
    { "places_pending", "SCAN" },
    { "places_topics", "SCAN p" },
    { "places_dead", "SCAN" },
    { "places_lease", "SCAN" },
    { "places_done", "SCAN" },
    { "places_wait", "SCAN" },
    { "list_lease", "SCAN" },                           /* operators look at all leases */
    { "list_pending", "USE TEMP B-TREE FOR ORDER BY" }, /* of no more rows than the limit */
    { "members_get", "USE TEMP B-TREE FOR ORDER BY" },
};

static bool is_allowed(const char *statement, const char *detail)
{
    for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
        if (strcmp(allowed[i].statement, statement) == 0 &&
            strncmp(detail, allowed[i].detail, strlen(allowed[i].detail)) == 0)
            return true;
    }
    return false;
}

/* "SCAN x" reads all of x; "SEARCH x USING …" goes by a key. An index that is
 * scanned is as bad; a scan of a constant row or of a subquery's result is not. */
static bool is_bad(const char *statement, const char *detail)
{
    if (is_allowed(statement, detail))
        return false;
    return strstr(detail, "USE TEMP B-TREE") ||
           (strncmp(detail, "SCAN ", 5) == 0 && !strstr(detail, "CONSTANT ROW"));
}

static bool look_at(sqlite3 *db, const char *name, const char *sql)
{
    struct ph__buffer explain = { 0 };
    sqlite3_stmt *plan = NULL;
    bool good = true;

    ph__buffer_printf(&explain, "EXPLAIN QUERY PLAN %s", sql);
    CHECK(!explain.failed);
    if (sqlite3_prepare_v2(db, explain.data, -1, &plan, NULL) != SQLITE_OK) {
        printf("%s: %s\n", name, sqlite3_errmsg(db));
        good = false;
    }
    while (good && sqlite3_step(plan) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(plan, 3);

        if (is_bad(name, detail)) {
            printf("%s: %s\n", name, detail);
            good = false;
        }
    }
    sqlite3_finalize(plan);
    ph__buffer_free(&explain);
    return good;
}

TEST(every_statement_goes_by_key_and_does_not_sort)
{
    struct t_conn *conn;
    int bad = 0, count = 0;

    t_open(NULL);
    conn = t_connect();
    for (const struct ph__embedded *s = ph__sqlite_statement_texts; s->name; s++, count++) {
        struct ph__buffer sql = { 0 };

        ph__sqlite_expand_statement(&sql, s->text, "posthorn_");
        bad += !look_at(t_native(conn), s->name, sql.data);
        ph__buffer_free(&sql);
    }
    CHECK(count > 40);
    REQ_INT("OBX-119", bad, 0);
}

TEST(a_message_is_found_through_the_views_by_keys)
{
    static const char *const views[] = { "outbox", "timers", "job_runs" };
    struct t_conn *conn;
    char sql[120];

    t_open(NULL);
    conn = t_connect();
    for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
        snprintf(sql, sizeof(sql),
                 "SELECT * FROM posthorn_%s WHERE id = '00000000-0001-8000-8000-000000000000'",
                 views[i]);
        /* Leases are looked through, as by state_get. */
        CHECK(look_at(t_native(conn), "state_get", sql));
    }
    CHECK(look_at(t_native(conn), "jobs", "SELECT * FROM posthorn_jobs WHERE name = 'job'"));
}

/* The statement's whole plan, line by line. */
static const char *plan_of(sqlite3 *db, const char *name)
{
    static char text[2000];
    const struct ph__embedded *s = ph__sqlite_statement_texts;
    struct ph__buffer sql = { 0 };
    sqlite3_stmt *plan = NULL;
    size_t length = 0;

    while (s->name && strcmp(s->name, name) != 0)
        s++;
    CHECK(s->name != NULL);
    ph__buffer_text(&sql, "EXPLAIN QUERY PLAN ");
    ph__sqlite_expand_statement(&sql, s->text, "posthorn_");
    CHECK_INT(sqlite3_prepare_v2(db, sql.data, -1, &plan, NULL), SQLITE_OK);
    text[0] = '\0';
    while (sqlite3_step(plan) == SQLITE_ROW && length < sizeof(text))
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s\n",
                                   (const char *)sqlite3_column_text(plan, 3));
    sqlite3_finalize(plan);
    ph__buffer_free(&sql);
    return text;
}

/* By key is not enough where a million timers may wait: the time must be a part of the key. */
TEST(a_look_at_what_is_due_does_not_walk_through_what_is_not)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = t_connect();
    CHECK(strstr(plan_of(t_native(conn), "tick_first"),
                 "SEARCH p USING PRIMARY KEY (queue=? AND level=? AND line=? AND due>?)") != NULL);
    CHECK(strstr(plan_of(t_native(conn), "tick_queues"),
                 "SEARCH p USING PRIMARY KEY (queue=? AND level=? AND line=? AND due<?)") != NULL);
    CHECK(strstr(plan_of(t_native(conn), "tick_walk"),
                 "SEARCH p USING PRIMARY KEY (queue=? AND level=? AND line=? AND due<?)") != NULL);
    CHECK(
        strstr(plan_of(t_native(conn), "pending_of"),
               "SEARCH p USING PRIMARY KEY (queue=? AND level=? AND line=? AND due=? AND id=?)") !=
        NULL);
    CHECK(strstr(plan_of(t_native(conn), "tick_jobs"), "USING INDEX posthorn_job_due (<expr><?)") !=
          NULL);
    CHECK(strstr(plan_of(t_native(conn), "tick_next_job"),
                 "USING INDEX posthorn_job_due (<expr>>?)") != NULL);
}

TEST(a_claim_by_topic_reads_nothing_but_a_stretch_of_the_index)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = t_connect();
    CHECK(strstr(plan_of(t_native(conn), "claim_topic"),
                 "USING COVERING INDEX posthorn_pending_topic (queue=? AND level=? AND topic=? AND "
                 "(due,id)>(?,?) AND due<?)") != NULL);
    CHECK(strstr(plan_of(t_native(conn), "claim_topic_more"),
                 "USING INDEX posthorn_pending_topic (queue=? AND level=? AND topic=? AND "
                 "(due,id)>(?,?) AND due<?)") != NULL);
}
