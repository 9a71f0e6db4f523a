/* server.c - the private PostgreSQL server: its databases and URLs.
 *
 * One database for some of a program's tests, one schema in it per test: cheap,
 * and tests that run at once do not meet. */
#include "internal.h"

#include <libpq-fe.h>
#include <stdlib.h>

/* Letters, digits and a few more stay; the rest becomes %xx. */
static void append_encoded(char *to, size_t size, const char *text)
{
    size_t length = strlen(to);

    for (; *text && length + 4 < size; text++) {
        bool plain =
            strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *text);

        length += (size_t)snprintf(to + length, size - length, plain ? "%c" : "%%%02X",
                                   (unsigned char)*text);
    }
}

/* base with another database's name: postgresql:///DATABASE?key=value&… */
static void url_of(const char *base, const char *database, char *ret_url, size_t size)
{
    PQconninfoOption *options = PQconninfoParse(base, NULL);
    char separator = '?';

    snprintf(ret_url, size, "postgresql:///%s", database);
    for (PQconninfoOption *option = options; option && option->keyword; option++) {
        size_t length = strlen(ret_url);

        if (!option->val || strcmp(option->keyword, "dbname") == 0)
            continue;
        snprintf(ret_url + length, size - length, "%c%s=", separator, option->keyword);
        append_encoded(ret_url, size, option->val);
        separator = '&';
    }
    PQconninfoFree(options);
}

void t_server_url(const char *database, char *ret_url, size_t size)
{
    url_of(getenv("PH_TEST_PG"), database, ret_url, size);
}

static bool execute(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    bool ok = PQresultStatus(result) == PGRES_COMMAND_OK;

    if (!ok)
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
    return ok;
}

static PGconn *maintenance(void)
{
    const char *url = getenv("PH_TEST_PG");
    PGconn *conn;

    if (!url) {
        fprintf(stderr, "PH_TEST_PG is not set; ./test starts a server and sets it\n");
        return NULL;
    }
    conn = PQconnectdb(url);
    if (PQstatus(conn) == CONNECTION_OK)
        return conn;
    fprintf(stderr, "cannot connect to PH_TEST_PG: %s", PQerrorMessage(conn));
    PQfinish(conn);
    return NULL;
}

bool t_server_set_up(const char *database, const char *template)
{
    PGconn *conn = maintenance();
    char sql[200];
    bool ok;

    /* Through the log, which is the default, takes twice the time for a migrated one. */
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s TEMPLATE %s ENCODING 'UTF8' STRATEGY file_copy",
             database, template ? template : "template0");
    ok = conn && execute(conn, sql);
    PQfinish(conn);
    return ok;
}

const char *t_fresh_database(void)
{
    static char urls[16][1024];
    static int count;
    char name[100];

    if (count == 16)
        t_skip("a test asked for more than 16 databases");
    if (t_is_pg()) {
        snprintf(name, sizeof(name), "%s_%d_%d", t_env.database, t_env.number, count);
        CHECK(t_server_set_up(name, NULL));
        t_server_url(name, urls[count], sizeof(urls[count]));
    } else {
        snprintf(urls[count], sizeof(urls[count]), "sqlite:%s/fresh%d.db", t_env.dir, count);
    }
    return urls[count++];
}

/* The program's databases and those that its tests made: NAME_…. */
void t_server_tear_down(const char *database)
{
    PGconn *conn = maintenance();
    const char *values[] = { database };
    PGresult *names;

    if (!conn)
        return;
    names = PQexecParams(conn,
                         "SELECT format('DROP DATABASE %I WITH (FORCE)', datname) FROM pg_database "
                         "WHERE starts_with(datname, $1 || '_')",
                         1, NULL, values, NULL, NULL, 0);
    for (int i = 0; i < PQntuples(names); i++)
        execute(conn, PQgetvalue(names, i, 0));
    PQclear(names);
    PQfinish(conn);
}

const char *t_tcp_url(void)
{
    static char url[1024];
    const char *base = getenv("PH_TEST_PG_TCP");

    if (!base)
        return NULL;
    url_of(base, t_env.database, url, sizeof(url));
    return url;
}
