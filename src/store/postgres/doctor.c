/* doctor.c - the findings about a PostgreSQL server, and about our schema in it. */
#include "store/postgres/pg.h"

#include "core/error.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define OLDEST_TESTED 150000 /* as server_version_num */
#define HOLD_WARN_S (5 * 60)
#define STRETCH 100000 /* messages per look at the places */

static const char *text_at(const PGresult *result, int column)
{
    return PQgetisnull(result, 0, column) ? NULL : PQgetvalue(result, 0, column);
}

/* ------------------------------------------------------------------ the server */

static void judge_durability(struct ph__examination *examination, const PGresult *result)
{
    bool fsync = ph__pg_int(result, 0, 2), whole_pages = ph__pg_int(result, 0, 3);
    const char *commit = PQgetvalue(result, 0, 4);

    if (!fsync)
        ph__finding(examination, "durability", PH_FINDING_ERROR,
                    PH__ADVISE(SETTINGS, "set fsync = on in postgresql.conf and reload the server"),
                    "fsync is off: a crash of the machine can destroy the database");
    if (!whole_pages)
        ph__finding(
            examination, "durability", PH_FINDING_WARNING,
            PH__ADVISE(SETTINGS,
                       "set full_page_writes = on, unless the file system writes pages whole"),
            "full_page_writes is off: a crash of the machine can destroy pages");
    if (strcmp(commit, "off") == 0)
        ph__finding(examination, "durability", PH_FINDING_WARNING,
                    PH__ADVISE(SETTINGS, "set synchronous_commit = on for this database or role"),
                    "synchronous_commit is off: a crash can lose what was just committed");
    else if (fsync && whole_pages)
        ph__finding(examination, "durability", PH_FINDING_OK, PH__FINE,
                    "fsync is on, full_page_writes is on, synchronous_commit is %s", commit);
}

static int examine_server(struct ph__call *call, struct ph__examination *examination)
{
    const struct ph__pg_own *own = call->store->own;
    struct ph__pg_params none = { 0 };
    PGresult *result = NULL;
    int r = ph__pg_run(call, PG_SERVER, &none, PG_READS, &result);

    if (r < 0)
        return r;
    if (ph__pg_int(result, 0, 1) < OLDEST_TESTED)
        ph__finding(
            examination, "version", PH_FINDING_WARNING,
            PH__ADVISE(UPDATE,
                       "upgrade the server: Posthorn is tested with PostgreSQL 15 and newer"),
            "PostgreSQL %s", PQgetvalue(result, 0, 0));
    else
        ph__finding(examination, "version", PH_FINDING_OK, PH__FINE, "PostgreSQL %s",
                    PQgetvalue(result, 0, 0));
    judge_durability(examination, result);
    if (ph__pg_int(result, 0, 5) != PQbackendPID(own->conn))
        ph__finding(
            examination, "pooler", PH_FINDING_INFO,
            PH__ADVISE(PLACE,
                       "let dispatchers connect directly: through a pooler the doorbell does not "
                       "reach them, and they only poll"),
            "a pooler stands between Posthorn and the server");
    else
        ph__finding(examination, "pooler", PH_FINDING_OK, PH__FINE, "there is no pooler");
    PQclear(result);
    return 0;
}

/* A role that may not read the table gets no such finding. */
static int examine_identity(struct ph__call *call, struct ph__examination *examination)
{
    struct ph__pg_params none = { 0 };
    PGresult *result = NULL;
    int r = ph__pg_run(call, PG_IDENTITY, &none, PG_READS, &result);

    if (r == PH_EPERM)
        return ph__ok(call->err);
    if (r == 0)
        ph__finding_identity(examination, ph__pg_int(result, 0, 0));
    PQclear(result);
    return r;
}

/* -------------------------------------------------------------------- security */

static void judge_ownership(struct ph__examination *examination, const char *schema,
                            const PGresult *result)
{
    const char *runs_as = text_at(result, 0), *owner = text_at(result, 1);
    const char *others = text_at(result, 2), *left = text_at(result, 3);
    bool is_owner = strcmp(runs_as, owner) == 0;

    if (!is_owner)
        ph__finding(
            examination, "ownership", PH_FINDING_ERROR,
            PH__ADVISE(
                RIGHTS,
                "give the schema to the role that the functions run as: ALTER SCHEMA … OWNER TO …"),
            "schema %s belongs to %s, who can replace functions that run with the rights "
            "of %s",
            schema, owner, runs_as);
    if (others)
        ph__finding(examination, "ownership", PH_FINDING_ERROR,
                    PH__ADVISE(RIGHTS, "take it from them: REVOKE CREATE ON SCHEMA … FROM …"),
                    "in schema %s, whose functions run with the rights of %s, others may create: "
                    "%s",
                    schema, runs_as, others);
    if (left)
        ph__finding(examination, "ownership", PH_FINDING_ERROR,
                    PH__ADVISE(FOREIGN,
                               "see what they do, then drop them: DROP ROUTINE …, DROP OPERATOR …"),
                    "in schema %s, whose functions run with the rights of %s, others have left "
                    "functions or operators that may be called in place of ours: %s",
                    schema, runs_as, left);
    if (is_owner && !others && !left)
        ph__finding(examination, "ownership", PH_FINDING_OK, PH__FINE,
                    "the schema belongs to %s, and nobody else may create in it", owner);
}

/* A migration insists on this ownership, but it may have been changed since. */
static int examine_ownership(struct ph__call *call, struct ph__examination *examination)
{
    struct ph__pg_params none = { 0 };
    PGresult *result = NULL;
    int r = ph__pg_run(call, PG_OWNERSHIP, &none, PG_READS, &result);

    if (r == 0 && PQntuples(result) == 1)
        judge_ownership(examination, call->store->schema, result);
    PQclear(result);
    return r;
}

/* Where the server is: on this machine, through a socket of the file system or the network. */
static int peer_of(const PGconn *conn, bool *ret_is_near)
{
    struct sockaddr_storage peer = { 0 };
    socklen_t size = sizeof(peer);

    *ret_is_near = false;
    if (getpeername(PQsocket(conn), (struct sockaddr *)&peer, &size) < 0)
        return AF_UNSPEC;
    if (peer.ss_family == AF_INET)
        *ret_is_near =
            ntohl(((const struct sockaddr_in *)&peer)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    else if (peer.ss_family == AF_INET6)
        *ret_is_near = IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&peer)->sin6_addr);
    return peer.ss_family;
}

static int examine_tls(struct ph__call *call, struct ph__examination *examination)
{
    PGconn *conn = ((const struct ph__pg_own *)call->store->own)->conn;
    PQconninfoOption *options = PQconninfo(conn);
    const char *mode = "prefer";
    bool is_near;
    int family = peer_of(conn, &is_near);

    if (!options)
        return ph__fail_memory(call->err);
    for (const PQconninfoOption *o = options; o->keyword; o++) {
        if (strcmp(o->keyword, "sslmode") == 0 && o->val)
            mode = o->val;
    }
    if (family == AF_UNIX)
        ph__finding(examination, "tls", PH_FINDING_OK, PH__FINE, "not needed on a Unix socket");
    else if (PQgssEncInUse(conn))
        ph__finding(examination, "tls", PH_FINDING_OK, PH__FINE, "GSSAPI encrypts the connection");
    else if (PQsslInUse(conn) && strcmp(mode, "verify-full") == 0)
        ph__finding(examination, "tls", PH_FINDING_OK, PH__FINE,
                    "the connection is encrypted, and the server verified");
    else
        ph__finding(
            examination, "tls", is_near ? PH_FINDING_INFO : PH_FINDING_WARNING,
            PH__ADVISE(
                SETTINGS,
                "add sslmode=verify-full to the URL, and sslrootcert if the authority is your "
                "own"),
            "%s; with sslmode=%s an attacker on the network can %s%s",
            PQsslInUse(conn) ? "the connection is encrypted, but the server's name "
                               "is not verified"
                             : "the connection is not encrypted",
            mode, PQsslInUse(conn) ? "pose as the server" : "read and change it",
            is_near ? " (the server is on this machine)" : "");
    PQconninfoFree(options);
    return 0;
}

/* ---------------------------------------------------------------------- vacuum */

static void judge_holder(struct ph__examination *examination, const PGresult *result)
{
    const char *what = text_at(result, 0), *who = text_at(result, 1);
    int64_t seconds = ph__pg_int(result, 0, 2);
    bool is_session = ph__pg_int(result, 0, 5);

    if (ph__pg_int(result, 0, 3))
        ph__finding(examination, "vacuum", PH_FINDING_INFO,
                    PH__ADVISE(RIGHTS, "grant the role pg_read_all_stats to see for how long"),
                    "%s %s holds back vacuum; this role may not see for how long", what, who);
    else if (!text_at(result, 2))
        ph__finding(
            examination, "vacuum", ph__pg_int(result, 0, 4) ? PH_FINDING_WARNING : PH_FINDING_INFO,
            PH__ADVISE(END_TRANSACTION,
                       "drop the slot if its standby is gone: SELECT pg_drop_replication_slot(…)"),
            "%s %s holds back vacuum", what, who);
    else
        ph__finding(
            examination, "vacuum", seconds > HOLD_WARN_S ? PH_FINDING_WARNING : PH_FINDING_OK,
            seconds <= HOLD_WARN_S ? PH__FINE
            : is_session
                ? PH__ADVISE(END_TRANSACTION, "end it: SELECT pg_terminate_backend(pid); dead "
                                              "rows pile up meanwhile, and claims get slower")
                : PH__ADVISE(END_TRANSACTION,
                             "end it: COMMIT PREPARED or ROLLBACK PREPARED; dead rows "
                             "pile up meanwhile, and claims get slower"),
            "%s %s has held back vacuum for %" PRId64 " s", what, who, seconds);
}

static int examine_vacuum(struct ph__call *call, struct ph__examination *examination)
{
    struct ph__pg_params none = { 0 };
    PGresult *result = NULL;
    int r = ph__pg_run(call, PG_VACUUM_HOLDER, &none, PG_READS, &result);

    if (r == PH_EPERM) {
        ph__finding(examination, "vacuum", PH_FINDING_INFO,
                    PH__ADVISE(RIGHTS, "grant the role pg_monitor"),
                    "this role may not see what other sessions do");
        return ph__ok(call->err);
    }
    if (r < 0)
        return r;
    if (PQntuples(result) == 0)
        ph__finding(examination, "vacuum", PH_FINDING_OK, PH__FINE, "nothing holds it back");
    else
        judge_holder(examination, result);
    PQclear(result);
    return 0;
}

/* ---------------------------------------------------------------------- places */

struct places {
    ph_work_id from;
    bool at_end;
    int64_t messages, wrong, total;
    struct ph__buffer examples; /* a few, in words */
    int example_count;
};

static int look_at_stretch(struct ph__call *call, struct places *places)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_uuid(&params, places->from.b);
    ph__pg_add_int4(&params, STRETCH);
    r = ph__pg_run(call, PG_PLACES, &params, PG_READS, &result);
    ph__pg_params_free(&params);
    if (r < 0)
        return r;
    places->at_end = !ph__pg_uuid(result, 0, 0);
    if (!places->at_end)
        memcpy(places->from.b, ph__pg_uuid(result, 0, 0), sizeof(places->from.b));
    places->messages += ph__pg_int(result, 0, 1);
    places->wrong += ph__pg_int(result, 0, 2);
    for (int column = 3; column < 6 && places->example_count < 3; column++) {
        if (text_at(result, column))
            ph__buffer_printf(&places->examples, "%s%s", places->example_count++ ? "; " : "",
                              text_at(result, column));
    }
    places->total = ph__pg_int(result, 0, 6);
    PQclear(result);
    return 0;
}

static int examine_places(struct ph__call *call, struct ph__examination *examination)
{
    struct places places = { 0 };
    int r = 0;

    while (r == 0 && !places.at_end) {
        r = look_at_stretch(call, &places);
        if (places.at_end || places.total < places.messages)
            places.total = places.messages;
        if (r == 0)
            examination->progress(examination->progress_context, places.messages, places.total);
    }
    if (r == 0 && places.examples.failed)
        r = ph__fail_memory(call->err);
    if (r == 0 && places.wrong > 0)
        ph__finding(
            examination, "places", PH_FINDING_ERROR,
            PH__ADVISE(MEND,
                       "stop the workers and look at these rows: a message in no place is never "
                       "handed out (enqueue it anew), one in two places may be handled twice"),
            "of %" PRId64 " messages %" PRId64 " are wrong: %s%s", places.messages, places.wrong,
            places.examples.data, places.wrong > 3 ? "; …" : "");
    else if (r == 0)
        ph__finding(examination, "places", PH_FINDING_OK, PH__FINE,
                    "each of %" PRId64 " messages is in exactly one place", places.messages);
    ph__buffer_free(&places.examples);
    return r;
}

static int examine_joins(struct ph__call *call, struct ph__examination *examination)
{
    struct ph__pg_params none = { 0 };
    ph_join_id example = { { 0 } };
    PGresult *result = NULL;
    int r = ph__pg_run(call, PG_JOINS_WRONG, &none, PG_READS, &result);

    if (r == 0 && ph__pg_uuid(result, 0, 2))
        memcpy(example.b, ph__pg_uuid(result, 0, 2), sizeof(example.b));
    if (r == 0)
        ph__finding_joins(examination, ph__pg_int(result, 0, 0), ph__pg_int(result, 0, 1), example);
    PQclear(result);
    return r;
}

int ph__pg_examine(struct ph__call *call, struct ph__examination *examination)
{
    int r = examine_server(call, examination);

    if (r == 0 && examination->usable)
        r = examine_identity(call, examination);
    if (r == 0)
        r = examine_ownership(call, examination);
    if (r == 0)
        r = examine_tls(call, examination);
    if (r == 0)
        r = examine_vacuum(call, examination);
    if (r == 0 && examination->deep && examination->usable)
        r = examine_places(call, examination);
    if (r == 0 && examination->deep && examination->usable)
        r = examine_joins(call, examination);
    return r;
}
