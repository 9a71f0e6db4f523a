/* dial.c - makes the store's own connection: to the first host of the URL that will do. */
#include "store/postgres/pg.h"

#include "core/error.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define STAY_MS 1000 /* on a read-only server, before the others are tried again */

/* Defaults come before the caller's URL, which overrides them; settings that must hold come
 * after. */
static PGconn *start_connecting(const char *url, const struct ph__pg_place *place)
{
    const char *keywords[] = {
        "tcp_user_timeout",     "fallback_application_name", "dbname", "host", "hostaddr", "port",
        "target_session_attrs", "client_encoding",           NULL
    };
    const char *values[] = { "10000",      "posthorn",     ph__pg_conninfo(url),
                             place->host,  place->address, place->port,
                             place->attrs, "UTF8",         NULL };

    return PQconnectStartParams(keywords, values, 1);
}

/* How one try went. */
struct attempt {
    ph_error err;
    bool telling; /* a server has answered, or its certificate is wrong */
};

/* PH_ETIMEOUT at the deadline, without words. */
static int finish_connecting(PGconn *conn, ph__deadline until, struct attempt *attempt)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    while (status != PGRES_POLLING_OK) {
        short events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;

        if (PQstatus(conn) == CONNECTION_BAD || status == PGRES_POLLING_FAILED)
            return ph__pg_fail_connect(conn, &attempt->telling, &attempt->err);
        if (ph__pg_wait(PQsocket(conn), events, until) < 0)
            return PH_ETIMEOUT;
        status = PQconnectPoll(conn);
    }
    return 0;
}

static int try_place(struct ph__call *call, const struct ph__pg_place *place,
                     struct attempt *attempt, PGconn **ret_conn)
{
    PGconn *conn = start_connecting(call->store->url, place);
    int r;

    if (!conn)
        return ph__fail_memory(&attempt->err);
    PQsetErrorVerbosity(conn, PQERRORS_VERBOSE); /* with SQLSTATE, for ph__pg_fail_connect() */
    r = finish_connecting(conn, place->until, attempt);
    if (r < 0) {
        PQfinish(conn);
        return r;
    }
    PQsetErrorVerbosity(conn, PQERRORS_DEFAULT);
    *ret_conn = conn;
    return 0;
}

/* ------------------------------------------------------------------ read-only ones */

static bool says_on(const PGconn *conn, const char *parameter)
{
    const char *text = PQparameterStatus(conn, parameter);

    return text && strcmp(text, "on") == 0;
}

bool ph__pg_is_read_only(const PGconn *conn)
{
    return says_on(conn, "in_hot_standby") || says_on(conn, "default_transaction_read_only");
}

/* If the URL asks for a kind of server, libpq has seen to that. If not, we are here to write. */
static bool is_any(const char *attrs)
{
    return !attrs || strcmp(attrs, "any") == 0;
}

static bool is_to_read(const char *attrs)
{
    return attrs && (strcmp(attrs, "read-only") == 0 || strstr(attrs, "standby"));
}

/* -------------------------------------------------------------------- the search */

/* The state of the search. */
struct search {
    PGconn *conn, *spare; /* the spare one is read-only */
    size_t host, spare_host;
    struct attempt failure; /* the one that tells most */
};

static void note(struct search *search, const struct attempt *attempt)
{
    const struct attempt *before = &search->failure;

    if (attempt->err.code && (!before->err.code || (attempt->telling && !before->telling)))
        search->failure = *attempt;
}

static void take(struct search *search, struct ph__pg_walk *walk, PGconn *conn)
{
    if (!is_any(walk->attrs) || !ph__pg_is_read_only(conn)) {
        search->conn = conn;
        search->host = ph__pg_walk_at(walk);
    } else if (!search->spare) {
        search->spare = conn;
        search->spare_host = ph__pg_walk_at(walk);
        walk->has_spare = true;
    } else {
        PQfinish(conn);
    }
}

/* Until one will do, all have failed, or one has failed in a way that others would, too. */
static void look_for_one(struct ph__call *call, struct ph__pg_walk *walk, struct search *search)
{
    struct ph__pg_place place;
    bool go_on = true;
    int r = 0;

    while (go_on && !search->conn) {
        struct attempt attempt = { 0 };
        PGconn *conn = NULL;

        r = ph__pg_walk_next(walk, call->deadline, &place, &attempt.err);
        if (r == 0)
            break;
        if (r > 0)
            r = try_place(call, &place, &attempt, &conn);
        if (r == 0)
            take(search, walk, conn);
        else
            note(search, &attempt);
        go_on = r == 0 || r == PH_ETIMEOUT || (attempt.err.flags & PH_RETRY);
    }
    if (!search->conn) {
        search->conn = search->spare;
        search->host = search->spare_host;
        search->spare = NULL;
    }
    PQfinish(search->spare);
}

/* --------------------------------------------------------------------- its failure */

/* libpq's text about a URL that looks strange may show a part of a password. */
static int without_echo(const struct ph__call *call, int r)
{
    unsigned flags = call->err->flags;
    char state[sizeof(call->err->sqlstate)];

    if (r == PH_ETIMEOUT || ph__pg_may_show(call->store->url))
        return r;
    memcpy(state, call->err->sqlstate, sizeof(state));
    ph__fail(call->err, r,
             "cannot connect, or the URL does not mean what it seems to; write special characters "
             "in its password as %%xx: / is %%2F, @ is %%40, : is %%3A");
    memcpy(call->err->sqlstate, state, sizeof(state));
    ph__cure_in_message(call->err, r, PH_CURE_CONNECTION);
    return ph__fail_flags(call->err, r, flags);
}

static int fail(struct ph__call *call, const struct ph__pg_walk *walk, const ph_error *why)
{
    bool late = ph__deadline_left_ms(call->deadline) == 0;
    int r = why->code ? why->code : late ? PH_ETIMEOUT : PH_ECONNECT;
    char hosts[60] = "";

    if (walk->host_count > 1)
        snprintf(hosts, sizeof(hosts), "%zu of %zu hosts tried: ",
                 walk->tried < walk->host_count ? walk->tried : walk->host_count, walk->host_count);
    if (why->code) {
        *call->err = *why;
        ph__prefix(call->err, r, "%s", hosts);
    } else {
        ph__fail(call->err, r,
                 "%sthe server did not answer within the %s; check the URL and that it is up",
                 hosts, late ? "time limit" : "URL's connect_timeout");
        ph__cure_in_message(call->err, r, PH_CURE_CONNECTION);
        ph__fail_flags(call->err, r, PH_RETRY);
    }
    return without_echo(call, r);
}

int ph__pg_dial(struct ph__call *call, struct ph__pg_own *own)
{
    struct search search = { 0 };
    struct ph__pg_walk walk;
    int r = ph__pg_walk_begin(&walk, call->store->url, own->next_host, call->err);

    if (r < 0)
        return r;
    look_for_one(call, &walk, &search);
    own->next_host = search.conn ? 0 : ph__pg_walk_after(&walk);
    own->host = search.host;
    own->host_count = walk.host_count;
    own->to_read = is_to_read(walk.attrs);
    r = search.conn ? 0 : fail(call, &walk, &search.failure.err);
    ph__pg_walk_end(&walk);
    if (r < 0)
        return r;
    own->conn = search.conn;
    own->stay_until = ph__deadline_in(ph__pg_is_read_only(own->conn) ? STAY_MS : 0);
    own->writable = false;
    own->ended = false;
    own->lent = false;
    own->doorbell = PG_DOORBELL_UNKNOWN;
    own->ringing = false;
    own->mute = false;
    own->schema_checked = false;
    ph__pg_tune(own);
    memset(own->prepared, 0, sizeof(own->prepared));
    return 0;
}
