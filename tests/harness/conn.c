/* conn.c - the caller's side: raw connections, the same for both databases. */
#include "internal.h"

#include "util/buffer.h"

#include <posthorn/pg.h>
#include <posthorn/sqlite.h>
#include <stdlib.h>

#define VALUES 8 /* how many t_value results stay valid */

struct t_conn {
    PGconn *pg;
    sqlite3 *lite;
    char *error;
    char schema[80]; /* "": the test's own */
    struct t_conn *next;
};

static struct t_conn *conns;
static char *values[VALUES];
static size_t value_next;

static struct t_conn *conn_new(void)
{
    struct t_conn *conn = calloc(1, sizeof(*conn));

    CHECK(conn != NULL);
    conn->next = conns;
    conns = conn;
    return conn;
}

static void quiet(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static void open_pg(struct t_conn *conn, const char *url)
{
    conn->pg = PQconnectdb(url);
    if (PQstatus(conn->pg) != CONNECTION_OK)
        printf("%s", PQerrorMessage(conn->pg));
    CHECK(PQstatus(conn->pg) == CONNECTION_OK);
    PQsetNoticeProcessor(conn->pg, quiet, NULL);
    CHECK(PQsetClientEncoding(conn->pg, "UTF8") == 0);
}

/* No checkpoints from here: see the note on WAL in docs/decisions. */
static void open_lite(struct t_conn *conn, const char *path)
{
    CHECK_INT(sqlite3_open(path, &conn->lite), SQLITE_OK);
    sqlite3_busy_timeout(conn->lite, 30000);
    CHECK_INT(sqlite3_exec(conn->lite, "PRAGMA wal_autocheckpoint = 0", NULL, NULL, NULL),
              SQLITE_OK);
}

struct t_conn *t_connect_to(const char *url)
{
    struct t_conn *conn = conn_new();

    if (strncmp(url, "sqlite:", 7) == 0)
        open_lite(conn, url + 7);
    else
        open_pg(conn, url);
    return conn;
}

struct t_conn *t_connect(void)
{
    return t_connect_to(t_env.url);
}

void t_disconnect(struct t_conn *conn)
{
    for (struct t_conn **at = &conns; *at; at = &(*at)->next) {
        if (*at == conn) {
            *at = conn->next;
            break;
        }
    }
    PQfinish(conn->pg);
    sqlite3_close_v2(conn->lite);
    free(conn->error);
    free(conn);
}

void t_conns_close(void)
{
    while (conns)
        t_disconnect(conns);
    for (size_t i = 0; i < VALUES; i++) {
        free(values[i]);
        values[i] = NULL;
    }
}

/* --------------------------------------------------------------- statements */

static const char *stands_for(const struct t_conn *conn, const char *name, size_t length,
                              char *space, size_t size)
{
    const char *prefix = conn->pg ? "" : "posthorn_";
    const char *schema = conn->lite ? "main" : *conn->schema ? conn->schema : t_schema();

    if (length == 1 && *name == 'p')
        return prefix;
    if (length == 1 && *name == 't') {
        if (conn->lite)
            return prefix;
        snprintf(space, size, "\"%s\".%s", schema, prefix);
        return space;
    }
    if (length == 6 && strncmp(name, "schema", 6) == 0) {
        snprintf(space, size, "\"%s\"", schema);
        return space;
    }
    return NULL;
}

static char *expand(const struct t_conn *conn, const char *sql)
{
    struct ph__buffer to = { 0 };
    char space[160];

    while (*sql) {
        const char *end = *sql == '{' ? strchr(sql, '}') : NULL;
        const char *text =
            end ? stands_for(conn, sql + 1, (size_t)(end - sql - 1), space, sizeof(space)) : NULL;

        if (text) {
            ph__buffer_text(&to, text);
            sql = end + 1;
        } else {
            ph__buffer_bytes(&to, sql++, 1);
        }
    }
    CHECK(!to.failed && to.data);
    return to.data;
}

static bool keep_error(struct t_conn *conn, const char *message)
{
    free(conn->error);
    conn->error = strdup(message);
    return false;
}

/* ret_value: the first column of the first row of the last statement, or NULL; malloc'd. */
static bool run_pg(struct t_conn *conn, const char *sql, char **ret_value)
{
    PGresult *result = PQexec(conn->pg, sql);
    ExecStatusType status = PQresultStatus(result);
    bool ok = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;

    if (!ok)
        keep_error(conn, PQerrorMessage(conn->pg));
    else if (PQntuples(result) > 0 && PQnfields(result) > 0 && !PQgetisnull(result, 0, 0))
        *ret_value = strdup(PQgetvalue(result, 0, 0));
    PQclear(result);
    return ok;
}

static bool run_lite(struct t_conn *conn, const char *sql, char **ret_value)
{
    while (*sql) {
        sqlite3_stmt *statement = NULL;
        int r = sqlite3_prepare_v2(conn->lite, sql, -1, &statement, &sql);
        bool first = true;

        if (r != SQLITE_OK)
            return keep_error(conn, sqlite3_errmsg(conn->lite));
        while (statement && (r = sqlite3_step(statement)) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(statement, 0);

            if (first && text) {
                free(*ret_value);
                *ret_value = strdup(text);
            }
            first = false;
        }
        sqlite3_finalize(statement);
        if (statement && r != SQLITE_DONE)
            return keep_error(conn, sqlite3_errmsg(conn->lite));
    }
    return true;
}

static bool run(struct t_conn *conn, const char *sql, char **ret_value)
{
    char *expanded = expand(conn, sql);
    bool ok = conn->pg ? run_pg(conn, expanded, ret_value) : run_lite(conn, expanded, ret_value);

    free(expanded);
    return ok;
}

bool t_try_sql(struct t_conn *conn, const char *sql)
{
    char *value = NULL;
    bool ok = run(conn, sql, &value);

    free(value);
    return ok;
}

const char *t_sql_error(struct t_conn *conn)
{
    return conn->error ? conn->error : "";
}

void t_sql(struct t_conn *conn, const char *sql)
{
    if (!t_try_sql(conn, sql)) {
        printf("%s\n    %s\n", sql, t_sql_error(conn));
        FAIL("the statement failed");
    }
}

const char *t_value(struct t_conn *conn, const char *sql)
{
    char **slot = &values[value_next++ % VALUES];

    free(*slot);
    *slot = NULL;
    if (!run(conn, sql, slot)) {
        printf("%s\n    %s\n", sql, t_sql_error(conn));
        FAIL("the statement failed");
    }
    return *slot ? *slot : "";
}

long long t_number(struct t_conn *conn, const char *sql)
{
    const char *text = t_value(conn, sql);
    char *end;
    long long number = strtoll(text, &end, 10);

    if (!*text || *end)
        printf("%s: not a number: \"%s\"\n", sql, text);
    CHECK(*text && !*end);
    return number;
}

void t_begin(struct t_conn *conn)
{
    t_sql(conn, conn->pg ? "BEGIN" : "BEGIN IMMEDIATE");
}

void t_commit(struct t_conn *conn)
{
    t_sql(conn, "COMMIT");
}

void t_rollback(struct t_conn *conn)
{
    t_sql(conn, "ROLLBACK");
}

ph_tx t_tx(struct t_conn *conn)
{
    ph_tx tx = PH_OWN_TX;

#ifdef PH_WITH_POSTGRESQL
    if (conn->pg)
        tx = ph_tx_pg(conn->pg);
#endif
#ifdef PH_WITH_SQLITE
    if (conn->lite)
        tx = ph_tx_sqlite(conn->lite);
#endif
    return tx;
}

void t_conn_schema(struct t_conn *conn, const char *schema)
{
    snprintf(conn->schema, sizeof(conn->schema), "%s", schema);
}

bool t_conn_is_pg(const struct t_conn *conn)
{
    return conn->pg != NULL;
}

void *t_native(struct t_conn *conn)
{
    return conn->pg ? (void *)conn->pg : (void *)conn->lite;
}
