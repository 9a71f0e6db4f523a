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

/* Where a password is: *ret_length bytes at the result; NULL: there is none. */
static const char *password_in(const char *text, size_t *ret_length)
{
    const char *at, *host = strstr(text, "://"), *end;

    if (strncmp(text, "postgres", 8) != 0)
        return NULL;
    if (host) { /* //user:password@host */
        host += 3;
        end = host + strcspn(host, "/?#");
        for (at = end; at > host && *at != '@'; at--)
            ;
        if (*at == '@' && memchr(host, ':', (size_t)(at - host))) {
            const char *colon = memchr(host, ':', (size_t)(at - host));

            *ret_length = (size_t)(at - colon) - 1;
            return colon + 1;
        }
    }
    for (at = text; (at = strstr(at, "password")) != NULL; at += 8) { /* ?password=, password = */
        size_t equals = strspn(at + 8, " ");
        bool begins = at > text && strchr("?& :", at[-1]);

        if (!begins || at[8 + equals] != '=')
            continue;
        at += 9 + equals;
        at += strspn(at, " ");
        *ret_length = *at == '\'' ? strcspn(at + 1, "'") + 2 : strcspn(at, host ? "&" : " ");
        return at;
    }
    return NULL;
}

/* Who gave the URL? The first that is not empty. */
static void url_choose(struct cli *cli)
{
    static const char *const variables[] = { "POSTHORN_DB", "DATABASE_URL" };
    size_t length = 0;

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
        if (!cli->quiet && password_in(cli->url, &length) && length > 0)
            cli_warn(cli, "the password in --db can be seen by others in the list of processes; "
                          "put the URL into POSTHORN_DB, or the password into PGPASSFILE");
    }
}

const char *cli_url_shown(struct cli *cli)
{
    size_t length = 0;
    const char *password;

    url_choose(cli);
    password = password_in(cli->url, &length);
    if (!password || length == 0)
        return cli->url;
    return cli_printf(cli, "%.*s***%s", (int)(password - cli->url), cli->url, password + length);
}

bool cli_url_is_sqlite(struct cli *cli)
{
    url_choose(cli);
    return strncmp(cli->url, "sqlite:", 7) == 0;
}

static int url_check(struct cli *cli)
{
    if (!*cli->url)
        return cli_usage(cli, "--db is empty; give sqlite:PATH or postgresql://HOST/NAME");
    if (!strchr(cli->url, ':'))
        return cli_usage(cli, "%s \"%.120s\" is not a URL; for a file write sqlite:%.120s",
                         cli->url_source, cli->url, cli->url);
    return CLI_OK;
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
