/* floor_pg.c - the floor on PostgreSQL: bare rows, inserted and deleted by
 * plain statements; and resetting the schema. */
#include "floor.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PGconn *dial(const char *url)
{
    const char *rest = strchr(url, ':') + 1;
    PGconn *conn = PQconnectdb(strncmp(rest, "//", 2) == 0 ? url : rest);

    if (PQstatus(conn) != CONNECTION_OK)
        bench_die("connect", PQerrorMessage(conn));
    return conn;
}

static PGresult *checked(PGconn *conn, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        bench_die("floor", PQerrorMessage(conn));
    return result;
}

static void run(PGconn *conn, const char *sql)
{
    PQclear(checked(conn, PQexec(conn, sql)));
}

static void reset(const char *url)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    ph_error err;
    PGconn *conn = dial(url);

    run(conn, "SET client_min_messages = warning; DROP SCHEMA IF EXISTS posthorn_bench CASCADE");
    PQfinish(conn);
    opts.schema = "posthorn_bench";
    opts.deploy_schema = true;
    if (ph_open(url, &opts, &store, &err) < 0)
        bench_die("migrate", err.message);
    ph_close(store);
}

static void floor_reset(const char *url)
{
    PGconn *conn = dial(url);

    run(conn,
        "SET client_min_messages = warning; DROP TABLE IF EXISTS posthorn_bench_bare; "
        "CREATE TABLE posthorn_bench_bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        "topic text NOT NULL, payload text NOT NULL)");
    PQfinish(conn);
}

static void floor_fill(const char *url, long count)
{
    PGconn *conn = dial(url);
    char sql[600];

    snprintf(sql, sizeof(sql),
             "INSERT INTO posthorn_bench_bare (topic, payload) SELECT 'order.created', '%s' "
             "FROM generate_series(1, %ld)",
             bench_payload(), count);
    run(conn, sql);
    PQfinish(conn);
}

static long floor_drain(const char *url, int batch)
{
    PGconn *conn = dial(url);
    char sql[400];
    long done = 0;

    snprintf(
        sql, sizeof(sql),
        "DELETE FROM posthorn_bench_bare WHERE id = ANY (ARRAY(SELECT id FROM posthorn_bench_bare "
        "ORDER BY id LIMIT %d FOR UPDATE SKIP LOCKED)) RETURNING id, topic, payload",
        batch);
    run(conn, "SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off");
    PQclear(checked(conn, PQprepare(conn, "drain", sql, 0, NULL)));
    for (;;) {
        PGresult *result = checked(conn, PQexecPrepared(conn, "drain", 0, NULL, NULL, NULL, 1));
        int count = PQntuples(result);

        PQclear(result);
        done += count;
        if (count == 0)
            break;
    }
    PQfinish(conn);
    return done;
}

static void floor_enqueue(const char *url, long count)
{
    PGconn *conn = dial(url);
    const char *values[] = { "order.created", bench_payload() };

    PQclear(
        checked(conn, PQprepare(conn, "insert",
                                "INSERT INTO posthorn_bench_bare (topic, payload) VALUES ($1, $2) "
                                "RETURNING id",
                                2, NULL)));
    for (long i = 0; i < count; i++)
        PQclear(checked(conn, PQexecPrepared(conn, "insert", 2, values, NULL, NULL, 1)));
    PQfinish(conn);
}

static void *old_tx_begin(const char *url)
{
    PGconn *conn = dial(url);

    run(conn, "BEGIN ISOLATION LEVEL REPEATABLE READ; CREATE TEMP TABLE held (x int); SELECT 1");
    return conn;
}

static void old_tx_end(void *connection)
{
    PQfinish(connection);
}

static void crowd(const char *url, long joins, long timers, int64_t due_at)
{
    PGconn *conn = dial(url);
    char sql[900];

    snprintf(sql, sizeof(sql),
             "SET search_path = posthorn_bench;"
             "SELECT count(enqueue('step', 'x', due_at => '2100-01-01Z', join_id => j)) FROM "
             "(SELECT join_start(2) AS j FROM generate_series(1, %ld) OFFSET 0) s;"
             "SELECT count(timer_schedule('later', '%s', to_timestamp(%lld))) FROM "
             "generate_series(1, %ld);"
             "ANALYZE",
             joins, bench_payload(), (long long)(due_at / 1000000), timers);
    run(conn, sql);
    PQfinish(conn);
}

/* The parent of the process that serves us, if that is on this machine. */
static int server_pid(const char *url)
{
    PGconn *conn = dial(url);
    int pid = PQbackendPID(conn), parent = 0;
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = PQhost(conn) && PQhost(conn)[0] == '/' ? fopen(path, "r") : NULL;
    if (file && fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
        parent = 0;
    if (file)
        fclose(file);
    PQfinish(conn);
    return parent;
}

#define BESIDE "posthorn_bench_%d"

/* The URL with another path. */
static void beside(const char *url, int number, char *ret_url, size_t size)
{
    const char *authority = strstr(url, "//"), *path, *query;

    if (!authority)
        bench_die(url, "give it as postgresql://…");
    path = authority + 2 + strcspn(authority + 2, "/?");
    query = strchr(path, '?');
    snprintf(ret_url, size, "%.*s/" BESIDE "%s", (int)(path - url), url, number,
             query ? query : "");
}

static void beside_remove(const char *url, int number)
{
    PGconn *conn = dial(url);
    char sql[100];

    snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS " BESIDE " WITH (FORCE)", number);
    run(conn, "SET client_min_messages = warning");
    run(conn, sql);
    PQfinish(conn);
}

static void beside_make(const char *url, int number)
{
    char sql[100], its_url[4200];
    PGconn *conn;

    beside_remove(url, number);
    conn = dial(url);
    snprintf(sql, sizeof(sql), "CREATE DATABASE " BESIDE, number);
    run(conn, sql);
    PQfinish(conn);
    beside(url, number, its_url, sizeof(its_url));
    reset(its_url);
}

const struct bench_floor bench_floor_pg = {
    reset,      floor_reset, floor_fill, floor_drain, floor_enqueue, old_tx_begin,
    old_tx_end, crowd,       server_pid, beside,      beside_make,   beside_remove,
};
