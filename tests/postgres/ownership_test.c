/* ownership_test.c - functions run with the rights of whoever migrates: so a migration refuses a
 * schema into which somebody else can put objects, and shows the statement that cures it. */
#include "roles.h"

#include <libpq-fe.h>

static const char *database, *me;

/* Each test has a server-wide set of roles of its own, and a schema that the superuser makes. */
static void set_up(const char *owner)
{
    database = t_fresh_database();
    super = a_connection(database);
    me = t_value(super, "SELECT quote_ident(current_user)");
    t_sql(super, say("CREATE ROLE %s LOGIN", login("owner")));
    t_sql(super, say("CREATE ROLE %s LOGIN", login("other")));
    t_sql(super, say("CREATE SCHEMA {schema} AUTHORIZATION %s", owner));
}

static void tear_down(void)
{
    t_sql(super, say("DROP OWNED BY %s, %s CASCADE", login("owner"), login("other")));
    t_sql(super, say("DROP ROLE %s, %s", login("owner"), login("other")));
}

static int migrate_into(const char *schema, const char *user)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    int r;

    opts.schema = schema;
    opts.deploy_schema = true;
    r = t_try_open(user ? url_with(database, say("user=%s", user)) : database, &opts, &store);
    ph_close(store);
    return r;
}

/* Refused with these words, of which the last are the statement that cures it. */
static void refused_with(const char *user, const char *what, const char *cure)
{
    int r = migrate_into(t_schema(), user);

    if (r != PH_EPERM || !strstr(t_err.message, what) || !strstr(t_err.message, cure))
        printf("%d %s\n", r, t_err.message);
    CHECK_INT(r, PH_EPERM);
    CHECK(strstr(t_err.message, what) != NULL);
    CHECK_STR(strstr(t_err.message, cure), cure);
    CHECK_INT(
        t_number(super,
                 "SELECT count(*) FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace"),
        0);
}

TEST(a_superuser_does_not_migrate_into_the_schema_of_another)
{
    const char *cure;

    set_up(login("owner"));
    cure = say("ALTER SCHEMA \"%s\" OWNER TO %s", t_schema(), me);
    refused_with(NULL, say("belongs to %s, who could replace our functions", login("owner")), cure);
    t_sql(super, cure);
    OK(migrate_into(t_schema(), NULL));
    tear_down();
}

/* It could drop and replace what the member has made. */
TEST(a_member_of_the_owning_role_migrates_as_that_role)
{
    const char *as_owner;

    set_up(login("owner"));
    t_sql(super, say("GRANT %s TO %s", login("owner"), login("other")));
    refused_with(login("other"), "migrate as that role",
                 say("ALTER SCHEMA \"%s\" OWNER TO %s", t_schema(), login("other")));
    as_owner =
        url_with(database, say("user=%s&options=-crole%%3D%s", login("other"), login("owner")));
    database = as_owner;
    OK(migrate_into(t_schema(), NULL));
    tear_down();
}

TEST(nobody_else_may_create_in_the_schema)
{
    set_up(login("owner"));
    t_sql(super, "GRANT CREATE ON SCHEMA {schema} TO PUBLIC");
    refused_with(login("owner"), "others may create in schema",
                 say("REVOKE CREATE ON SCHEMA \"%s\" FROM PUBLIC", t_schema()));
    t_sql(super, "REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC");
    t_sql(super, say("GRANT CREATE ON SCHEMA {schema} TO %s", login("other")));
    refused_with(login("owner"), "others may create in schema",
                 say("REVOKE CREATE ON SCHEMA \"%s\" FROM %s", t_schema(), login("other")));
    t_sql(super, say("REVOKE CREATE ON SCHEMA {schema} FROM %s", login("other")));
    OK(migrate_into(t_schema(), login("owner")));
    tear_down();
}

/* A right that was passed on goes with the one it came from. */
TEST(the_cure_for_a_right_that_was_passed_on_works)
{
    const char *cure;

    set_up(login("owner"));
    t_sql(super, say("GRANT CREATE ON SCHEMA {schema} TO %s WITH GRANT OPTION", login("other")));
    t_sql(super, say("SET ROLE %s; GRANT CREATE ON SCHEMA {schema} TO PUBLIC; RESET ROLE",
                     login("other")));
    cure =
        say("REVOKE CREATE ON SCHEMA \"%s\" FROM PUBLIC, %s CASCADE", t_schema(), login("other"));
    refused_with(login("owner"), "others may create in schema", cure);
    t_sql(super, say("SET ROLE %s", login("owner")));
    t_sql(super, cure);
    t_sql(super, "RESET ROLE");
    OK(migrate_into(t_schema(), login("owner")));
    tear_down();
}

/* They can do what the owner can, whatever the schema says. */
TEST(superusers_and_members_of_the_owner_may_create)
{
    set_up(login("owner"));
    t_sql(super, say("GRANT %s TO %s", login("owner"), login("other")));
    t_sql(super, say("GRANT CREATE ON SCHEMA {schema} TO %s, %s", login("other"), me));
    OK(migrate_into(t_schema(), login("owner")));
    tear_down();
}

/* Since PostgreSQL 15 "public" belongs to whoever owns the database. */
TEST(the_owner_of_the_database_owns_what_is_pg_database_owners)
{
    set_up("CURRENT_USER");
    OK(migrate_into("public", NULL));
    t_sql(super, say("ALTER DATABASE %s OWNER TO %s",
                     t_value(super, "SELECT quote_ident(current_database())"), login("owner")));
    CHECK_INT(migrate_into("public", NULL), PH_EPERM);
    CHECK(strstr(t_err.message, say("schema public belongs to %s", login("owner"))) != NULL);
    t_sql(super,
          "SET client_min_messages = warning; ALTER SCHEMA {schema} OWNER TO pg_database_owner");
    OK(migrate_into(t_schema(), login("owner")));
    t_sql(super, say("ALTER DATABASE %s OWNER TO CURRENT_USER",
                     t_value(super, "SELECT quote_ident(current_database())")));
    tear_down();
}

/* The next migration is refused for this reason, with this cure, and then no longer. */
static void cured_by(const char *cure, const char *reason)
{
    CHECK_INT(migrate_into(t_schema(), NULL), PH_EPERM);
    CHECK_STR(t_err.message, say("%s; run %s", reason, cure));
    t_sql(super, cure);
    OK(migrate_into(t_schema(), NULL));
}

/* Somebody who could create in the schema, as long as he could. */
static void left_by_other(const char *sql)
{
    t_sql(super, say("GRANT CREATE, USAGE ON SCHEMA {schema} TO %s; SET ROLE %s", login("other"),
                     login("other")));
    t_sql(super, sql);
    t_sql(super, say("RESET ROLE; REVOKE ALL ON SCHEMA {schema} FROM %s CASCADE", login("other")));
}

static const char *of_other(const char *more)
{
    return say("schema %s has a function or operator of %s%s, which could be called in place of "
               "ours",
               t_schema(), login("other"), more);
}

/* Of the functions of one name that fits best is called, with the rights that ours have. */
TEST(what_another_has_left_in_the_schema_does_not_run_in_place_of_ours)
{
    set_up("CURRENT_USER");
    t_sql(super, "CREATE TABLE loot (who name)");
    left_by_other("CREATE FUNCTION {schema}.for_item(text[], int) RETURNS text LANGUAGE plpgsql AS "
                  "'BEGIN INSERT INTO public.loot VALUES (current_user); RETURN $1[1]; END'");
    cured_by(say("DROP ROUTINE %s.for_item(text[],integer)", t_schema()), of_other(""));
    t_sql(super, "SELECT {schema}.enqueue('t', 'p'); SELECT {schema}.outbox_abandon("
                 "'11111111-1111-4111-8111-111111111111', ARRAY(SELECT work_id FROM "
                 "{schema}.outbox_claim('11111111-1111-4111-8111-111111111111', 30, 1)), 'why')");
    CHECK_INT(t_number(super, "SELECT count(*) FROM loot"), 0);
    /* also when the migration has nothing to do, and whatever its name is */
    left_by_other("CREATE PROCEDURE {schema}.\"his Own\"(x int) LANGUAGE sql AS ''");
    cured_by(say("DROP ROUTINE %s.\"his Own\"(integer)", t_schema()), of_other(""));
    left_by_other("CREATE FUNCTION {schema}.same(int, text) RETURNS boolean LANGUAGE sql AS "
                  "'SELECT true'; CREATE OPERATOR {schema}.= (FUNCTION = {schema}.same, "
                  "LEFTARG = int, RIGHTARG = text)");
    CHECK_INT(migrate_into(t_schema(), NULL), PH_EPERM);
    CHECK_STR(t_err.message, say("%s; run DROP OPERATOR %s.=(integer,text)",
                                 of_other(" (and 1 more)"), t_schema()));
    t_sql(super, "DROP OPERATOR {schema}.=(integer,text)");
    cured_by(say("DROP ROUTINE %s.same(integer,text)", t_schema()), of_other(""));
    tear_down();
}

/* The owner's own could be called as well, or one of an earlier version. */
TEST(the_names_of_our_functions_are_ours)
{
    set_up("CURRENT_USER");
    t_sql(super, "CREATE FUNCTION {schema}.for_item(text[], int) RETURNS text LANGUAGE sql AS "
                 "'SELECT 1'; CREATE FUNCTION {schema}.my_own() RETURNS int LANGUAGE sql AS "
                 "'SELECT 1'");
    cured_by(say("DROP ROUTINE %s.for_item(text[],integer)", t_schema()),
             say("%s.for_item(text[],integer) has the name of a function of ours, which could call "
                 "it",
                 t_schema()));
    CHECK_INT(t_number(super, "SELECT {schema}.my_own()"), 1);
    tear_down();
}

/* Replacing a function leaves it to its owner: who could change it again. */
TEST(what_another_has_left_in_the_schema_is_not_taken_over)
{
    set_up("CURRENT_USER");
    t_sql(super, say("GRANT CREATE, USAGE ON SCHEMA {schema} TO %s", login("other")));
    t_sql(super,
          say("SET ROLE %s; CREATE FUNCTION {schema}.clock() RETURNS timestamptz LANGUAGE sql "
              "AS 'SELECT now()'; RESET ROLE; REVOKE CREATE ON SCHEMA {schema} FROM %s",
              login("other"), login("other")));
    cured_by(say("DROP ROUTINE %s.clock()", t_schema()), of_other(""));
    t_sql(super, say("ALTER TABLE {schema}.store OWNER TO %s", login("other")));
    CHECK_INT(migrate_into(t_schema(), NULL), PH_EPERM);
    CHECK(strstr(t_err.message,
                 say("the tables in schema %s belong to %s", t_schema(), login("other"))) != NULL);
    tear_down();
}

static const char *finding(ph_store *store, const char *check)
{
    ph_report *report = NULL;
    const char *text = "";

    OK(ph_doctor(store, NULL, 0, &report, &t_err));
    for (size_t i = 0; i < ph_report_count(report); i++) {
        const ph_finding *f = ph_report_at(report, i);

        if (strcmp(f->check, check) == 0)
            text = say("%s%s%d: %s", text, *text ? "; " : "", (int)f->level, f->text);
    }
    ph_report_free(report);
    return text;
}

TEST(the_doctor_sees_who_could_change_the_functions)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    set_up(login("owner"));
    opts.schema = t_schema();
    opts.deploy_schema = true;
    OK(t_try_open(url_with(database, say("user=%s", login("owner"))), &opts, &store));
    CHECK_STR(finding(store, "ownership"),
              say("0: the schema belongs to %s, and nobody else may create in it", login("owner")));
    t_sql(super, "GRANT CREATE ON SCHEMA {schema} TO PUBLIC");
    CHECK_STR(
        finding(store, "ownership"),
        say("3: in schema %s, whose functions run with the rights of %s, others may create: PUBLIC",
            t_schema(), login("owner")));
    t_sql(super, "REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC");
    left_by_other("CREATE FUNCTION {schema}.for_item(text[], int) RETURNS text LANGUAGE sql AS "
                  "'SELECT 1'");
    CHECK_STR(finding(store, "ownership"),
              say("3: in schema %s, whose functions run with the rights of %s, others have left "
                  "functions or operators that may be called in place of ours: ROUTINE "
                  "%s.for_item(text[],integer)",
                  t_schema(), login("owner"), t_schema()));
    t_sql(super,
          say("DROP ROUTINE {schema}.for_item(text[], int); ALTER SCHEMA {schema} OWNER TO %s; "
              "GRANT USAGE ON SCHEMA {schema} TO %s",
              login("other"), login("owner")));
    CHECK_STR(
        finding(store, "ownership"),
        say("3: schema %s belongs to %s, who can replace functions that run with the rights of %s",
            t_schema(), login("other"), login("owner")));
    CHECK_STR(finding(store, "tls"), "0: not needed on a Unix socket");
    ph_close(store);
    tear_down();
}

TEST(the_doctor_sees_a_server_that_is_not_verified)
{
    static const struct {
        const char *mode, *finding;
    } cases[] = {
        { "verify-full", "0: the connection is encrypted, and the server verified" },
        { "require",
          "1: the connection is encrypted, but the server's name is not verified; with "
          "sslmode=require an attacker on the network can pose as the server (the server is on "
          "this machine)" },
        { "verify-ca",
          "1: the connection is encrypted, but the server's name is not verified; with "
          "sslmode=verify-ca an attacker on the network can pose as the server (the server is "
          "on this machine)" },
    };
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    if (!t_tcp_url())
        t_skip("there is no server with TLS; ./test starts one");
    opts.schema = t_schema();
    opts.deploy_schema = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ph_store *store = NULL;

        OK(t_try_open(url_with(t_tcp_url(), say("sslmode=%s", cases[i].mode)), &opts, &store));
        REQ_STR("OBX-126", finding(store, "tls"), cases[i].finding);
        ph_close(store);
    }
}
