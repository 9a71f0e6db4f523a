/* floor_pg.c - the floor on PostgreSQL: bare rows, inserted and deleted by
 * plain statements; and resetting the schema. */
#include "floor_pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PGconn *bench_pg_dial(const char *url)
{
    const char *rest = strchr(url, ':') + 1;
    PGconn *conn = PQconnectdb(strncmp(rest, "//", 2) == 0 ? url : rest);

    if (PQstatus(conn) != CONNECTION_OK)
        bench_die("connect", PQerrorMessage(conn));
    return conn;
}

PGresult *bench_pg_checked(PGconn *conn, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        bench_die("floor", PQerrorMessage(conn));
    return result;
}

void bench_pg_run(PGconn *conn, const char *sql)
{
    PQclear(bench_pg_checked(conn, PQexec(conn, sql)));
}

static void reset(const char *url)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    ph_error err;
    PGconn *conn = bench_pg_dial(url);

    bench_pg_run(conn,
                 "SET client_min_messages = warning; DROP SCHEMA IF EXISTS posthorn_bench CASCADE");
    PQfinish(conn);
    opts.schema = "posthorn_bench";
    opts.deploy_schema = true;
    if (ph_open(url, &opts, &store, &err) < 0)
        bench_die("migrate", err.message);
    ph_close(store);
}

static void floor_reset(const char *url)
{
    PGconn *conn = bench_pg_dial(url);

    bench_pg_run(
        conn,
        "SET client_min_messages = warning; DROP TABLE IF EXISTS posthorn_bench_bare; "
        "CREATE TABLE posthorn_bench_bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        "topic text NOT NULL, payload text NOT NULL)");
    PQfinish(conn);
}

static void floor_fill(const char *url, long count)
{
    PGconn *conn = bench_pg_dial(url);
    const char *values[] = { bench_payload() };
    char sql[200];

    snprintf(sql, sizeof(sql),
             "INSERT INTO posthorn_bench_bare (topic, payload) SELECT 'order.created', $1 "
             "FROM generate_series(1, %ld)",
             count);
    PQclear(bench_pg_checked(conn, PQexecParams(conn, sql, 1, NULL, values, NULL, NULL, 0)));
    PQfinish(conn);
}

void bench_pg_drain_statement(char *ret_sql, size_t size, int batch)
{
    snprintf(
        ret_sql, size,
        "DELETE FROM posthorn_bench_bare WHERE id = ANY (ARRAY(SELECT id FROM posthorn_bench_bare "
        "ORDER BY id LIMIT %d FOR UPDATE SKIP LOCKED)) RETURNING id, topic, payload",
        batch);
}

static long floor_drain(const char *url, int batch, long most)
{
    PGconn *conn = bench_pg_dial(url);
    char sql[400];
    long done = 0;

    bench_pg_drain_statement(sql, sizeof(sql), batch);
    bench_pg_run(conn, BENCH_PG_BY_INDEX);
    PQclear(bench_pg_checked(conn, PQprepare(conn, "drain", sql, 0, NULL)));
    while (most == 0 || done < most) {
        PGresult *result =
            bench_pg_checked(conn, PQexecPrepared(conn, "drain", 0, NULL, NULL, NULL, 1));
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
    PGconn *conn = bench_pg_dial(url);
    const char *values[] = { "order.created", bench_payload() };

    PQclear(bench_pg_checked(conn, PQprepare(conn, "insert", BENCH_PG_INSERT, 2, NULL)));
    for (long i = 0; i < count; i++)
        PQclear(bench_pg_checked(conn, PQexecPrepared(conn, "insert", 2, values, NULL, NULL, 1)));
    PQfinish(conn);
}

static void copy_row(PGconn *conn)
{
    const char *payload = bench_payload();

    if (PQputCopyData(conn, "order.created\t", 14) != 1 ||
        PQputCopyData(conn, payload, (int)strlen(payload)) != 1 ||
        PQputCopyData(conn, "\n", 1) != 1)
        bench_die("copy", PQerrorMessage(conn));
}

/* As quick as rows get into a table. */
static void floor_bulk(const char *url, long count, int per_call)
{
    PGconn *conn = bench_pg_dial(url);

    for (long done = 0; done < count; done += per_call) {
        PGresult *result = PQexec(conn, "COPY posthorn_bench_bare (topic, payload) FROM STDIN");

        if (PQresultStatus(result) != PGRES_COPY_IN)
            bench_die("copy", PQerrorMessage(conn));
        PQclear(result);
        for (int i = 0; i < per_call; i++)
            copy_row(conn);
        if (PQputCopyEnd(conn, NULL) != 1)
            bench_die("copy", PQerrorMessage(conn));
        while ((result = PQgetResult(conn)))
            PQclear(bench_pg_checked(conn, result));
    }
    PQfinish(conn);
}

static void *old_tx_begin(const char *url)
{
    PGconn *conn = bench_pg_dial(url);

    bench_pg_run(conn,
                 "BEGIN ISOLATION LEVEL REPEATABLE READ; CREATE TEMP TABLE held (x int); SELECT 1");
    return conn;
}

static void old_tx_end(void *connection)
{
    PQfinish(connection);
}

static void crowd(const char *url, long joins, long timers, int64_t due_at)
{
    PGconn *conn = bench_pg_dial(url);
    char sql[900];

    snprintf(sql, sizeof(sql),
             "SET search_path = posthorn_bench;"
             "SELECT count(enqueue('step', 'x', due_at => '2100-01-01Z', join_id => j)) FROM "
             "(SELECT join_start(2) AS j FROM generate_series(1, %ld) OFFSET 0) s;"
             "SELECT count(timer_schedule('later', '%s', to_timestamp(%lld))) FROM "
             "generate_series(1, %ld);"
             "ANALYZE",
             joins, bench_payload(), (long long)(due_at / 1000000), timers);
    bench_pg_run(conn, sql);
    PQfinish(conn);
}

static struct bench_size size_of_tables(const char *url)
{
    const char *sql = "SELECT sum(pg_total_relation_size(relid)) / 1048576.0, sum(n_dead_tup) "
                      "FROM pg_stat_user_tables WHERE schemaname = 'posthorn_bench'";
    PGconn *conn = bench_pg_dial(url);
    PGresult *result = bench_pg_checked(conn, PQexec(conn, sql));
    struct bench_size size = { atof(PQgetvalue(result, 0, 0)), atof(PQgetvalue(result, 0, 1)) };

    PQclear(result);
    PQfinish(conn);
    return size;
}

/* The parent of the process that serves us, if that is on this machine. */
static int server_pid(const char *url)
{
    PGconn *conn = bench_pg_dial(url);
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
    PGconn *conn = bench_pg_dial(url);
    char sql[100];

    snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS " BESIDE " WITH (FORCE)", number);
    bench_pg_run(conn, "SET client_min_messages = warning");
    bench_pg_run(conn, sql);
    PQfinish(conn);
}

static void beside_make(const char *url, int number)
{
    char sql[100], its_url[4200];
    PGconn *conn;

    beside_remove(url, number);
    conn = bench_pg_dial(url);
    snprintf(sql, sizeof(sql), "CREATE DATABASE " BESIDE, number);
    bench_pg_run(conn, sql);
    PQfinish(conn);
    beside(url, number, its_url, sizeof(its_url));
    reset(its_url);
}

const struct bench_floor bench_floor_pg = {
    .reset_ours = reset,
    .reset = floor_reset,
    .fill = floor_fill,
    .drain = floor_drain,
    .enqueue = floor_enqueue,
    .bulk = floor_bulk,
    .old_tx_begin = old_tx_begin,
    .old_tx_end = old_tx_end,
    .crowd = crowd,
    .size = size_of_tables,
    .server_pid = server_pid,
    .beside = beside,
    .beside_make = beside_make,
    .beside_remove = beside_remove,
};
