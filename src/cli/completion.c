/* completion.c - posthorn completion: scripts for shells, by the tables. */
#include "commands.h"
#include "frame.h"

#include <string.h>

/* A text in single quotes, with a backslash before each character of also. */
static const char *quoted(struct cli *cli, const char *text, const char *also)
{
    char *result = cli_alloc(cli, strlen(text) * 4 + 3), *to = result;

    *to++ = '\'';
    for (; *text; text++) {
        if (*text == '\'') {
            to = stpcpy(to, "'\\''");
            continue;
        }
        if (strchr(also, *text))
            *to++ = '\\';
        *to++ = *text;
    }
    *to = '\'';
    return result;
}

/* The words of "bash|zsh|fish"; NULL: the operands are not a choice of words. */
static const char *operand_words(struct cli *cli, const struct cli_command *command)
{
    char *words = cli_strdup(cli, cli_operands(command));

    if (!*words || strspn(words, "abcdefghijklmnopqrstuvwxyz|") != strlen(words))
        return NULL;
    for (char *c = words; *c; c++)
        *c = *c == '|' ? ' ' : *c;
    return words;
}

static bool takes_value(const struct cli_option *option)
{
    return option->type != CLI_SWITCH && option->type != CLI_REST;
}

/* The options for every verb that take a value: "--db | --store". */
static void global_values(struct cli *cli, const char *between)
{
    for (const struct cli_option *option = cli_global_options; option->name; option++) {
        if (takes_value(option))
            cli_print(cli, "%s--%s", option == cli_global_options ? "" : between, option->name);
    }
}

/* Calls each() for every first word, once per family, in the order of the help. */
static void first_words(struct cli *cli, void (*each)(struct cli *, const char *, const char *))
{
    const char *before = "";

    for (size_t i = 0; cli_commands[i]; i++) {
        const char *name = cli_commands[i]->name;
        const char *word = cli_printf(cli, "%.*s", (int)strcspn(name, " "), name);

        if (cli_commands[i]->hidden || strcmp(word, before) == 0)
            continue;
        each(cli, word, strchr(name, ' ') ? NULL : cli_commands[i]->summary);
        before = word;
    }
}

/* Likewise for the second words of a family. */
static void second_words(struct cli *cli, const char *family,
                         void (*each)(struct cli *, const char *, const char *))
{
    size_t length = strlen(family);

    for (size_t i = 0; cli_commands[i]; i++) {
        const char *name = cli_commands[i]->name;

        if (strncmp(name, family, length) == 0 && name[length] == ' ')
            each(cli, name + length + 1, cli_commands[i]->summary);
    }
}

/* ------------------------------------------------------------------------- bash */

static void bash_names(struct cli *cli, const struct cli_option *option)
{
    for (; option && option->name; option++) {
        cli_print(cli, " --%s", option->name);
        if (option->letter)
            cli_print(cli, " -%c", option->letter);
    }
}

/* What comes after an option. */
static void bash_values(struct cli *cli, const struct cli_option *option)
{
    for (; option && option->name; option++) {
        if (!takes_value(option))
            continue;
        cli_print(cli, "        --%s", option->name);
        if (option->letter)
            cli_print(cli, " | -%c", option->letter);
        if (option->type == CLI_WORD)
            cli_print(cli, ") words=%s kind=words ;;\n", quoted(cli, option->choices, ""));
        else
            cli_print(cli, ") kind=%s ;;\n", option->type == CLI_FILE ? "files" : "none");
    }
}

static void bash_word(struct cli *cli, const char *word, const char *summary)
{
    (void)summary;
    cli_print(cli, " %s", word);
}

static void bash_family(struct cli *cli, const char *word, const char *summary)
{
    if (summary)
        return;
    cli_print(cli, "    '%s ' | 'help %s') words='", word, word);
    second_words(cli, word, bash_word);
    cli_print(cli, "' ;;\n");
}

/* What follows such an option is another program's command line. */
static void bash_rests(struct cli *cli)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        for (const struct cli_option *o = cli_commands[i]->options; o && o->name; o++) {
            if (o->type == CLI_REST)
                cli_print(cli,
                          "                --%s)\n"
                          "                    if ((i == COMP_CWORD - 1)); then\n"
                          "                        COMPREPLY=($(compgen -c -- \"$cur\"))\n"
                          "                    else\n"
                          "                        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                          "                    fi\n"
                          "                    return\n"
                          "                    ;;\n",
                          o->name);
        }
    }
}

static void bash_verb(struct cli *cli, const struct cli_command *command)
{
    const char *words = operand_words(cli, command);

    cli_print(cli, "    %s)\n        options='",
              strchr(command->name, ' ') ? quoted(cli, command->name, "")
                                         : cli_printf(cli, "'%s '*", command->name));
    bash_names(cli, command->options);
    cli_print(cli, "'\n");
    if (strcmp(command->name, "help") == 0)
        words = "$verbs";
    if (words)
        cli_print(cli, "        words=\"%s\"\n", words);
    cli_print(cli, "        case $prev in\n");
    bash_values(cli, command->options);
    cli_print(cli, "        esac\n        ;;\n");
}

static void bash(struct cli *cli)
{
    cli_print(cli, "# bash completion for posthorn, made by: posthorn completion bash\n"
                   "_posthorn() {\n"
                   "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                   "    local first= second= skip= options= words= kind= word i\n"
                   "    local verbs='");
    first_words(cli, bash_word);
    cli_print(cli, "'\n"
                   "    COMPREPLY=()\n"
                   "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                   "        word=${COMP_WORDS[i]}\n"
                   "        case $word in\n"
                   "        = | :) skip=1 ;; # the shell cuts words there\n"
                   "        *)\n"
                   "            if [[ $skip ]]; then\n"
                   "                skip=\n"
                   "            else\n"
                   "                case $word in\n"
                   "                ");
    global_values(cli, " | ");
    cli_print(cli, ") skip=1 ;;\n");
    bash_rests(cli);
    cli_print(cli, "                -*) ;;\n"
                   "                *)\n"
                   "                    if [[ ! $first ]]; then\n"
                   "                        first=$word\n"
                   "                    elif [[ ! $second ]]; then\n"
                   "                        second=$word\n"
                   "                    fi\n"
                   "                    ;;\n"
                   "                esac\n"
                   "            fi\n"
                   "            ;;\n"
                   "        esac\n"
                   "    done\n"
                   "    case \"$first $second\" in\n"
                   "    ' ') words=$verbs ;;\n");
    first_words(cli, bash_family);
    for (size_t i = 0; cli_commands[i]; i++) {
        if (!cli_commands[i]->hidden)
            bash_verb(cli, cli_commands[i]);
    }
    cli_print(cli, "    esac\n    case $prev in\n");
    bash_values(cli, cli_global_options);
    cli_print(cli, "    esac\n"
                   "    options+='");
    bash_names(cli, cli_global_options);
    cli_print(cli, "'\n"
                   "    if [[ $kind == none ]]; then\n"
                   "        return\n"
                   "    elif [[ $kind == files ]]; then\n"
                   "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                   "    elif [[ $kind != words && $cur == -* ]]; then\n"
                   "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
                   "    else\n"
                   "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                   "    fi\n"
                   "}\n"
                   "complete -F _posthorn posthorn\n");
}

/* -------------------------------------------------------------------------- zsh */

static void zsh_option(struct cli *cli, const struct cli_option *option)
{
    const char *help = quoted(cli, option->help, "[]:\\");
    const char *names[] = { cli_printf(cli, "--%s", option->name),
                            cli_printf(cli, "-%c", option->letter) };

    for (size_t i = 0; i < 2; i++) {
        if (i == 1 && !option->letter)
            break;
        cli_print(cli, " %s'%s['%s']", option->repeated ? "'*'" : "", names[i], help);
        if (option->type == CLI_WORD)
            cli_print(cli, ":%s:(%s)", option->argument, option->choices);
        else if (option->type == CLI_FILE)
            cli_print(cli, ":%s:_files", option->argument);
        else if (takes_value(option))
            cli_print(cli, ":%s: ", option->argument);
        cli_print(cli, "'");
    }
}

static void zsh_options(struct cli *cli, const struct cli_option *option)
{
    for (; option && option->name; option++)
        zsh_option(cli, option);
}

static void zsh_word(struct cli *cli, const char *word, const char *summary)
{
    cli_print(cli, " %s",
              quoted(cli, cli_printf(cli, "%s:%s", word, summary ? summary : "..."), ""));
}

static void zsh_family(struct cli *cli, const char *word, const char *summary)
{
    if (summary)
        return;
    cli_print(cli, "    '%s '|'help %s') verbs=(", word, word);
    second_words(cli, word, zsh_word);
    cli_print(cli, ") ;;\n");
}

static void zsh(struct cli *cli)
{
    cli_print(cli, "#compdef posthorn\n"
                   "# zsh completion for posthorn, made by: posthorn completion zsh\n"
                   "_posthorn() {\n"
                   "    local -a globals options verbs\n"
                   "    local first= second= skip= operands='*: : ' word\n"
                   "    globals=(");
    zsh_options(cli, cli_global_options);
    cli_print(cli, ")\n"
                   "    for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
                   "        if [[ -n $skip ]]; then\n"
                   "            skip=\n"
                   "            continue\n"
                   "        fi\n"
                   "        case $word in\n"
                   "        (");
    global_values(cli, "|");
    cli_print(cli, ") skip=1 ;;\n"
                   "        (-*) ;;\n"
                   "        (*) if [[ -z $first ]]; then first=$word; elif [[ -z $second ]]; then "
                   "second=$word; fi ;;\n"
                   "        esac\n"
                   "    done\n"
                   "    case \"$first $second\" in\n"
                   "    ' '|'help ') verbs=(");
    first_words(cli, zsh_word);
    cli_print(cli, ") ;;\n");
    first_words(cli, zsh_family);
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];
        const char *words = operand_words(cli, command);

        if (command->hidden)
            continue;
        cli_print(cli, "    '%s'%s) options=(", command->name,
                  strchr(command->name, ' ') ? "" : "' '*");
        zsh_options(cli, command->options);
        cli_print(cli, ")");
        if (words)
            cli_print(cli, "; operands='*: :(%s)'", words);
        cli_print(cli, " ;;\n");
    }
    cli_print(cli, "    esac\n"
                   "    if (( $#verbs )) && [[ $PREFIX != -* ]]; then\n"
                   "        _describe verb verbs\n"
                   "    else\n"
                   "        _arguments -S $options $globals \"$operands\"\n"
                   "    fi\n"
                   "}\n"
                   "_posthorn \"$@\"\n");
}

/* ------------------------------------------------------------------------- fish */

static void fish_options(struct cli *cli, const char *verb, const struct cli_option *option)
{
    for (; option && option->name; option++) {
        cli_print(cli, "complete -c posthorn");
        if (verb)
            cli_print(cli, " -n '__posthorn_verb begins %s'", verb);
        cli_print(cli, " -l %s", option->name);
        if (option->letter)
            cli_print(cli, " -s %c", option->letter);
        if (option->type == CLI_FILE)
            cli_print(cli, " -r -F");
        else if (takes_value(option))
            cli_print(cli, " -x");
        if (option->type == CLI_WORD)
            cli_print(cli, " -a '%s'", option->choices);
        cli_print(cli, " -d %s\n", quoted(cli, option->help, "\\"));
    }
}

static void fish_word(struct cli *cli, const char *word, const char *summary)
{
    cli_print(
        cli,
        "complete -c posthorn -n '__posthorn_verb is; or __posthorn_verb is help' -a %s -d %s\n",
        word, quoted(cli, summary ? summary : "...", "\\"));
}

static void fish_verb(struct cli *cli, const struct cli_command *command)
{
    const char *second = strchr(command->name, ' '), *words = operand_words(cli, command);

    if (second)
        cli_print(cli,
                  "complete -c posthorn -n '__posthorn_verb is %.*s; or __posthorn_verb is help "
                  "%.*s' -a %s -d %s\n",
                  (int)(second - command->name), command->name, (int)(second - command->name),
                  command->name, second + 1, quoted(cli, command->summary, "\\"));
    if (words)
        cli_print(cli, "complete -c posthorn -n '__posthorn_verb is %s' -a '%s'\n", command->name,
                  words);
    fish_options(cli, command->name, command->options);
}

static void fish(struct cli *cli)
{
    cli_print(cli, "# fish completion for posthorn, made by: posthorn completion fish\n"
                   "function __posthorn_verb -d 'are these the words so far, or their beginning?'\n"
                   "    set -l found $argv[1]\n"
                   "    set -l skip 0\n"
                   "    for word in (commandline -opc)[2..-1]\n"
                   "        if test $skip = 1\n"
                   "            set skip 0\n"
                   "            continue\n"
                   "        end\n"
                   "        switch $word\n"
                   "            case");
    cli_print(cli, " ");
    global_values(cli, " ");
    cli_print(cli, "\n"
                   "                set skip 1\n"
                   "            case '-*'\n"
                   "            case '*'\n"
                   "                set -a found $word\n"
                   "        end\n"
                   "    end\n"
                   "    if test $argv[1] = begins; and test (count $found) -gt (count $argv)\n"
                   "        set found $found[1..(count $argv)]\n"
                   "    end\n"
                   "    test \"$found\" = \"$argv\"\n"
                   "end\n"
                   "complete -c posthorn -f\n");
    first_words(cli, fish_word);
    for (size_t i = 0; cli_commands[i]; i++) {
        if (!cli_commands[i]->hidden)
            fish_verb(cli, cli_commands[i]);
    }
    fish_options(cli, NULL, cli_global_options);
}

static int run(struct cli *cli)
{
    static const struct {
        const char *name;
        void (*print)(struct cli *cli);
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
        if (strcmp(cli->operands[0], shells[i].name) == 0) {
            shells[i].print(cli);
            return CLI_OK;
        }
    }
    return cli_usage(cli, "there are no completions for \"%.80s\"; give bash, zsh or fish",
                     cli->operands[0]);
}

const struct cli_command cli_completion = {
    .name = "completion",
    .summary = "print a completion script for a shell",
    .operands = "bash|zsh|fish",
    .description = "Prints a script that lets the shell complete verbs, options and their values. "
                   "A packaged Posthorn has installed the scripts already.",
    .examples = CLI_EXAMPLES(
        { "source <(posthorn completion bash)", "For the current bash" },
        { "posthorn completion zsh > _posthorn", "For zsh: in a folder of $fpath" },
        { "posthorn completion fish > posthorn.fish", "For fish: in ~/.config/fish/completions" }),
    .run = run,
};
