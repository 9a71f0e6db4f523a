/* migrate.c - posthorn migrate: the schema. */
#include "commands.h"

#include <string.h>

struct row {
    ph_schema_status schema;
    int64_t applied;
};

#define ROW(...) CLI_FIELD(struct row, __VA_ARGS__)
static const struct cli_field fields[] = {
    CLI_ITS_STORE,
    ROW("installed", schema.installed, NUMBER, "Installed",
        "the version of the schema in the database; 0: none"),
    ROW("library", schema.library, NUMBER, "Library", "the version that this library installs"),
    ROW("serves_from", schema.serves_from, NUMBER, "Serves from",
        "the oldest library schema version that it still serves"),
    ROW("usable", schema.usable, BOOL, "Usable", "this library can work with it as it is"),
    ROW("pending", schema.pending, BOOL, "Pending", "migrate up would change something"),
    ROW("applied", applied, NUMBER, "Applied", "how many migrations it applied; only of migrate up",
        .or_none = true),
    CLI_ERROR_FIELD,
    { 0 },
};

/* applied: CLI_NO_NUMBER for other verbs than migrate up. */
static int inspect(struct cli *cli, int64_t applied, ph_schema_status *ret_status)
{
    struct row row = { PH_SCHEMA_STATUS_INIT, applied };

    if (ph_schema_inspect(cli->store, cli->timeout_ms, &row.schema, &cli->err) < 0)
        return cli_fail_store(cli);
    cli_row(cli, &row);
    *ret_status = row.schema;
    return CLI_OK;
}

static int up_one(struct cli *cli, void *context)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    int code, applied = 0;

    (void)context;
    if (ph_migrate(cli->store, cli->timeout_ms, &applied, &cli->err) < 0)
        return cli_fail_store(cli);
    code = inspect(cli, applied, &status);
    if (code == CLI_OK && !cli_is_set(cli))
        cli_note(cli, applied ? "the schema is at version %d now" : "nothing to do: version %d",
                 status.installed);
    return code;
}

static int status_one(struct cli *cli, void *context)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    int code = inspect(cli, CLI_NO_NUMBER, &status);

    (void)context;
    if (code != CLI_OK)
        return code;
    if (!status.usable)
        cli_note(cli, "%s",
                 status.installed > status.library
                     ? "the schema no longer serves this library; install a newer one"
                     : cli_printf(cli, "the schema is %s; run: %s",
                                  status.installed ? "older than the library" : "missing",
                                  cli_command_line(cli, "migrate up")));
    return CLI_OK;
}

/* Checks the schema. A store of a set has its row even if the check fails. */
static int validate_one(struct cli *cli, void *context)
{
    bool *has_row = context;
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    int code = inspect(cli, CLI_NO_NUMBER, &status);

    *has_row = code == CLI_OK;
    if (code != CLI_OK)
        return code;
    if (status.usable && !status.pending)
        return CLI_OK;
    if (status.installed > status.library)
        return cli_fail(cli, CLI_FAILED,
                        "the schema has version %d and no longer serves this library, which knows "
                        "%d; install a newer one",
                        status.installed, status.library);
    return cli_fail(cli, CLI_FAILED, "the schema has version %d, but the library needs %d; run: %s",
                    status.installed, status.library, cli_command_line(cli, "migrate up"));
}

static void row_failed(struct cli *cli, void *context)
{
    bool *has_row = context;

    if (!*has_row)
        cli_row_failed(cli, NULL);
    *has_row = false;
}

enum { UP, STATUS, VALIDATE };

static int run(struct cli *cli)
{
    static int (*const parts[])(struct cli *, void *) = { up_one, status_one, validate_one };
    bool has_row = false;
    struct cli_each each = { .how = CLI_OPEN_LAZY,
                             .one = parts[cli->command->kind],
                             .failed = row_failed,
                             .context = &has_row };

    return cli_each(cli, &each);
}

/* It goes into SQL, within quotes. */
static bool is_role_prefix(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    return *text && strlen(text) <= 40 && strspn(text, allowed) == strlen(text) &&
           !(*text >= '0' && *text <= '9');
}

struct script {
    const char *sql;
};

static const struct cli_field sql_fields[] = {
    CLI_FIELD(struct script, "sql", sql, TEXT, NULL,
              "the statements, as they are printed without --json"),
    { 0 },
};

static int run_sql(struct cli *cli)
{
    const char *prefix = cli_text(cli, "role-prefix"), *head = "";
    char *sql = NULL;
    int code;

    if (prefix && !cli_given(cli, "roles"))
        return cli_fail(cli, CLI_USAGE, "--role-prefix needs --roles");
    if (prefix && !is_role_prefix(prefix))
        return cli_fail(
            cli, CLI_USAGE,
            "--role-prefix: at most 40 letters, digits and underscores, and no digit first");
    code = cli_open(cli, CLI_OPEN_LAZY);
    if (code != CLI_OK)
        return code;
    if (ph_migrate_sql(cli->store, cli_given(cli, "roles"), &sql, &cli->err) < 0)
        return cli_fail_store(cli);
    if (prefix)
        head = cli_printf(cli, "SET posthorn.role_prefix = '%s';\n", prefix);
    if (cli->format == CLI_TEXT_FORM)
        cli_print(cli, "%s%s", head, sql);
    else
        cli_row(cli, &(struct script){ cli_printf(cli, "%s%s", head, sql) });
    ph_free(sql);
    return CLI_OK;
}

const struct cli_command cli_migrate_up = {
    .name = "migrate up",
    .summary = "create or update the schema",
    .description = "Brings the schema to the version of this library: creates what is missing, in "
                   "one transaction. You can run it again at any time, in several processes at "
                   "once, and while older programs are working. Programs whose library is older "
                   "than serves_from are refused from then on, until they are upgraded, too.\n"
                   "On SQLite it also creates the file. On PostgreSQL it needs the right to create "
                   "the schema; without that right, have an administrator run what migrate sql "
                   "prints. Roles made by migrate sql --roles get their rights on new objects.\n"
                   "With a set of databases it takes one after the other, and continues if one "
                   "fails; the last line says which did.",
    .fields = fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "posthorn migrate up", "Create or update the schema" },
        { "posthorn --db sqlite:orders.db migrate up", "In a file that need not exist yet" },
        { "printf 'store %s sqlite:%s.db\\n' eu eu us us > shops.set",
          "A set file: two databases" },
        { "posthorn --db set:shops.set migrate up", "In all of them" }),
    .every_store = true,
    .run = run,
    .kind = UP,
};

const struct cli_command cli_migrate_status = {
    .name = "migrate status",
    .summary = "show the version of the schema",
    .description =
        "Shows the version of the schema in the database, and the version that this library "
        "brings. A missing schema is an answer, not an error; migrate validate fails in that case.",
    .fields = fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES({ "posthorn migrate status", "What is installed?" },
                             { "posthorn migrate status --json", "The same for programs" }),
    .every_store = true,
    .only_reads = true,
    .run = run,
    .kind = STATUS,
};

const struct cli_command cli_migrate_validate = {
    .name = "migrate validate",
    .summary = "check that the schema is up to date",
    .description = "Fails unless the schema exists, can be used by this library, and is up to "
                   "date. Use it as a step of a deployment, before the program itself starts.",
    .fields = fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "posthorn migrate validate --quiet && echo ready", "Start only if the schema is right" }),
    .exits = CLI_EXITS({ CLI_OK, "the schema is up to date" },
                       { CLI_FAILED, "it is missing, older, or too new" }),
    .every_store = true,
    .only_reads = true,
    .run = run,
    .kind = VALIDATE,
};

const struct cli_command cli_migrate_sql = {
    .name = "migrate sql",
    .summary = "print the schema as SQL",
    .description = "Prints the statements that create the schema in an empty database, so that an "
                   "administrator can review and run them. It needs no connection, only the URL, "
                   "which tells the kind of database.\n"
                   "With --roles it prints the statements that create the roles producer, worker, "
                   "scheduler and reader and grant them their rights (PostgreSQL only). These can "
                   "be run again at any time.\n"
                   "Roles belong to the whole server, and are named after the schema: a worker of "
                   "one database is also a worker of every other database whose schema has the "
                   "same name. To prevent that, give the roles of each database their own names "
                   "with --role-prefix; the schema remembers it.",
    .options = CLI_OPTIONS(
        CLI_FLAG("roles", 0, "print the roles and their grants instead (PostgreSQL)"),
        CLI_OPTION("role-prefix", 0, TEXT, "NAME",
                   "with --roles: call them NAME_worker and so on (default: after the schema)")),
    .fields = sql_fields,
    .layout = CLI_CARD,
    .examples =
        CLI_EXAMPLES({ "posthorn --db postgresql:///shop migrate sql > schema.sql", "For review" },
                     { "posthorn --db postgresql:///shop --schema mail migrate sql --roles",
                       "The grants, for a schema of another name" },
                     { "posthorn --db postgresql:///shop migrate sql --roles --role-prefix shop",
                       "Roles of this database alone" }),
    .only_reads = true,
    .run = run_sql,
};
