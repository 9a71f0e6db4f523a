/* manual.c - posthorn __man GROUP: the manual page of a group of verbs, by the tables. */
#include "commands.h"
#include "frame.h"

#include <ctype.h>
#include <string.h>

#define RELEASE_DATE "2026-11-16"
#define LINE_COLUMNS 78

/* One character in the language of roff. typed: for readers to copy as it is. */
static size_t escape(char *to, const unsigned char *from, size_t *ret_used, bool typed)
{
    static const struct {
        char c;
        const char *escape;
    } typographic[] = {
        { '-', "\\-" }, { '\'', "\\(aq" }, { '`', "\\(ga" }, { '^', "\\(ha" }, { '~', "\\(ti" },
    };
    uint32_t code = from[0];

    *ret_used = 1;
    if (code == '\\')
        return (size_t)sprintf(to, "\\e");
    for (size_t i = 0; typed && i < sizeof(typographic) / sizeof(*typographic); i++) {
        if (code == (unsigned char)typographic[i].c)
            return (size_t)sprintf(to, "%s", typographic[i].escape);
    }
    if (code < 0x80) {
        *to = (char)code;
        return 1;
    }
    *ret_used = code < 0xe0 ? 2 : code < 0xf0 ? 3 : 4; /* our own texts are valid UTF-8 */
    code &= 0x7fu >> *ret_used;
    for (size_t i = 1; i < *ret_used; i++)
        code = code << 6 | (from[i] & 0x3f);
    return (size_t)sprintf(to, "\\[u%04X]", (unsigned)code);
}

static const char *escaped(struct cli *cli, const char *text, bool typed)
{
    char *result = cli_alloc(cli, strlen(text) * 8 + 1), *to = result;
    size_t used;

    for (const unsigned char *at = (const unsigned char *)text; *at; at += used)
        to += escape(to, at, &used, typed);
    return result;
}

static const char *typed(struct cli *cli, const char *text)
{
    return escaped(cli, text, true);
}

/* Filled text, in lines of a decent length; none of them begins like a request. */
static void filled(struct cli *cli, const char *plain)
{
    const char *text = escaped(cli, plain, false);

    while (*text) {
        size_t length = strlen(text);

        if (length > LINE_COLUMNS) {
            length = LINE_COLUMNS;
            while (length > 0 && text[length] != ' ')
                length--;
            if (length == 0)
                length = strcspn(text, " ");
        }
        cli_print(cli, "%s%.*s\n", strchr(".'", *text) ? "\\&" : "", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

static void section(struct cli *cli, const char *macro, const char *title)
{
    cli_print(cli, ".%s \"%s\"\n", macro, typed(cli, title));
}

static void options(struct cli *cli, const struct cli_option *option)
{
    section(cli, "SS", "Options");
    for (; option->name; option++) {
        cli_print(cli, ".TP\n\\fB");
        if (option->letter)
            cli_print(cli, "\\-%c\\fR, \\fB", option->letter);
        cli_print(cli, "\\-\\-%s\\fR", typed(cli, option->name));
        if (option->argument)
            cli_print(cli, " \\fI%s\\fR", typed(cli, option->argument));
        cli_print(cli, "\n");
        filled(cli, cli_option_help(cli, option));
    }
}

static void examples(struct cli *cli, const struct cli_example *example)
{
    const struct cli_example *first = example;

    section(cli, "SS", "Examples");
    for (; example->line; example++) {
        cli_print(cli, "%s", example == first ? "" : ".PP\n");
        filled(cli, cli_printf(cli, "%s:", example->text));
        cli_print(cli, ".PP\n.RS 4\n.EX\n%s\n.EE\n.nh\n.RE\n", typed(cli, example->line));
    }
}

static void fields(struct cli *cli, const struct cli_field *field)
{
    for (; field->name; field++) {
        cli_print(cli, ".TP\n\\fB%s\\fR (%s)\n", typed(cli, field->name),
                  cli_field_types[field->type]);
        filled(cli, field->help);
        if (field->fields) {
            cli_print(cli, ".RS\n");
            fields(cli, field->fields);
            cli_print(cli, ".RE\n");
        }
    }
}

static void exits(struct cli *cli, const struct cli_exit_note *note)
{
    section(cli, "SS", "Exit codes");
    for (; note->text; note++) {
        cli_print(cli, ".TP\n\\fB%d\\fR\n", note->code);
        filled(cli, note->text);
    }
}

static void verb(struct cli *cli, const struct cli_command *command)
{
    section(cli, "SH", cli_printf(cli, "posthorn %s", command->name));
    for (const char *text = command->description, *one; (one = cli_paragraph(cli, &text));) {
        filled(cli, one);
        cli_print(cli, "%s", *text ? ".PP\n" : "");
    }
    if (command->options)
        options(cli, command->options);
    if (command->examples)
        examples(cli, command->examples);
    if (command->exits)
        exits(cli, command->exits);
    if (command->fields) {
        section(cli, "SS", "Fields of --json and --jsonl");
        fields(cli, command->fields);
        if (cli_columns(cli, command)) {
            cli_print(cli, ".PP\n");
            filled(cli, cli_columns(cli, command));
        }
    }
}

static const char *upper(struct cli *cli, const char *text)
{
    char *copy = cli_strdup(cli, text);

    for (char *c = copy; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return copy;
}

static void page(struct cli *cli, const struct cli_group *group, const char *date)
{
    bool first = true;

    cli_print(cli, ".TH \"%s\" 1 %s \"Posthorn %s\" \"Posthorn Manual\"\n.nh\n.ad l\n",
              upper(cli, typed(cli, cli_printf(cli, "posthorn-%s", group->name))), date,
              PH_VERSION);
    cli_print(cli, ".SH NAME\n%s \\- %s\n",
              escaped(cli, cli_printf(cli, "posthorn-%s", group->name), false),
              escaped(cli, group->summary, false));
    cli_print(cli, ".SH SYNOPSIS\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];

        if (command->hidden || strcmp(cli_command_groups[i], group->name) != 0)
            continue;
        cli_print(cli, "%s\\fBposthorn %s\\fR [\\fIOPTION\\fR]...%s%s\n", first ? "" : ".br\n",
                  typed(cli, command->name), *cli_operands(command) ? " " : "",
                  typed(cli, cli_operands(command)));
        first = false;
    }
    cli_print(cli, ".SH DESCRIPTION\n");
    filled(
        cli,
        "Options for every verb, the exit codes and the environment are described in posthorn(1).");
    for (size_t i = 0; cli_commands[i]; i++) {
        if (!cli_commands[i]->hidden && strcmp(cli_command_groups[i], group->name) == 0)
            verb(cli, cli_commands[i]);
    }
    cli_print(cli, ".SH \"SEE ALSO\"\n\\fBposthorn\\fR(1), \\fBlibposthorn\\fR(3), "
                   "\\fBposthorn\\-guarantees\\fR(7)\n");
}

static int run(struct cli *cli)
{
    for (const struct cli_group *group = cli_groups; group->name; group++) {
        if (strcmp(group->name, cli->operands[0]) == 0) {
            page(cli, group, cli->operand_count > 1 ? cli->operands[1] : RELEASE_DATE);
            return CLI_OK;
        }
    }
    return cli_fail(cli, CLI_NOT_FOUND, "there is no group of verbs \"%.80s\"", cli->operands[0]);
}

const struct cli_command cli_man = {
    .name = "__man",
    .summary = "print a manual page",
    .operands = "GROUP [DATE]",
    .description =
        "Prints the manual page of a group of verbs in the man(7) language; for the build.",
    .hidden = true,
    .run = run,
};
