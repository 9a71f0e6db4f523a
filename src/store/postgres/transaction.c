/* transaction.c - the store's own connection in the hands of a handler.
 *
 * A handler may leave behind anything that libpq and the server allow: unread results, a
 * transaction that is aborted or ended, settings, cursors, locks. Statements undo what they can in
 * the same round trip as the commit; otherwise the connection is dropped, and the next call makes
 * another. */
#include "store/postgres/pg.h"

#include "core/error.h"

#include <string.h>

/* Undoes what a handler may have left in the session. Not prepared statements: ours are among
 * them. */
#define CLEAN_UP                                                                                   \
    "; RESET ALL; SET SESSION AUTHORIZATION DEFAULT; CLOSE ALL; DISCARD TEMP; UNLISTEN *; "

int ph__pg_tx_begin(struct ph__call *call, ph_tx *ret_tx)
{
    struct ph__pg_own *own = call->store->own;
    struct ph__pg_params none = { 0 };
    PGresult *result = NULL;
    int r = ph__pg_run(call, PG_BEGIN, &none, PG_READS, &result);

    PQclear(result);
    if (r < 0)
        return r;
    own->lent = true;
    *ret_tx = (ph_tx){ call->store->backend, own->conn };
    return 0;
}

/* ------------------------------------------------------------------- the end */

/* Reads the results that the handler has not read. False if that has no end. */
static bool read_rest(PGconn *conn, ph__deadline deadline)
{
    while (PQtransactionStatus(conn) == PQTRANS_ACTIVE) {
        PGresult *result = NULL;
        ExecStatusType status;

        if (ph__pg_wait_result(conn, deadline) < 0)
            return false;
        result = PQgetResult(conn);
        status = PQresultStatus(result);
        PQclear(result);
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH)
            return false;
    }
    return true;
}

/* Why the transaction cannot be ended by a statement; 0 if it can. */
static int look(struct ph__call *call, struct ph__pg_own *own)
{
    PGconn *conn = own->conn;

    if (!conn || PQstatus(conn) != CONNECTION_OK)
        return ph__fail(call->err, PH_ETXDEAD,
                        "the connection was lost before the commit; all of it is rolled back");
    if (PQpipelineStatus(conn) != PQ_PIPELINE_OFF || !read_rest(conn, call->deadline))
        return ph__fail(call->err, PH_ETXDEAD,
                        "the handler left the connection in pipeline mode, in a COPY or with a "
                        "running query; read every result before you return");
    if (PQtransactionStatus(conn) == PQTRANS_IDLE)
        return ph__fail(call->err, PH_ENOTX,
                        "the handler has ended the transaction; only the dispatcher may do that");
    if (!ph__pg_hear(own)) /* before COMMIT was sent: so nothing was committed */
        return ph__fail(call->err, PH_ETXDEAD,
                        "the connection was lost before the commit; all of it is rolled back");
    return 0;
}

/* Ends the transaction; *ret_committed is what the server says of it. */
static int end(struct ph__call *call, struct ph__pg_own *own, bool commit, bool *ret_committed)
{
    char channel[PH__PG_CHANNEL_SIZE];
    struct ph__buffer sql = { 0 };
    PGresult *result = NULL;
    bool clean = false;
    int r;

    ph__pg_channel(call->store, channel);
    ph__buffer_text(&sql, commit ? "COMMIT" CLEAN_UP : "ROLLBACK" CLEAN_UP);
    if (own->doorbell == PG_DOORBELL_LISTENING)
        ph__buffer_printf(&sql, "LISTEN \"%s\"; ", channel);
    ph__buffer_text(&sql, "SELECT pg_catalog.pg_advisory_unlock_all()");
    r = sql.failed ? ph__fail_memory(call->err)
                   : ph__pg_run_ending(call, own->conn, sql.data, &result, &clean);
    ph__buffer_free(&sql);
    if (r == 0)
        *ret_committed = strcmp(PQcmdStatus(result), "COMMIT") == 0;
    PQclear(result);
    if (r < 0 && (PQstatus(own->conn) != CONNECTION_OK || (call->err->flags & PH_UNKNOWN)))
        r = ph__pg_fail_unknown(call->err);
    else if (r == PH_EDATABASE) /* a constraint that is checked at the end, for example */
        call->err->code = r = PH_ETXDEAD;
    if (r < 0 || !clean)
        ph__pg_drop(own);
    else
        ph__pg_tune(own);
    return r;
}

int ph__pg_tx_end(struct ph__call *call, bool commit)
{
    struct ph__pg_own *own = call->store->own;
    bool committed = false;
    int r = look(call, own);

    if (r < 0)
        ph__pg_drop(own);
    else
        r = end(call, own, commit, &committed);
    ph__pg_ring_owed(call, r == 0 && committed);
    if (!commit) /* a connection that is lost or dropped is rolled back too */
        return ph__ok(call->err);
    if (r == 0 && !committed) {
        ph__fail(call->err, PH_ETXDEAD,
                 "a statement had failed in the transaction, so the commit rolled it back");
        r = PH_ETXDEAD;
    }
    return r;
}
