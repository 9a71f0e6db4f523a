/* commands.c - every verb there is, what all of them share, and what a slip of the pen meant. */
#include "commands.h"
#include "frame.h"

#include <string.h>

const struct cli_group cli_groups[] = {
    { "migrate", "The schema", "make, update and check the schema" },
    { "enqueue", "Producers", "store messages, and take in those from elsewhere" },
    { "claim", "Workers", "take messages under a lease, and settle them" },
    { "work", "Workers that run a program", "run a program for each message" },
    { "stream", "Streams", "look at ordered streams, and how far their consumers are" },
    { "instance", "Instances", "look at running workers, and remove one by hand" },
    { "join", "Joins", "send a message when a group of messages has ended" },
    { "timer", "Timers", "store messages for later, and cancel them" },
    { "job", "Jobs", "make runs by the clock" },
    { "schedule", "The scheduler", "turn timers and jobs that are due into messages" },
    { "list", "Looking", "look at messages, and count them" },
    { "dead", "Dead letters", "look at dead letters, put them back or discard them" },
    { "queue", "Queues", "set, pause and clean up queues" },
    { "doctor", "Health and speed", "find out what is wrong or how fast it is; try it out" },
    { "config", "The command itself", "how the command is set up, and where it helps" },
    { NULL, NULL, NULL },
};

/* In the order of help and manual. */
const struct cli_command *const cli_commands[] = {
    &cli_migrate_up,
    &cli_migrate_status,
    &cli_migrate_validate,
    &cli_migrate_sql,
    &cli_enqueue,
    &cli_receive,
    &cli_claim,
    &cli_ack,
    &cli_abandon,
    &cli_fail_verb,
    &cli_release,
    &cli_renew,
    &cli_reap,
    &cli_work,
    &cli_stream_list,
    &cli_stream_show,
    &cli_stream_read,
    &cli_checkpoint_list,
    &cli_checkpoint_complete,
    &cli_checkpoint_fail,
    &cli_checkpoint_rewind,
    &cli_instance_list,
    &cli_instance_leave,
    &cli_join_start,
    &cli_join_attach,
    &cli_join_wait,
    &cli_join_show,
    &cli_join_list,
    &cli_join_cancel,
    &cli_join_report,
    &cli_timer_add,
    &cli_timer_cancel,
    &cli_timer_list,
    &cli_job_set,
    &cli_job_list,
    &cli_job_next,
    &cli_job_runs_verb,
    &cli_job_trigger,
    &cli_job_pause,
    &cli_job_resume,
    &cli_job_delete,
    &cli_schedule,
    &cli_show,
    &cli_list,
    &cli_stats,
    &cli_explain,
    &cli_dead_list,
    &cli_dead_show,
    &cli_dead_retry,
    &cli_dead_discard,
    &cli_queue_list,
    &cli_queue_set,
    &cli_queue_pause,
    &cli_queue_resume,
    &cli_queue_delete,
    &cli_retention,
    &cli_doctor,
    &cli_bench,
    &cli_demo,
    &cli_config_show,
    &cli_completion,
    &cli_help_verb,
    /* hidden */
    &cli_man,
    &cli_tables,
    NULL,
};

const struct cli_option cli_global_options[] = {
    { .name = "db",
      .type = CLI_TEXT,
      .argument = "URL",
      .help = "the database: sqlite:PATH or postgresql://HOST/NAME; otherwise POSTHORN_DB, then "
              "DATABASE_URL, then sqlite:posthorn.db. For many databases: several of them, also as "
              "ID=URL, and set:PATH for a file that lists them. from:PATH: as that file says, "
              "see posthorn(1)",
      .repeated = true },
    { .name = "store",
      .type = CLI_TEXT,
      .argument = "KEY",
      .help = "of many databases only this one, by its id or a routing key" },
    { .name = "schema",
      .type = CLI_TEXT,
      .argument = "NAME",
      .help = "the schema on PostgreSQL (posthorn)" },
    { .name = "table-prefix",
      .type = CLI_TEXT,
      .argument = "PREFIX",
      .help = "what our tables' names begin with (posthorn_ on SQLite, nothing on PostgreSQL)" },
    { .name = "timeout",
      .type = CLI_MS,
      .argument = "SECONDS",
      .help = "the time limit of each call to the database",
      .value = "30s",
      .min = 1,
      .max = 86400000 },
    { .name = "json", .type = CLI_SWITCH, .help = "print one JSON document" },
    { .name = "jsonl", .type = CLI_SWITCH, .help = "print one JSON object per line" },
    { .name = "no-header", .type = CLI_SWITCH, .help = "print tables without their first line" },
    { .name = "no-color",
      .type = CLI_SWITCH,
      .help = "no colours, as with NO_COLOR or TERM=dumb in the environment" },
    { .name = "yes",
      .letter = 'y',
      .type = CLI_SWITCH,
      .help = "do not ask before what cannot be undone" },
    { .name = "quiet", .letter = 'q', .type = CLI_SWITCH, .help = "no notes, advice or progress" },
    { .name = "verbose",
      .letter = 'v',
      .type = CLI_SWITCH,
      .help = "log to stderr; twice: everything",
      .repeated = true },
    { .name = "help", .letter = 'h', .type = CLI_SWITCH, .help = "explain the verb, or list all" },
    { .name = "version",
      .letter = 'V',
      .type = CLI_SWITCH,
      .help = "print the versions of command, library and schema" },
    { .name = NULL },
};

const struct cli_exit_note cli_exit_notes[] = {
    { CLI_OK, "done" },
    { CLI_FAILED, "failed, or a check is false" },
    { CLI_USAGE, "the command line is wrong, or a value on it" },
    { CLI_NO_CONNECTION, "cannot connect to the database" },
    { CLI_NOT_FOUND, "there is no such thing, or nothing at all" },
    { CLI_TIMED_OUT, "the time limit was reached" },
    { CLI_INTERRUPTED,
      "interrupted by SIGINT or SIGTERM (work and schedule end with 0 on SIGTERM)" },
    { 0, NULL },
};

const struct cli_variable cli_variables[] = {
    { "POSTHORN_DB", "the database, set:PATH or from:PATH; the better place for a URL with a "
                     "password, since a command line "
                     "can be seen by others" },
    { "DATABASE_URL", "the database, if POSTHORN_DB is not set" },
    { "POSTHORN_OWNER", "who claims and settles, if --owner is not given" },
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
