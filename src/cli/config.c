/* config.c - posthorn config show: the effective settings, and where they come from. */
#include "commands.h"
#include "frame.h"

#include <stdlib.h>

struct row {
    const char *name;
    json_t *value;
    const char *source;
};

static void row(struct cli *cli, const char *name, json_t *value, const char *source)
{
    cli_row(cli, &(struct row){ name, value, source });
}

/* from: the value in the file that names the database; or NULL. */
static void row_option(struct cli *cli, const char *name, const char *option, const char *from,
                       const char *fallback)
{
    const char *text = cli_text(cli, option);

    if (cli_given(cli, option))
        row(cli, name, cli_json_text(text), cli_printf(cli, "--%s", option));
    else if (from)
        row(cli, name, cli_json_text(from), cli->url_source);
    else
        row(cli, name, cli_json_text(text ? text : fallback), "default");
}

static void row_store(struct cli *cli, const ph_database *database)
{
    row(cli, "store",
        cli_json_text(cli_printf(cli, "%s=%s", database->id, cli_url_masked(cli, database->url))),
        cli_stores_source(cli, database->url));
}

/* The databases as they were named, and the stores of a set or that of --store. */
static int row_databases(struct cli *cli)
{
    const ph_databases *list = NULL;
    int code = CLI_OK;

    cli_databases_choose(cli);
    for (size_t i = 0; i < cli->named_count; i++)
        row(cli, "database", cli_json_text(cli_url_masked(cli, cli->named[i])), cli->url_source);
    if (cli_is_set(cli))
        code = cli_stores_list(cli, &list);
    else if (cli_given(cli, "store"))
        code = cli_stores_pick(cli);
    if (cli->database)
        row_store(cli, cli->database);
    for (size_t i = 0; list && i < ph_databases_count(list); i++)
        row_store(cli, ph_databases_at(list, i));
    return code;
}

static int run(struct cli *cli)
{
    int code = row_databases(cli);
    bool set = cli_is_set(cli), sqlite = cli_url_is_sqlite(cli);
    const char *schema = set ? NULL : sqlite ? NULL : "posthorn";

    row_option(cli, "schema", "schema", cli->from_schema, schema);
    row_option(cli, "table_prefix", "table-prefix", cli->from_prefix,
               set      ? NULL
               : sqlite ? "posthorn_"
                        : "");
    row_option(cli, "timeout", "timeout", NULL, NULL);
    row(cli, "owner", cli_json_text(getenv("POSTHORN_OWNER")),
        getenv("POSTHORN_OWNER") ? "POSTHORN_OWNER" : "default");
    row(cli, "backends", json_string(ph_backends()), "library");
    row(cli, "version", json_string(ph_version()), "library");
    row(cli, "schema_version", json_integer(ph_schema_version()), "library");
    return code;
}

static const struct cli_field fields[] = {
    CLI_FIELD(struct row, "name", name, TEXT, "Name",
              "database (as it was named; several times for a set), store (ID=URL of each database "
              "of a set), schema, table_prefix, timeout, owner, backends, version, schema_version"),
    CLI_FIELD(struct row, "value", value, JSON, "Value",
              "the effective value, with passwords as ***"),
    CLI_FIELD(struct row, "source", source, TEXT, "Source",
              "the option, variable or file it comes from, the set file of a store, default or "
              "library"),
    { 0 },
};

const struct cli_command cli_config_show = {
    .name = "config show",
    .summary = "show which database is used, and why",
    .description = "Shows which database the other verbs would use, the other settings, and where "
                   "each value comes from. It does not connect. Passwords are not shown.\n"
                   "With a set it shows every store; for that it runs the queries of set files.",
    .fields = fields,
    .examples =
        CLI_EXAMPLES({ "posthorn config show", "What is in effect?" },
                     { "POSTHORN_DB=postgresql://shop:secret@db.example/shop posthorn config show",
                       "The password is masked" }),
    .only_reads = true,
    .run = run,
};
