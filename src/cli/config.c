/* config.c - posthorn config show: what is in effect, and who said so. */
#include "commands.h"

#include <stdlib.h>

static void row(struct cli *cli, const char *name, json_t *value, const char *source)
{
    cli_row(cli, json_pack("{s:s, s:o, s:s}", "name", name, "value", value, "source", source));
}

static void row_option(struct cli *cli, const char *name, const char *option, const char *fallback)
{
    const char *text = cli_text(cli, option);

    if (cli_given(cli, option))
        row(cli, name, cli_json_text(text), cli_printf(cli, "--%s", option));
    else
        row(cli, name, cli_json_text(text ? text : fallback), "default");
}

static int run(struct cli *cli)
{
    const char *url = cli_url_shown(cli);
    bool sqlite = cli_url_is_sqlite(cli);

    row(cli, "database", cli_json_text(url), cli->url_source);
    row_option(cli, "schema", "schema", sqlite ? NULL : "posthorn");
    row_option(cli, "table_prefix", "table-prefix", sqlite ? "posthorn_" : "");
    row_option(cli, "timeout", "timeout", NULL);
    row(cli, "owner", cli_json_text(getenv("POSTHORN_OWNER")),
        getenv("POSTHORN_OWNER") ? "POSTHORN_OWNER" : "default");
    row(cli, "backends", json_string(ph_backends()), "library");
    row(cli, "version", json_string(ph_version()), "library");
    row(cli, "schema_version", json_integer(ph_schema_version()), "library");
    return CLI_OK;
}

static const struct cli_field fields[] = {
    { "name", CLI_F_TEXT,
      "database, schema, table_prefix, timeout, owner, backends, version, schema_version", "Name",
      NULL },
    { "value", CLI_F_JSON, "what is in effect; a password is shown as ***", "Value", NULL },
    { "source", CLI_F_TEXT, "the option or variable it comes from, default or library", "Source",
      NULL },
    { 0 },
};

static const char *const description[] = {
    "Shows which database the other verbs would use and what else is set, and where each value "
    "comes from. It does not connect. A password is not shown.",
    NULL,
};

static const struct cli_example examples[] = {
    { "posthorn config show", "What is in effect?" },
    { "POSTHORN_DB=postgresql://shop:secret@db.example/shop posthorn config show",
      "The password is masked" },
    { 0 },
};

const struct cli_command cli_config_show = {
    .name = "config show",
    .group = "config",
    .summary = "show which database is used, and why",
    .operands = "",
    .description = description,
    .fields = fields,
    .examples = examples,
    .run = run,
};
