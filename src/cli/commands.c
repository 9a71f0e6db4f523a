/* commands.c - every verb, what all of them share, and what a typing error meant. */
#include "commands.h"
#include "frame.h"

#include <string.h>

const struct cli_group cli_groups[] = {
    { "migrate", "The schema", "create, update and check the schema" },
    { "enqueue", "Producers", "store messages, your own and those of other systems" },
    { "claim", "Workers", "claim messages under a lease, and settle them" },
    { "work", "Workers that run a program", "run a program for each message" },
    { "stream", "Streams", "show ordered streams, and how far their consumers have come" },
    { "instance", "Instances", "show running workers, and remove one by hand" },
    { "join", "Joins", "send a message when a group of messages has ended" },
    { "timer", "Timers", "store messages for later, and cancel them" },
    { "job", "Jobs", "start work by the clock" },
    { "schedule", "The scheduler", "turn due timers and jobs into messages" },
    { "list", "Messages", "show and count messages" },
    { "dead", "Dead letters", "show, retry and discard dead letters" },
    { "queue", "Queues", "set, pause and clean up queues" },
    { "doctor", "Health and speed", "find out what is wrong, measure the speed, see a demo" },
    { "config", "The command itself", "show the settings, the help and shell completions" },
    { NULL, NULL, NULL },
};

#define VERB(group, name) &cli_##name,
#define GROUP_OF(group, name) #group,
const struct cli_command *const cli_commands[] = { CLI_VERBS(VERB) NULL };
const char *const cli_command_groups[] = { CLI_VERBS(GROUP_OF) NULL };

const struct cli_option cli_global_options[] = {
    CLI_OPTION("db", 0, TEXT, "URL",
               "the database: sqlite:PATH, postgresql://HOST/NAME, or from:PATH for a file that "
               "holds the URL (default: POSTHORN_DB, then DATABASE_URL, then sqlite:posthorn.db). "
               "For a set of databases give several, also as ID=URL, or set:PATH for a file that "
               "lists them; see posthorn(1)",
               .repeated = true),
    CLI_OPTION("store", 0, TEXT, "KEY", "with a set: only the store with this id or routing key"),
    CLI_OPTION("schema", 0, TEXT, "NAME", "the schema on PostgreSQL (default: posthorn)"),
    CLI_OPTION("table-prefix", 0, TEXT, "PREFIX",
               "prefix of Posthorn's tables (default: posthorn_ on SQLite, none on PostgreSQL)"),
    CLI_OPTION("timeout", 0, MS, "SECONDS", "the time limit of each call to the database",
               .value = "30s", .min = 1, .max = 86400000),
    CLI_FLAG("json", 0, "print one JSON document"),
    CLI_FLAG("jsonl", 0, "print one JSON object per line"),
    CLI_FLAG("no-header", 0, "print tables without a heading"),
    CLI_FLAG("no-color", 0, "no colours, as with NO_COLOR or TERM=dumb in the environment"),
    CLI_FLAG("yes", 'y', "do not ask for confirmation"),
    CLI_FLAG("quiet", 'q', "no notes, advice or progress"),
    CLI_FLAG("verbose", 'v', "log to stderr; twice: everything", .repeated = true),
    CLI_FLAG("help", 'h', "explain the verb, or list all verbs"),
    CLI_FLAG("version", 'V', "print the versions of command, library and schema"),
    { 0 }
};

const struct cli_exit_note cli_exit_notes[] = {
    { CLI_OK, "done" },
    { CLI_FAILED, "failed, or a check found a fault" },
    { CLI_USAGE, "the command line, or a value on it, is invalid" },
    { CLI_NO_CONNECTION, "cannot connect to the database" },
    { CLI_NOT_FOUND, "not found, or nothing matches" },
    { CLI_TIMED_OUT, "the time limit was reached" },
    { CLI_INTERRUPTED,
      "interrupted by SIGINT or SIGTERM (work and schedule end with 0 on SIGTERM)" },
    { 0, NULL },
};

const struct cli_variable cli_variables[] = {
    { "POSTHORN_DB", "the database, set:PATH or from:PATH; a better place for a URL with a "
                     "password than the command line, which other users can read" },
    { "DATABASE_URL", "the database, if POSTHORN_DB is not set" },
    { "POSTHORN_OWNER", "the owner that claims and settles, if --owner is not given" },
    { "NO_COLOR", "set and not empty: no colours" },
    { "TERM", "dumb: no colours and no progress bar" },
    { NULL, NULL },
};

const struct cli_command *cli_command_find(const char *first, const char *second)
{
    size_t length = strlen(first);

    for (size_t i = 0; cli_commands[i]; i++) {
        const char *name = cli_commands[i]->name;

        if (second ? strncmp(name, first, length) == 0 && name[length] == ' ' &&
                         strcmp(name + length + 1, second) == 0
                   : strcmp(name, first) == 0)
            return cli_commands[i];
    }
    return NULL;
}

bool cli_is_family(const char *first)
{
    size_t length = strlen(first);

    for (size_t i = 0; cli_commands[i]; i++) {
        if (strncmp(cli_commands[i]->name, first, length) == 0 &&
            cli_commands[i]->name[length] == ' ')
            return true;
    }
    return false;
}

/* Levenshtein's distance of two short words, a swap of neighbours counting once. */
#define WORD_MAX 40
static size_t distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    size_t rows[WORD_MAX + 1][WORD_MAX + 1];

    if (la > WORD_MAX || lb > WORD_MAX)
        return WORD_MAX;
    for (size_t i = 0; i <= la; i++) {
        for (size_t j = 0; j <= lb; j++) {
            size_t best;

            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            best = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = rows[i - 1][j] + 1 < best ? rows[i - 1][j] + 1 : best;
            best = rows[i][j - 1] + 1 < best ? rows[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                rows[i - 2][j - 2] + 1 < best)
                best = rows[i - 2][j - 2] + 1;
            rows[i][j] = best;
        }
    }
    return rows[la][lb];
}

struct nearest {
    const char *name;
    size_t distance;
};

static void consider(struct nearest *nearest, const char *word, const char *candidate,
                     const char *answer)
{
    size_t d = distance(word, candidate);
    size_t length = strlen(word);

    if (length >= 3 && strncmp(word, candidate, length) == 0)
        d = 1; /* an abbreviation */
    if (d < nearest->distance && d <= 1 + length / 3) {
        nearest->distance = d;
        nearest->name = answer;
    }
}

const char *cli_word_near(const char *word, const char *const *candidates, size_t count)
{
    struct nearest nearest = { NULL, WORD_MAX };

    for (size_t i = 0; i < count; i++)
        consider(&nearest, word, candidates[i], candidates[i]);
    return nearest.name;
}

const char *cli_command_near(struct cli *cli, const char *first, const char *word)
{
    struct nearest nearest = { NULL, WORD_MAX };

    for (size_t i = 0; cli_commands[i]; i++) {
        const char *name = cli_commands[i]->name, *blank = strchr(name, ' ');

        if (cli_commands[i]->hidden)
            continue;
        if (first && blank && strncmp(name, first, strlen(first)) == 0)
            consider(&nearest, word, blank + 1, name);
        else if (!first && blank)
            consider(&nearest, word, cli_printf(cli, "%.*s", (int)(blank - name), name),
                     cli_printf(cli, "%.*s", (int)(blank - name), name));
        else if (!first)
            consider(&nearest, word, name, name);
    }
    return nearest.name;
}

const char *cli_option_near(const struct cli_command *command, const char *name)
{
    struct nearest nearest = { NULL, WORD_MAX };
    const struct cli_option *tables[] = { command ? command->options : NULL, cli_global_options };

    for (size_t i = 0; i < 2; i++) {
        for (const struct cli_option *o = tables[i]; o && o->name; o++)
            consider(&nearest, name, o->name, o->name);
    }
    return nearest.name;
}
