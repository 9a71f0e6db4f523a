/* tables.c - posthorn __tables: all the tables as JSON, for tests and for the manual. */
#include "commands.h"
#include "frame.h"

#include <stdlib.h>
#include <string.h>

static json_t *option_json(const struct cli_option *option)
{
    static const char *const types[] = {
        [CLI_SWITCH] = "switch",    [CLI_TEXT] = "text",
        [CLI_FILE] = "file",        [CLI_WORD] = "word",
        [CLI_NUMBER] = "number",    [CLI_MS] = "duration",
        [CLI_SECONDS] = "duration", [CLI_LIFETIME] = "lifetime",
        [CLI_TIME] = "time",        [CLI_ID] = "id",
        [CLI_REST] = "rest",
    };

    return json_pack("{s:s, s:s?, s:s?, s:s, s:s, s:s?, s:s?, s:s?, s:b}", "name", option->name,
                     "letter", option->letter ? (char[]){ option->letter, 0 } : NULL, "argument",
                     option->argument, "type", types[option->type], "help", option->help, "default",
                     option->value, "environment", option->environment, "choices", option->choices,
                     "repeated", option->repeated);
}

static json_t *options_json(const struct cli_option *option)
{
    json_t *array = json_array();

    for (; option && option->name; option++)
        json_array_append_new(array, cli_need(option_json(option)));
    return array;
}

static json_t *fields_json(const struct cli_field *field)
{
    static const char *const types[] = {
        [CLI_F_TEXT] = "string",     [CLI_F_NUMBER] = "number",   [CLI_F_BOOL] = "boolean",
        [CLI_F_TIME] = "time",       [CLI_F_LIFETIME] = "number", [CLI_F_UUID] = "uuid",
        [CLI_F_STATE] = "string",    [CLI_F_JSON] = "json",       [CLI_F_ROWS] = "array",
        [CLI_F_FROM_NOW] = "number", [CLI_F_AGO] = "number",
    };
    json_t *array = json_array();

    for (; field && field->name; field++) {
        json_t *object =
            json_pack("{s:s, s:s, s:s, s:s?}", "name", field->name, "type", types[field->type],
                      "help", field->help, "heading", field->heading);

        if (field->fields)
            json_object_set_new(object, "fields", fields_json(field->fields));
        json_array_append_new(array, cli_need(object));
    }
    return array;
}

static json_t *examples_json(const struct cli_example *example)
{
    json_t *array = json_array();

    for (; example && example->line; example++)
        json_array_append_new(
            array, json_pack("{s:s, s:s}", "line", example->line, "text", example->text));
    return array;
}

static json_t *exits_json(const struct cli_exit_note *note)
{
    json_t *array = json_array();

    for (; note && note->text; note++)
        json_array_append_new(array,
                              json_pack("{s:i, s:s}", "code", note->code, "text", note->text));
    return array;
}

static json_t *command_json(const struct cli_command *command)
{
    static const char *const layouts[] = {
        [CLI_TABLE] = "array",
        [CLI_CARD] = "object",
        [CLI_BARE] = "object",
        [CLI_BARE_MANY] = "array",
    };

    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:s?}", "name", command->name,
                     "summary", command->summary, "operands", cli_operands(command), "description",
                     command->description, "options", options_json(command->options), "examples",
                     examples_json(command->examples), "exits", exits_json(command->exits),
                     "fields", fields_json(command->fields), "json",
                     command->fields ? layouts[command->layout] : NULL);
}

static json_t *group_json(const struct cli_group *group)
{
    json_t *verbs = json_array();

    for (size_t i = 0; cli_commands[i]; i++) {
        if (!cli_commands[i]->hidden && strcmp(cli_command_groups[i], group->name) == 0)
            json_array_append_new(verbs, cli_need(command_json(cli_commands[i])));
    }
    return json_pack("{s:s, s:s, s:s, s:o}", "name", group->name, "title", group->title, "summary",
                     group->summary, "verbs", verbs);
}

static json_t *variables_json(void)
{
    json_t *array = json_array();

    for (const struct cli_variable *variable = cli_variables; variable->name; variable++)
        json_array_append_new(
            array, json_pack("{s:s, s:s}", "name", variable->name, "text", variable->text));
    return array;
}

static int run(struct cli *cli)
{
    json_t *groups = json_array(), *all;
    char *text;

    for (const struct cli_group *group = cli_groups; group->name; group++)
        json_array_append_new(groups, cli_need(group_json(group)));
    all = cli_need(json_pack("{s:s, s:o, s:o, s:o, s:o}", "version", PH_VERSION, "groups", groups,
                             "global_options", options_json(cli_global_options), "exit_codes",
                             exits_json(cli_exit_notes), "environment", variables_json()));
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
