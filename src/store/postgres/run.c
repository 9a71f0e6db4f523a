/* run.c - running a statement within a time limit, and again where that is safe. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "core/log.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "util/embedded.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern const struct ph__embedded ph__pg_calls[]; /* in the order of enum ph__pg_statement */

#define CANCEL_WAIT_MS 2000
#define RECONNECT_NAP_MS 200
#define CONFLICT_NAP_MS 20

char *ph__pg_substitute(const ph_store *store, const char *text)
{
    struct ph__buffer out = { 0 };

    ph__buffer_text(&out, "");
    while (*text) {
        size_t plain = strcspn(text, "{");

        ph__buffer_bytes(&out, text, plain);
        text += plain;
        if (strncmp(text, "{schema}", 8) == 0) {
            ph__buffer_printf(&out, "\"%s\"", store->schema);
            text += 8;
        } else if (strncmp(text, "{s}", 3) == 0) {
            ph__buffer_text(&out, store->schema);
            text += 3;
        } else if (strncmp(text, "{p}", 3) == 0) {
            ph__buffer_text(&out, store->prefix);
            text += 3;
        } else if (*text) {
            ph__buffer_bytes(&out, text++, 1);
        }
    }
    if (out.failed)
        ph__buffer_free(&out);
    return out.data;
}

int ph__pg_wait_result(PGconn *conn, ph__deadline deadline)
{
    for (;;) {
        int unsent = PQflush(conn);
        int r;

        if (unsent < 0)
            return 0; /* PQgetResult will report the error */
        if (!unsent && !PQisBusy(conn))
            return 0;
        r = ph__pg_wait(PQsocket(conn), (short)(POLLIN | (unsent ? POLLOUT : 0)), deadline);
        if (r < 0)
            return r;
        if (!PQconsumeInput(conn))
            return 0;
    }
}

int ph__pg_collect(PGconn *conn, ph__deadline deadline, PGresult **result)
{
    for (;;) {
        int r = ph__pg_wait_result(conn, deadline);
        PGresult *next;

        if (r < 0)
            return r;
        next = PQgetResult(conn);
        if (!next)
            return 0;
        if (*result && PQresultStatus(*result) == PGRES_FATAL_ERROR) {
            PQclear(next);
            continue;
        }
        PQclear(*result);
        *result = next;
    }
}

/* Does the server answer? PQcancel waits for it without a limit. So it is asked before, on another
 * connection, whether it speaks TLS: any answer shows that it is awake. */
static bool is_awake(PGconn *conn, ph__deadline deadline)
{
    static const char question[8] = { 0, 0, 0, 8, 0x04, (char)0xd2, 0x16, 0x2f };
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    char answer;
    bool awake = false;
    int fd;

    if (getpeername(PQsocket(conn), (struct sockaddr *)&address, &size) < 0)
        return false;
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if ((connect(fd, (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS) &&
        ph__pg_wait(fd, POLLOUT, deadline) == 0 &&
        send(fd, question, sizeof(question), MSG_NOSIGNAL) == (ssize_t)sizeof(question) &&
        ph__pg_wait(fd, POLLIN, deadline) == 0)
        awake = recv(fd, &answer, 1, 0) == 1;
    close(fd);
    return awake;
}

/* At the time limit: asks the server to stop. Then it has until the deadline
 * given to say so; there may be an answer after all. */
static bool cancel(PGconn *conn, ph__deadline deadline)
{
    PGcancel *request = PQgetCancel(conn);
    char ignored[256];
    bool asked = request && is_awake(conn, deadline) && PQcancel(request, ignored, sizeof(ignored));

    PQfreeCancel(request);
    return asked;
}

static bool succeeded(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
}

static bool lost_connection(PGconn *conn)
{
    return PQstatus(conn) == CONNECTION_BAD;
}

/* The thing that a cancelled statement has waited for, from the server's context; NULL: it does not
 * tell. The first line of the context names the table, in any language. */
static const char *waited_for(const PGresult *result)
{
    const char *context = PQresultErrorField(result, PG_DIAG_CONTEXT);
    const char *found = context ? strstr(context, "dedupe") : NULL;

    return found && found < context + strcspn(context, "\n")
               ? "another transaction held the dedupe key"
               : NULL;
}

/* The meaning of a result. late: the time limit was reached before; ended: the server has answered
 * all the same, or the connection is lost. */
static int judge(struct ph__call *call, PGconn *conn, bool late, bool ended, const PGresult *result)
{
    const char *waited;
    int r;

    if (ended && result && succeeded(result))
        return 0;
    if (late && (!ended || !result || lost_connection(conn))) {
        ph__fail(call->err, PH_ETIMEOUT, "the server did not answer within the time limit");
        call->err->flags |= PH_RETRY | PH_UNKNOWN;
        return PH_ETIMEOUT;
    }
    r = ph__pg_fail(conn, result, call->err);
    waited = r == PH_ETIMEOUT || r == PH_EBUSY ? waited_for(result) : NULL;
    if (waited)
        snprintf(call->err->message, sizeof(call->err->message),
                 "%s until the time limit; try again when it has ended", waited);
    else if (late && r == PH_ETIMEOUT) /* the server only says that it was cancelled */
        snprintf(call->err->message, sizeof(call->err->message),
                 "the time limit was reached; allow more time, or try again");
    return r;
}

int ph__pg_await(struct ph__call *call, PGconn *conn, PGresult **ret_result)
{
    PGresult *result = NULL;
    bool late = ph__pg_collect(conn, call->deadline, &result) < 0, ended = !late;
    ph__deadline grace;
    int r;

    if (late) {
        grace = ph__deadline_in(CANCEL_WAIT_MS);
        ended = cancel(conn, grace) && ph__pg_collect(conn, grace, &result) == 0;
    }
    r = judge(call, conn, late, ended, result);
    if (r == 0)
        *ret_result = result;
    else
        PQclear(result);
    return r;
}

int ph__pg_run_text(struct ph__call *call, PGconn *conn, const char *sql, PGresult **ret_result)
{
    PGresult *result = NULL;
    int r;

    if (!PQsendQuery(conn, sql))
        return ph__pg_fail(conn, NULL, call->err);
    r = ph__pg_await(call, conn, &result);
    if (r < 0)
        return r;
    if (ret_result)
        *ret_result = result;
    else
        PQclear(result);
    return 0;
}

/* Collects the first result apart from the others. */
static int collect_apart(PGconn *conn, ph__deadline deadline, PGresult **first, PGresult **rest)
{
    if (!*first) {
        int r = ph__pg_wait_result(conn, deadline);

        if (r < 0)
            return r;
        *first = PQgetResult(conn);
        if (!*first)
            return 0;
    }
    return ph__pg_collect(conn, deadline, rest);
}

int ph__pg_run_ending(struct ph__call *call, PGconn *conn, const char *sql, PGresult **ret_first,
                      bool *ret_clean)
{
    PGresult *first = NULL, *rest = NULL;
    bool late, ended;
    ph__deadline grace;
    int r;

    if (!PQsendQuery(conn, sql))
        return ph__pg_fail(conn, NULL, call->err);
    late = collect_apart(conn, call->deadline, &first, &rest) < 0;
    ended = !late;
    if (late) {
        grace = ph__deadline_in(CANCEL_WAIT_MS);
        ended = cancel(conn, grace) && collect_apart(conn, grace, &first, &rest) == 0;
    }
    *ret_clean = ended && rest && succeeded(rest);
    PQclear(rest);
    r = first && succeeded(first) ? 0 : judge(call, conn, late, ended, first);
    if (r == 0)
        *ret_first = first;
    else
        PQclear(first);
    return r;
}

/* ---------------------------------------------------- statements with parameters */

static int prepare(struct ph__call *call, struct ph__pg_own *own, enum ph__pg_statement statement,
                   const char *sql, const struct ph__pg_params *params)
{
    char name[16];
    PGresult *result = NULL;
    int r;

    snprintf(name, sizeof(name), "ph_%d", (int)statement);
    if (!PQsendPrepare(own->conn, name, sql, params->count, params->types))
        return ph__pg_fail(own->conn, NULL, call->err);
    r = ph__pg_await(call, own->conn, &result);
    if (r < 0)
        return r;
    PQclear(result);
    own->prepared[statement] = true;
    return 0;
}

/* With the store's names in it; NULL when memory is out. */
static const char *text_of(const ph_store *store, struct ph__pg_own *own,
                           enum ph__pg_statement statement)
{
    if (!own->texts[statement])
        own->texts[statement] = ph__pg_substitute(store, ph__pg_calls[statement].text);
    return own->texts[statement];
}

static int send_query(PGconn *conn, const char *prepared, const char *sql,
                      const struct ph__pg_params *params)
{
    const char *values[PH__PG_PARAMS] = { 0 };
    int formats[PH__PG_PARAMS] = { 0 };

    for (int i = 0; i < params->count; i++) {
        if (params->length[i] >= 0)
            values[i] =
                params->borrowed[i] ? params->borrowed[i] : params->data.data + params->offset[i];
        formats[i] = 1;
    }
    if (prepared)
        return PQsendQueryPrepared(conn, prepared, params->count, values, params->length, formats,
                                   1);
    return PQsendQueryParams(conn, sql, params->count, params->types, values, params->length,
                             formats, 1);
}

bool ph__pg_send(struct ph__call *call, enum ph__pg_statement statement,
                 const struct ph__pg_params *params)
{
    struct ph__pg_own *own = call->store->own;
    const char *sql = text_of(call->store, own, statement);

    return sql && !params->data.failed && send_query(own->conn, NULL, sql, params) != 0;
}

/* One try. */
static int run_once(struct ph__call *call, PGconn *conn, struct ph__pg_own *own,
                    enum ph__pg_statement statement, const char *sql,
                    const struct ph__pg_params *params, PGresult **ret_result)
{
    char name[16];
    int r;

    if (own && own->use_prepared && !own->prepared[statement]) {
        r = prepare(call, own, statement, sql, params);
        if (r < 0)
            return r;
    }
    snprintf(name, sizeof(name), "ph_%d", (int)statement);
    if (!send_query(conn, own && own->use_prepared ? name : NULL, sql, params))
        return ph__pg_fail(conn, NULL, call->err);
    return ph__pg_await(call, conn, ret_result);
}

/* A pooler in transaction mode hands out another session, which does not have
 * our prepared statement, or has one of the same name. */
static bool prepared_trouble(const ph_error *err)
{
    return strcmp(err->sqlstate, "26000") == 0 || strcmp(err->sqlstate, "42P05") == 0 ||
           strcmp(err->sqlstate, "0A000") == 0;
}

/* The outcomes of one call's tries. */
struct tries {
    bool unknown;      /* one may have happened all the same */
    bool was_readonly; /* a server that had not said so refused to write */
    ph_error conflict;
};

/* After a failed try in a transaction of our own: true if another makes sense. */
static bool may_try_again(struct ph__call *call, struct ph__pg_own *own, enum ph__pg_repeat repeat,
                          struct tries *tries)
{
    ph_error *err = call->err;
    bool lost = lost_connection(own->conn) || (err->flags & PH_UNKNOWN), first;

    if (lost) {
        if (err->code == PH_ETIMEOUT) /* it hangs: another host may answer */
            ph__pg_leave(own);
        else
            ph__pg_drop(own);
        if (repeat == PG_ONCE) {
            ph__pg_fail_unknown(err);
            return false;
        }
        err->flags &= ~PH_UNKNOWN;
        tries->unknown |= repeat != PG_READS; /* a second one does no harm */
        if (ph__deadline_left_ms(call->deadline) == 0)
            return false;
        ph__deadline_nap(call->deadline, CONFLICT_NAP_MS);
        return true;
    }
    if (err->code == PH_EREADONLY) { /* nothing was done: another host may do it */
        ph__pg_leave(own);
        first = !tries->was_readonly;
        tries->was_readonly = true;
        return first && own->host_count > 1 && !own->to_read;
    }
    if (own->use_prepared && own->lent && prepared_trouble(err)) {
        ph__pg_drop(own); /* a handler has deallocated our statement */
        return true;
    }
    if (own->use_prepared && prepared_trouble(err)) {
        own->use_prepared = false;
        ph__log(call->store, PH_LOG_WARN, "connect",
                "prepared statements do not work here (a pooler?); going on without them", NULL, 0);
        return true;
    }
    if (err->code != PH_ECONFLICT || ph__deadline_left_ms(call->deadline) == 0)
        return false;
    ph__deadline_nap(call->deadline, CONFLICT_NAP_MS);
    return true;
}

/* A try after the connection was lost: the server may be restarting. One that begins when hardly any
 * time is left cannot tell why it fails; the one before it could. */
static int reconnect(struct ph__call *call, bool check_schema)
{
    ph_error before = { 0 };

    for (;;) {
        bool late = ph__deadline_left_ms(call->deadline) <= RECONNECT_NAP_MS;
        int r = ph__pg_connect(call, check_schema);

        if (r == PH_ETIMEOUT && late && before.code) {
            *call->err = before;
            return before.code;
        }
        if (r != PH_ECONNECT || !(call->err->flags & PH_RETRY) ||
            ph__deadline_left_ms(call->deadline) == 0)
            return r;
        before = *call->err;
        ph__deadline_nap(call->deadline, RECONNECT_NAP_MS);
    }
}

/* A pooler may repeat what another server once said: so the server itself is asked before it is
 * believed that it takes no writes. */
static bool is_writable(struct ph__call *call, struct ph__pg_own *own)
{
    PGresult *result = NULL;

    if (own->writable || !ph__pg_is_read_only(own->conn))
        return true;
    if (ph__pg_run_text(call, own->conn, "SHOW transaction_read_only", &result) == 0)
        own->writable = strcmp(PQgetvalue(result, 0, 0), "off") == 0;
    PQclear(result);
    return own->writable;
}

static int fail_read_only(struct ph__call *call, const struct ph__pg_own *own)
{
    if (own->host_count > 1)
        ph__fail(call->err, PH_EREADONLY,
                 "none of the %zu hosts can be written to now; promote one, or correct the URL",
                 own->host_count);
    else
        ph__fail(call->err, PH_EREADONLY,
                 "the server is a standby or read-only; connect to the primary, or make the "
                 "database writable");
    memcpy(call->err->sqlstate, "25006", 6);
    ph__cure_in_message(call->err, PH_EREADONLY, PH_CURE_PLACE);
    return ph__fail_flags(call->err, PH_EREADONLY, own->host_count > 1 ? PH_RETRY : 0);
}

int ph__pg_seek_writable(struct ph__call *call, bool check_schema)
{
    struct ph__pg_own *own = call->store->own;
    int r;

    if (is_writable(call, own))
        return 0;
    if (!own->to_read && ph__deadline_left_ms(own->stay_until) == 0) {
        ph__log(call->store, PH_LOG_WARN, "connect",
                "the server is read-only; connecting again, to another one if there is one", NULL,
                0);
        ph__pg_leave(own);
        r = reconnect(call, check_schema);
        if (r < 0 || is_writable(call, own))
            return r;
    }
    return fail_read_only(call, own);
}

/* Connects if need be, and where it can be written if that is wanted. */
static int be_connected(struct ph__call *call, enum ph__pg_statement statement, bool writes)
{
    bool check_schema = statement != PG_SCHEMA_VERSION;
    int r = ((struct ph__pg_own *)call->store->own)->conn ? 0 : reconnect(call, check_schema);

    return r == 0 && writes ? ph__pg_seek_writable(call, check_schema) : r;
}

static int run_own(struct ph__call *call, enum ph__pg_statement statement, const char *sql,
                   const struct ph__pg_params *params, enum ph__pg_repeat repeat,
                   PGresult **ret_result)
{
    struct ph__pg_own *own = call->store->own;
    bool writes = repeat != PG_READS || statement == PG_BEGIN;
    struct tries tries = { 0 };

    if (own->conn && !ph__pg_ring_end(own, call->deadline))
        ph__pg_drop(own); /* nothing but a ring was under way */
    for (;;) {
        int r = be_connected(call, statement, writes);

        if (r == 0) {
            r = run_once(call, own->conn, own, statement, sql, params, ret_result);
            if (r == 0)
                return ph__ok(call->err);
            if (call->err->code == PH_ECONFLICT)
                tries.conflict = *call->err;
            if (may_try_again(call, own, repeat, &tries))
                continue;
        }
        /* The limit only cut the last of several tries short: report the error of those before. */
        if (call->err->code == PH_ETIMEOUT && !(call->err->flags & PH_UNKNOWN) &&
            tries.conflict.code)
            *call->err = tries.conflict;
        return ph__fail_flags(call->err, call->err->code, tries.unknown ? PH_UNKNOWN : 0);
    }
}

/* In the caller's transaction the store is only read: the text is made anew. */
static int run_in_callers(struct ph__call *call, enum ph__pg_statement statement,
                          const struct ph__pg_params *params, PGresult **ret_result)
{
    PGconn *conn = call->connection;
    char *sql = ph__pg_substitute(call->store, ph__pg_calls[statement].text);
    int r;

    if (!sql)
        return ph__fail_memory(call->err);
    r = run_once(call, conn, NULL, statement, sql, params, ret_result);
    if (r < 0 && PQtransactionStatus(conn) != PQTRANS_INTRANS)
        call->err->flags |= PH_TX_DEAD;
    if (r < 0)
        call->err->flags &= ~PH_UNKNOWN; /* it is not our commit that is unknown */
    ph__dealloc(sql);
    return r;
}

/* The highest $number in a statement. */
PH__ONLY_ASSERTED static int parameters_of(const char *sql)
{
    int most = 0;

    while ((sql = strchr(sql, '$')) != NULL) {
        int number = atoi(++sql);

        most = number > most ? number : most;
    }
    return most;
}

int ph__pg_run(struct ph__call *call, enum ph__pg_statement statement,
               const struct ph__pg_params *params, enum ph__pg_repeat repeat, PGresult **ret_result)
{
    struct ph__pg_own *own = call->store->own;
    const char *sql;

    PH__ASSERT(statement < PG_STATEMENTS && params->items == 0);
    PH__ASSERT(params->count == parameters_of(ph__pg_calls[statement].text));
    PH__ASSERT(call->connection || own);
    if (params->data.failed)
        return ph__fail_memory(call->err);
    if (call->connection)
        return run_in_callers(call, statement, params, ret_result);
    sql = text_of(call->store, own, statement);
    if (!sql)
        return ph__fail_memory(call->err);
    return run_own(call, statement, sql, params, repeat, ret_result);
}
