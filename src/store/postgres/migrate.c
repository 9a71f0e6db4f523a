/* migrate.c - the schema: version, migrations, functions, roles, test clock. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "util/alloc.h"
#include "util/embedded.h"
#include "util/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct ph__embedded ph__pg_migrations[]; /* 0001_…, 0002_… in order */
extern const struct ph__embedded ph__pg_functions[];  /* views last */
extern const struct ph__embedded ph__pg_frame[]; /* preamble, closing, roles, grants, test_clock */

static const char *frame(const char *name)
{
    for (const struct ph__embedded *e = ph__pg_frame; e->name; e++) {
        if (strcmp(e->name, name) == 0)
            return e->text;
    }
    return ""; /* not reached: the build has put it there */
}

/* A digest of the functions, so that a library with newer ones of the same
 * schema version installs them. */
static uint64_t functions_digest(void)
{
    uint64_t digest = PH__HASH64;

    for (const struct ph__embedded *e = ph__pg_functions; e->name; e++)
        digest = ph__hash64_text(digest, e->text);
    return digest;
}

/* No object in the schema can stand in for one of PostgreSQL's: see decision 0036. */
static void add_functions(struct ph__buffer *sql)
{
    ph__buffer_text(sql, "SET LOCAL search_path = pg_catalog, pg_temp;\n");
    for (const struct ph__embedded *e = ph__pg_functions; e->name; e++) {
        ph__buffer_text(sql, e->text);
        ph__buffer_text(sql, "\n");
    }
    ph__buffer_text(sql, frame("closing"));
    ph__buffer_text(sql, frame("grants"));
    ph__buffer_printf(
        sql,
        "\nUPDATE {schema}.{p}store SET version = %d, serves_from = %d, functions = '%016llx';\n",
        PH__SCHEMA_VERSION, PH__SCHEMA_SERVES_FROM, (unsigned long long)functions_digest());
}

static void add_migrations(struct ph__buffer *sql, int above)
{
    for (const struct ph__embedded *e = ph__pg_migrations; e->name; e++) {
        int version = atoi(e->name);

        if (version <= above)
            continue;
        ph__buffer_text(sql, e->text);
        ph__buffer_printf(sql, "\nINSERT INTO {p}migration (version, name) VALUES (%d, '%s');\n\n",
                          version, e->name);
    }
}

int ph__pg_migrate_sql(ph_store *store, bool roles, char **ret_sql, ph_error *err)
{
    struct ph__buffer sql = { 0 };
    char *text = NULL;

    if (roles) {
        ph__buffer_text(&sql, frame("roles"));
        ph__buffer_text(&sql, frame("grants"));
    } else {
        ph__buffer_text(&sql, "BEGIN;\n");
        ph__buffer_text(&sql, frame("preamble"));
        add_migrations(&sql, 0);
        add_functions(&sql);
        ph__buffer_text(&sql, "COMMIT;\n");
    }
    if (!sql.failed)
        text = ph__pg_substitute(store, sql.data);
    ph__buffer_free(&sql);
    if (!text)
        return ph__fail_memory(err);
    *ret_sql = text;
    return 0;
}

static int run_substituted(struct ph__call *call, const char *text, PGresult **ret_result)
{
    struct ph__pg_own *own = call->store->own;
    char *sql = ph__pg_substitute(call->store, text);
    int r = sql ? ph__pg_run_text(call, own->conn, sql, ret_result) : ph__fail_memory(call->err);

    ph__dealloc(sql);
    return r;
}

/* The installed schema: version 0 if there is none. */
struct installed {
    int version, serves_from;
    bool same_functions;
};

static int look(struct ph__call *call, struct installed *ret)
{
    char digest[20];
    PGresult *result = NULL;
    int r =
        run_substituted(call,
                        "SELECT s IS NOT NULL, pg_catalog.has_table_privilege(s, 'SELECT'::text) "
                        "FROM pg_catalog.to_regclass('{schema}.{p}store'::text) s",
                        &result);
    bool there = r == 0 && strcmp(PQgetvalue(result, 0, 0), "t") == 0;
    bool may_read = r == 0 && strcmp(PQgetvalue(result, 0, 1), "t") == 0;

    PQclear(result);
    *ret = (struct installed){ 0 };
    if (r < 0 || !there)
        return r;
    snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)functions_digest());
    r = run_substituted(call,
                        may_read ? "SELECT version, serves_from, functions FROM {schema}.{p}store"
                                 : "SELECT version, serves_from FROM {schema}.{p}schema_version()",
                        &result);
    if (r < 0)
        return r;
    if (PQntuples(result) == 1) {
        ret->version = atoi(PQgetvalue(result, 0, 0));
        ret->serves_from = atoi(PQgetvalue(result, 0, 1));
        /* other roles, which could not migrate either, are not told */
        ret->same_functions = !may_read || strcmp(PQgetvalue(result, 0, 2), digest) == 0;
    }
    PQclear(result);
    return 0;
}

static bool is_usable(const struct installed *in)
{
    return in->version >= PH__SCHEMA_VERSION && in->serves_from <= PH__SCHEMA_VERSION;
}

static bool is_behind(const struct installed *in)
{
    return in->version < PH__SCHEMA_VERSION ||
           (in->version == PH__SCHEMA_VERSION && !in->same_functions);
}

int ph__pg_inspect(struct ph__call *call, ph_schema_status *ret_status)
{
    struct installed in;
    int r = look(call, &in);

    if (r < 0)
        return r;
    ret_status->installed = in.version;
    ret_status->serves_from = in.serves_from;
    ret_status->library = PH__SCHEMA_VERSION;
    ret_status->usable = is_usable(&in);
    ret_status->pending = is_behind(&in);
    return 0;
}

/* In the open transaction, after the preamble has taken the lock. */
static int apply(struct ph__call *call, int *ret_applied)
{
    struct ph__buffer sql = { 0 };
    struct installed in;
    int r = look(call, &in);

    if (r < 0)
        return r;
    if (in.version > PH__SCHEMA_VERSION && in.serves_from > PH__SCHEMA_VERSION)
        return ph__fail(call->err, PH_ETOONEW,
                        "the schema has version %d, this library knows %d; upgrade the library",
                        in.version, PH__SCHEMA_VERSION);
    if (!is_behind(&in)) {
        *ret_applied = 0;
        return 0;
    }
    add_migrations(&sql, in.version);
    add_functions(&sql);
    r = sql.failed ? ph__fail_memory(call->err) : run_substituted(call, sql.data, NULL);
    ph__buffer_free(&sql);
    *ret_applied = in.version < PH__SCHEMA_VERSION ? PH__SCHEMA_VERSION - in.version : 1;
    return r;
}

static int check_encoding(struct ph__call *call, const struct ph__pg_own *own)
{
    const char *encoding = PQparameterStatus(own->conn, "server_encoding");

    if (encoding && strcmp(encoding, "UTF8") == 0)
        return 0;
    return ph__fail(call->err, PH_EUNSUPPORTED,
                    "the database has the encoding %s; create one with ENCODING 'UTF8'",
                    encoding ? encoding : "unknown");
}

int ph__pg_migrate(struct ph__call *call, int *ret_applied)
{
    struct ph__pg_own *own = call->store->own;
    PGresult *result = NULL;
    ph_error ignored;
    struct ph__call end = *call;
    int r = check_encoding(call, own);

    if (r == 0)
        r = ph__pg_run_text(call, own->conn, "BEGIN ISOLATION LEVEL READ COMMITTED", NULL);
    if (r < 0)
        return r;
    r = run_substituted(call, frame("preamble"), NULL);
    if (r == 0)
        r = apply(call, ret_applied);
    if (r == 0)
        r = ph__pg_run_text(call, own->conn, "COMMIT", &result);
    if (r == 0 && strcmp(PQcmdStatus(result), "COMMIT") != 0)
        r = ph__fail(call->err, PH_EDATABASE, "the migration was rolled back by the server");
    PQclear(result);
    own->schema_checked = false;
    if (r < 0) {
        end.err = &ignored;
        end.deadline = ph__deadline_in(1000);
        if (PQstatus(own->conn) != CONNECTION_OK ||
            ph__pg_run_text(&end, own->conn, "ROLLBACK", NULL) < 0)
            ph__pg_drop(own);
    }
    return r;
}

int ph__pg_check_schema(struct ph__call *call)
{
    struct ph__pg_params none = { 0 };
    struct installed in = { 0 };
    PGresult *result = NULL;
    int r = ph__pg_run(call, PG_SCHEMA_VERSION, &none, PG_READS, &result);

    if (r == PH_ENOSCHEMA)
        return ph__cure(call->err,
                        ph__fail(call->err, r,
                                 "there is no schema \"%s\" with prefix \"%s\" in this database",
                                 call->store->schema, call->store->prefix),
                        PH_CURE_DEPLOY);
    if (r < 0)
        return r;
    in.version = (int)ph__pg_int(result, 0, 0);
    in.serves_from = (int)ph__pg_int(result, 0, 1);
    PQclear(result);
    if (in.version < PH__SCHEMA_VERSION)
        return ph__cure(call->err,
                        ph__fail(call->err, PH_ETOOOLD,
                                 "the schema has version %d, this library needs %d", in.version,
                                 PH__SCHEMA_VERSION),
                        PH_CURE_MIGRATE);
    if (!is_usable(&in))
        return ph__cure(
            call->err,
            ph__fail(call->err, PH_ETOONEW,
                     "the schema has version %d and serves libraries from %d on, this one knows %d",
                     in.version, in.serves_from, PH__SCHEMA_VERSION),
            PH_CURE_UPGRADE);
    return 0;
}

int ph__pg_clock(struct ph__call *call, int64_t *ret_time)
{
    struct ph__pg_params none = { 0 };
    PGresult *result = NULL;
    int r = ph__pg_run(call, PG_CLOCK, &none, PG_READS, &result);

    if (r < 0)
        return r;
    *ret_time = ph__pg_time(result, 0, 0);
    PQclear(result);
    return 0;
}

int ph__pg_test_clock(struct ph__call *call, const int64_t *time)
{
    struct ph__pg_own *own = call->store->own;
    char set[128];
    int r = own->has_test_clock ? 0 : run_substituted(call, frame("test_clock"), NULL);

    if (r < 0)
        return r;
    own->has_test_clock = true; /* again each time, it would make all sessions plan anew */
    if (!time)
        return run_substituted(call, "SELECT \"{s}_test\".{p}clock_reset()", NULL);
    snprintf(set, sizeof(set),
             "SELECT \"{s}_test\".{p}clock_set('epoch'::timestamptz + %lld * interval '1 us')",
             (long long)*time);
    return run_substituted(call, set, NULL);
}
