/* query.c - a foreign statement, in a database that need not have our schema.
 *
 * It is prepared first, which allows one statement only and tells its columns
 * before anything runs, and then run in a transaction that cannot write. It may leave anything in
 * the session, so the connection is closed afterwards. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "util/alloc.h"

#include <string.h>

/* The server's text about a statement can show pieces of it, such as a URL with its password. */
static bool may_show(const char *sqlstate)
{
    static const char *const harmless[] = { "42P01", "42703", "42883", "42501", "3F000" };

    for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++) {
        if (strcmp(sqlstate, harmless[i]) == 0)
            return true;
    }
    return strncmp(sqlstate, "42", 2) != 0 && strncmp(sqlstate, "22", 2) != 0;
}

/* The usual advice is about our own schema. */
static int explain(int r, ph_error *err)
{
    char sqlstate[sizeof(err->sqlstate)];

    memcpy(sqlstate, err->sqlstate, sizeof(sqlstate));
    if (r == PH_ENOSCHEMA)
        err->code = r = PH_EDATABASE;
    if (err->cure == PH_CURE_MIGRATE || err->cure == PH_CURE_DEPLOY || err->cure == PH_CURE_GRANT)
        ph__uncure(err);
    if (r == PH_EPERM)
        ph__cure(err, r, PH_CURE_RIGHTS);
    if (strcmp(sqlstate, "25006") == 0)
        r = ph__fail(err, PH_EINVAL, "the query writes; it must only read");
    else if (!may_show(sqlstate))
        r = ph__fail(err, PH_EDATABASE,
                     "the server cannot run the query (SQLSTATE %s); try it in psql. It must be "
                     "one statement",
                     sqlstate);
    memcpy(err->sqlstate, sqlstate, sizeof(sqlstate));
    return r;
}

/* 0 or the failure of sending it; then waits for the answer. */
static int answer(struct ph__call *call, PGconn *conn, int sent, PGresult **ret_result)
{
    int r = sent ? ph__pg_await(call, conn, ret_result) : ph__pg_fail(conn, NULL, call->err);

    return r < 0 ? explain(r, call->err) : 0;
}

static int prepare(struct ph__call *call, PGconn *conn, const char *sql,
                   const struct ph__reader *reader)
{
    PGresult *prepared = NULL, *described = NULL;
    int columns = 0, r = answer(call, conn, PQsendPrepare(conn, "", sql, 0, NULL), &prepared);

    PQclear(prepared);
    if (r == 0)
        r = answer(call, conn, PQsendDescribePrepared(conn, ""), &described);
    if (r == 0)
        columns = PQnfields(described);
    PQclear(described);
    if (r == 0 && columns == 0)
        r = ph__fail(call->err, PH_EINVAL, "the statement gives no rows; give a SELECT");
    return r < 0 ? r : reader->columns(reader->context, columns, call->err);
}

static int hand_out(struct ph__call *call, const PGresult *result, const struct ph__reader *reader)
{
    int columns = PQnfields(result), r = 0;
    const char **texts = ph__alloc_zero((size_t)columns, sizeof(const char *));

    if (!texts)
        return ph__fail_memory(call->err);
    for (int row = 0; r == 0 && row < PQntuples(result); row++) {
        for (int i = 0; i < columns; i++)
            texts[i] = PQgetisnull(result, row, i) ? NULL : PQgetvalue(result, row, i);
        r = reader->row(reader->context, texts, call->err);
    }
    ph__dealloc(texts);
    return r;
}

int ph__pg_query(struct ph__call *call, const char *sql, const struct ph__reader *reader)
{
    struct ph__pg_own *own = call->store->own;
    PGconn *conn = own->conn;
    PGresult *result = NULL;
    int r = ph__pg_run_text(call, conn, "BEGIN READ ONLY", NULL);

    if (r == 0)
        r = prepare(call, conn, sql, reader);
    if (r == 0)
        r = answer(call, conn, PQsendQueryPrepared(conn, "", 0, NULL, NULL, NULL, 0), &result);
    if (r == 0)
        r = hand_out(call, result, reader);
    PQclear(result);
    call->err->flags &= ~PH_UNKNOWN; /* it changes nothing */
    ph__pg_drop(own);
    return r;
}
