/* roles_test.c - each role may do what it is for, and nothing else.
 *
 * The schema belongs to a plain login, not to the superuser, as it should in
 * earnest. What a role is allowed is listed here; everything else that the
 * catalogues know is tried and must fail, so that new objects are covered too. */
#include "common.h"

#include "core/call.h"

#include <libpq-fe.h>
#include <stdlib.h>

struct role {
    const char *name;      /* of the login */
    const char *functions; /* it may call, with a blank before and after each */
    const char *views;     /* it may read, likewise */
};

#define EVERYBODY " clock schema_version "
#define ENQUEUE " enqueue enqueue_many work_enqueue work_enqueue_many "
#define WORK                                                                                       \
    " outbox_claim outbox_ack outbox_abandon outbox_fail outbox_release outbox_renew "             \
    "outbox_reap_expired work_claim work_settle work_renew "

static const struct role producer = { "producer", EVERYBODY ENQUEUE, "" };
static const struct role worker = { "worker", EVERYBODY ENQUEUE WORK, "" };
static const struct role reader = { "reader", EVERYBODY " work_count work_history id_number ",
                                    " outbox dead_letters queues " };
static const struct role stranger = { "stranger", "", "" };

static const char *database; /* of this test */
static struct t_conn *super;

/* The login's name: roles belong to the whole server, so the schema's name is in it. */
static const char *login(const char *name)
{
    return say("%s_%s_login", t_schema(), name);
}

static const char *url_of(const struct role *role)
{
    return url_with(database, say("user=%s", login(role->name)));
}

static ph_store *open_as(const char *name, bool deploy)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    opts.schema = t_schema();
    opts.deploy_schema = deploy;
    OK(t_try_open(url_with(database, say("user=%s", login(name))), &opts, &store));
    return store;
}

static void apply_roles(ph_store *store)
{
    char *sql = NULL;

    OK(ph_migrate_sql(store, true, &sql, &t_err));
    t_sql(super, sql);
    t_sql(super, sql); /* a second time changes nothing */
    ph_free(sql);
}

static void set_up(void)
{
    static const char *const with_role[] = { "producer", "worker", "reader" };
    ph_store *owner;

    database = t_fresh_database();
    super = a_connection(database);
    t_sql(super, say("CREATE ROLE %s LOGIN", login("owner")));
    t_sql(super, say("CREATE ROLE %s LOGIN", login("stranger")));
    t_sql(super, say("GRANT CREATE ON DATABASE %s TO %s", t_value(super, "SELECT current_database()"),
                     login("owner")));
    owner = open_as("owner", true);
    apply_roles(owner);
    for (size_t i = 0; i < 3; i++) {
        t_sql(super, say("CREATE ROLE %s LOGIN", login(with_role[i])));
        t_sql(super, say("GRANT %s_%s TO %s", t_schema(), with_role[i], login(with_role[i])));
    }
}

static void tear_down(void)
{
    static const char *const all[] = { "owner",    "producer", "worker", "reader",
                                       "stranger" };

    t_disconnect(super); /* before the stores, so that nothing of the test is cut off */
    super = a_connection(database);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        t_sql(super, say("DROP OWNED BY %s; DROP ROLE %s", login(all[i]), login(all[i])));
    for (size_t i = 1; i < 4; i++)
        t_sql(super, say("DROP OWNED BY %s_%s; DROP ROLE %s_%s", t_schema(), all[i], t_schema(), all[i]));
}

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
    PGresult *all = rows(say(
        "SELECT p.proname, format('SELECT %%s(%%s)', p.oid::regproc, (SELECT string_agg("
        "CASE t WHEN 'anyarray'::regtype THEN 'NULL::int[]' WHEN 'uuid'::regtype THEN 'gen_random_uuid()' "
        "ELSE 'NULL::' || format_type(t, NULL) END, ', ' ORDER BY i) "
        "FROM unnest(p.proargtypes) WITH ORDINALITY a(t, i))), "
        "has_function_privilege('%s', p.oid, 'EXECUTE') AND has_schema_privilege('%s', p.pronamespace, 'USAGE') "
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
    const char *const writes[] = { "INSERT INTO %1$s DEFAULT VALUES", "UPDATE %1$s SET %2$s = DEFAULT",
                                   "DELETE FROM %1$s", "TRUNCATE %1$s",
                                   "LOCK TABLE %1$s IN ACCESS EXCLUSIVE MODE",
                                   "SELECT * FROM %1$s FOR UPDATE", "COPY %1$s FROM STDIN" };
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
    PGresult *all = rows(say(
        "SELECT format('%%I.%%I', n.nspname, c.relname), c.relkind, a.attname, "
        "has_any_column_privilege('%s', c.oid, 'SELECT,INSERT,UPDATE,REFERENCES') OR "
        "has_table_privilege('%s', c.oid, 'SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER') "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = 1 "
        "WHERE n.nspname IN ('%s', '%s_test') AND c.relkind IN ('r', 'v', 'm', 'p', 'f') ORDER BY 1",
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
                             "AND relnamespace = '%s'::regnamespace", t_schema()));

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
        "CREATE TRIGGER t BEFORE INSERT ON {t}message EXECUTE FUNCTION suppress_redundant_updates_trigger()",
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
    struct ph__call call;
    ph_error spare;
    int64_t time = 0;
    int r;

    opts.schema = t_schema();
    OK(ph_open_lazy(url_of(role), &opts, &store, &t_err));
    r = ph__call_begin(&call, store, PH_OWN_TX, 0, &t_err, &spare);
    if (r == 0)
        r = store->backend->test_clock(&call, &time);
    REQ_INT("OBX-124", r, PH_EPERM);
    ph_close(store);
}

static void try_everything(const struct role *role)
{
    struct t_conn *conn = a_connection(url_of(role));
    ph_store *owner = open_as("owner", false);

    try_the_test_clock(role);
    t_clock_set(owner, T_EPOCH); /* which has a schema with functions */
    try_to_build(conn); /* before the rest, which also shows that no grant came of it */
    try_functions(role, conn);
    try_relations(role, conn);
    try_sequences(conn);
    ph_close(owner);
    t_disconnect(conn);
}

TEST(the_producer_can_do_nothing_else)
{
    set_up();
    try_everything(&producer);
    tear_down();
}

TEST(the_worker_can_do_nothing_else)
{
    set_up();
    try_everything(&worker);
    tear_down();
}

TEST(the_reader_can_do_nothing_else)
{
    set_up();
    try_everything(&reader);
    tear_down();
}

TEST(a_login_without_role_can_do_nothing)
{
    set_up();
    try_everything(&stranger);
    tear_down();
}

/* --------------------------------------------------------- through the library */

/* The error of a lacking right names the cure. */
static void denied(int status)
{
    if (status != PH_EPERM)
        printf("got %d: %s\n", status, t_err.message);
    REQ_INT("OBX-124", status, PH_EPERM);
    CHECK_STR(t_err.sqlstate, "42501");
    CHECK(strstr(t_err.message, "permission denied") != NULL);
    CHECK(strstr(t_err.message, "; grant the role what it needs: posthorn migrate sql --roles") != NULL);
}

static void operating_is_denied(ph_store *store)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    ph_work_id id = { { 1 } };

    settings.max_attempts = 3;
    denied(ph_outbox_queue_set(store, PH_OWN_TX, NULL, &settings, 0, &t_err));
    denied(ph_outbox_queue_pause(store, PH_OWN_TX, NULL, 0, &t_err));
    denied(ph_outbox_queue_resume(store, PH_OWN_TX, NULL, 0, &t_err));
    denied(ph_dead_retry(store, PH_OWN_TX, &id, 1, 0, NULL, &t_err));
    denied(ph_dead_discard(store, PH_OWN_TX, &id, 1, 0, NULL, &t_err));
    denied(ph_retention_run(store, PH_OWN_TX, 0, 0, NULL, &t_err));
    denied(ph_migrate(store, 0, NULL, &t_err));
    denied(ph_schema_inspect(store, 0, &status, &t_err));
}

static void looking_is_denied(ph_store *store)
{
    ph_outbox_counts counts = PH_OUTBOX_COUNTS_INIT;
    ph_message_info *info = NULL;
    ph_work_id id = { { 1 } };

    denied(ph_outbox_find(store, PH_OWN_TX, id, 0, &info, &t_err));
    denied(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
}

static void working_is_denied(ph_store *store)
{
    ph_lease_ref ref = { { { 1 } }, 0, 0, 0 };
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;

    denied(ph_outbox_claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &t_err));
    denied(ph_outbox_ack(store, PH_OWN_TX, owner, &ref, 1, 0, NULL, &t_err));
    denied(ph_outbox_renew(store, PH_OWN_TX, owner, &ref, 1, 0, 0, NULL, &t_err));
    denied(ph_outbox_reap_expired(store, PH_OWN_TX, 0, NULL, &t_err));
}

TEST(the_producer_enqueues)
{
    ph_message m[2] = { PH_MESSAGE_INIT, PH_MESSAGE_INIT };
    struct t_conn *conn;
    ph_batch *batch = NULL;
    ph_store *store;

    set_up();
    store = open_as("producer", false);
    m[0].topic = m[1].topic = "t";
    m[0].payload = m[1].payload = "p";
    m[1].ns = "a namespace that is new";
    m[1].dedupe_key = "k";
    OK(ph_enqueue(store, PH_OWN_TX, &m[0], 0, NULL, &t_err));
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 2, 0, NULL, &t_err));
    OK(ph_enqueue(store, PH_OWN_TX, &m[1], 0, NULL, &t_err));
    CHECK(t_clock(store) > T_EPOCH);

    conn = a_connection(url_of(&producer));
    t_begin(conn);
    t_sql(conn, "SELECT {t}enqueue('t', 'p', dedupe_key => 'k')");
    t_sql(conn, "SELECT {t}enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\"}]')");
    OK(ph_enqueue(store, t_tx(conn), &m[0], 0, NULL, &t_err));
    t_commit(conn);
    CHECK_INT(t_number(super, "SELECT count(*) FROM {t}outbox"), 6);

    working_is_denied(store);
    looking_is_denied(store);
    operating_is_denied(store);
    t_begin(conn);
    denied(ph_outbox_claim(store, t_tx(conn), ph_owner_new(), NULL, 0, &batch, &t_err));
    CHECK(t_err.flags & PH_TX_DEAD);
    t_rollback(conn);
    t_disconnect(conn);
    ph_close(store);
    tear_down();
}

/* The functions beneath take checked arguments. Called directly, they must not
 * let a message into another door or another queue's lane. */
TEST(the_producer_cannot_smuggle)
{
    static const char *const attempts[] = {
        "work_enqueue(1::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, 1::smallint, NULL, NULL, NULL, NULL, NULL)",
        "work_enqueue(NULL, '', 't', 'p', NULL, NULL, NULL, NULL, 1::smallint, NULL, NULL, NULL, NULL, NULL)",
        "work_enqueue(0::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, 4::smallint, NULL, NULL, NULL, NULL, NULL)",
        "work_enqueue(0::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, -1::smallint, NULL, NULL, NULL, NULL, NULL)",
        "work_enqueue_many(1::smallint, '{\"\"}', '{t}', '{p}', NULL, NULL, NULL, NULL, '{1}', NULL, NULL, NULL, "
        "NULL, NULL)",
        "work_enqueue_many(0::smallint, '{\"\"}', '{t}', '{p}', NULL, NULL, NULL, NULL, '{5}', NULL, NULL, NULL, "
        "NULL, NULL)",
    };
    struct t_conn *conn;

    set_up();
    conn = a_connection(url_of(&producer));
    for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
        if (t_try_sql(conn, say("SELECT {t}%s", attempts[i])))
            printf("%s\n", attempts[i]);
        CHECK_INT(t_number(super, "SELECT count(*) FROM {t}message"), 0);
        CHECK_INT(t_number(super, "SELECT count(*) FROM {t}queue"), 1);
    }
    t_disconnect(conn);
    tear_down();
}

TEST(the_worker_works)
{
    ph_owner owner = ph_owner_new();
    ph_message m = PH_MESSAGE_INIT;
    ph_lease_ref refs[5];
    ph_batch *batch = NULL;
    ph_store *store;

    set_up();
    store = open_as("worker", false);
    m.topic = "t";
    m.payload = "p";
    for (int i = 0; i < 5; i++)
        OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    batch = t_claim(store, owner, 5);
    REQ_INT("OBX-123", ph_batch_count(batch), 5);
    for (size_t i = 0; i < 5; i++)
        refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    ph_batch_free(batch);
    OK(ph_outbox_renew(store, PH_OWN_TX, owner, refs, 5, 60, 0, NULL, &t_err));
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, 1, 0, NULL, &t_err));
    OK(ph_outbox_abandon(store, PH_OWN_TX, owner, refs + 1, 1, "e", PH_DELAY_POLICY, 0, NULL, &t_err));
    OK(ph_outbox_fail(store, PH_OWN_TX, owner, refs + 2, 1, "e", 0, NULL, &t_err));
    OK(ph_outbox_release(store, PH_OWN_TX, owner, refs + 3, 1, 0, NULL, &t_err));
    OK(ph_outbox_reap_expired(store, PH_OWN_TX, 0, NULL, &t_err));
    REQ_STR("OBX-123", t_value(super, "SELECT string_agg(status, ' ' ORDER BY status) FROM {t}outbox"),
            "done failed in_progress ready ready");
    looking_is_denied(store);
    operating_is_denied(store);
    ph_close(store);
    tear_down();
}

TEST(the_reader_reads)
{
    ph_outbox_counts counts = PH_OUTBOX_COUNTS_INIT;
    ph_message m = PH_MESSAGE_INIT;
    ph_message_info *info = NULL;
    ph_store *work, *store;
    ph_owner owner = ph_owner_new();
    ph_enqueued ids[3];
    ph_lease_ref refs[2];
    ph_batch *batch;
    struct t_conn *conn;

    set_up();
    work = open_as("worker", false);
    store = open_as("reader", false);
    m.topic = "t";
    m.payload = "p";
    for (int i = 0; i < 3; i++)
        OK(ph_enqueue(work, PH_OWN_TX, &m, 0, &ids[i], &t_err));
    batch = t_claim(work, owner, 2);
    refs[0] = ph_lease_ref_of(ph_batch_at(batch, 0));
    refs[1] = ph_lease_ref_of(ph_batch_at(batch, 1));
    ph_batch_free(batch);
    OK(ph_outbox_ack(work, PH_OWN_TX, owner, refs, 1, 0, NULL, &t_err));
    OK(ph_outbox_fail(work, PH_OWN_TX, owner, refs + 1, 1, "e", 0, NULL, &t_err));

    for (int i = 0; i < 3; i++) {
        OK(ph_outbox_find(store, PH_OWN_TX, ids[i].work_id, 0, &info, &t_err));
        ph_message_info_free(info);
    }
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    CHECK_INT(counts.ready + counts.dead, 2);
    conn = a_connection(url_of(&reader));
    CHECK_STR(t_value(conn, "SELECT string_agg(status, ' ' ORDER BY status) FROM {t}outbox"),
              "done failed ready");
    CHECK_STR(t_value(conn, "SELECT reason FROM {t}dead_letters"), "failed");
    CHECK_STR(t_value(conn, "SELECT door FROM {t}queues"), "outbox");

    denied(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    working_is_denied(store);
    operating_is_denied(store);
    t_disconnect(conn);
    ph_close(work);
    ph_close(store);
    tear_down();
}

/* ----------------------------------------------------------------- hostile names */

/* Or has a body whose names were bound when it was made. */
TEST(every_function_pins_its_search_path)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    CHECK_STR(t_value(conn, say("SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc p "
                                "WHERE p.pronamespace IN ('{schema}'::regnamespace, '%s_test'::regnamespace) "
                                "AND p.prosqlbody IS NULL AND NOT EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c IN "
                                "('search_path=%s, pg_temp'))", t_schema(), t_schema())), "");
    CHECK_STR(t_value(conn, "SELECT string_agg(oid::regprocedure::text, ', ') FROM pg_proc "
                            "WHERE pronamespace = '{schema}'::regnamespace "
                            "AND has_function_privilege('public', oid, 'EXECUTE')"), "");
}

/* Tables, sequences, functions and operators of the names that ours use, in
 * front of everything on the caller's path. */
static void lay_traps(struct t_conn *conn, const char *where)
{
    static const char *const tables[] = { "store", "queue", "message", "pending", "lease",      "done",
                                          "dead",  "hint",  "dedupe",  "fence",   "attempt_log" };
    static const char *const traps[] = {
        "%s.clock() RETURNS timestamptz", "%s.clock_timestamp() RETURNS timestamptz",
        "%s.id_new(smallint) RETURNS uuid", "%s.queue_get(smallint, text) RETURNS int",
        "%s.hashtext(text) RETURNS int", "%s.nextval(regclass) RETURNS bigint",
        "%s.random() RETURNS float8", "%s.octet_length(text) RETURNS int",
        "%s.message_problem(text, text, text, uuid, text, text, text, int, timestamptz, timestamptz, jsonb, "
        "int, uuid) RETURNS text",
        "%s.trap(int, smallint) RETURNS boolean", "%s.trap(text, text) RETURNS boolean",
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        t_sql(conn, say("CREATE TABLE %s.%s (id int)", where, tables[i]));
    t_sql(conn, say("CREATE SEQUENCE %s.message_number", where));
    for (size_t i = 0; i < sizeof(traps) / sizeof(*traps); i++) {
        char name[300];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(name, sizeof(name), traps[i], where);
#pragma GCC diagnostic pop
        t_sql(conn, say("CREATE FUNCTION %s LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$",
                        name));
    }
    t_sql(conn, say("CREATE OPERATOR %s.= (FUNCTION = %s.trap, LEFTARG = int, RIGHTARG = smallint)", where,
                    where));
    t_sql(conn, say("CREATE OPERATOR %s.<> (FUNCTION = %s.trap, LEFTARG = text, RIGHTARG = text)", where,
                    where));
}

static void walk_past_traps(const struct role *role, bool temp)
{
    struct t_conn *conn = a_connection(url_of(role));
    const char *where = temp ? "pg_temp" : "traps";

    lay_traps(conn, where);
    t_sql(conn, say("SET search_path = %s, pg_catalog, {schema}", where));
    t_sql(conn, "SELECT {t}enqueue('t', 'p', dedupe_key => gen_random_uuid()::text)");
    t_sql(conn, "SELECT {t}enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\"}]')");
    if (role == &worker)
        t_sql(conn, "SELECT {t}outbox_ack(w.owner, ARRAY[c.work_id], ARRAY[c.fence]) "
                    "FROM (SELECT '11111111-1111-4111-8111-111111111111'::uuid AS owner) w, "
                    "LATERAL {t}outbox_claim(w.owner, 30, 10) c");
    t_sql(conn, "SET search_path = pg_catalog");
    CHECK_INT(t_number(conn, say("SELECT (SELECT count(*) FROM %s.message) + (SELECT count(*) FROM %s.pending) + "
                                 "(SELECT count(*) FROM %s.dedupe)", where, where, where)), 0);
    t_disconnect(conn);
}

TEST(hostile_names_are_not_used)
{
    const struct role *const roles[] = { &producer, &worker };

    set_up();
    for (size_t i = 0; i < 2; i++) {
        t_sql(super, say("CREATE SCHEMA traps AUTHORIZATION %s", login(roles[i]->name)));
        walk_past_traps(roles[i], true);
        walk_past_traps(roles[i], false);
        t_sql(super, "SET client_min_messages = warning; DROP SCHEMA traps CASCADE");
        CHECK_INT(t_number(super, "SELECT count(*) FROM {t}message"), 4 * (int)(i + 1));
    }
    CHECK_INT(t_number(super, "SELECT count(*) FROM {t}outbox WHERE status = 'ready'"), 0);
    tear_down();
}

/* A schema may be shared: what is not ours keeps its rights. */
TEST(functions_of_others_keep_their_rights)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    const char *url = t_fresh_database();
    struct t_conn *conn = a_connection(url);
    ph_store *store = NULL;

    t_sql(conn, "CREATE FUNCTION public.theirs() RETURNS int LANGUAGE sql AS 'SELECT 1'");
    t_sql(conn, "CREATE FUNCTION public.ph_theirs() RETURNS int LANGUAGE sql AS 'SELECT 1'");
    opts.schema = "public";
    opts.table_prefix = "ph_";
    opts.deploy_schema = true;
    OK(t_try_open(url, &opts, &store));
    CHECK_STR(t_value(conn, "SELECT has_function_privilege('public', 'public.theirs()', 'EXECUTE') AND "
                            "has_function_privilege('public', 'public.ph_theirs()', 'EXECUTE')"), "t");
    CHECK_STR(t_value(conn, "SELECT has_function_privilege('public', 'public.ph_clock()', 'EXECUTE')"), "f");
}
