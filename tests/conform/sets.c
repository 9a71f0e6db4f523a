#include "sets.h"

#include "journal.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#define DATABASES_MAX 64

ph_set *make_set(int connections, int refresh_ms)
{
    ph_store_opts stores = PH_STORE_OPTS_INIT;
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_set *set = NULL;

    stores.deploy_schema = true;
    stores.log = write_down;
    stores.log_context = &journal;
    opts.stores = &stores;
    opts.connections = connections;
    opts.refresh_ms = refresh_ms;
    OK(ph_set_new(&opts, &set, &t_err));
    return set;
}

ph_router *make_router(ph_set *set, int connections)
{
    ph_router_opts opts = PH_ROUTER_OPTS_INIT;
    ph_router *router = NULL;

    opts.connections = connections;
    OK(ph_router_new(set, &opts, &router, &t_err));
    return router;
}

ph_database database(int n)
{
    static char ids[DATABASES_MAX][16], urls[DATABASES_MAX][1200], schemas[DATABASES_MAX][80];
    ph_database database = PH_DATABASE_INIT;

    CHECK(n >= 0 && n < DATABASES_MAX);
    snprintf(ids[n], sizeof(ids[n]), "d%d", n);
    if (t_is_pg())
        snprintf(urls[n], sizeof(urls[n]), "%s&application_name=%s", t_url(), t_schema());
    else
        snprintf(urls[n], sizeof(urls[n]), "sqlite:%s/many-%d.db", t_dir(), n);
    snprintf(schemas[n], sizeof(schemas[n]), "%s_%d", t_schema(), n);
    database.id = ids[n];
    database.url = urls[n];
    database.schema = schemas[n];
    return database;
}

ph_database database_as(const char *id, int n)
{
    ph_database renamed = database(n);

    renamed.id = id;
    return renamed;
}

void add(ph_set *set, const ph_database *database)
{
    OK(ph_set_add(set, database, &t_err));
}

static const char *join_list(ph_set *set, bool with_keys)
{
    static char text[8000];
    ph_databases *list = NULL;
    size_t length = 0;

    OK(ph_database_list(set, NULL, &list, &t_err));
    text[0] = '\0';
    for (size_t i = 0; i < ph_databases_count(list); i++) {
        const ph_database *at = ph_databases_at(list, i);

        CHECK_INT(at->size, sizeof(*at));
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s%s%s", i ? " " : "",
                                   at->id, with_keys ? "=" : "",
                                   !with_keys ? ""
                                   : at->key  ? at->key
                                              : "(none)");
        CHECK(length < sizeof(text));
    }
    CHECK(ph_databases_at(list, ph_databases_count(list)) == NULL);
    ph_databases_free(list);
    return text;
}

const char *ids(ph_set *set)
{
    return join_list(set, false);
}

const char *ids_and_keys(ph_set *set)
{
    return join_list(set, true);
}

ph_store *route(ph_router *router, const char *key)
{
    ph_store *store = NULL;

    OK(ph_router_get(router, key, 0, &store, &t_err));
    return store;
}

/* Files of SQLite databases that this process has open, each once. */
static int open_files(void)
{
    char seen[DATABASES_MAX][600], link[300], target[600];
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    CHECK(folder != NULL);
    for (struct dirent *at; (at = readdir(folder)) != NULL;) {
        ssize_t length;
        bool is_new = true;

        snprintf(link, sizeof(link), "/proc/self/fd/%s", at->d_name);
        length = readlink(link, target, sizeof(target) - 1);
        if (length < 3)
            continue;
        target[length] = '\0';
        if (!strstr(target, "/many-") || strcmp(target + length - 3, ".db") != 0)
            continue;
        for (int i = 0; i < count; i++)
            is_new = is_new && strcmp(seen[i], target) != 0;
        if (is_new)
            snprintf(seen[count++], sizeof(seen[0]), "%s", target);
    }
    closedir(folder);
    return count;
}

int connected(int wanted)
{
    struct t_conn *conn = NULL;
    char sql[300];
    int count = 0;

    if (!t_is_pg())
        return open_files();
    conn = t_connect();
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s'", t_schema());
    for (int i = 0; i < 500; i++) { /* a session that was closed is there for a moment */
        count = (int)t_number(conn, sql);
        if (count == wanted)
            break;
        t_nap_ms(20);
    }
    t_disconnect(conn);
    return count;
}

int discover(void *context, ph_found *found, ph_error *reterr)
{
    struct discovery *what = context;

    what->asked++;
    for (size_t i = 0; i < what->count; i++)
        what->refused += ph_found_add(found, &what->databases[i], reterr) < 0;
    if (what->status < 0) {
        reterr->code = what->status;
        snprintf(reterr->message, sizeof(reterr->message), "no answer today");
    }
    return what->status;
}

void refresh(ph_set *set)
{
    OK(ph_set_refresh(set, 0, NULL, &t_err));
}

size_t lines_with(const char *text)
{
    size_t count = 0;

    for (size_t i = 0; i < journal.count; i++)
        count += strstr(journal.lines[i].text, text) != NULL;
    return count;
}
