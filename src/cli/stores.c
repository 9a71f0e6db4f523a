/* stores.c - many databases: their list, its mistakes, and the store that --store picks.
 *
 * A set reads its sources once. Its report has what it leaves out, and the sources that it cannot
 * read: here these are failures like that of a database that is down. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

bool cli_is_set(struct cli *cli)
{
    cli_databases_choose(cli);
    return cli->named && !cli_given(cli, "store") && (!cli->url || cli->database);
}

/* --------------------------------------------------------------- mistakes in the list */

static void add_broken(struct cli *cli, const ph_set_change *change)
{
    struct cli_broken *broken = cli_alloc(cli, sizeof(*broken));

    if (!cli->stores->err.code)
        cli->stores->err = change->error;
    broken->source = cli_strdup(cli, change->source);
    broken->error = cli_error_text(cli, &change->error);
    *cli->stores->last_broken = broken;
    cli->stores->last_broken = &broken->next;
    cli->stores->broken_count++;
}

/* Why an entry is left out, and which source says so. */
static const char *reason_of(struct cli *cli, const ph_set_change *change)
{
    if (!change->id)
        return cli_printf(cli, "left out: %s: %zu more",
                          change->source ? change->source : "the set", change->count);
    return cli_printf(cli, "left out: %s%s%s", change->source ? change->source : "",
                      change->source ? ": " : "", change->reason);
}

static void add_flaw(struct cli *cli, const ph_set_change *change)
{
    struct cli_flaw *flaw = cli_alloc(cli, sizeof(*flaw));
    const char *reason = reason_of(cli, change);

    flaw->id = cli_strdup(cli, change->id ? change->id : "(more)");
    flaw->is_key = change->key != NULL;
    flaw->text = change->key ? cli_printf(cli, "key %s is %s", change->key, reason) : reason;
    flaw->others = change->count - 1;
    *cli->stores->last_flaw = flaw;
    cli->stores->last_flaw = &flaw->next;
    cli->stores->left_out += flaw->is_key ? 0 : change->count;
}

static void read_report(struct cli *cli, const ph_set_report *report)
{
    for (size_t i = 0; i < ph_set_report_count(report); i++) {
        const ph_set_change *change = ph_set_report_at(report, i);

        if (change->kind == PH_SET_FAILED)
            add_broken(cli, change);
        else if (change->kind == PH_SET_LEFT_OUT)
            add_flaw(cli, change);
    }
}

int cli_stores_say_broken(struct cli *cli)
{
    struct cli_stores *stores = cli->stores;

    if (!stores->err.code || stores->broken_code)
        return stores->broken_code;
    cli->err = stores->err;
    cli->where = stores->broken ? stores->broken->source : NULL;
    stores->broken_code = cli_fail_store(cli);
    cli->where = NULL;
    for (const struct cli_broken *at = stores->broken ? stores->broken->next : NULL; at;
         at = at->next)
        cli_fail(cli, (enum cli_exit)stores->broken_code, "%s: %s", at->source, at->error);
    return stores->broken_code;
}

void cli_stores_say_flaw(struct cli *cli, struct cli_flaw *flaw)
{
    cli->place = flaw->id;
    if (!flaw->said)
        cli_fail(cli, CLI_FAILED, "%s", flaw->text);
    cli->said = flaw->text;
    flaw->said = true;
}

static const struct cli_flaw *flaw_of(const struct cli_stores *stores, const char *id)
{
    const struct cli_flaw *flaw = stores->flaws;

    while (flaw && (flaw->is_key || strcmp(flaw->id, id) != 0))
        flaw = flaw->next;
    return flaw;
}

int cli_set_fail(struct cli *cli)
{
    int code = cli->stores ? cli_stores_say_broken(cli) : CLI_OK;

    for (struct cli_flaw *at = cli->stores ? cli->stores->flaws : NULL; at; at = at->next) {
        cli_stores_say_flaw(cli, at);
        code = code == CLI_OK ? CLI_FAILED : code;
    }
    cli->place = NULL;
    return code;
}

void cli_set_warn(struct cli *cli)
{
    const struct cli_stores *stores = cli->stores;

    if (!stores || cli->quiet)
        return;
    if (stores->count == 0)
        cli_note(cli, "the set names no database yet; waiting for one");
    for (const struct cli_broken *at = stores->broken; at; at = at->next)
        cli_warn(cli, "%s: %s", cli_shown(cli, at->source), cli_shown(cli, at->error));
    for (const struct cli_flaw *at = stores->flaws; at; at = at->next)
        cli_warn(cli, "%s: %s", cli_shown(cli, at->id), cli_shown(cli, at->text));
}

/* ---------------------------------------------------------------- the list */

/* The id of a database that was named without one. */
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
        return cli_usage(cli, "%s: %s%s", cli->url_source, cli->err.message,
                         cli->err.cure == PH_CURE_RENAME ? "; names are given as --db ID=URL" : "");
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
    ph_set_report *report = NULL;

    cli->looking = true;
    (void)!ph_set_refresh(stores->set, cli->timeout_ms, &report, &stores->err);
    cli->looking = false;
    read_report(cli, report);
    ph_set_report_free(report);
    if (ph_database_list(stores->set, NULL, &stores->list, &cli->err) < 0)
        return cli_fail_store(cli);
    stores->count = ph_databases_count(stores->list);
    stores->troubles = cli_need(calloc(stores->count + 1, sizeof(*stores->troubles)));
    /* A source that fails does not keep back what the others have named. */
    return stores->count || stores->flaws ? CLI_OK : cli_stores_say_broken(cli);
}

/* Makes the set and reads its sources, once. */
static int prepare_with(struct cli *cli, ph_set_opts opts)
{
    ph_store_opts store_opts;
    int code = CLI_OK;

    if (cli->stores)
        return CLI_OK;
    cli->stores = cli_alloc(cli, sizeof(*cli->stores));
    cli->stores->last_flaw = &cli->stores->flaws;
    cli->stores->last_broken = &cli->stores->broken;
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

int cli_stores_prepare(struct cli *cli)
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

int cli_set_options_check(struct cli *cli, bool may_connect)
{
    static const char *const names[] = { "refresh", "connections" };

    for (size_t i = 0; i < (may_connect ? 1 : 2) && !cli_is_set(cli); i++) {
        if (cli_given(cli, names[i]))
            return cli_usage(cli, "--%s is for a set of databases; leave it out", names[i]);
    }
    return CLI_OK;
}

int cli_stores_refresh(struct cli *cli)
{
    if (!cli_is_set(cli))
        return CLI_OK;
    cli_stores_free(cli);
    return cli_stores_prepare(cli);
}

void cli_stores_free(struct cli *cli)
{
    if (!cli->stores)
        return;
    ph_databases_free(cli->stores->list);
    ph_set_free(cli->stores->set);
    free(cli->stores->troubles);
    cli->stores = NULL;
}

const char *cli_stores_names(struct cli *cli)
{
    size_t count = cli->stores->count;
    const char *names = "";

    for (size_t i = 0; i < count && i < CLI_NAMES_SHOWN; i++)
        names = cli_printf(cli, "%s%s%s", names, i ? ", " : "",
                           ph_databases_at(cli->stores->list, i)->id);
    return count > CLI_NAMES_SHOWN ? cli_printf(cli, "%s, …", names) : names;
}

/* ------------------------------------------------------------------ the picked store */

const char *cli_stores_source(struct cli *cli, const char *url)
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

void cli_stores_use(struct cli *cli, const ph_database *database)
{
    cli->database = database;
    cli->url = database->url;
    cli->url_source = cli_stores_source(cli, database->url);
}

static const ph_database *with_id(struct cli *cli, const char *id)
{
    for (size_t i = 0; i < cli->stores->count; i++) {
        const ph_database *database = ph_databases_at(cli->stores->list, i);

        if (strcmp(database->id, id) == 0)
            return database;
    }
    return NULL;
}

/* By id, which rows show; or by routing key. */
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

/* There is no such store, or several could be meant. */
static int fail_to_pick(struct cli *cli, const char *key)
{
    const struct cli_stores *stores = cli->stores;
    const struct cli_flaw *flaw = key ? flaw_of(stores, key) : NULL;

    if (flaw)
        return cli_fail(cli, CLI_FAILED, "the store \"%.80s\" is %s", key, flaw->text);
    if (stores->err.code && (key || stores->count < 2))
        return cli_stores_say_broken(cli);
    if (stores->count == 0 && !stores->flaws)
        return cli_fail(cli, CLI_NOT_FOUND, "the set names no database");
    if (key)
        return cli_fail(cli, CLI_NOT_FOUND, "there is no store \"%.80s\"; there %s %s", key,
                        stores->count == 1 ? "is" : "are", cli_stores_names(cli));
    if (stores->count < 2)
        return cli_set_fail(cli);
    return cli_usage(
        cli, "posthorn %s works on one database, and there are %zu: %s; pick one with --store",
        cli->command->name, stores->count, cli_stores_names(cli));
}

int cli_stores_pick(struct cli *cli)
{
    const ph_database *picked = NULL;
    const char *key = cli_text(cli, "store");
    int code;

    cli_databases_choose(cli);
    if (cli->database || (cli->url && !(cli->named && key)))
        return CLI_OK;
    code = cli_stores_prepare(cli);
    if (code == CLI_OK && key)
        code = find(cli, key, &picked);
    if (code != CLI_OK)
        return code;
    if (!key && cli->stores->count == 1 && !cli->stores->left_out && !cli->stores->err.code)
        picked = ph_databases_at(cli->stores->list, 0);
    if (!picked)
        return fail_to_pick(cli, key);
    cli_set_warn(cli);
    cli_stores_use(cli, picked);
    return CLI_OK;
}

int cli_stores_list(struct cli *cli, const ph_databases **ret_list)
{
    int code = cli_stores_prepare(cli);

    if (code != CLI_OK)
        return code;
    *ret_list = cli->stores->list;
    return cli_set_fail(cli);
}
