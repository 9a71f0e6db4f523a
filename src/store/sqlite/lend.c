/* lend.c - the store's own connection in the hands of a handler.
 *
 * A handler can do anything to a connection. Hooks notice what it does to the transaction: they
 * refuse a commit of its own, so that its effect cannot be stored without the ack. Afterwards the
 * connection is set up again, or closed if something stays on it that our statements could stumble
 * over. */
#include "core/error.h"
#include "store/sqlite/checkpoint.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/verbs.h"

#include <posthorn/sqlite.h>

static void on_rollback(void *context)
{
    struct ph__sqlite *own = context;

    own->ended = true;
}

/* Makes SQLite roll back instead. */
static int on_commit(void *context)
{
    on_rollback(context);
    return 1;
}

int ph__sqlite_tx_begin(struct ph__call *call, ph_tx *ret_tx)
{
    struct ph__sqlite *own = call->store->own;
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    own->lent = true;
    own->ended = false;
    own->run_until = 0; /* the handler's statements take as long as they take */
    sqlite3_commit_hook(own->db, on_commit, own);
    sqlite3_rollback_hook(own->db, on_rollback, own);
    *ret_tx = ph_tx_sqlite(own->db);
    return 0;
}

/* Before the transaction ends: nothing of the handler's may stand in the way of
 * that, nor make a checkpoint. */
static void take_back(struct ph__sqlite *own)
{
    own->lent = false;
    ph__sqlite_stop_waiting(own);
    sqlite3_commit_hook(own->db, NULL, NULL);
    sqlite3_rollback_hook(own->db, NULL, NULL);
    sqlite3_set_authorizer(own->db, NULL, NULL);
    ph__sqlite_reset_all(own->db);
    (void)ph__sqlite_take_control(own->db, own);
    ph__sqlite_watch_wal(own);
}

/* Databases that were attached and temporary tables can hide our tables. */
static bool is_bare(struct ph__sqlite_tx *tx)
{
    struct ph__query query = ph__query(tx, PH__SQL_temp_any);
    int64_t any = 1;

    return !sqlite3_db_name(tx->db, 2) && ph__query_one(&query, &any, 0) == 0 && !any;
}

static bool is_fit(struct ph__sqlite_tx *tx)
{
    return !tx->own->ended && sqlite3_get_autocommit(tx->db) && is_bare(tx) &&
           ph__sqlite_take_control(tx->db, tx->own) == SQLITE_OK &&
           ph__sqlite_apply_settings(tx->db) == SQLITE_OK;
}

static void make_fit(struct ph__sqlite_tx *tx)
{
    ph_error kept = *tx->call->err;

    if (is_fit(tx))
        ph__sqlite_watch_wal(tx->own);
    else
        ph__sqlite_close(tx->own);
    *tx->call->err = kept;
}

static int fail_ended(struct ph__call *call)
{
    return ph__fail(call->err, PH_ENOTX,
                    "the handler's transaction has been ended already; a handler must not commit "
                    "or roll back, and an error such as a full disk makes SQLite roll back");
}

int ph__sqlite_tx_end(struct ph__call *call, bool commit)
{
    struct ph__sqlite *own = call->store->own;
    struct ph__sqlite_tx tx;
    int r = 0;

    ph__sqlite_prepare_tx(&tx, call, commit);
    take_back(own);
    if (sqlite3_get_autocommit(own->db))
        own->ended = true;
    if (commit && own->ended)
        r = fail_ended(call);
    if (commit)
        r = ph__sqlite_end(&tx, r);
    else
        (void)ph__sqlite_end(&tx, PH_ETXDEAD); /* rolls back; returns the code given */
    if (r < 0 && (call->err->native & 0xff) == SQLITE_CONSTRAINT)
        r = ph__fail(call->err, PH_ETXDEAD,
                     "the handler's transaction violates a constraint that was deferred to its "
                     "end, and was rolled back; look at what the handler writes");
    make_fit(&tx);
    return r;
}
