/* handler_tx_test.c - what a handler can do to a PostgreSQL connection, and what is left of it. */
#include "seam.h"

#include <stdlib.h>

/* The handler's statement; must succeed. */
static void run(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        printf("%s: %s", sql, PQresultErrorMessage(result));
    CHECK(PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK);
    PQclear(result);
}

static const char *ask(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    const char *answer;

    CHECK_INT(PQntuples(result), 1);
    answer = say("%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return answer;
}

static const char *insert(void)
{
    return say("INSERT INTO \"%s\".effect VALUES (1)", t_schema());
}

static ph_store *a_store(struct t_conn **ret_conn)
{
    ph_store *store = t_open(NULL);

    *ret_conn = t_connect();
    t_sql(*ret_conn, "CREATE TABLE {schema}.effect (n integer)");
    return store;
}

static long long effects(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(*) FROM {schema}.effect");
}

/* After whatever happened, the store works, and so does the next handler. */
static void goes_on(ph_store *store, struct t_conn *conn)
{
    ph_owner owner = ph_owner_new();
    long long before = effects(conn);

    t_enqueue(store, "t", "p");
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, 10)), 1);
    run(seam_begin(store), insert());
    OK(seam_end(store, true));
    CHECK_INT(effects(conn), before + 1);
}

TEST(unread_results_are_read)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);
    PGconn *lent = seam_begin(store);

    CHECK(PQsendQuery(lent, say("%s; SELECT generate_series(1, 100000)", insert())));
    OK(seam_end(store, true));
    CHECK_INT(effects(conn), 1);
    lent = seam_begin(store);
    CHECK(PQsendQuery(lent, "SELECT 1; SELECT 1 / 0"));
    CHECK_INT(seam_end(store, true), PH_ETXDEAD);
    goes_on(store, conn);
}

TEST(a_copy_or_a_pipeline_left_open_is_no_success)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);
    PGconn *lent = seam_begin(store);

    PQclear(PQexec(lent, say("COPY \"%s\".effect FROM STDIN", t_schema())));
    CHECK_INT(seam_end(store, true), PH_ETXDEAD);
    goes_on(store, conn);
    lent = seam_begin(store);
    CHECK(PQsendQuery(lent, "COPY (SELECT generate_series(1, 100000)) TO STDOUT"));
    CHECK_INT(seam_end(store, true), PH_ETXDEAD);
    goes_on(store, conn);
    lent = seam_begin(store);
    CHECK(PQenterPipelineMode(lent));
    CHECK(PQsendQueryParams(lent, insert(), 0, NULL, NULL, NULL, NULL, 0));
    CHECK_INT(seam_end(store, true), PH_ETXDEAD);
    lent = seam_begin(store);
    CHECK(PQenterPipelineMode(lent));
    OK(seam_end(store, false));
    goes_on(store, conn);
    CHECK_INT(effects(conn), 3);
}

/* Nothing of it is there for the next one, on the same connection. */
TEST(settings_locks_and_tables_of_a_handler_go)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);
    PGconn *lent = seam_begin(store);
    int pid = PQbackendPID(lent);

    run(lent, "SET statement_timeout = 1234; SET search_path = pg_catalog; SET ROLE pg_monitor; "
              "SET client_encoding = LATIN1; CREATE TEMP TABLE scratch (n int); "
              "DECLARE kept CURSOR WITH HOLD FOR SELECT 1; SELECT pg_advisory_lock(4711); "
              "LISTEN something; SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY");
    PQsetErrorVerbosity(lent, PQERRORS_VERBOSE);
    OK(seam_end(store, true));
    lent = seam_begin(store);
    CHECK_INT(PQbackendPID(lent), pid);
    CHECK_STR(ask(lent, "SHOW statement_timeout"), "0");
    CHECK_STR(ask(lent, "SHOW client_encoding"), "UTF8");
    CHECK_STR(ask(lent, "SHOW transaction_read_only"), "off");
    CHECK_STR(ask(lent, "SELECT current_user = session_user AND current_user <> 'pg_monitor'"),
              "t");
    CHECK_STR(ask(lent, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = "
                        "pg_backend_pid()"),
              "0");
    CHECK_STR(ask(lent, "SELECT to_regclass('pg_temp.scratch') IS NULL"), "t");
    CHECK_STR(ask(lent, "SELECT count(*) FROM pg_cursors WHERE name = 'kept'"), "0");
    CHECK_STR(ask(lent, "SELECT count(*) FROM pg_listening_channels()"), "0");
    OK(seam_end(store, false));
    goes_on(store, conn);
}

static void count_warnings(void *context, const ph_log_event *event)
{
    *(int *)context += event->level == PH_LOG_WARN;
}

/* Ours are among those that a handler can deallocate: that is no sign of a pooler. */
TEST(prepared_statements_that_are_gone_are_made_anew)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct t_conn *conn;
    ph_store *store;
    int warnings = 0;

    ph_close(a_store(&conn));
    opts.schema = t_schema();
    opts.log = count_warnings;
    opts.log_context = &warnings;
    store = t_open(&opts);
    t_enqueue(store, "t", "p");
    run(seam_begin(store), "DEALLOCATE ALL");
    OK(seam_end(store, true));
    t_enqueue(store, "t", "p");
    CHECK_INT(warnings, 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 2);
}

TEST(listening_outlives_a_handler)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn), *producer = t_open(NULL);
    int fd = seam_listen(store);

    run(seam_begin(store), "UNLISTEN *");
    OK(seam_end(store, true));
    t_enqueue(producer, "t", "p");
    CHECK_INT(seam_listen(store), fd);
    CHECK(seam_hears(store, ""));
}

/* Then nothing is stored, and that is certain: the commit was not sent. */
TEST(a_connection_lost_before_the_commit_is_a_rollback)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);
    PGconn *lent = seam_begin(store);

    run(lent, insert());
    t_sql(conn, say("SELECT pg_terminate_backend(%d, 10000)", PQbackendPID(lent)));
    CHECK_INT(seam_end(store, true), PH_ETXDEAD);
    CHECK(!(t_err.flags & PH_UNKNOWN));
    CHECK_INT(effects(conn), 0);
    lent = seam_begin(store);
    t_sql(conn, say("SELECT pg_terminate_backend(%d, 10000)", PQbackendPID(lent)));
    OK(seam_end(store, false));
    goes_on(store, conn);
}

static void at_commit(struct t_conn *conn, const char *body)
{
    t_sql(conn, say("CREATE FUNCTION {schema}.at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ "
                    "BEGIN %s; RETURN NULL; END $$; "
                    "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON {schema}.effect "
                    "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "
                    "{schema}.at_commit()",
                    body));
}

TEST(a_connection_lost_in_the_commit_is_unknown)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);

    at_commit(conn, "PERFORM pg_terminate_backend(pg_backend_pid())");
    run(seam_begin(store), insert());
    CHECK_INT(seam_end(store, true), PH_EUNKNOWN);
    CHECK(t_err.flags & PH_UNKNOWN);
    t_sql(conn, "DROP TRIGGER at_commit ON {schema}.effect");
    goes_on(store, conn);
}

TEST(a_constraint_checked_at_the_commit_rolls_back)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);

    at_commit(conn, "RAISE EXCEPTION 'not like this' USING ERRCODE = '23514'");
    run(seam_begin(store), insert());
    CHECK_INT(seam_end(store, true), PH_ETXDEAD);
    CHECK(strstr(t_err.message, "not like this") != NULL);
    CHECK(!(t_err.flags & PH_UNKNOWN));
    CHECK_INT(effects(conn), 0);
    t_sql(conn, "DROP TRIGGER at_commit ON {schema}.effect");
    goes_on(store, conn);
}

TEST(a_begin_connects_again)
{
    struct t_conn *conn;
    ph_store *store = a_store(&conn);
    int pid = PQbackendPID(seam_begin(store));

    OK(seam_end(store, true));
    t_sql(conn, say("SELECT pg_terminate_backend(%d, 10000)", pid));
    goes_on(store, conn);
}
