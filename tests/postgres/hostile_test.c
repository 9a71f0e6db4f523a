/* hostile_test.c - functions that run with the owner's rights use nothing that
 * the caller has put in their way. */
#include "roles.h"

/* Or has a body whose names were bound when it was made. Not even our own schema is on the path. */
TEST(every_function_sees_nothing_but_the_catalogue)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    CHECK_STR(
        t_value(conn,
                say("SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc p "
                    "WHERE p.pronamespace IN ('{schema}'::regnamespace, '%s_test'::regnamespace) "
                    "AND p.prosqlbody IS NULL AND NOT EXISTS (SELECT FROM unnest(p.proconfig) c "
                    "WHERE c = 'search_path=pg_catalog, pg_temp')",
                    t_schema())),
        "");
    CHECK_STR(t_value(conn, "SELECT string_agg(oid::regprocedure::text, ', ') FROM pg_proc "
                            "WHERE pronamespace = '{schema}'::regnamespace "
                            "AND has_function_privilege('public', oid, 'EXECUTE')"),
              "");
}

/* Tables, sequences, functions and operators of the names that ours use, in
 * front of everything on the caller's path. */
static void lay_traps(struct t_conn *conn, const char *where)
{
    static const char *const tables[] = { "store",  "queue", "message",    "pending",
                                          "lease",  "done",  "dead",       "hint",
                                          "dedupe", "fence", "attempt_log" };
    static const char *const traps[] = {
        "%s.clock() RETURNS timestamptz",
        "%s.clock_timestamp() RETURNS timestamptz",
        "%s.id_new(smallint) RETURNS uuid",
        "%s.queue_get(smallint, text) RETURNS int",
        "%s.hashtext(text) RETURNS int",
        "%s.nextval(regclass) RETURNS bigint",
        "%s.random() RETURNS float8",
        "%s.octet_length(text) RETURNS int",
        "%s.message_problem(text, text, text, uuid, text, text, text, int, timestamptz, "
        "timestamptz, jsonb, "
        "int, uuid) RETURNS text",
        "%s.trap(int, smallint) RETURNS boolean",
        "%s.trap(text, text) RETURNS boolean",
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
        t_sql(
            conn,
            say("CREATE FUNCTION %s LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$",
                name));
    }
    t_sql(conn, say("CREATE OPERATOR %s.= (FUNCTION = %s.trap, LEFTARG = int, RIGHTARG = smallint)",
                    where, where));
    t_sql(conn, say("CREATE OPERATOR %s.<> (FUNCTION = %s.trap, LEFTARG = text, RIGHTARG = text)",
                    where, where));
}

static void walk_past_traps(const struct role *role, bool temp)
{
    struct t_conn *conn = a_connection(url_as(role));
    const char *where = temp ? "pg_temp" : "traps";

    lay_traps(conn, where);
    if (!temp) /* or the owner, in whose name the functions run, would not even see it */
        t_sql(conn, "GRANT USAGE ON SCHEMA traps TO PUBLIC");
    t_sql(conn, say("SET search_path = %s, pg_catalog, {schema}", where));
    t_sql(conn, "SELECT {t}enqueue('t', 'p', dedupe_key => gen_random_uuid()::text)");
    t_sql(conn, "SELECT {t}enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\"}]')");
    if (role == &worker)
        t_sql(conn, "SELECT {t}outbox_ack(w.owner, ARRAY[c.work_id], ARRAY[c.fence]) "
                    "FROM (SELECT '11111111-1111-4111-8111-111111111111'::uuid AS owner) w, "
                    "LATERAL {t}outbox_claim(w.owner, 30, 10) c");
    t_sql(conn, "SET search_path = pg_catalog");
    CHECK_INT(
        t_number(
            conn,
            say("SELECT (SELECT count(*) FROM %s.message) + (SELECT count(*) FROM %s.pending) + "
                "(SELECT count(*) FROM %s.dedupe)",
                where, where, where)),
        0);
    t_disconnect(conn);
}

TEST(hostile_names_are_not_used)
{
    const struct role *const roles[] = { &producer, &worker };

    roles_set_up();
    for (size_t i = 0; i < 2; i++) {
        t_sql(super, say("CREATE SCHEMA traps AUTHORIZATION %s", login(roles[i]->name)));
        walk_past_traps(roles[i], true);
        walk_past_traps(roles[i], false);
        t_sql(super, "SET client_min_messages = warning; DROP SCHEMA traps CASCADE");
        CHECK_INT(t_number(super, "SELECT count(*) FROM {t}message"), 4 * (int)(i + 1));
    }
    CHECK_INT(t_number(super, "SELECT count(*) FROM {t}outbox WHERE status = 'ready'"), 0);
    roles_tear_down();
}

/* What fits the calls in our functions better than PostgreSQL's own: those take any, or convert. */
static void lay_better_matches(struct t_conn *conn)
{
    static const char *const traps[] = {
        "format(text, integer) RETURNS text",
        "format(text, text) RETURNS text",
        "format(text, text, text) RETURNS text",
        "format(text, bigint, integer) RETURNS text",
        "concat(text, integer) RETURNS text",
        "jsonb_build_object(text, text, text, text) RETURNS jsonb",
        "cardinality(uuid[]) RETURNS int",
        "unnest(uuid[]) RETURNS SETOF uuid",
        "array_agg(uuid) RETURNS uuid[]",
        "array_position(int[], int) RETURNS int",
        "int8send(integer) RETURNS bytea",
        "hashtextextended(text, integer) RETURNS bigint",
        "char_length(varchar) RETURNS int",
        "trap(text, integer) RETURNS text",
        "trap(smallint, boolean) RETURNS text",
    };

    for (size_t i = 0; i < sizeof(traps) / sizeof(*traps); i++)
        t_sql(conn, say("CREATE FUNCTION {schema}.%s LANGUAGE plpgsql AS "
                        "$$ BEGIN RAISE EXCEPTION 'trapped'; END $$",
                        traps[i]));
    t_sql(conn, "CREATE OPERATOR {schema}.|| (FUNCTION = {schema}.trap, LEFTARG = text, "
                "RIGHTARG = integer)");
}

/* Whatever came into the schema before it was closed. */
TEST(a_better_match_in_our_own_schema_is_not_called)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();

    lay_better_matches(conn);
    CHECK(!t_try_sql(conn, "SELECT {t}enqueue('t', 'p', priority => 7)"));
    CHECK(strstr(t_sql_error(conn), "enqueue: priority is 7; give 0 (urgent) to 3 (bulk)") != NULL);
    t_sql(conn, "SELECT {t}enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\"}]')");
    t_sql(conn, "SELECT {t}job_set('j', 't', '* * * * *')");
    t_sql(conn, "SELECT {t}job_trigger('j')");
    t_sql(conn, "SELECT * FROM {t}process_work_batch(gen_random_uuid(), 's', 'h', 1, "
                "new_outbox_messages => "
                "'[{\"topic\": \"t\", \"payload\": \"p\"}]')");
    t_enqueue(store, "t", "p");
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, 10)), 1);
    t_sql(conn, "SELECT * FROM {t}work_list(0::smallint, '', NULL, 0, false, 10, NULL, false)");
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
    CHECK_STR(t_value(conn,
                      "SELECT has_function_privilege('public', 'public.theirs()', 'EXECUTE') AND "
                      "has_function_privilege('public', 'public.ph_theirs()', 'EXECUTE')"),
              "t");
    CHECK_STR(
        t_value(conn, "SELECT has_function_privilege('public', 'public.ph_clock()', 'EXECUTE')"),
        "f");
}
