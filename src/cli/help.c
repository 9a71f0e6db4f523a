/* help.c - help, by the tables. */
#include "commands.h"
#include "frame.h"

#include <string.h>

const char *cli_operands(const struct cli_command *command)
{
    return command->operands ? command->operands : "";
}

const char *cli_paragraph(struct cli *cli, const char **text)
{
    size_t length = strcspn(*text, "\n");
    const char *paragraph = length ? cli_printf(cli, "%.*s", (int)length, *text) : NULL;

    *text += length + ((*text)[length] == '\n');
    return paragraph;
}

static void paragraphs(struct cli *cli, const char *text)
{
    for (const char *one; text && (one = cli_paragraph(cli, &text));) {
        cli_print(cli, "\n");
        cli_wrap(cli, one, 0);
    }
}

static const char *heading(struct cli *cli, const char *text)
{
    return cli_printf(cli, "\n%s%s%s\n", cli_colour(cli, CLI_BOLD), text,
                      cli_colour(cli, CLI_PLAIN));
}

/* The name of something, and its explanation beside or below it. */
#define NAME_COLUMNS 26
static void entry(struct cli *cli, const char *name, const char *text)
{
    if (strlen(name) + 4 > NAME_COLUMNS)
        cli_print(cli, "  %s\n%*s", name, NAME_COLUMNS, "");
    else
        cli_print(cli, "  %-*s", NAME_COLUMNS - 2, name);
    cli_wrap(cli, text, NAME_COLUMNS);
}

const char *cli_option_help(struct cli *cli, const struct cli_option *option)
{
    const char *text = option->help;

    if (option->choices)
        text = cli_printf(cli, "%s: %s", text, option->choices);
    if (option->repeated)
        text = cli_printf(cli, "%s; may be repeated", text);
    if (option->environment)
        text = cli_printf(cli, "%s; or %s in the environment", text, option->environment);
    if (option->value)
        text = cli_printf(cli, "%s (default: %s)", text, option->value);
    return text;
}

static void options(struct cli *cli, const struct cli_option *option)
{
    for (; option && option->name; option++) {
        const char *letter = option->letter ? cli_printf(cli, "-%c, ", option->letter) : "";
        const char *name =
            cli_printf(cli, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
                       option->argument ? option->argument : "");

        entry(cli, name, cli_option_help(cli, option));
    }
}

static void fields(struct cli *cli, const struct cli_field *field, int depth)
{
    for (; field->name; field++) {
        entry(cli, cli_printf(cli, "%*s%s", depth * 2, "", field->name), field->help);
        if (field->fields)
            fields(cli, field->fields, depth + 1);
    }
}

const char *cli_columns(struct cli *cli, const struct cli_command *command)
{
    const char *columns = command->columns;

    if (!command->fields || command->layout != CLI_TABLE)
        return NULL;
    for (const struct cli_field *field = command->fields; !command->columns && field->name; field++)
        if (field->heading)
            columns = columns ? cli_printf(cli, "%s %s", columns, field->name) : field->name;
    return columns ? cli_printf(cli, "The table shows %s.", columns) : NULL;
}

static void exits(struct cli *cli, const struct cli_exit_note *note)
{
    for (; note && note->text; note++)
        entry(cli, cli_printf(cli, "%d", note->code), note->text);
}

static void examples(struct cli *cli, const struct cli_example *example)
{
    for (; example->line; example++) {
        cli_print(cli, "  # ");
        cli_wrap(cli, example->text, 4);
        cli_print(cli, "  %s%s%s\n", cli_colour(cli, CLI_BOLD), example->line,
                  cli_colour(cli, CLI_PLAIN));
    }
}

static void help_command(struct cli *cli, const struct cli_command *command)
{
    cli_print(cli, "posthorn %s - %s\n", command->name, command->summary);
    cli_print(cli, "%s  posthorn %s [OPTION]...%s%s\n", heading(cli, "Usage"), command->name,
              *cli_operands(command) ? " " : "", cli_operands(command));
    paragraphs(cli, command->description);
    if (command->options) {
        cli_print(cli, "%s", heading(cli, "Options"));
        options(cli, command->options);
    }
    if (command->examples) {
        cli_print(cli, "%s", heading(cli, "Examples"));
        examples(cli, command->examples);
    }
    if (command->exits) {
        cli_print(cli, "%s", heading(cli, "Exit codes"));
        exits(cli, command->exits);
    }
    if (command->fields) {
        cli_print(cli, "%s", heading(cli, "Fields of --json and --jsonl"));
        fields(cli, command->fields, 0);
    }
    paragraphs(cli, cli_columns(cli, command));
    if (command->every_store)
        cli_print(cli, "\nWith a set of databases it takes every store, or one: --store KEY\n");
    cli_print(cli, "\nOptions for every verb, exit codes and the environment: posthorn help\n");
}

static void verbs(struct cli *cli, const char *group, const char *family)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];
        const char *line;

        if (command->hidden || (group && strcmp(cli_command_groups[i], group) != 0))
            continue;
        if (family && (strncmp(command->name, family, strlen(family)) != 0 ||
                       command->name[strlen(family)] != ' '))
            continue;
        line = cli_printf(cli, "%s %s", command->name, cli_operands(command));
        entry(cli, line, command->summary);
    }
}

static void help_family(struct cli *cli, const char *family)
{
    cli_print(cli, "%s", heading(cli, "Verbs") + 1);
    verbs(cli, NULL, family);
    cli_print(cli, "\nMore about one of them: posthorn help %s VERB\n", family);
}

static void help_all(struct cli *cli)
{
    cli_print(cli, "posthorn - transactional messages in the database you already run\n");
    cli_print(cli, "%s  posthorn [--db URL]... VERB [OPTION]... [OPERAND]...\n",
              heading(cli, "Usage"));
    for (const struct cli_group *group = cli_groups; group->name; group++) {
        cli_print(cli, "%s", heading(cli, group->title));
        verbs(cli, group->name, NULL);
    }
    cli_print(cli, "%s", heading(cli, "Options for every verb"));
    options(cli, cli_global_options);
    cli_print(cli, "%s", heading(cli, "Exit codes"));
    exits(cli, cli_exit_notes);
    cli_print(cli, "%s", heading(cli, "Environment"));
    for (const struct cli_variable *variable = cli_variables; variable->name; variable++)
        entry(cli, variable->name, variable->text);
    cli_print(cli, "%s", heading(cli, "Output"));
    cli_wrap(cli,
             "Data goes to stdout: a table, or JSON with the fields that each verb's help lists. "
             "Notes and errors go to stderr. An error is one line, the cause and then the cure; "
             "with --json or --jsonl it is an object: {\"error\": {\"code\", \"message\", "
             "\"exit\", \"retry\", \"outcome_unknown\"}}, with \"cure\" if the cure has a "
             "word. Verbs that destroy data ask first; without a terminal they require --yes.",
             0);
    cli_print(cli, "\nMore about a verb, with examples: posthorn help VERB\n");
}

void cli_help(struct cli *cli, const struct cli_command *command, const char *family)
{
    if (command)
        help_command(cli, command);
    else if (family)
        help_family(cli, family);
    else
        help_all(cli);
}

static int run(struct cli *cli)
{
    const char *first = cli->operand_count > 0 ? cli->operands[0] : NULL;
    const char *second = cli->operand_count > 1 ? cli->operands[1] : NULL;
    const struct cli_command *command = first ? cli_command_find(first, second) : NULL;

    if (!first || command || (!second && cli_is_family(first))) {
        cli_help(cli, command, first);
        return CLI_OK;
    }
    return cli_no_verb(cli, second ? first : NULL, second ? second : first);
}

const struct cli_command cli_help_verb = {
    .name = "help",
    .summary = "explain a verb, or list all verbs",
    .operands = "[VERB [WORD]]",
    .description =
        "Explains a verb: what it does, its options, examples and exit codes, and the fields that "
        "--json prints. Without a verb it lists all verbs and what they share.",
    .examples = CLI_EXAMPLES({ "posthorn help", "Every verb" },
                             { "posthorn help dead retry", "One of them" }),
    .run = run,
};
