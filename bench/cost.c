/* cost.c - what calls cost the server, beside bare rows: its processor time, which hardly depends
 * on the disk, and the log that it writes (PostgreSQL only). */
#include "floor_pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A commit then costs no processor time for the disk, so that the calls themselves are compared. */
#define QUICK "SET synchronous_commit = off"
#define WARM_UP 20 /* calls before the time counts: PostgreSQL plans the first ones anew */
#define OWNER "0190a000-0000-7000-8000-000000000001"

struct task {
    const struct bench *bench;
    const struct bench_floor *floor;
    int batch;
    long calls;
    bool
        prepared; /* statements; otherwise they are sent as text with parameters, as most drivers do */
    bool deleting;
};

/* ------------------------------------------------------------- processor time */

/* In microseconds. The scheduler counts nanoseconds where the kernel lets it, clock ticks elsewhere. */
static double processor_us(int pid)
{
    unsigned long user, system;
    double nanoseconds = 0;
    char path[64];
    int count = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
    file = fopen(path, "r");
    if (file) {
        count = fscanf(file, "%lf", &nanoseconds);
        fclose(file);
    }
    if (count == 1 && nanoseconds > 0)
        return nanoseconds / 1e3;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                        &user, &system) != 2)
        bench_die(path, "the server must be on this machine");
    fclose(file);
    return (double)(user + system) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

/* What runs on a connection: one statement or two. */
struct side {
    const struct task *task;
    const char *first, *second; /* second NULL: one */
    PGconn *conn;
    ph_store *store; /* instead, where the library is measured */
};

static PGresult *run(const struct side *side, bool second, int count, const char *const *values)
{
    const char *text = second ? side->second : side->first;

    return bench_pg_checked(
        side->conn,
        side->task->prepared
            ? PQexecPrepared(side->conn, second ? "second" : "first", count, values, NULL, NULL, 0)
            : PQexecParams(side->conn, text, count, NULL, values, NULL, NULL, 0));
}

/* Processor time of the server process pid per call. */
static double per_call_us(const struct side *side, int pid, void (*call)(const struct side *side))
{
    double before;

    for (int i = 0; i < WARM_UP; i++)
        call(side);
    before = processor_us(pid);
    for (long i = 0; i < side->task->calls; i++)
        call(side);
    return (processor_us(pid) - before) / (double)side->task->calls;
}

static double on_connection(const struct task *task, const char *first, const char *second,
                            void (*call)(const struct side *side))
{
    struct side side = { task, first, second, bench_pg_dial(task->bench->url), NULL };
    double us;

    bench_pg_run(side.conn, QUICK);
    bench_pg_run(side.conn, BENCH_PG_BY_INDEX);
    if (task->prepared)
        PQclear(bench_pg_checked(side.conn, PQprepare(side.conn, "first", first, 0, NULL)));
    if (task->prepared && second)
        PQclear(bench_pg_checked(side.conn, PQprepare(side.conn, "second", second, 0, NULL)));
    us = per_call_us(&side, PQbackendPID(side.conn), call);
    PQfinish(side.conn);
    return us;
}

/* --------------------------------------------------------------- claim and ack */

static void delete_batch(const struct side *side)
{
    PGresult *result = run(side, false, 0, NULL);

    if (PQntuples(result) != side->task->batch)
        bench_die("floor", "too few rows");
    PQclear(result);
}

/* Both calls as any language makes them, each in a transaction of its own. */
static void claim_and_ack(const struct side *side)
{
    PGresult *claimed = run(side, false, 0, NULL);
    int count = PQntuples(claimed), at = 0;
    char *ids = malloc((size_t)count * 37 + 3);
    const char *values[] = { ids };

    if (!ids || count != side->task->batch)
        bench_die("claim", "too few messages");
    for (int i = 0; i < count; i++)
        at += sprintf(ids + at, "%c%s", i == 0 ? '{' : ',', PQgetvalue(claimed, i, 0));
    memcpy(ids + at, "}", 2);
    PQclear(run(side, true, 1, values));
    PQclear(claimed);
    free(ids);
}

static double settle_us(const void *context, bool ours)
{
    const struct task *task = context;
    const char *url = task->bench->url;
    long messages = (task->calls + WARM_UP + 1) * task->batch;
    char sql[500];

    (ours ? task->floor->reset_ours : task->floor->reset)(url);
    if (!ours) {
        task->floor->fill(url, messages);
        bench_pg_drain_statement(sql, sizeof(sql), task->batch);
        return on_connection(task, sql, NULL, delete_batch);
    }
    bench_fill(url, messages, 0);
    snprintf(sql, sizeof(sql),
             "SELECT work_id, fence, topic, payload FROM posthorn_bench.outbox_claim('" OWNER
             "', 30, %d)",
             task->batch);
    return on_connection(task, sql, "SELECT * FROM posthorn_bench.outbox_ack('" OWNER "', $1)",
                         claim_and_ack);
}

/* --------------------------------------------------------------------- enqueue */

static void store_one(const struct side *side)
{
    const char *values[] = { "order.created", bench_payload() };

    PQclear(run(side, false, 2, values));
}

static double insert_us(const struct task *task)
{
    task->floor->reset(task->bench->url);
    return on_connection(task, BENCH_PG_INSERT, NULL, store_one);
}

static double sql_enqueue_us(const void *context, bool ours)
{
    const struct task *task = context;

    if (!ours)
        return insert_us(task);
    task->floor->reset_ours(task->bench->url);
    return on_connection(task, "SELECT work_id FROM posthorn_bench.enqueue($1, $2)", NULL,
                         store_one);
}

static void enqueue_in_c(const struct side *side)
{
    ph_message message = PH_MESSAGE_INIT;
    ph_error err;

    message.topic = "order.created";
    message.payload = bench_payload();
    bench_must(ph_enqueue(side->store, PH_OWN_TX, &message, 0, NULL, &err), &err, "enqueue");
}

/* The youngest connection of the library. */
static int library_pid(const char *url)
{
    PGconn *conn = bench_pg_dial(url);
    PGresult *result = bench_pg_checked(
        conn, PQexec(conn, "SELECT pid FROM pg_stat_activity WHERE application_name = 'posthorn' "
                           "AND datname = current_database() ORDER BY backend_start DESC LIMIT 1"));
    int pid = PQntuples(result) == 1 ? atoi(PQgetvalue(result, 0, 0)) : 0;

    PQclear(result);
    PQfinish(conn);
    if (pid == 0)
        bench_die("library", "its connection is not to be found");
    return pid;
}

static double c_enqueue_us(const void *context, bool ours)
{
    const struct task *task = context;
    struct side side = { .task = task };
    double us;

    if (!ours)
        return insert_us(task);
    task->floor->reset_ours(task->bench->url);
    setenv("PGOPTIONS", "-c synchronous_commit=off", 1);
    side.store = bench_open(task->bench->url);
    unsetenv("PGOPTIONS");
    enqueue_in_c(&side);
    us = per_call_us(&side, library_pid(task->bench->url), enqueue_in_c);
    ph_close(side.store);
    return us;
}

/* ------------------------------------------------------------------------- WAL */

static double wal_bytes(const char *url)
{
    PGconn *conn = bench_pg_dial(url);
    PGresult *result =
        bench_pg_checked(conn, PQexec(conn, "SELECT pg_current_wal_insert_lsn() - '0/0'"));
    double bytes = atof(PQgetvalue(result, 0, 0));

    PQclear(result);
    PQfinish(conn);
    return bytes;
}

/* Per message, from bulk enqueue to settled. */
static double wal_per_message(const void *context, bool ours)
{
    const struct task *task = context;
    const char *url = task->bench->url;
    long messages = task->bench->messages - task->bench->messages % 500;
    double before;

    (ours ? task->floor->reset_ours : task->floor->reset)(url);
    if (ours && task->deleting)
        bench_delete_on_ack(url);
    before = wal_bytes(url);
    if (ours) {
        bench_enqueue_ours(url, messages, 500);
        bench_drain_exchanging(url, 500, NULL, 0);
    } else {
        task->floor->bulk(url, messages, 500);
        task->floor->drain(url, 500, 0);
    }
    return (wal_bytes(url) - before) / (double)messages;
}

static void compare_times(const struct task *like, const char *how)
{
    static const int batches[] = { 1, 10, 100 }, parts[] = { 50, 100, 500 };
    struct task task = *like;
    char name[80];

    for (int i = 0; i < 3; i++) {
        task.batch = batches[i];
        task.calls = like->bench->messages / parts[i];
        snprintf(name, sizeof(name), "server time, claim + ack, batch %d%s", task.batch, how);
        bench_compare(task.bench, name, " µs", settle_us, &task);
    }
    task.calls = like->bench->messages / 20;
    snprintf(name, sizeof(name), "server time, enqueue in SQL%s", how);
    bench_compare(task.bench, name, " µs", sql_enqueue_us, &task);
    snprintf(name, sizeof(name), "server time, ph_enqueue%s", how);
    bench_compare(task.bench, name, " µs", c_enqueue_us, &task);
}

int main(int argc, char **argv)
{
    struct bench bench = { .messages = 100000, .rounds = 5 };
    struct task task = { .bench = &bench };

    task.floor = bench_begin(&bench, argc, argv,
                             "Measures what calls cost a PostgreSQL server on this machine.");
    if (bench.url && task.floor != &bench_floor_pg)
        return 0;
    compare_times(&task, "");
    task.prepared = true;
    compare_times(&task, ", prepared");
    bench_compare(&bench, "log per message, bodies kept", " B", wal_per_message, &task);
    task.deleting = true;
    bench_compare(&bench, "log per message, bodies deleted", " B", wal_per_message, &task);
    return 0;
}
