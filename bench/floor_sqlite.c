/* floor_sqlite.c - the floor on SQLite: bare rows, inserted and deleted by
 * plain statements, with the same durability (WAL, synchronous FULL). */
#include "floor.h"

#include <posthorn/sqlite.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path_of(const char *url)
{
    return strchr(url, ':') + 1;
}

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        bench_die("floor", sqlite3_errmsg(db));
}

static sqlite3 *dial(const char *url)
{
    char path[4096];
    sqlite3 *db = NULL;

    snprintf(path, sizeof(path), "%s-floor", path_of(url));
    if (sqlite3_open(path, &db) != SQLITE_OK)
        bench_die("open", path);
    sqlite3_busy_timeout(db, 60000);
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    return db;
}

static void remove_file(const char *path, const char *suffix)
{
    char name[4096];

    snprintf(name, sizeof(name), "%s%s", path, suffix);
    (void)unlink(name);
}

static void remove_database(const char *path)
{
    remove_file(path, "");
    remove_file(path, "-wal");
    remove_file(path, "-shm");
}

static void reset(const char *url)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    ph_error err;

    remove_database(path_of(url));
    opts.deploy_schema = true;
    if (ph_open(url, &opts, &store, &err) < 0)
        bench_die("migrate", err.message);
    ph_close(store);
}

static void floor_reset(const char *url)
{
    sqlite3 *db;

    remove_file(path_of(url), "-floor");
    remove_file(path_of(url), "-floor-wal");
    remove_file(path_of(url), "-floor-shm");
    db = dial(url);
    run(db, "CREATE TABLE bare (id INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, "
            "payload TEXT NOT NULL)");
    sqlite3_close(db);
}

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        bench_die("floor", sqlite3_errmsg(db));
    return statement;
}

static void insert(sqlite3 *db, long count, long per_tx)
{
    sqlite3_stmt *statement = prepared(db, "INSERT INTO bare (topic, payload) VALUES (?, ?)");

    for (long i = 0; i < count; i++) {
        if (i % per_tx == 0)
            run(db, "BEGIN IMMEDIATE");
        sqlite3_bind_text(statement, 1, "order.created", -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, bench_payload(), -1, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE)
            bench_die("floor", sqlite3_errmsg(db));
        sqlite3_reset(statement);
        if ((i + 1) % per_tx == 0 || i + 1 == count)
            run(db, "COMMIT");
    }
    sqlite3_finalize(statement);
}

static void floor_fill(const char *url, long count)
{
    sqlite3 *db = dial(url);

    insert(db, count, 5000);
    sqlite3_close(db);
}

static void floor_enqueue(const char *url, long count)
{
    sqlite3 *db = dial(url);

    insert(db, count, 1);
    sqlite3_close(db);
}

static void floor_bulk(const char *url, long count, int per_call)
{
    sqlite3 *db = dial(url);

    insert(db, count, per_call);
    sqlite3_close(db);
}

static long floor_drain(const char *url, int batch, long most)
{
    sqlite3 *db = dial(url);
    sqlite3_stmt *statement =
        prepared(db, "DELETE FROM bare WHERE id IN (SELECT id FROM bare ORDER BY id LIMIT ?) "
                     "RETURNING id, topic, payload");
    long done = 0, before;

    do {
        int step;

        before = done;
        run(db, "BEGIN IMMEDIATE");
        sqlite3_bind_int(statement, 1, batch);
        while ((step = sqlite3_step(statement)) == SQLITE_ROW)
            done++;
        if (step != SQLITE_DONE)
            bench_die("floor", sqlite3_errmsg(db));
        sqlite3_reset(statement);
        run(db, "COMMIT");
    } while (done > before && (most == 0 || done < most));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return done;
}

static void *old_tx_begin(const char *url)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(path_of(url), &db) != SQLITE_OK)
        bench_die("open", path_of(url));
    run(db, "BEGIN; SELECT count(*) FROM sqlite_master");
    return db;
}

static void old_tx_end(void *connection)
{
    sqlite3_close(connection);
}

static void crowd(const char *url, long joins, long timers, int64_t due_at)
{
    ph_store *store = bench_open(url);
    ph_message step = PH_MESSAGE_INIT;
    ph_timer timer = PH_TIMER_INIT;
    ph_join_id join;
    sqlite3 *db = NULL;
    ph_error err;

    step.topic = "step";
    timer.topic = "later";
    step.payload = "x";
    timer.payload = bench_payload();
    step.due_at = BENCH_FAR_AWAY;
    timer.due_at = due_at;
    step.join_id = &join;
    if (sqlite3_open(path_of(url), &db) != SQLITE_OK)
        bench_die("open", path_of(url));
    run(db, "BEGIN IMMEDIATE"); /* one transaction: it is not what is measured */
    for (long i = 0; i < joins; i++) {
        if (ph_join_start(store, ph_tx_sqlite(db), 2, NULL, 0, &join, &err) < 0 ||
            ph_enqueue(store, ph_tx_sqlite(db), &step, 0, NULL, &err) < 0)
            bench_die("join", err.message);
    }
    for (long i = 0; i < timers; i++) {
        if (ph_timer_schedule(store, ph_tx_sqlite(db), &timer, 0, NULL, &err) < 0)
            bench_die("timer", err.message);
    }
    run(db, "COMMIT");
    sqlite3_close(db);
    ph_close(store);
}

static struct bench_size size_of_tables(const char *url)
{
    struct bench_size size = { 0, 0 };
    struct stat status;

    if (stat(path_of(url), &status) == 0)
        size.mebibytes = (double)status.st_size / 1048576;
    return size;
}

static int no_server(const char *url)
{
    (void)url;
    return 0;
}

static void folder_beside(const char *url, char *ret_path, size_t size)
{
    snprintf(ret_path, size, "%s-many", path_of(url));
}

static void beside(const char *url, int number, char *ret_url, size_t size)
{
    char folder[4096];

    folder_beside(url, folder, sizeof(folder));
    snprintf(ret_url, size, "sqlite:%s/%03d.db", folder, number);
}

static void beside_make(const char *url, int number)
{
    char folder[4096], file_url[4200];

    folder_beside(url, folder, sizeof(folder));
    (void)mkdir(folder, 0700); /* or it is there; what is wrong is said by who opens the file */
    beside(url, number, file_url, sizeof(file_url));
    reset(file_url);
}

static void beside_remove(const char *url, int number)
{
    char folder[4096], file_url[4200];

    beside(url, number, file_url, sizeof(file_url));
    remove_database(path_of(file_url));
    folder_beside(url, folder, sizeof(folder));
    (void)rmdir(folder); /* the last one does it */
}

const struct bench_floor bench_floor_sqlite = {
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
    .server_pid = no_server,
    .beside = beside,
    .beside_make = beside_make,
    .beside_remove = beside_remove,
};
