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

/* Defaults come before the caller's URL, which overrides them; what must hold comes after. */
static PGconn *start_connecting(const char *url)
{
    const char *keywords[] = { "tcp_user_timeout", "fallback_application_name", "dbname",
                               "client_encoding", NULL };
    const char *values[] = { "10000", "posthorn", ph__pg_conninfo(url), "UTF8", NULL };

    return PQconnectStartParams(keywords, values, 1);
}

static int finish_connecting(PGconn *conn, struct ph__call *call)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    while (status != PGRES_POLLING_OK) {
        short events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;

        if (PQstatus(conn) == CONNECTION_BAD || status == PGRES_POLLING_FAILED)
            return ph__pg_fail_connect(conn, call->err);
        if (ph__pg_wait(PQsocket(conn), events, call->deadline) < 0) {
            ph__fail(
                call->err, PH_ETIMEOUT,
                "the server did not answer within the time limit; check the URL and that it is up");
            return ph__fail_flags(call->err, PH_ETIMEOUT, PH_RETRY);
        }
        status = PQconnectPoll(conn);
    }
    return 0;
}

/* What libpq says of a URL that looks strange may be a part of a password. */
static int without_echo(const struct ph__call *call, int r)
{
    unsigned flags = call->err->flags;

    if (r == PH_ETIMEOUT || ph__pg_may_show(call->store->url))
        return r;
    ph__fail(call->err, r,
             "cannot connect, or the URL does not mean what it seems to; write special characters "
             "in its password as %%xx: / is %%2F, @ is %%40, : is %%3A");
    return ph__fail_flags(call->err, r, flags);
}

static int dial(struct ph__call *call, struct ph__pg_own *own)
{
    PGconn *conn = start_connecting(call->store->url);
    int r;

    if (!conn)
        return ph__fail_memory(call->err);
    r = finish_connecting(conn, call);
    if (r < 0) {
        PQfinish(conn);
        return without_echo(call, r);
    }
    own->conn = conn;
    own->ended = false;
    own->lent = false;
    own->bell = PG_BELL_UNKNOWN;
    own->ringing = false;
    own->mute = false;
    own->schema_checked = false;
    ph__pg_tune(own);
    memset(own->prepared, 0, sizeof(own->prepared));
    return 0;
}

bool ph__pg_hear(struct ph__pg_own *own)
{
    struct pollfd fd = { .fd = PQsocket(own->conn), .events = POLLIN };

    while (PQstatus(own->conn) == CONNECTION_OK && !own->ended && poll(&fd, 1, 0) > 0) {
        if (!PQconsumeInput(own->conn))
            return false;
        (void)PQisBusy(own->conn); /* understands what has come, such as last words */
    }
    return PQstatus(own->conn) == CONNECTION_OK && !own->ended;
}

/* Has the server hung up while nobody was looking? Then a new connection is
 * safe: nothing was under way. */
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
        ph__pg_drop(own);
    }
    if (!own->conn)
        r = dial(call, own);
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
