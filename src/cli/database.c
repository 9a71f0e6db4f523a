/* database.c - which database, and how it is opened. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ph_log_level log_level(const struct cli *cli)
{
    int64_t verbose = cli_number(cli, "verbose");

    return verbose > 1  ? PH_LOG_DEBUG
           : verbose    ? PH_LOG_INFO
           : cli->quiet ? PH_LOG_ERROR
                        : PH_LOG_WARN;
}

static void on_log(void *context, const ph_log_event *event)
{
    static const char *const levels[] = { "", "error", "warning", "info", "debug" };
    struct cli *cli = context;

    if (cli->looking && event->level == PH_LOG_WARN && strcmp(event->event, "set") == 0)
        return; /* the report has it, too, and is printed in its place */
    if (event->level > log_level(cli))
        return;
    cli_progress_hide(cli);
    fprintf(stderr, "posthorn: %s: %s\n", levels[event->level], event->text);
}

/* What the variables say, or else the default. */
static void choose_elsewhere(struct cli *cli)
{
    static const char *const variables[] = { "POSTHORN_DB", "DATABASE_URL" };

    cli->named[0] = "sqlite:posthorn.db";
    cli->url_source = "default";
    for (size_t i = 2; i-- > 0;) {
        const char *value = getenv(variables[i]);

        if (value && *value) {
            cli->named[0] = value;
            cli->url_source = variables[i];
        }
    }
}

static void warn_of_passwords(struct cli *cli)
{
    for (size_t i = 0; i < cli->named_count && !cli->quiet; i++) {
        if (cli_url_masked(cli, cli->named[i]) == cli->named[i])
            continue;
        cli_warn(cli, "other users can see the password in --db in the list of processes; put the "
                      "URL into POSTHORN_DB, or the password into PGPASSFILE");
        return;
    }
}

void cli_databases_choose(struct cli *cli)
{
    size_t given = cli_texts(cli, "db", NULL, 0);

    if (cli->url || cli->named)
        return;
    cli->named_count = given ? given : 1;
    cli->named = cli_alloc(cli, cli->named_count * sizeof(*cli->named));
    if (given) {
        cli_texts(cli, "db", cli->named, given);
        cli->url_source = "--db";
        warn_of_passwords(cli);
    } else {
        choose_elsewhere(cli);
    }
    for (size_t i = 0; i < cli->named_count; i++) {
        if (cli_url_is_pairs(cli, cli->named[i]))
            cli->named[i] = cli_printf(cli, "postgresql:%s", cli->named[i]);
    }
    if (cli->named_count == 1 && cli_url_from(cli->named[0]))
        cli_from_read(cli, cli_url_from(cli->named[0]));
    if (cli->named_count == 1 && !cli_url_id(cli->named[0]) && !cli_url_set_file(cli->named[0]))
        cli->url = cli->named[0];
}

const char *cli_url_shown(struct cli *cli)
{
    cli_databases_choose(cli);
    return cli_url_masked(cli, cli->url ? cli->url : cli->named[0]);
}

static bool is_sqlite(const char *url)
{
    return strncmp(url, "sqlite:", 7) == 0;
}

bool cli_url_is_sqlite(struct cli *cli)
{
    cli_databases_choose(cli);
    return cli->url && is_sqlite(cli->url);
}

/* Posthorn opens files by their path. A URI would become a file of that name. */
static int path_check(struct cli *cli, const char *path)
{
    const char *query = strchr(path, '?');
    size_t name = query ? strspn(query + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;

    if (strncmp(path, "file:", 5) == 0)
        return cli_usage(cli, "%s: sqlite: takes a path, not a URI of SQLite; write sqlite:PATH",
                         cli->url_source);
    if (name > 0 && query[1 + name] == '=')
        return cli_usage(cli, "%s: sqlite: takes a path without parameters; leave out \"%.80s\"",
                         cli->url_source, query);
    return CLI_OK;
}

int cli_url_check(struct cli *cli, const char *url)
{
    const char *shown = cli_url_masked(cli, url), *dot = strrchr(url, '.');
    bool is_set = dot && strcmp(dot, ".set") == 0;

    if (!*url)
        return cli_usage(cli, "--db is empty; give sqlite:PATH or postgresql://HOST/NAME");
    if (cli_url_from(url) && cli->from_error)
        return cli_fail(cli, CLI_USAGE, "%s: %s cannot be used: %s", cli->url_source,
                        cli_shown(cli, url), cli->from_error);
    if (cli_url_from(url))
        return cli_usage(cli, "%s: from: names a single database, and cannot be one of several",
                         cli->url_source);
    if (is_sqlite(url))
        return path_check(cli, url + strlen("sqlite:"));
    if (strchr(url, ':'))
        return CLI_OK;
    if (shown != url) /* then it is no file */
        return cli_usage(
            cli,
            "%s \"%.120s\" is not a URL; write postgresql://HOST/NAME, or postgresql: before it",
            cli->url_source, shown);
    return cli_usage(cli, "%s \"%.120s\" is not a URL; for a %sfile write %s:%.120s",
                     cli->url_source, shown, is_set ? "set " : "", is_set ? "set" : "sqlite",
                     shown);
}

/* The schema or table prefix: of the option, or else of the file that names the database. */
static const char *named(const struct cli *cli, const char *option)
{
    const char *from = strcmp(option, "schema") == 0 ? cli->from_schema : cli->from_prefix;

    return cli_given(cli, option) || !from ? cli_text(cli, option) : from;
}

void cli_store_opts(struct cli *cli, ph_store_opts *ret_opts)
{
    const ph_database *of_set = cli->database;

    *ret_opts = (ph_store_opts)PH_STORE_OPTS_INIT;
    ret_opts->schema = of_set && of_set->schema ? of_set->schema : named(cli, "schema");
    ret_opts->table_prefix =
        of_set && of_set->table_prefix ? of_set->table_prefix : named(cli, "table-prefix");
    ret_opts->store_id = of_set ? of_set->id : NULL;
    ret_opts->timeout_ms = cli->timeout_ms;
    cli_joins_hook(cli, ret_opts);
    ret_opts->log = on_log;
    ret_opts->log_context = cli;
    ret_opts->log_level = log_level(cli) < PH_LOG_WARN ? PH_LOG_WARN : log_level(cli);
}

/* Without a named database the user may not expect this one. */
static void tell_of_default(struct cli *cli)
{
    char *folder;

    if (cli->default_told || cli->command->only_reads || strcmp(cli->url_source, "default") != 0)
        return;
    cli->default_told = true;
    folder = getcwd(NULL, 0);
    cli_note(cli, "neither --db nor POSTHORN_DB names a database: using %s/posthorn.db",
             cli_shown(cli, folder ? folder : "."));
    free(folder);
}

int cli_open_another(struct cli *cli, unsigned how, ph_store **ret_store)
{
    ph_store_opts opts;
    int r = cli_stores_pick(cli);

    if (r == CLI_OK)
        r = cli_url_check(cli, cli->url);
    if (r != CLI_OK)
        return r;
    tell_of_default(cli);
    cli_store_opts(cli, &opts);
    opts.deploy_schema = how == CLI_OPEN_DEPLOY;
    r = how == CLI_OPEN_LAZY ? ph_open_lazy(cli->url, &opts, ret_store, &cli->err)
                             : ph_open(cli->url, &opts, ret_store, &cli->err);
    return r < 0 ? cli_fail_store(cli) : CLI_OK;
}

int cli_open(struct cli *cli, unsigned how)
{
    return cli_open_another(cli, how, &cli->store);
}
