/* connection.c - the store's own connection, and the look at a caller's. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "core/log.h"
#include "util/alloc.h"

#include <poll.h>
#include <string.h>

int ph__pg_wait(int socket, short events, ph__deadline deadline)
{
    struct pollfd fd = { .fd = socket, .events = events };

    for (;;) {
        int left = ph__deadline_left_ms(deadline);
        int ready = poll(&fd, 1, left);

        if (ready > 0)
            return 0;
        if (left == 0)
            return PH_ETIMEOUT;
    }
}

/* The library prints nothing. But a server that ends an idle session says so
 * first, and that reaches us as a notice. */
static void on_notice(void *context, const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    struct ph__pg_own *own = context;

    if (severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
        own->ended = true;
}

void ph__pg_tune(struct ph__pg_own *own)
{
    PQsetNoticeReceiver(own->conn, on_notice, own);
    PQsetErrorVerbosity(own->conn, PQERRORS_DEFAULT);
    PQuntrace(own->conn);
}

bool ph__pg_hear(struct ph__pg_own *own)
{
    struct pollfd fd = { .fd = PQsocket(own->conn), .events = POLLIN };

    while (PQstatus(own->conn) == CONNECTION_OK && !own->ended && poll(&fd, 1, 0) > 0) {
        if (!PQconsumeInput(own->conn))
            return false;
        (void)PQisBusy(own->conn); /* reads what has come, the server's last words for example */
    }
    return PQstatus(own->conn) == CONNECTION_OK && !own->ended;
}

/* Has the server hung up since the last call? Then a new connection is safe: nothing was under
 * way. */
static bool is_alive(struct ph__pg_own *own, ph__deadline deadline)
{
    return ph__pg_ring_end(own, deadline) && PQtransactionStatus(own->conn) == PQTRANS_IDLE &&
           ph__pg_hear(own) && !PQisBusy(own->conn);
}

int ph__pg_connect(struct ph__call *call, bool check_schema)
{
    ph_store *store = call->store;
    struct ph__pg_own *own = store->own;
    int r = 0;

    if (!own) {
        own = ph__alloc_zero(1, sizeof(*own));
        if (!own)
            return ph__fail_memory(call->err);
        own->use_prepared = store->opts.prepared == PH_PREPARED_AUTO;
        store->own = own;
    }
    if (own->conn && !is_alive(own, call->deadline)) {
        ph__log(store, PH_LOG_WARN, "connect", "the server closed the connection; connecting again",
                NULL, 0);
        if (ph__deadline_left_ms(call->deadline) == 0) /* it hangs: another host may answer */
            ph__pg_leave(own);
        else
            ph__pg_drop(own);
    }
    if (!own->conn)
        r = ph__pg_dial(call, own);
    if (r == 0 && check_schema && !own->schema_checked) {
        r = ph__pg_check_schema(call);
        own->schema_checked = r == 0;
    }
    return r;
}

void ph__pg_drop(struct ph__pg_own *own)
{
    PQfinish(own->conn);
    own->conn = NULL;
}

void ph__pg_leave(struct ph__pg_own *own)
{
    own->next_host = own->host + 1;
    ph__pg_drop(own);
}

void ph__pg_disconnect(ph_store *store)
{
    struct ph__pg_own *own = store->own;

    if (!own)
        return;
    ph__pg_drop(own);
    for (int i = 0; i < PG_STATEMENTS; i++)
        ph__dealloc(own->texts[i]);
    ph__buffer_free(&own->owed);
    ph__dealloc(own);
    store->own = NULL;
}

int ph__pg_check_tx(void *connection, ph_error *err)
{
    PGconn *conn = connection;
    const char *encoding = PQparameterStatus(conn, "client_encoding");

    if (PQstatus(conn) != CONNECTION_OK) {
        ph__fail(err, PH_ECONNECT,
                 "your connection is closed; connect again and repeat the transaction");
        return ph__fail_flags(err, PH_ECONNECT, PH_TX_DEAD);
    }
    if (PQpipelineStatus(conn) != PQ_PIPELINE_OFF)
        return ph__fail(err, PH_EINVAL, "your connection is in pipeline mode; leave it first");
    switch (PQtransactionStatus(conn)) {
    case PQTRANS_INTRANS:
        break;
    case PQTRANS_INERROR:
        ph__fail(err, PH_ETXDEAD, "an earlier statement failed in your transaction; roll it back");
        return ph__fail_flags(err, PH_ETXDEAD, PH_TX_DEAD);
    case PQTRANS_ACTIVE:
        return ph__fail(err, PH_EINVAL,
                        "a query is in progress on your connection; read its results first");
    case PQTRANS_IDLE:
    case PQTRANS_UNKNOWN:
    default:
        return ph__fail(err, PH_ENOTX, "no open transaction on your connection; BEGIN first");
    }
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return ph__fail(err, PH_EINVAL, "client_encoding of your connection is %s; set it to UTF8",
                        encoding ? encoding : "unknown");
    return 0;
}
