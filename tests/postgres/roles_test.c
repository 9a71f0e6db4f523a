/* roles_test.c - each role may do what it is for, and nothing else: what it is
 * allowed is listed in roles.c; everything else that the catalogues know is
 * tried and must fail, so that new objects are covered too. */
#include "roles.h"

#include "core/call.h"

#include <libpq-fe.h>

static bool listed(const char *list, const char *name)
{
    return strstr(list, say(" %s ", name)) != NULL;
}

/* In a transaction that is rolled back. */
static bool may(struct t_conn *conn, const char *sql, bool view)
{
    const char *error;
    bool denied;

    t_begin(conn);
    denied = !t_try_sql(conn, sql);
    error = denied ? t_sql_error(conn) : "";
    t_rollback(conn);
    return !(strncmp(error, "ERROR:  42501: ", 15) == 0 ||
             /* the rewriter looks at a view before anybody looks at the rights */
             (view && (strncmp(error, "ERROR:  55000: cannot ", 22) == 0 ||
                       strncmp(error, "ERROR:  0A000: cannot ", 22) == 0)));
}

static void must_not(struct t_conn *conn, const char *sql)
{
    if (may(conn, sql, false))
        printf("%s: allowed, or failed for another reason: %s\n", sql, t_sql_error(conn));
    REQ("OBX-124", !may(conn, sql, false));
}

/* Rows of a query by the superuser. */
static PGresult *rows(const char *sql)
{
    PGresult *result = PQexec((PGconn *)t_native(super), sql);

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        printf("%s", PQresultErrorMessage(result));
    CHECK(PQresultStatus(result) == PGRES_TUPLES_OK);
    return result;
}

/* -------------------------------------------------------------- what there is */

static void try_functions(const struct role *role, struct t_conn *conn)
{
    /* Every function of the schema and of the test clock's, called with nulls (or, where that would
     * be answered without a call, with values). */
    PGresult *all =
        rows(say("SELECT p.proname, format('SELECT %%s(%%s)', p.oid::regproc, (SELECT string_agg("
                 "CASE WHEN p.proisstrict AND t = 'text'::regtype THEN '''x''' "
                 "WHEN p.proisstrict AND t = 'bigint'::regtype THEN '1' ELSE "
                 "CASE t WHEN 'anyarray'::regtype THEN 'NULL::int[]' WHEN 'uuid'::regtype THEN "
                 "'gen_random_uuid()' "
                 "ELSE 'NULL::' || format_type(t, NULL) END END, ', ' ORDER BY i) "
                 "FROM unnest(p.proargtypes) WITH ORDINALITY a(t, i))), "
                 "has_function_privilege('%s', p.oid, 'EXECUTE') AND has_schema_privilege('%s', "
                 "p.pronamespace, 'USAGE') "
                 "FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
                 "WHERE n.nspname IN ('%s', '%s_test') ORDER BY 1",
                 login(role->name), login(role->name), t_schema(), t_schema()));

    CHECK(PQntuples(all) > 40);
    for (int i = 0; i < PQntuples(all); i++) {
        bool allowed = listed(role->functions, PQgetvalue(all, i, 0));

        if (may(conn, PQgetvalue(all, i, 1), false) != allowed)
            printf("%s: %s\n", role->name, PQgetvalue(all, i, 1));
        REQ("OBX-124", may(conn, PQgetvalue(all, i, 1), false) == allowed);
        CHECK_STR(PQgetvalue(all, i, 2), allowed ? "t" : "f");
    }
    PQclear(all);
}

static void try_relation(const struct role *role, struct t_conn *conn, const char *name,
                         const char *column, char kind)
{
    bool read = kind == 'v' && listed(role->views, strrchr(name, '.') + 1);
    const char *const writes[] = { "INSERT INTO %1$s DEFAULT VALUES",
                                   "UPDATE %1$s SET %2$s = DEFAULT",
                                   "DELETE FROM %1$s",
                                   "TRUNCATE %1$s",
                                   "LOCK TABLE %1$s IN ACCESS EXCLUSIVE MODE",
                                   "SELECT * FROM %1$s FOR UPDATE",
                                   "COPY %1$s FROM STDIN" };
    char sql[400];

    if (may(conn, say("SELECT * FROM %s", name), false) != read)
        printf("%s: SELECT of %s\n", role->name, name);
    REQ("OBX-124", may(conn, say("SELECT * FROM %s", name), false) == read);
    REQ("OBX-124", may(conn, say("SELECT %s FROM %s", column, name), false) == read);
    for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++) {
        if (kind == 'v' && i > 2)
            break;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(sql, sizeof(sql), writes[i], name, column);
#pragma GCC diagnostic pop
        if (may(conn, sql, kind == 'v'))
            printf("%s: %s: %s\n", role->name, sql, t_sql_error(conn));
        REQ("OBX-124", !may(conn, sql, kind == 'v'));
    }
}

static void try_relations(const struct role *role, struct t_conn *conn)
{
    PGresult *all =
        rows(say("SELECT format('%%I.%%I', n.nspname, c.relname), c.relkind, a.attname, "
                 "has_any_column_privilege('%s', c.oid, 'SELECT,INSERT,UPDATE,REFERENCES') OR "
                 "has_table_privilege('%s', c.oid, "
                 "'SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER') "
                 "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                 "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = 1 "
                 "WHERE n.nspname IN ('%s', '%s_test') AND c.relkind IN ('r', 'v', 'm', 'p', 'f') "
                 "ORDER BY 1",
                 login(role->name), login(role->name), t_schema(), t_schema()));

    CHECK(PQntuples(all) > 12);
    for (int i = 0; i < PQntuples(all); i++) {
        const char *name = PQgetvalue(all, i, 0);

        try_relation(role, conn, name, PQgetvalue(all, i, 2), *PQgetvalue(all, i, 1));
        CHECK_STR(PQgetvalue(all, i, 3), listed(role->views, strrchr(name, '.') + 1) ? "t" : "f");
    }
    PQclear(all);
}

static void try_sequences(struct t_conn *conn)
{
    PGresult *all = rows(say("SELECT oid::regclass FROM pg_class WHERE relkind = 'S' "
                             "AND relnamespace = '%s'::regnamespace",
                             t_schema()));

    CHECK(PQntuples(all) >= 4);
    for (int i = 0; i < PQntuples(all); i++) {
        const char *name = PQgetvalue(all, i, 0);

        must_not(conn, say("SELECT nextval('%s')", name));
        must_not(conn, say("SELECT setval('%s', 1)", name));
        must_not(conn, say("SELECT currval('%s')", name));
        must_not(conn, say("SELECT * FROM %s", name));
        must_not(conn, say("ALTER SEQUENCE %s RESTART", name));
    }
    PQclear(all);
}

/* ------------------------------------------------------------- what there is not */

static void try_to_build(struct t_conn *conn)
{
    static const char *const attempts[] = {
        "CREATE TABLE {schema}.mine (x int)",
        "CREATE VIEW {schema}.mine AS SELECT 1",
        "CREATE TYPE {schema}.mine AS (x int)",
        "CREATE SEQUENCE {schema}.mine",
        "CREATE FUNCTION {schema}.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE FUNCTION {t}clock() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
        "CREATE FUNCTION {t}clock(int) RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
        "ALTER FUNCTION {t}clock() RESET search_path",
        "ALTER FUNCTION {t}clock() RENAME TO watch",
        "DROP FUNCTION {t}clock()",
        "ALTER TABLE {t}message ADD x int",
        "ALTER TABLE {t}message DISABLE TRIGGER ALL",
        "DROP TABLE {t}message",
        "CREATE INDEX ON {t}message (topic)",
        "CREATE RULE r AS ON INSERT TO {t}message DO NOTHING",
        ("CREATE TRIGGER t BEFORE INSERT ON {t}message EXECUTE FUNCTION "
         "suppress_redundant_updates_trigger()"),
        "CREATE OR REPLACE VIEW {t}outbox AS SELECT 1",
        "DROP VIEW {t}outbox",
        "GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO current_user",
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO current_user",
        "GRANT CREATE ON SCHEMA {schema} TO current_user",
        "ALTER SCHEMA {schema} OWNER TO current_user",
        "ALTER SCHEMA {schema} RENAME TO mine",
        "DROP SCHEMA {schema} CASCADE",
        "CREATE SCHEMA mine",
        "SET session_replication_role = replica",
    };

    for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
        if (strncmp(attempts[i], "GRANT", 5) == 0) /* a grant without the right is a mere warning */
            (void)t_try_sql(conn, attempts[i]);
        else
            must_not(conn, attempts[i]);
    }
    must_not(conn, say("SET ROLE %s", login("owner")));
    must_not(conn, say("CREATE TABLE \"%s_test\".mine (x int)", t_schema()));
    must_not(conn, say("SELECT \"%s_test\".clock_set('2000-01-01Z')", t_schema()));
}

static void try_the_test_clock(const struct role *role)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    PH__CALL(call);
    int64_t time = 0;
    int r;

    opts.schema = t_schema();
    OK(ph_open_lazy(url_as(role), &opts, &store, &t_err));
    r = ph__call_own(&call, store, 0, &t_err);
    if (r == 0)
        r = store->backend->test_clock(&call, &time);
    REQ_INT("OBX-124", r, PH_EPERM);
    ph__call_end(&call);
    ph_close(store);
}

static void try_everything(const struct role *role)
{
    struct t_conn *conn = a_connection(url_as(role));
    ph_store *owner = open_as("owner");

    try_the_test_clock(role);
    t_clock_set(owner, T_EPOCH); /* which has a schema with functions */
    try_to_build(conn);          /* before the rest, which also shows that no grant came of it */
    try_functions(role, conn);
    try_relations(role, conn);
    try_sequences(conn);
    ph_close(owner);
    t_disconnect(conn);
}

TEST(the_producer_can_do_nothing_else)
{
    roles_set_up();
    try_everything(&producer);
    roles_tear_down();
}

TEST(the_worker_can_do_nothing_else)
{
    roles_set_up();
    try_everything(&worker);
    roles_tear_down();
}

TEST(the_scheduler_can_do_nothing_else)
{
    roles_set_up();
    try_everything(&scheduler);
    roles_tear_down();
}

TEST(the_reader_can_do_nothing_else)
{
    roles_set_up();
    try_everything(&reader);
    roles_tear_down();
}

TEST(a_login_without_role_can_do_nothing)
{
    roles_set_up();
    try_everything(&stranger);
    roles_tear_down();
}
