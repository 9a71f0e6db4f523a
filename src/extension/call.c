#include "extension/call.h"

#include "core/error.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/transaction.h"
#include "util/assert.h"
#include "util/buffer.h"

#include <string.h>

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

/* The library's texts name C functions where they are the cure: "call ph_migrate()". Here they
 * become what can be said in SQL. */
static void in_words_of_sql(struct ph__buffer *to, const char *text)
{
    static const struct {
        const char *c, *sql;
    } words[] = {
        { "ph_migrate()", "posthorn_migrate()" },
        { "ph_owner_new()", "posthorn_owner_new()" },
        { "ph_enqueue()", "posthorn_enqueue()" },
        { "(ph_owner_new)", "(posthorn_owner_new())" },
        { "ph_join_start()", "posthorn_join_start()" },
        { "ph_timer_schedule()", "posthorn_timer_schedule()" },
        { "ph_job_list()", "the view posthorn_jobs" },
        { "ph_retention_run()", "posthorn_retention_run()" },
        { "microseconds since 1970", "seconds since 1970, or text" },
        { "sqlite3_busy_timeout", "PRAGMA busy_timeout" },
    };
    const size_t count = sizeof(words) / sizeof(*words);

    while (*text) {
        size_t i = 0;

        while (i < count && strncmp(text, words[i].c, strlen(words[i].c)) != 0)
            i++;
        if (i < count) {
            ph__buffer_text(to, words[i].sql);
            text += strlen(words[i].c);
        } else {
            ph__buffer_bytes(to, text++, 1);
        }
    }
}

char *ph__ext_error_text(const struct ph__ext_call *call)
{
    const char *text = call->err.message, *after = "";
    struct ph__buffer words = { 0 };
    char *said;

    if (call->err.code == PH_ENOSCHEMA)
        text = "the database has no tables of Posthorn with this prefix; make them with SELECT "
               "posthorn_migrate(), or name theirs with posthorn_config('table_prefix', ...)";
    if (call->err.flags & PH_TX_DEAD)
        after = sqlite3_get_autocommit(call->ext->db) ? " (the transaction was rolled back)"
                                                      : " (the transaction is dead: roll it back)";
    in_words_of_sql(&words, text);
    said = sqlite3_mprintf("%s: %s%s", call->signature->name,
                           words.failed ? "out of memory" : words.data, after);
    ph__buffer_free(&words);
    return said;
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
