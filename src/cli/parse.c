/* parse.c - the command line, by the tables. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

struct parser {
    struct cli *cli;
    char **arguments;
    int count, at;
    const char *family; /* the first of two words, while the second is awaited */
    bool only_operands; /* after "--" */
    bool help, version;
};

static const struct cli_option *option_in(const struct cli_option *options, const char *name,
                                          size_t length, char letter)
{
    for (; options && options->name; options++) {
        if (letter ? options->letter == letter
                   : strlen(options->name) == length && strncmp(options->name, name, length) == 0)
            return options;
    }
    return NULL;
}

static const struct cli_option *option_find(const struct cli_command *command, const char *name,
                                            size_t length, char letter)
{
    const struct cli_option *own =
        command ? option_in(command->options, name, length, letter) : NULL;

    return own ? own : option_in(cli_global_options, name, length, letter);
}

static const struct cli_setting *setting_find(const struct cli *cli, const char *name)
{
    const struct cli_setting *found = NULL;

    for (size_t i = 0; i < cli->setting_count; i++) {
        if (strcmp(cli->settings[i].option->name, name) == 0)
            found = &cli->settings[i];
    }
    if (!found && !option_find(cli->command, name, strlen(name), 0))
        abort(); /* a verb asks for an option that is not in its table */
    return found;
}

bool cli_given(const struct cli *cli, const char *option)
{
    const struct cli_setting *setting = setting_find(cli, option);

    return setting && setting->given;
}

const char *cli_text(const struct cli *cli, const char *option)
{
    const struct cli_setting *setting = setting_find(cli, option);

    return setting ? setting->text : NULL;
}

int64_t cli_number(const struct cli *cli, const char *option)
{
    const struct cli_setting *setting = setting_find(cli, option);
    int64_t times = 0;

    if (!setting || setting->option->type != CLI_SWITCH)
        return setting ? setting->number : 0;
    for (size_t i = 0; i < cli->setting_count; i++)
        times += cli->settings[i].option == setting->option;
    return times;
}

int cli_word(const struct cli *cli, const char *option)
{
    const struct cli_setting *setting = setting_find(cli, option);

    return setting ? (int)setting->number : -1;
}

bool cli_id(const struct cli *cli, const char *option, uint8_t ret_id[16])
{
    const struct cli_setting *setting = setting_find(cli, option);

    if (setting)
        memcpy(ret_id, setting->id, sizeof(setting->id));
    return setting != NULL;
}

int cli_time(struct cli *cli, const char *option, int64_t *ret_time)
{
    const struct cli_setting *setting = setting_find(cli, option);

    *ret_time = 0;
    return setting ? cli_time_of(cli, setting, ret_time) : CLI_OK;
}

size_t cli_texts(const struct cli *cli, const char *option, const char **ret_texts, size_t size)
{
    size_t count = 0;

    (void)setting_find(cli, option);
    for (size_t i = 0; i < cli->setting_count; i++) {
        if (strcmp(cli->settings[i].option->name, option) != 0)
            continue;
        if (count < size)
            ret_texts[count] = cli->settings[i].text;
        count++;
    }
    return count;
}

static void setting_add(struct cli *cli, const struct cli_setting *setting)
{
    cli->settings = cli_grown(cli, cli->settings, cli->setting_count, sizeof(*cli->settings));
    cli->settings[cli->setting_count++] = *setting;
}

static int setting_parse(struct cli *cli, const struct cli_option *option, const char *text,
                         bool given)
{
    struct cli_setting setting = { .option = option };
    int code = text ? cli_parse_value(cli, option, text, &setting) : CLI_OK;

    setting.given = given;
    if (code == CLI_OK)
        setting_add(cli, &setting);
    return code;
}

static int unknown_option(struct parser *p, const char *text, size_t length)
{
    const char *name = cli_printf(p->cli, "%.*s", (int)(length > 80 ? 80 : length), text);
    const char *near = text[1] == '-' ? cli_option_near(p->cli->command, name + 2) : NULL;

    if (near)
        return cli_usage(p->cli, "there is no option %s; did you mean --%s?", name, near);
    if (!p->cli->command)
        return cli_usage(p->cli, "there is no option %s; options of a verb come after it", name);
    if (text[1] >= '0' && text[1] <= '9')
        return cli_usage(p->cli,
                         "there is no option %s; write -- before operands that begin with -", name);
    return cli_usage(p->cli, "posthorn %s has no option %s", p->cli->command->name, name);
}

/* The value of an option: after "=" or the letter, or the next argument. */
static int option_take(struct parser *p, const struct cli_option *option, const char *value)
{
    if (strcmp(option->name, "help") == 0)
        p->help = true;
    if (strcmp(option->name, "version") == 0)
        p->version = true;
    if (option->type == CLI_SWITCH || option->type == CLI_REST) {
        if (value)
            return cli_usage(p->cli, "--%s takes no value", option->name);
        p->only_operands = option->type == CLI_REST;
        return setting_parse(p->cli, option, NULL, true);
    }
    if (!value && p->at + 1 < p->count)
        value = p->arguments[++p->at];
    if (!value)
        return cli_usage(p->cli, "--%s needs a value; write --%s %s", option->name, option->name,
                         option->argument);
    return setting_parse(p->cli, option, value, true);
}

static int long_option(struct parser *p, const char *argument)
{
    size_t length = strcspn(argument, "=");
    const struct cli_option *option = option_find(p->cli->command, argument + 2, length - 2, 0);

    if (!option)
        return unknown_option(p, argument, length);
    return option_take(p, option, argument[length] ? argument + length + 1 : NULL);
}

/* "-q", "-qv", "-bVALUE" */
static int letters(struct parser *p, const char *argument)
{
    int code = CLI_OK;

    for (const char *letter = argument + 1; *letter && code == CLI_OK; letter++) {
        const struct cli_option *option = option_find(p->cli->command, "", 0, *letter);

        if (!option)
            return unknown_option(p, argument, strlen(argument));
        if (option->type != CLI_SWITCH)
            return option_take(p, option, letter[1] ? letter + 1 : NULL);
        code = option_take(p, option, NULL);
    }
    return code;
}

int cli_no_verb(struct cli *cli, const char *family, const char *word)
{
    const char *near = cli_command_near(cli, family, word);
    const char *words =
        cli_printf(cli, "%.80s%s%.80s", family ? family : "", family ? " " : "", word);

    if (near)
        return cli_usage(cli, "there is no verb \"%s\"; did you mean \"%s\"?", words, near);
    return cli_usage(cli, "there is no verb \"%s\"", words);
}

static int operand(struct parser *p, const char *word)
{
    struct cli *cli = p->cli;

    if (!cli->command) {
        cli->command = cli_command_find(p->family ? p->family : word, p->family ? word : NULL);
        if (cli->command)
            return CLI_OK;
        if (p->family || !cli_is_family(word))
            return cli_no_verb(cli, p->family, word);
        p->family = word;
        return CLI_OK;
    }
    if (p->only_operands && cli->rest_at == SIZE_MAX)
        cli->rest_at = cli->operand_count;
    cli->operands[cli->operand_count++] = word;
    return CLI_OK;
}

static int walk(struct parser *p)
{
    int code = CLI_OK;

    for (p->at = 1; p->at < p->count && code == CLI_OK; p->at++) {
        const char *argument = p->arguments[p->at];

        if (p->only_operands || argument[0] != '-' || !argument[1])
            code = operand(p, argument);
        else if (strcmp(argument, "--") == 0)
            p->only_operands = true;
        else if (argument[1] == '-')
            code = long_option(p, argument);
        else
            code = letters(p, argument);
    }
    return code;
}

static int defaults(struct cli *cli, const struct cli_option *options)
{
    int code = CLI_OK;

    for (; options && options->name && code == CLI_OK; options++) {
        const char *value = options->environment ? getenv(options->environment) : NULL;
        bool given = value && *value;

        if (!given)
            value = options->value;
        cli->where = given ? options->environment : NULL; /* errors name the variable */
        if (value && !setting_find(cli, options->name) && options->type != CLI_SWITCH)
            code = setting_parse(cli, options, value, given);
        cli->where = NULL;
    }
    return code;
}

/* The least and the most operands; "..." stands for any number. */
static void operands_count(const struct cli_command *command, size_t *ret_min, size_t *ret_max)
{
    const char *word = cli_operands(command);

    *ret_min = *ret_max = 0;
    while (*word && *word != '-') { /* the verb counts what follows an option */
        size_t length = strcspn(word, " ");
        bool many = memmem(word, length, "...", 3), or_option = memmem(word, length, "|--", 3);

        *ret_max = many ? SIZE_MAX : *ret_max + 1;
        if (many || or_option)
            return;
        *ret_min += *word != '[' && !command->checks_operands;
        word += length + strspn(word + length, " ");
    }
}

static int operands_check(struct cli *cli)
{
    const char *name = cli->command->name, *operands = cli_operands(cli->command);
    size_t min, max;

    operands_count(cli->command, &min, &max);
    if (cli->operand_count < min)
        return cli_usage(cli, "an operand is missing; usage: posthorn %s %s", name, operands);
    if (cli->operand_count > max)
        return cli_usage(cli, "unexpected argument \"%.80s\"; usage: posthorn %s%s%s",
                         cli->operands[max], name, *operands ? " " : "", operands);
    return CLI_OK;
}

/* Errors about the command line are printed in JSON, too. */
static void format_guess(struct cli *cli, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0)
            cli->format = CLI_JSON;
        else if (strcmp(argv[i], "--jsonl") == 0)
            cli->format = CLI_JSONL;
    }
}

static void globals(struct cli *cli)
{
    cli->format = cli_given(cli, "jsonl")  ? CLI_JSONL
                  : cli_given(cli, "json") ? CLI_JSON
                                           : CLI_TEXT_FORM;
    cli->quiet = cli_given(cli, "quiet");
    cli->yes = cli_given(cli, "yes");
    cli->timeout_ms = (int)cli_number(cli, "timeout");
}

int cli_parse(struct cli *cli, int argc, char **argv, bool *ret_help, bool *ret_version)
{
    struct parser p = { .cli = cli, .arguments = argv, .count = argc };
    int code;

    cli->operands = cli_alloc(cli, (size_t)argc * sizeof(*cli->operands) + 1);
    cli->rest_at = SIZE_MAX;
    format_guess(cli, argc, argv);
    code = walk(&p);
    if (cli->rest_at == SIZE_MAX)
        cli->rest_at = cli->operand_count;
    if (code == CLI_OK)
        code = defaults(cli, cli_global_options);
    if (code != CLI_OK)
        return code;
    globals(cli);
    *ret_help = p.help;
    *ret_version = p.version;
    cli->family = p.family;
    if (p.help || p.version)
        return CLI_OK;
    if (!cli->command && p.family)
        return cli_usage(cli, "%s needs a second word; see: posthorn help %s", p.family, p.family);
    if (!cli->command)
        return cli_usage(cli, "no verb was given; for example: posthorn stats");
    if (cli->format != CLI_TEXT_FORM && !cli->command->fields && !cli->command->hidden)
        return cli_usage(cli, "posthorn %s has no JSON form; leave out --json and --jsonl",
                         cli->command->name);
    code = defaults(cli, cli->command->options);
    return code == CLI_OK ? operands_check(cli) : code;
}
