/* tables.c - posthorn __tables: all the tables as JSON, for tests and for the manual. */
#include "commands.h"
#include "frame.h"

#include <stdlib.h>
#include <string.h>

static const char *letter_of(const void *option)
{
    static char text[2];

    text[0] = ((const struct cli_option *)option)->letter;
    return text[0] ? text : NULL;
}

static const char *operands_of(const void *command)
{
    return cli_operands(command);
}

static const char *document_of(const void *row)
{
    static const char *const layouts[] = { "array", "object", "object", "array" };
    const struct cli_command *command = row;

    return command->fields ? layouts[command->layout] : NULL;
}

static const char *const option_types[] = {
    [CLI_SWITCH] = "switch",    [CLI_TEXT] = "text",
    [CLI_FILE] = "file",        [CLI_WORD] = "word",
    [CLI_NUMBER] = "number",    [CLI_MS] = "duration",
    [CLI_SECONDS] = "duration", [CLI_LIFETIME] = "lifetime",
    [CLI_TIME] = "time",        [CLI_ID] = "id",
    [CLI_REST] = "rest",
};

/* The tables of the tables. */
#define OPTION(...) CLI_FIELD(struct cli_option, __VA_ARGS__, NULL, "")
static const struct cli_field option_fields[] = {
    OPTION("name", name, TEXT),
    CLI_FIELD_TEXT("letter", letter_of, TEXT, NULL, ""),
    OPTION("argument", argument, TEXT),
    CLI_FIELD(struct cli_option, "type", type, TEXT, NULL, "", .words = option_types),
    OPTION("help", help, TEXT),
    OPTION("default", value, TEXT),
    OPTION("environment", environment, TEXT),
    OPTION("choices", choices, TEXT),
    OPTION("repeated", repeated, BOOL),
    { 0 },
};

#define FIELD(...) CLI_FIELD(struct cli_field, __VA_ARGS__, NULL, "")
static const struct cli_field field_fields[] = {
    FIELD("name", name, TEXT),
    CLI_FIELD(struct cli_field, "type", type, TEXT, NULL, "", .words = cli_field_types),
    FIELD("help", help, TEXT),
    FIELD("heading", heading, TEXT),
    CLI_FIELD_TABLE(struct cli_field, "fields", fields, field_fields),
    { 0 },
};

static const struct cli_field example_fields[] = {
    CLI_FIELD(struct cli_example, "line", line, TEXT, NULL, ""),
    CLI_FIELD(struct cli_example, "text", text, TEXT, NULL, ""),
    { 0 },
};

static const struct cli_field exit_fields[] = {
    CLI_FIELD(struct cli_exit_note, "code", code, NUMBER, NULL, ""),
    CLI_FIELD(struct cli_exit_note, "text", text, TEXT, NULL, ""),
    { 0 },
};

static const struct cli_field variable_fields[] = {
    CLI_FIELD(struct cli_variable, "name", name, TEXT, NULL, ""),
    CLI_FIELD(struct cli_variable, "text", text, TEXT, NULL, ""),
    { 0 },
};

#define VERB(...) CLI_FIELD(struct cli_command, __VA_ARGS__, NULL, "")
static const struct cli_field verb_fields[] = {
    VERB("name", name, TEXT),
    VERB("summary", summary, TEXT),
    CLI_FIELD_TEXT("operands", operands_of, TEXT, NULL, ""),
    VERB("description", description, TEXT),
    VERB("columns", columns, TEXT),
    CLI_FIELD_TABLE(struct cli_command, "options", options, option_fields),
    CLI_FIELD_TABLE(struct cli_command, "examples", examples, example_fields),
    CLI_FIELD_TABLE(struct cli_command, "exits", exits, exit_fields),
    CLI_FIELD_TABLE(struct cli_command, "fields", fields, field_fields),
    CLI_FIELD_TEXT("json", document_of, TEXT, NULL, ""),
    { 0 },
};

struct group {
    struct cli_group it;
    json_t *verbs;
};

static const struct cli_field group_fields[] = {
    CLI_FIELD(struct group, "name", it.name, TEXT, NULL, ""),
    CLI_FIELD(struct group, "title", it.title, TEXT, NULL, ""),
    CLI_FIELD(struct group, "summary", it.summary, TEXT, NULL, ""),
    CLI_FIELD(struct group, "verbs", verbs, ROWS, NULL, "", .fields = verb_fields),
    { 0 },
};

struct all {
    const char *version;
    json_t *groups;
    const struct cli_option *options;
    const struct cli_exit_note *exits;
    const struct cli_variable *variables;
};

static const struct cli_field all_fields[] = {
    CLI_FIELD(struct all, "version", version, TEXT, NULL, ""),
    CLI_FIELD(struct all, "groups", groups, ROWS, NULL, "", .fields = group_fields),
    CLI_FIELD_TABLE(struct all, "global_options", options, option_fields),
    CLI_FIELD_TABLE(struct all, "exit_codes", exits, exit_fields),
    CLI_FIELD_TABLE(struct all, "environment", variables, variable_fields),
    { 0 },
};

static json_t *group_json(const struct cli_group *it)
{
    struct group group = { *it, cli_need(json_array()) };

    for (size_t i = 0; cli_commands[i]; i++) {
        if (!cli_commands[i]->hidden && strcmp(cli_command_groups[i], it->name) == 0)
            cli_array_add(group.verbs, verb_fields, cli_commands[i]);
    }
    return cli_object(group_fields, &group);
}

static int run(struct cli *cli)
{
    struct all tables = { PH_VERSION, cli_need(json_array()), cli_global_options, cli_exit_notes,
                          cli_variables };
    json_t *all;
    char *text;

    for (const struct cli_group *group = cli_groups; group->name; group++)
        json_array_append_new(tables.groups, group_json(group));
    all = cli_object(all_fields, &tables);
    text = cli_need(json_dumps(all, JSON_INDENT(2)));
    cli_print(cli, "%s\n", text);
    free(text);
    json_decref(all);
    return CLI_OK;
}

const struct cli_command cli_tables = {
    .name = "__tables",
    .summary = "print the tables of all verbs",
    .description =
        "Prints the tables that describe every verb, as JSON; for tests and for the manual.",
    .hidden = true,
    .run = run,
};
