/* database.c - which database, and how it is opened. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

static void on_log(void *context, const ph_log_event *event)
{
    static const char *const levels[] = { "", "error", "warning", "info", "debug" };
    struct cli *cli = context;

    cli_progress_hide(cli);
    fprintf(stderr, "posthorn: %s: %s\n", levels[event->level], event->text);
}

/* Who gave the URL? The first that is not empty. */
static void url_choose(struct cli *cli)
{
    static const char *const variables[] = { "POSTHORN_DB", "DATABASE_URL" };

    if (cli->url)
        return;
    cli->url = "sqlite:posthorn.db";
    cli->url_source = "default";
    for (size_t i = 2; i-- > 0;) {
        const char *value = getenv(variables[i]);

        if (value && *value) {
            cli->url = value;
            cli->url_source = variables[i];
        }
    }
    if (cli_given(cli, "db")) {
        cli->url = cli_text(cli, "db");
        cli->url_source = "--db";
        if (!cli->quiet && cli_url_masked(cli, cli->url) != cli->url)
            cli_warn(cli, "the password in --db can be seen by others in the list of processes; "
                          "put the URL into POSTHORN_DB, or the password into PGPASSFILE");
    }
}

const char *cli_url_shown(struct cli *cli)
{
    url_choose(cli);
    return cli_url_masked(cli, cli->url);
}

bool cli_url_is_sqlite(struct cli *cli)
{
    url_choose(cli);
    return strncmp(cli->url, "sqlite:", 7) == 0;
}

/* Posthorn opens files by their path. A URI would become a file of that name. */
static int path_check(struct cli *cli)
{
    const char *path = cli->url + strlen("sqlite:"), *query = strchr(path, '?');
    size_t name = query ? strspn(query + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;

    if (strncmp(path, "file:", 5) == 0)
        return cli_usage(cli, "%s: sqlite: takes a path, not a URI of SQLite; write sqlite:PATH",
                         cli->url_source);
    if (name > 0 && query[1 + name] == '=')
        return cli_usage(cli, "%s: sqlite: takes a path without parameters; leave out \"%.80s\"",
                         cli->url_source, query);
    return CLI_OK;
}

static int url_check(struct cli *cli)
{
    const char *shown = cli_url_masked(cli, cli->url);

    if (!*cli->url)
        return cli_usage(cli, "--db is empty; give sqlite:PATH or postgresql://HOST/NAME");
    if (cli_url_is_sqlite(cli))
        return path_check(cli);
    if (strchr(cli->url, ':'))
        return CLI_OK;
    if (shown != cli->url) /* then it is no file */
        return cli_usage(cli,
                         "%s \"%.120s\" is not a URL; write postgresql://HOST/NAME, or "
                         "postgresql: before it",
                         cli->url_source, shown);
    return cli_usage(cli, "%s \"%.120s\" is not a URL; for a file write sqlite:%.120s",
                     cli->url_source, shown, shown);
}

int cli_open_another(struct cli *cli, unsigned how, ph_store **ret_store)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    int64_t verbose = cli_number(cli, "verbose");
    int r;

    url_choose(cli);
    r = url_check(cli);
    if (r != CLI_OK)
        return r;
    opts.schema = cli_text(cli, "schema");
    opts.table_prefix = cli_text(cli, "table-prefix");
    opts.deploy_schema = how == CLI_OPEN_DEPLOY;
    opts.timeout_ms = cli->timeout_ms;
    cli_joins_hook(cli, &opts);
    opts.log = on_log;
    opts.log_context = cli;
    opts.log_level = verbose > 1  ? PH_LOG_DEBUG
                     : verbose    ? PH_LOG_INFO
                     : cli->quiet ? PH_LOG_ERROR
                                  : PH_LOG_WARN;
    r = how == CLI_OPEN_LAZY ? ph_open_lazy(cli->url, &opts, ret_store, &cli->err)
                             : ph_open(cli->url, &opts, ret_store, &cli->err);
    return r < 0 ? cli_fail_store(cli) : CLI_OK;
}

int cli_open(struct cli *cli, unsigned how)
{
    return cli_open_another(cli, how, &cli->store);
}
