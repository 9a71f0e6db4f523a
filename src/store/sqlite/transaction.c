#include "store/sqlite/transaction.h"

#include "core/error.h"
#include "store/sqlite/checkpoint.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/foreign_code.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/migrate.h"
#include "util/assert.h"

#include <string.h>
#include <time.h>

int ph__sqlite_tx_fail(struct ph__sqlite_tx *tx)
{
    int r = ph__sqlite_fail(tx->call->err, tx->db, !tx->own);

    return (tx->own || tx->lent) && (tx->call->err->native & 0xff) == SQLITE_INTERRUPT
               ? ph__sqlite_fail_time(tx->call->err)
               : r;
}

static int run(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which)
{
    struct ph__query query = ph__query(tx, which);

    return ph__query_run(&query);
}

/* For cleaning up: the error that led here stays. */
static void run_quietly(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which)
{
    ph_error kept = *tx->call->err;

    (void)run(tx, which);
    *tx->call->err = kept;
}

static int64_t real_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int read_store(struct ph__sqlite_tx *tx)
{
    struct ph__query query = ph__query(tx, PH__SQL_store_get);
    int r = ph__query_row(&query);

    if (r == 0)
        return ph__sqlite_fail_schema_missing(tx->call->err);
    if (r < 0)
        return r;
    tx->store_id = (uint32_t)ph__column_int(&query, 0);
    r = ph__sqlite_version_check((int)ph__column_int(&query, 1), (int)ph__column_int(&query, 2),
                                 tx->call->err);
    tx->now = ph__column_is_null(&query, 3) ? real_time() : ph__column_int(&query, 3);
    ph__query_end(&query);
    return r == 0 && tx->own ? ph__sqlite_check_views(tx) : r;
}

bool ph__sqlite_is_writing(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;

    while ((stmt = sqlite3_next_stmt(db, stmt)) != NULL) {
        if (sqlite3_stmt_busy(stmt) && !sqlite3_stmt_readonly(stmt))
            return true;
    }
    return false;
}

/* The store's own connection, if it is lent to a handler and this is the handler's call. */
static struct ph__sqlite *lent_by(const struct ph__call *call)
{
    struct ph__sqlite *own = call->store->lends ? call->store->own : NULL;

    return own && own->lent && own->db == call->connection ? own : NULL;
}

void ph__sqlite_prepare_tx(struct ph__sqlite_tx *tx, struct ph__call *call, bool writes)
{
    memset(tx, 0, sizeof(*tx));
    tx->call = call;
    tx->writes = writes;
    PH__ASSERT(call->connection || call->store->own);
    if (call->connection) {
        tx->db = call->connection;
        tx->statements = &tx->borrowed;
        tx->last_rowid = sqlite3_last_insert_rowid(tx->db);
        tx->nested = writes && ph__sqlite_is_writing(tx->db);
        tx->implicit = sqlite3_get_autocommit(tx->db);
        tx->changes = sqlite3_total_changes64(tx->db);
        tx->lent = lent_by(call);
        if (tx->lent)
            tx->lent->run_until = call->deadline;
    } else {
        tx->own = call->store->own;
        tx->own->deadline = tx->own->run_until = call->deadline;
        tx->db = tx->own->db;
        tx->statements = &tx->own->statements;
    }
}

/* The way back is prepared before the way in: without memory it could not be later. */
static int prepare_undo(struct ph__sqlite_tx *tx)
{
    int r = 0;

    if (tx->own || tx->nested)
        r = ph__query(tx, PH__SQL_rollback).failed;
    else if (tx->writes)
        r = ph__query(tx, PH__SQL_savepoint_undo).failed;
    if (r == 0 && !tx->own && tx->writes && !tx->nested)
        r = ph__query(tx, PH__SQL_savepoint_release).failed;
    return r;
}

static int begin_bare(struct ph__sqlite_tx *tx)
{
    int r = prepare_undo(tx);

    if (r == 0 && tx->own)
        r = run(tx, tx->writes ? PH__SQL_begin_write : PH__SQL_begin_read);
    if (r == 0 && !tx->own && tx->writes && !tx->nested)
        r = run(tx, PH__SQL_savepoint);
    return r;
}

static int begin(struct ph__sqlite_tx *tx)
{
    int r = begin_bare(tx);

    if (r == 0 && !tx->own && tx->writes)
        r = run(tx, PH__SQL_lock);
    if (r == 0 && tx->own)
        r = ph__sqlite_check_tables(tx);
    return r < 0 ? r : read_store(tx);
}

int ph__sqlite_begin_read(struct ph__sqlite_tx *tx, struct ph__call *call)
{
    int r;

    ph__sqlite_prepare_tx(tx, call, false);
    r = begin(tx);
    PH__ASSERT(r < 0 || !tx->own || !sqlite3_get_autocommit(tx->db));
    return r < 0 ? ph__sqlite_end(tx, r) : 0;
}

int ph__sqlite_begin_write(struct ph__sqlite_tx *tx, struct ph__call *call)
{
    int r;

    ph__sqlite_prepare_tx(tx, call, true);
    r = begin(tx);
    PH__ASSERT(r < 0 || tx->implicit || !sqlite3_get_autocommit(tx->db));
    return r < 0 ? ph__sqlite_end(tx, r) : 0;
}

int ph__sqlite_begin_bare(struct ph__sqlite_tx *tx, struct ph__call *call)
{
    int r;

    ph__sqlite_prepare_tx(tx, call, true);
    r = begin_bare(tx);
    return r < 0 ? ph__sqlite_end(tx, r) : 0;
}

/* From here on no statement may be stopped: a commit would be made and reported as failed. */
static int end_own(struct ph__sqlite_tx *tx, int r)
{
    tx->own->run_until = 0;
    if (r == 0) {
        r = run(tx, PH__SQL_commit);
        /* The log may have been written but not synced: after a crash it may count. */
        if (r < 0 && (tx->call->err->native & 0xff) == SQLITE_IOERR && tx->writes)
            ph__fail_flags(tx->call->err, r, PH_UNKNOWN);
    }
    if (!sqlite3_get_autocommit(tx->db))
        run_quietly(tx, PH__SQL_rollback);
    if (r == 0 && tx->writes)
        ph__sqlite_checkpoint_if_due(tx->own, ph__sqlite_path(tx->call->store));
    return r;
}

/* Without a savepoint only the whole can be undone. Where the running statement is the whole,
 * SQLite does it when our error ends that statement. */
static void undo_nested(struct ph__sqlite_tx *tx, int r)
{
    if (tx->implicit || sqlite3_total_changes64(tx->db) == tx->changes)
        return;
    run_quietly(tx, PH__SQL_rollback);
    ph__fail_flags(tx->call->err, r, PH_TX_DEAD);
}

/* Some errors (a full disk, an interrupt) make SQLite roll back everything. */
static int end_callers(struct ph__sqlite_tx *tx, int r)
{
    if (tx->lent)
        tx->lent->run_until = 0;
    if (sqlite3_get_autocommit(tx->db) && !tx->implicit) {
        if (r == 0)
            r = ph__fail(tx->call->err, PH_ETXDEAD, "the transaction was rolled back by SQLite");
        ph__fail_flags(tx->call->err, r, PH_TX_DEAD);
    } else if (tx->nested) {
        if (r < 0)
            undo_nested(tx, r);
    } else if (tx->writes) {
        if (r == 0)
            r = run(tx, PH__SQL_savepoint_release);
        if (r < 0) {
            run_quietly(tx, PH__SQL_savepoint_undo);
            run_quietly(tx, PH__SQL_savepoint_release);
        }
    }
    ph__sqlite_statements_free(&tx->borrowed);
    sqlite3_set_last_insert_rowid(tx->db, tx->last_rowid);
    return r;
}

int ph__sqlite_end(struct ph__sqlite_tx *tx, int r)
{
    PH__ASSERT(tx->call && tx->db);
    PH__ASSERT(r < 0 ||
               tx->ended.count == 0); /* each message that ended was counted in its joins */
    ph__steps_free(&tx->ended);
    return tx->own ? end_own(tx, r) : end_callers(tx, r);
}
