#include "extension/call.h"

#include "core/error.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/transaction.h"
#include "util/assert.h"

#define SAVEPOINT "posthorn_steps"

/* Runs BEGIN, COMMIT and the like for ourselves. */
static int run(struct ph__ext_call *call, const char *sql)
{
    int r;

    if (sqlite3_exec(call->ext->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    r = ph__sqlite_fail(&call->err, call->ext->db, true);
    call->err.flags &= ~PH_TX_DEAD; /* it was ours */
    return r;
}

static int begin(struct ph__ext_call *call, const char *sql)
{
    sqlite3 *db = call->ext->db;
    int r = 0;

    PH__ASSERT(!call->began && !call->saved);
    if (sqlite3_get_autocommit(db) && !ph__sqlite_is_writing(db)) {
        r = run(call, sql);
        call->began = r == 0;
    }
    call->ext->store->begun = call->began;
    call->tx = ph_tx_sqlite(db);
    return r;
}

int ph__ext_begin(struct ph__ext_call *call)
{
    return begin(call, "BEGIN IMMEDIATE");
}

int ph__ext_begin_read(struct ph__ext_call *call)
{
    return begin(call, "BEGIN");
}

int ph__ext_alone(struct ph__ext_call *call, const char *what)
{
    if (!ph__sqlite_is_writing(call->ext->db))
        return 0;
    return ph__fail(&call->err, PH_EINVAL,
                    "%s inside a statement that writes; call it by a SELECT of its own", what);
}

int ph__ext_begin_steps(struct ph__ext_call *call)
{
    int r = ph__ext_alone(call, "it cannot be called");

    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0 && !call->began) {
        r = run(call, "SAVEPOINT " SAVEPOINT);
        call->saved = r == 0;
    }
    return r;
}

static int end_savepoint(struct ph__ext_call *call, int r)
{
    sqlite3 *db = call->ext->db;

    if (r == 0)
        r = run(call, "RELEASE " SAVEPOINT);
    if (r < 0 && !sqlite3_get_autocommit(db)) /* SQLite may have rolled back everything */
        sqlite3_exec(db, "ROLLBACK TO " SAVEPOINT "; RELEASE " SAVEPOINT, NULL, NULL, NULL);
    return r;
}

int ph__ext_end(struct ph__ext_call *call, int r)
{
    if (call->saved)
        r = end_savepoint(call, r);
    if (call->began) {
        if (r == 0)
            r = run(call, "COMMIT");
        if (r < 0 && !sqlite3_get_autocommit(call->ext->db))
            sqlite3_exec(call->ext->db, "ROLLBACK", NULL, NULL, NULL);
        call->err.flags &= ~PH_TX_DEAD;
    }
    json_decref(call->json);
    json_decref(call->kept);
    call->json = call->kept = NULL;
    ph__arena_free(&call->arena);
    return r;
}

/* Cures in SQL, where the library's text names things that only C has; NULL: it suits SQL, too. */
static const char *cure_text(ph_cure cure)
{
    static const char *const texts[] = {
        [PH_CURE_MIGRATE] = "call posthorn_migrate()",
        [PH_CURE_DEPLOY] = "make them with SELECT posthorn_migrate(), or name theirs with "
                           "posthorn_config('table_prefix', ...)",
        [PH_CURE_UPGRADE] = "use a newer version of the extension",
        [PH_CURE_NEW_OWNER] = "make one with posthorn_owner_new()",
        [PH_CURE_REGISTER] = "take a fresh id (posthorn_owner_new()) and register anew",
        [PH_CURE_TIMER_ID] = "pass the one from posthorn_timer_schedule()",
        [PH_CURE_JOIN_ID] = "pass the one from posthorn_join_start()",
        [PH_CURE_MESSAGE_ID] = "pass the one from posthorn_enqueue()",
        [PH_CURE_LIST_JOBS] = "see the view posthorn_jobs",
        [PH_CURE_RETENTION] = "settle or discard its messages, then call posthorn_retention_run(), "
                              "which deletes what its settings do not keep",
        [PH_CURE_MORE_TIME] = "allow more time, or check the file for foreign objects "
                              "(the command posthorn doctor names them)",
        [PH_CURE_TIME_UNIT] = "times are seconds since 1970, or text",
        [PH_CURE_BEGIN_IMMEDIATE] = "use BEGIN IMMEDIATE (and PRAGMA busy_timeout) so that the "
                                    "transaction waits for its turn",
    };

    return cure < sizeof(texts) / sizeof(*texts) ? texts[cure] : NULL;
}

char *ph__ext_error_text(const struct ph__ext_call *call)
{
    const char *text = cure_text(call->err.cure), *after = "";
    char cause[PH_ERROR_MESSAGE_SIZE];

    if (call->err.flags & PH_TX_DEAD)
        after = sqlite3_get_autocommit(call->ext->db) ? " (the transaction was rolled back)"
                                                      : " (the transaction is dead: roll it back)";
    return sqlite3_mprintf("%s: %s%s%s%s", call->signature->name,
                           text ? ph_error_cause(&call->err, cause) : call->err.message,
                           text ? "; " : "", text ? text : "", after);
}

/* Only codes after which SQLite leaves the transaction alone: at "out of memory", "disk full" and
 * "interrupted" it would roll everything back on our behalf. */
int ph__ext_error_code(const struct ph__ext_call *call)
{
    switch (call->err.code) {
    case PH_EBUSY:
        return SQLITE_BUSY;
    case PH_EREADONLY:
        return SQLITE_READONLY;
    default:
        return SQLITE_ERROR;
    }
}
