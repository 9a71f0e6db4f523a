/* source_test.c - queries on a control database as a source of databases; the same from a set file. */
#include "journal.h"
#include "sets.h"

#include "set/set.h"
#include "util/alloc.h"

#include <stdlib.h>

/* A control database: on PostgreSQL a table in the test's own schema. */
static struct t_conn *control_set_up(void)
{
    struct t_conn *conn = t_connect();

    if (t_is_pg())
        t_sql(conn, "CREATE SCHEMA {schema}");
    t_sql(conn, "CREATE TABLE {schema}.tenants (id text, url text, key text, sch text, pre text)");
    return conn;
}

/* A statement with {schema} in it; valid until the next call. */
static const char *statement(const char *sql)
{
    static char text[4000];
    const char *at = strstr(sql, "{schema}");

    if (!at) {
        snprintf(text, sizeof(text), "%s", sql);
        return text;
    }
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - sql), sql, t_is_pg() ? t_schema() : "main",
             at + strlen("{schema}"));
    return text;
}

static void tenant(struct t_conn *conn, const char *values)
{
    char sql[1000];

    snprintf(sql, sizeof(sql), "INSERT INTO {schema}.tenants (id, url, key, sch, pre) VALUES (%s)",
             values);
    t_sql(conn, sql);
}

static ph_set *set_of(const char *sql)
{
    ph_set *set = make_set(0, 0);

    OK(ph_set_add_query(set, t_url(), statement(sql), &t_err));
    return set;
}

TEST(a_query_names_databases)
{
    struct t_conn *conn = control_set_up();
    ph_set *set = set_of("SELECT id, url FROM {schema}.tenants ORDER BY id");
    ph_databases *list = NULL;

    tenant(conn, "'b', 'sqlite:b.db', NULL, NULL, NULL");
    CHECK_STR(ids(set), ""); /* nobody was asked yet */
    refresh(set);
    CHECK_STR(ids(set), "b");
    tenant(conn, "'a', 'postgresql:///a', NULL, NULL, NULL");
    refresh(set);
    REQ_STR("OBX-077", ids_and_keys(set), "a=a b=b");
    t_sql(conn, "DELETE FROM {schema}.tenants WHERE id = 'b'");
    refresh(set);
    REQ_STR("OBX-078", ids(set), "a");
    OK(ph_database_list(set, NULL, &list, &t_err));
    CHECK_STR(ph_databases_at(list, 0)->url, "postgresql:///a");
    CHECK_STR(ph_databases_at(list, 0)->schema, "posthorn");
    ph_databases_free(list);
    ph_set_free(set);
}

TEST(a_query_may_name_keys_schemas_and_prefixes)
{
    struct t_conn *conn = control_set_up();
    ph_set *set = set_of("SELECT id, url, key, sch, pre FROM {schema}.tenants ORDER BY id, key");
    ph_databases *list = NULL;

    tenant(conn, "'a', 'sqlite:a.db', 'one', 'mine', 'my_'");
    tenant(conn, "'a', 'sqlite:a.db', 'two', 'mine', 'my_'");
    tenant(conn, "'b', 'sqlite:b.db', NULL, NULL, NULL");
    refresh(set);
    CHECK_STR(ids_and_keys(set), "a=one b=b");
    OK(ph_database_list(set, NULL, &list, &t_err));
    CHECK_STR(ph_databases_at(list, 0)->schema, "mine");
    CHECK_STR(ph_databases_at(list, 0)->table_prefix, "my_");
    CHECK_STR(ph_databases_at(list, 1)->table_prefix, "posthorn_");
    ph_databases_free(list);
    CHECK_INT(journal.count, 1); /* the change, and nothing else */
    ph_set_free(set);
}

TEST(the_control_database_is_only_read_and_let_go)
{
    struct t_conn *conn = control_set_up(), *look = NULL;
    ph_set *set = set_of("SELECT id, url FROM {schema}.tenants");
    char url[1200];
    long long tables;
    const char *count_tables =
        t_is_pg() ? "SELECT count(*) FROM pg_class WHERE relnamespace = '{schema}'::regnamespace"
                  : "SELECT count(*) FROM sqlite_schema";

    ph_set_free(set);
    set = make_set(0, 0);
    snprintf(url, sizeof(url), t_is_pg() ? "%s&application_name=%s" : "%s", t_url(), t_schema());
    OK(ph_set_add_query(set, url, statement("SELECT id, url FROM {schema}.tenants"), &t_err));
    tables = t_number(conn, count_tables);
    refresh(set);
    CHECK_INT(t_number(conn, count_tables), tables);
    CHECK_INT(connected(0), 0);
    look = t_connect();
    t_begin(look); /* nobody holds a lock */
    t_sql(look, "DELETE FROM {schema}.tenants");
    t_commit(look);
    ph_set_free(set);
}

TEST(rows_that_make_no_sense_are_left_out)
{
    struct t_conn *conn = control_set_up();
    ph_set *set = set_of("SELECT id, url, key FROM {schema}.tenants ORDER BY pre");

    tenant(conn, "NULL, 'sqlite:a.db', NULL, NULL, '1'");
    tenant(conn, "'a', NULL, NULL, NULL, '2'");
    tenant(conn, "'', 'sqlite:a.db', NULL, NULL, '3'");
    tenant(conn, "'b', 'by bicycle', NULL, NULL, '4'");
    tenant(conn, "'c', 'sqlite:c.db', '', NULL, '5'");
    tenant(conn, "'d', 'sqlite:d.db', NULL, NULL, '6'");
    tenant(conn, "'d', 'sqlite:other.db', NULL, NULL, '7'");
    tenant(conn, "'e', 'sqlite:e.db', 'd', NULL, '8'");
    refresh(set);
    CHECK_STR(ids(set), "d");
    CHECK_INT(lines_with("left out"), 7);
    CHECK(newest_with("set", "id is NULL") && newest_with("set", "url is NULL"));
    CHECK(strstr(field(newest_with("set", "id is NULL"), "source"), "query on ") != NULL);
    refresh(set);
    CHECK_INT(lines_with("left out"), 7);
    ph_set_free(set);
}

TEST(columns_that_are_mixed_up_do_not_show_a_password)
{
    struct t_conn *conn = control_set_up();
    ph_set *set = set_of("SELECT url, id FROM {schema}.tenants");

    tenant(conn, "'a', 'postgresql://bob:s3cret@db.example.org/shop', NULL, NULL, NULL");
    tenant(conn, "'b', 'postgresql://bob:s3cret/x@db.example.org/shop', NULL, NULL, NULL");
    tenant(conn, "'c', 'mysql://bob:s3cret@db.example.org/shop', NULL, NULL, NULL");
    tenant(conn, "'d', 'postgresql:password=s3cret host=h', NULL, NULL, NULL");
    refresh(set);
    CHECK_STR(ids(set), "");
    CHECK_INT(lines_with("left out"), 4);
    CHECK_INT(lines_with("s3cret"), 0);
    CHECK_INT(lines_with("id=postgresql://db.example.org/shop"), 1);
    ph_set_free(set);
}

TEST(no_rows_are_an_answer)
{
    struct t_conn *conn = control_set_up();
    ph_set *set = set_of("SELECT id, url FROM {schema}.tenants");

    tenant(conn, "'a', 'sqlite:a.db', NULL, NULL, NULL");
    refresh(set);
    t_sql(conn, "DELETE FROM {schema}.tenants");
    refresh(set);
    REQ_STR("OBX-078", ids(set), "");
    CHECK_INT(lines_with("names no database any more"), 1);
    ph_set_free(set);
}

/* The source fails with this code, and the error says so. */
static void fails(const char *sql, int code, const char *part)
{
    ph_set *set = set_of(sql);
    int r = ph_set_refresh(set, 2000, NULL, &t_err);

    if (r != code || !strstr(t_err.message, part))
        printf("%s: %d %s\n", sql, r, t_err.message);
    CHECK_INT(r, code);
    CHECK(strstr(t_err.message, part) != NULL);
    CHECK(!strstr(t_err.message, "s3cret") && !strstr(t_err.message, "ph_migrate"));
    CHECK_STR(ids(set), "");
    CHECK_INT(newest_with("set", "a source fails")->level, PH_LOG_WARN);
    ph_set_free(set);
    journal.count = 0;
}

TEST(a_query_must_have_the_right_columns)
{
    tenant(control_set_up(), "'a', 'sqlite:a.db', NULL, NULL, NULL");
    fails("SELECT id FROM {schema}.tenants", PH_EINVAL, "gives 1 column; it must give id and url");
    fails("SELECT id FROM {schema}.tenants WHERE id = 'none'", PH_EINVAL, "gives 1 column");
    fails("SELECT 1, 2, 3, 4, 5, 6", PH_EINVAL, "gives 6 columns; it must give id and url");
}

TEST(a_query_must_not_write)
{
    struct t_conn *conn = control_set_up();

    tenant(conn, "'a', 'sqlite:a.db', NULL, NULL, NULL");
    fails("DELETE FROM {schema}.tenants RETURNING id, url", PH_EINVAL, "it must only read");
    if (t_is_pg()) {
        fails("DELETE FROM {schema}.tenants", PH_EINVAL, "gives no rows");
        t_sql(conn, "CREATE FUNCTION {schema}.wipe() RETURNS text LANGUAGE sql "
                    "AS 'DELETE FROM {schema}.tenants; SELECT ''x'''");
        fails("SELECT 'a', {schema}.wipe()", PH_EINVAL, "it must only read");
        fails("COPY {schema}.tenants TO STDOUT", PH_EINVAL, "gives no rows");
        fails("CREATE TABLE {schema}.more (a int)", PH_EINVAL, "gives no rows");
    } else {
        fails("DELETE FROM {schema}.tenants", PH_EINVAL, "it must only read");
        fails("ATTACH 'x.db' AS other", PH_EINVAL, "gives no rows");
        fails("CREATE TABLE {schema}.more (a int)", PH_EINVAL, "it must only read");
    }
    fails("BEGIN", PH_EINVAL, "gives no rows");
    fails("COMMIT", PH_EINVAL, "gives no rows");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {schema}.tenants"), 1);
}

TEST(a_query_is_one_statement)
{
    struct t_conn *conn = control_set_up();
    ph_set *set;

    tenant(conn, "'a', 'sqlite:a.db', NULL, NULL, NULL");
    fails("SELECT 'a', 'b'; DELETE FROM {schema}.tenants", t_is_pg() ? PH_EDATABASE : PH_EINVAL,
          "one");
    fails(" ", PH_EINVAL, t_is_pg() ? "gives no rows" : "empty");
    fails("-- nothing", PH_EINVAL, t_is_pg() ? "gives no rows" : "empty");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {schema}.tenants"), 1);
    set = set_of("SELECT id, url FROM {schema}.tenants; -- and that is all\n");
    refresh(set);
    CHECK_STR(ids(set), "a");
    ph_set_free(set);
}

TEST(what_is_no_query_says_so_without_showing_it)
{
    const char *shell = t_is_pg() ? "" : "try it in the sqlite3 shell";

    control_set_up();
    fails("SELECT id, url FROM {schema}.nowhere", PH_EDATABASE, "nowhere");
    fails("SELECT id, absent FROM {schema}.tenants", PH_EDATABASE, "absent");
    fails("SELECT ('id' 'postgresql://u:s3cret@h/d')", PH_EDATABASE, "cannot run the query");
    fails("gimme 's3cret'", PH_EDATABASE,
          t_is_pg() ? "cannot run the query" : "near \"gimme\": syntax error");
    fails("SELECT 'a', 'b' FROM", PH_EDATABASE, t_is_pg() ? "" : "incomplete input");
    fails("SELECT 'a', u:s3cret", PH_EDATABASE, shell);
    fails("SELECT 'a', [postgresql://u:s3cret@h/d]", PH_EDATABASE, shell);
}

TEST(a_query_that_takes_too_long_is_ended)
{
    ph_set *set = set_of(t_is_pg() ? "SELECT 'a', pg_sleep(60)::text"
                                   : "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM "
                                     "n) SELECT 'a', max(i) FROM n");

    t_limit(60);
    if (!t_is_pg())
        t_sql(t_connect(), "CREATE TABLE t (x)");
    CHECK_INT(ph_set_refresh(set, 300, NULL, &t_err), PH_ETIMEOUT);
    CHECK_INT(t_err.flags, PH_RETRY);
    ph_set_free(set);
}

TEST(a_control_database_that_is_down_leaves_the_list_as_it_is)
{
    struct t_conn *conn = control_set_up();
    ph_set *set = set_of("SELECT id, url FROM {schema}.tenants");

    tenant(conn, "'a', 'sqlite:a.db', NULL, NULL, NULL");
    refresh(set);
    t_sql(conn, "ALTER TABLE {schema}.tenants RENAME TO gone");
    CHECK(ph_set_refresh(set, 0, NULL, &t_err) < 0);
    CHECK_STR(ids(set), "a");
    t_sql(conn, "ALTER TABLE {schema}.gone RENAME TO tenants");
    refresh(set);
    CHECK_INT(lines_with("works again"), 1);
    ph_set_free(set);
    set = make_set(0, 0);
    OK(ph_set_add_query(set, t_is_pg() ? "postgresql://localhost:1/x" : "sqlite:not/here.db",
                        "SELECT 'a', 'b'", &t_err));
    CHECK_INT(ph_set_refresh(set, 5000, NULL, &t_err), PH_ECONNECT);
    CHECK_STR(ids(set), "");
    ph_set_free(set);
}

TEST(arguments_of_a_query_are_checked)
{
    ph_set *set = make_set(0, 0);

    CHECK_INT(ph_set_add_query(NULL, t_url(), "SELECT 1", &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_query(set, NULL, "SELECT 1", &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_query(set, t_url(), NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_query(set, t_url(), "", &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_query(set, "mysql://x", "SELECT 1", &t_err), PH_EINVAL);
    CHECK(ph__set_refresh_in_us(set) == INT64_MAX);
    ph_set_free(set);
}

TEST(queries_have_one_connection_of_the_budget)
{
    ph_set *set = make_set(2, 0);
    ph_router *router = NULL;

    OK(ph_set_add_query(set, t_url(), "SELECT 'a', 'b'", &t_err));
    OK(ph_set_add_query(set, t_url(), "SELECT 'c', 'd'", &t_err));
    OK(ph_set_add_file(set, "tenants.conf", &t_err)); /* it cannot be read yet */
    CHECK_INT(ph__set_take(set, 2), 1);
    CHECK_INT(ph_router_new(set, NULL, &router, &t_err), PH_ESTATE);
    ph_set_free(set);
    set = make_set(1, 0);
    CHECK_INT(ph__set_take(set, 1), 1);
    CHECK_INT(ph_set_add_query(set, t_url(), "SELECT 'a', 'b'", &t_err), PH_ESTATE);
    CHECK(strstr(t_err.message, "no connection of the set is left") != NULL);
    CHECK_INT(ph_set_add_file(set, "tenants.conf", &t_err), PH_ESTATE);
    OK(ph_set_add_discovery(set, discover, &(struct discovery){ .count = 0 }, &t_err));
    ph_set_free(set);
}

/* Writes a set file: these lines, and the query on the control database if one is wanted. */
static const char *write_set(const char *lines, bool query)
{
    static char path[400];
    FILE *file;

    snprintf(path, sizeof(path), "%s/tenants.conf", t_dir());
    file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(lines, file);
    if (query)
        fprintf(file, "query \"%s\" \"%s\"\n", t_url(),
                statement("SELECT id, url FROM {schema}.tenants"));
    fclose(file);
    return path;
}

TEST(a_set_file_takes_a_connection_only_for_queries)
{
    ph_set *set = make_set(2, 0);
    const char *path = write_set("# query\nstore s sqlite:s.db query\n", false);

    tenant(control_set_up(), "'a', 'sqlite:a.db', NULL, NULL, NULL");
    OK(ph_set_add_file(set, path, &t_err));
    CHECK_INT(ph__set_take(set, 1), 1);
    write_set("", true); /* one is left for it */
    refresh(set);
    CHECK_STR(ids(set), "a");
    CHECK_INT(ph__set_take(set, 2), 0);
    ph_set_free(set);
    set = make_set(1, 0);
    OK(ph_set_add_file(set, write_set("store s sqlite:s.db\n", false), &t_err));
    CHECK_INT(ph__set_take(set, 1), 1);
    refresh(set);
    write_set("store t sqlite:t.db\n", true);
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_ESTATE);
    CHECK(strncmp(t_err.message, "line 2: no connection of the set is left", 40) == 0);
    CHECK_STR(ids(set), "s");
    CHECK_INT(ph_set_add_file(set, path, &t_err), PH_ESTATE);
    ph__set_give(set, 1);
    refresh(set);
    CHECK_STR(ids(set), "a t");
    ph_set_free(set);
}

TEST(a_set_file_may_hold_queries)
{
    struct t_conn *conn = control_set_up();
    ph_set *set = make_set(0, 0);

    tenant(conn, "'a', 'sqlite:a.db', NULL, NULL, NULL");
    OK(ph_set_add_file(set, write_set("store s sqlite:s.db\n", true), &t_err));
    refresh(set);
    CHECK_STR(ids(set), "a s");
    t_sql(conn, "DROP TABLE {schema}.tenants");
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_EDATABASE);
    CHECK(strncmp(t_err.message, "line 2: ", 8) == 0);
    CHECK_STR(ids(set), "a s");
    ph_set_free(set);
}

TEST(paths_that_a_query_of_a_set_file_names_start_at_its_folder)
{
    struct t_conn *conn = control_set_up();
    ph_set *set = make_set(0, 0);
    ph_databases *list = NULL;
    char url[400];

    tenant(conn, "'a', 'sqlite:tenants/a.db', NULL, NULL, NULL");
    tenant(conn, "'b', 'sqlite:/srv/b.db', NULL, NULL, NULL");
    tenant(conn, "'c', NULL, NULL, NULL, NULL");
    OK(ph_set_add_file(set, write_set("\n", true), &t_err));
    refresh(set);
    OK(ph_database_list(set, NULL, &list, &t_err));
    CHECK_INT(ph_databases_count(list), 2);
    snprintf(url, sizeof(url), "sqlite:%s/tenants/a.db", t_dir());
    CHECK_STR(ph_databases_at(list, 0)->url, url);
    CHECK_STR(ph_databases_at(list, 1)->url, "sqlite:/srv/b.db");
    CHECK(newest_with("set", "line 2: url is NULL") != NULL);
    ph_databases_free(list);
    ph_set_free(set);
}

TEST(without_memory_a_query_is_a_source_that_fails)
{
    struct t_conn *conn = control_set_up();
    ph_set *set = set_of("SELECT id, url, key FROM {schema}.tenants ORDER BY id");
    long n = 0;
    int r;

    tenant(conn, "'a', 'sqlite:a.db', 'one', NULL, NULL");
    tenant(conn, "'b', 'sqlite:b.db', NULL, NULL, NULL");
    do {
        journal.count = 0;
        ph__alloc_fail_after = n++;
        r = ph_set_refresh(set, 0, NULL, &t_err);
        ph__alloc_fail_after = -1;
        CHECK(r == 0 || r == PH_ENOMEM);
        CHECK_STR(ids(set), r ? "" : "a b");
        CHECK(n < 1000);
    } while (r < 0);
    CHECK(n > 10);
    ph_set_free(set);
}
