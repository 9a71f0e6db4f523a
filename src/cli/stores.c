/* stores.c - many databases: which they are, the one that is meant, and the loop over all.
 *
 * A set is asked once for its databases. Each is then opened like a database that was named alone,
 * one after the other, so that 200 of them need one connection. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_SHOWN 5
#define MANY 10 /* then it is shown how far we are */

struct cli_stores {
    ph_set *set;
    ph_database_list *list;
    size_t count;
    int *codes; /* per database: of its failure, after which it is not tried again */
};

bool cli_is_set(struct cli *cli)
{
    cli_databases_choose(cli);
    return cli->named && !cli_given(cli, "store") && (!cli->url || cli->database);
}

/* ---------------------------------------------------------------- which there are */

/* The name of a database that was given none. */
static int name_of(struct cli *cli, const char *url, const char **ret_id)
{
    ph_store *store = NULL;

    if (ph_open_lazy(url, NULL, &store, &cli->err) < 0)
        return cli_fail_store(cli);
    *ret_id = cli_strdup(cli, ph_store_id(store));
    ph_close(store);
    return CLI_OK;
}

static int add_database(struct cli *cli, const char *id, const char *url)
{
    ph_database database = PH_DATABASE_INIT;
    int code = cli_url_check(cli, url);

    if (code == CLI_OK && !id)
        code = name_of(cli, url, &id);
    if (code != CLI_OK)
        return code;
    database.id = id;
    database.url = url;
    if (ph_set_add(cli->stores->set, &database, &cli->err) == 0)
        return CLI_OK;
    if (cli->err.code == PH_EINVAL)
        return cli_usage(cli, "%s: %s; names are given as --db ID=URL", cli->url_source,
                         cli->err.message);
    return cli_fail_store(cli);
}

static int add_file(struct cli *cli, size_t id, const char *path)
{
    if (id)
        return cli_usage(cli, "%s: the stores of a set file have their own names; write set:%.120s",
                         cli->url_source, path);
    if (!*path)
        return cli_usage(cli, "%s names no set file; write set:PATH", cli->url_source);
    return ph_set_add_file(cli->stores->set, path, &cli->err) < 0 ? cli_fail_store(cli) : CLI_OK;
}

static int add(struct cli *cli, const char *text)
{
    size_t id = cli_url_id(text);
    const char *url = id ? text + id + 1 : text, *path = cli_url_set_file(url);

    if (path)
        return add_file(cli, id, path);
    return add_database(cli, id ? cli_printf(cli, "%.*s", (int)id, text) : NULL, url);
}

static int look(struct cli *cli)
{
    struct cli_stores *stores = cli->stores;

    int r, code;

    ph_database_list_free(stores->list);
    stores->list = NULL;
    cli->looking = true;
    r = ph_set_refresh(stores->set, cli->timeout_ms, &cli->err);
    cli->looking = false;
    if (r < 0 || ph_set_list(stores->set, &stores->list, &cli->err) < 0) {
        cli->where = cli->failed_source;
        code = cli_fail_store(cli);
        cli->where = NULL;
        return code;
    }
    stores->count = ph_database_list_count(stores->list);
    stores->codes = cli_alloc(cli, (stores->count + 1) * sizeof(*stores->codes));
    return CLI_OK;
}

/* Makes the set, and asks its sources. Once. */
static int prepare_with(struct cli *cli, ph_set_opts opts)
{
    ph_store_opts store_opts;
    int code = CLI_OK;

    if (cli->stores)
        return CLI_OK;
    cli->stores = cli_alloc(cli, sizeof(*cli->stores));
    cli_store_opts(cli, &store_opts);
    opts.stores = &store_opts;
    if (ph_set_new(&opts, &cli->stores->set, &cli->err) < 0)
        code = cli_fail_store(cli);
    for (size_t i = 0; i < cli->named_count && code == CLI_OK; i++)
        code = add(cli, cli->named[i]);
    if (code == CLI_OK)
        code = look(cli);
    if (code != CLI_OK)
        cli_stores_free(cli);
    return code;
}

static int prepare(struct cli *cli)
{
    ph_set_opts opts = PH_SET_OPTS_INIT;

    opts.refresh_ms = PH_SET_NO_REFRESH;
    return prepare_with(cli, opts);
}

int cli_set_open(struct cli *cli, ph_set **ret_set)
{
    ph_set_opts opts = PH_SET_OPTS_INIT;
    int code;

    opts.connections = (int)cli_number(cli, "connections");
    opts.refresh_ms = (int)cli_number(cli, "refresh");
    code = prepare_with(cli, opts);
    if (code == CLI_OK)
        *ret_set = cli->stores->set;
    return code;
}

int cli_set_options_check(struct cli *cli)
{
    static const char *const names[] = { "connections", "refresh" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !cli_is_set(cli); i++) {
        if (cli_given(cli, names[i]))
            return cli_usage(cli, "--%s is for a set of databases; leave it out", names[i]);
    }
    return CLI_OK;
}

int cli_stores_refresh(struct cli *cli)
{
    if (!cli_is_set(cli))
        return CLI_OK;
    return cli->stores ? look(cli) : prepare(cli);
}

void cli_stores_free(struct cli *cli)
{
    if (!cli->stores)
        return;
    ph_database_list_free(cli->stores->list);
    ph_set_free(cli->stores->set);
    cli->stores = NULL;
}

const char *cli_stores_names(struct cli *cli)
{
    size_t count = cli->stores->count;
    const char *names = "";

    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++)
        names = cli_printf(cli, "%s%s%s", names, i ? ", " : "",
                           ph_database_list_at(cli->stores->list, i)->id);
    return count > NAMES_SHOWN ? cli_printf(cli, "%s, …", names) : names;
}

/* ------------------------------------------------------------------ the one that is meant */

/* Where its URL was read, for people. */
static const char *source_of(struct cli *cli, const char *url)
{
    const char *file = NULL;

    for (size_t i = 0; i < cli->named_count; i++) {
        size_t id = cli_url_id(cli->named[i]);

        if (strcmp(id ? cli->named[i] + id + 1 : cli->named[i], url) == 0)
            return cli->url_source;
        if (!file && cli_url_set_file(cli->named[i]))
            file = cli->named[i];
    }
    return file ? file : cli->url_source;
}

static void use(struct cli *cli, const ph_database *database)
{
    cli->database = database;
    cli->url = database->url;
    cli->url_source = source_of(cli, database->url);
}

static const ph_database *with_id(struct cli *cli, const char *id)
{
    for (size_t i = 0; i < cli->stores->count; i++) {
        const ph_database *database = ph_database_list_at(cli->stores->list, i);

        if (strcmp(database->id, id) == 0)
            return database;
    }
    return NULL;
}

/* By id, since that is what we show; or by routing key. */
static int find(struct cli *cli, const char *key, const ph_database **ret_database)
{
    ph_router_opts opts = PH_ROUTER_OPTS_INIT;
    ph_router *router = NULL;
    ph_store *store = NULL;
    int r;

    *ret_database = with_id(cli, key);
    if (*ret_database)
        return CLI_OK;
    opts.connections = PH_ROUTER_NO_CONNECTIONS;
    r = ph_router_new(cli->stores->set, &opts, &router, &cli->err);
    if (r == 0 && *key)
        r = ph_router_get(router, key, cli->timeout_ms, &store, &cli->err);
    if (store)
        *ret_database = with_id(cli, ph_store_id(store));
    ph_router_free(router);
    if (r < 0 && r != PH_ENOTFOUND)
        return cli_fail_store(cli);
    return CLI_OK;
}

int cli_stores_pick(struct cli *cli)
{
    const ph_database *picked = NULL;
    const char *key = cli_text(cli, "store");
    size_t count;
    int code;

    cli_databases_choose(cli);
    if (cli->database || (cli->url && !(cli->named && key)))
        return CLI_OK;
    code = prepare(cli);
    if (code == CLI_OK && key)
        code = find(cli, key, &picked);
    if (code != CLI_OK)
        return code;
    count = cli->stores->count;
    if (count == 1 && !key)
        picked = ph_database_list_at(cli->stores->list, 0);
    if (!picked && count == 0)
        return cli_fail(cli, CLI_NOT_FOUND, "the set names no database");
    if (!picked && key)
        return cli_usage(cli, "there is no store \"%.80s\"; there %s %s", key,
                         count == 1 ? "is" : "are", cli_stores_names(cli));
    if (!picked)
        return cli_usage(cli,
                         "posthorn %s works on one database, and there are %zu: %s; pick one with "
                         "--store",
                         cli->command->name, count, cli_stores_names(cli));
    use(cli, picked);
    return CLI_OK;
}

int cli_stores_list(struct cli *cli, const ph_database_list **ret_list)
{
    int code = prepare(cli);

    if (code == CLI_OK)
        *ret_list = cli->stores->list;
    return code;
}

/* -------------------------------------------------------------------------- the loop */

struct outcome {
    size_t failed, found;
    int code;          /* of the failures; CLI_FAILED if they differ */
    const char *names; /* of those that failed */
};

static bool ends_all(int code)
{
    return code == CLI_USAGE || code == CLI_INTERRUPTED;
}

static void count_failure(struct cli *cli, struct outcome *outcome, const char *id, int code)
{
    if (outcome->failed < NAMES_SHOWN)
        outcome->names = cli_printf(cli, "%s%s%s", outcome->failed ? outcome->names : "",
                                    outcome->failed ? ", " : "", id);
    else if (outcome->failed == NAMES_SHOWN)
        outcome->names = cli_printf(cli, "%s, …", outcome->names);
    outcome->code = outcome->failed && outcome->code != code ? CLI_FAILED : code;
    outcome->failed++;
}

/* A signal may have come while the database was opened. */
static int unless_interrupted(struct cli *cli, const struct cli_each *each)
{
    return cli_interrupted() ? CLI_INTERRUPTED : each->one(cli, each->context);
}

/* One of the set. Returns the exit code of its part. */
static int on_one(struct cli *cli, const struct cli_each *each, size_t index)
{
    const char *source = cli->url_source;
    int code;

    use(cli, ph_database_list_at(cli->stores->list, index));
    cli->place = cli->database->id;
    code = cli_open(cli, each->how);
    if (code == CLI_OK)
        code = unless_interrupted(cli, each);
    else if (code == CLI_USAGE)
        code = CLI_FAILED; /* its URL is wrong, not the command line */
    ph_close(cli->store);
    cli->store = NULL;
    if (code != CLI_OK && code != CLI_NOT_FOUND && !ends_all(code)) {
        cli->stores->codes[index] = code;
        if (each->failed)
            each->failed(cli, each->context);
    }
    cli->place = NULL;
    cli->database = NULL;
    cli->url = NULL;
    cli->url_source = source;
    return code;
}

static int sum_up(struct cli *cli, const struct cli_each *each, const struct outcome *outcome)
{
    size_t count = cli->stores->count;

    if (count == 0)
        return cli_fail(cli, CLI_NOT_FOUND, "the set names no database");
    if (outcome->found && each->until_found)
        return CLI_OK;
    if (outcome->failed && each->again)
        return outcome->code;
    if (outcome->failed)
        return cli_fail(cli, (enum cli_exit)outcome->code, "%s%zu of %zu stores failed: %s",
                        each->until_found ? "found in none of the others; " : "", outcome->failed,
                        count, outcome->names);
    return outcome->found ? CLI_OK : CLI_NOT_FOUND;
}

static int on_set(struct cli *cli, const struct cli_each *each)
{
    struct outcome outcome = { 0 };
    size_t count = cli->stores->count;

    if (!each->until_found && cli->command->layout == CLI_CARD)
        cli_layout_set(cli, CLI_TABLE);
    for (size_t i = 0; i < count && !(outcome.found && each->until_found); i++) {
        const char *id = ph_database_list_at(cli->stores->list, i)->id;
        int code = cli_interrupted() ? CLI_INTERRUPTED : cli->stores->codes[i];

        if (!cli->progress && count >= MANY)
            cli_progress_begin(cli, "stores", (int64_t)count);
        cli_progress_at(cli, (int64_t)i, (int64_t)count);
        if (code == CLI_OK)
            code = on_one(cli, each, i);
        if (ends_all(code))
            return code;
        if (code == CLI_OK)
            outcome.found++;
        else if (code != CLI_NOT_FOUND)
            count_failure(cli, &outcome, id, code);
    }
    cli_progress_end(cli);
    return sum_up(cli, each, &outcome);
}

int cli_each(struct cli *cli, const struct cli_each *each)
{
    int code;

    if (cli_is_set(cli)) {
        code = prepare(cli);
        return code == CLI_OK ? on_set(cli, each) : code;
    }
    code = cli->store ? CLI_OK : cli_open(cli, each->how);
    return code == CLI_OK ? unless_interrupted(cli, each) : code;
}

/* ------------------------------------------------------------------------------ rows */

json_t *cli_json_failed(struct cli *cli)
{
    return cli_need(json_pack("{s:o, s:o}", "store", cli_json_text(cli->place), "error",
                              cli_json_text(cli->said)));
}

void cli_row_failed(struct cli *cli, void *context)
{
    (void)context;
    cli_row(cli, cli_json_failed(cli));
}

void cli_row_total(struct cli *cli, json_t *row)
{
    bool text = cli->format == CLI_TEXT_FORM;

    if (!cli->stores) { /* it could not be found out which there are */
        json_decref(row);
        return;
    }
    if (json_object_set_new(cli_need(row), "store", text ? json_string("(all)") : json_null()) < 0)
        cli_need(NULL);
    cli_row(cli, row);
}

/* An id stays the first: other verbs read it there. */
const char *cli_stores_columns(struct cli *cli, const char *columns)
{
    size_t first = columns ? strcspn(columns, " ") : 0;
    bool is_id = first > 3 && strncmp(columns + first - 3, "_id", 3) == 0;

    if (!columns || !cli_is_set(cli))
        return columns;
    return is_id ? cli_printf(cli, "%.*s store%s", (int)first, columns, columns + first)
                 : cli_printf(cli, "store %s", columns);
}
