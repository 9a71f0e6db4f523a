/* query.c - a foreign statement, on a file that need not have our tables. */
#include "core/error.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/verbs.h"
#include "util/arena.h"

#include <string.h>

/* near "WORD": syntax error */
static bool is_near_word(const char *text)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const char *near = strncmp(text, "near \"", 6) == 0 ? text + 6 : NULL;
    size_t length = near ? strspn(near, word) : 0;

    return near && near[length ? length : 1] == '"';
}

/* SQLite's text about a statement can show pieces of it, such as a URL with its password. */
static bool may_show(const char *text)
{
    static const char *const harmless[] = { "no such ", "ambiguous column name: ", "misuse of ",
                                            "wrong number of arguments ", "incomplete input" };

    for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++) {
        if (strncmp(text, harmless[i], strlen(harmless[i])) == 0)
            return !strpbrk(text, "@/'");
    }
    return is_near_word(text);
}

static int fail(struct ph__call *call, sqlite3 *db)
{
    int code = sqlite3_extended_errcode(db), r;
    const char *text = sqlite3_errmsg(db);

    if ((code & 0xff) == SQLITE_INTERRUPT)
        r = ph__fail_flags(
            call->err,
            ph__fail(call->err, PH_ETIMEOUT, "the query took longer than the time limit"),
            PH_RETRY);
    else if ((code & 0xff) != SQLITE_ERROR)
        return ph__sqlite_fail(call->err, db, false);
    else if (may_show(text))
        r = ph__fail(call->err, PH_EDATABASE, "SQLite cannot run the query: %s", text);
    else
        r = ph__fail(call->err, PH_EDATABASE,
                     "SQLite cannot run the query; try it in the sqlite3 shell");
    call->err->native = code;
    return r;
}

/* Is there more than blanks and comments? */
static bool has_statement(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    bool has = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK || stmt;

    sqlite3_finalize(stmt);
    return has;
}

static int check(struct ph__call *call, sqlite3_stmt *stmt, sqlite3 *db, const char *rest)
{
    if (!stmt)
        return ph__fail(call->err, PH_EINVAL, "the query is empty");
    if (has_statement(db, rest))
        return ph__fail(call->err, PH_EINVAL, "the query is more than one statement; give one");
    if (!sqlite3_stmt_readonly(stmt))
        return ph__fail(call->err, PH_EINVAL, "the query writes; it must only read");
    if (sqlite3_column_count(stmt) == 0)
        return ph__fail(call->err, PH_EINVAL, "the statement gives no rows; give a SELECT");
    return 0;
}

static int hand_out(struct ph__call *call, sqlite3_stmt *stmt, const char **texts, int count,
                    const struct ph__reader *reader)
{
    for (int i = 0; i < count; i++) {
        texts[i] = (const char *)sqlite3_column_text(stmt, i);
        if (!texts[i] && sqlite3_column_type(stmt, i) != SQLITE_NULL)
            return ph__fail_memory(call->err);
    }
    return reader->row(reader->context, texts, call->err);
}

static int read_rows(struct ph__call *call, sqlite3_stmt *stmt, const struct ph__reader *reader)
{
    struct ph__sqlite *own = call->store->own;
    struct ph__arena arena = { 0 };
    int count = sqlite3_column_count(stmt), r = reader->columns(reader->context, count, call->err);
    const char **texts =
        r == 0 ? ph__arena_alloc(&arena, (size_t)count * sizeof(const char *)) : NULL;
    int rc = SQLITE_ROW;

    if (r == 0 && !texts)
        r = ph__fail_memory(call->err);
    while (r == 0 && rc == SQLITE_ROW) {
        rc = sqlite3_step(stmt);
        ph__sqlite_stop_waiting(own);
        if (rc == SQLITE_ROW)
            r = hand_out(call, stmt, texts, count, reader);
        else if (rc != SQLITE_DONE)
            r = fail(call, own->db);
    }
    ph__arena_free(&arena);
    return r;
}

int ph__sqlite_query(struct ph__call *call, const char *sql, const struct ph__reader *reader)
{
    struct ph__sqlite *own = call->store->own;
    sqlite3_stmt *stmt = NULL;
    const char *rest = NULL;
    int r;

    if (!own->db)
        return ph__cure_in_message(call->err,
                                   ph__fail(call->err, PH_ECONNECT,
                                            "there is no database file %.120s; check the path",
                                            ph__sqlite_path(call->store)),
                                   PH_CURE_CONNECTION);
    own->deadline = own->run_until = call->deadline;
    if (sqlite3_prepare_v2(own->db, sql, -1, &stmt, &rest) != SQLITE_OK)
        r = fail(call, own->db);
    else
        r = check(call, stmt, own->db, rest);
    if (r == 0)
        r = read_rows(call, stmt, reader);
    sqlite3_finalize(stmt);
    ph__sqlite_stop_waiting(own);
    return r;
}
