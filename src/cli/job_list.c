/* job_list.c - posthorn job list, next and runs: jobs, and when they run and ran. */
#include "commands.h"
#include "job.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE 1000

static const char *state_of(const void *row)
{
    const ph_job_info *job = row;

    return job->paused ? "paused" : job->problem ? "broken" : "active";
}

static const char *const misfires[] = { "once", "once", "skip", "all" };
static const char *const overlaps[] = { "allow", "allow", "skip" };

#define ROW(...) CLI_FIELD(ph_job_info, __VA_ARGS__)
const struct cli_field cli_job_fields[] = {
    ROW("name", name, TEXT, "Name", "the job's name"),
    CLI_FIELD_TEXT("state", state_of, STATE, "State", "active, paused, or broken (see problem)"),
    ROW("cron", cron, TEXT, "Cron", "the expression that says when it runs"),
    ROW("timezone", timezone, TEXT, "Timezone", "its time zone"),
    ROW("topic", topic, TEXT, "Topic", "the topic of its runs"),
    ROW("namespace", ns, TEXT, "Namespace", "the queue of its runs"),
    ROW("misfire", misfire, TEXT, "Misfire",
        "what it does about missed instants: once, skip or all", .words = misfires),
    ROW("misfire_limit", misfire_limit, NUMBER, "Misfire limit", "with all: the most runs"),
    ROW("overlap", overlap, TEXT, "Overlap",
        "what it does at an instant while a run has not ended: allow or skip", .words = overlaps),
    ROW("paused", paused, BOOL, NULL, "it makes no runs"),
    ROW("problem", problem, TEXT, "Problem", "why a scheduler cannot run it; or null"),
    ROW("next_at", next_at, TIME, "Next",
        "its next instant; null: it is paused, or no scheduler has computed it yet"),
    ROW("last_at", last_at, TIME, "Last", "the instant of its last run; or null"),
    ROW("last_run", last_run, UUID, "Last run", "the work id of its last run; or null"),
    ROW("skipped", skipped, NUMBER, "Skipped", "instants that the overlap policy left out"),
    ROW("created_at", created_at, TIME, "Created", "when it was made"),
    ROW("updated_at", updated_at, TIME, "Updated", "when it was last set, paused or resumed"),
    ROW("payload", payload, TEXT, "Payload", "the payload of its runs; null: none"),
    { 0 },
};

int cli_job_find(struct cli *cli, const char *name, ph_jobs **ret_jobs)
{
    ph_job_list_opts opts = PH_JOB_LIST_OPTS_INIT;

    opts.name = name;
    if (ph_job_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, ret_jobs, &cli->err) < 0)
        return cli_fail_store(cli);
    if (ph_jobs_count(*ret_jobs) > 0)
        return CLI_OK;
    return cli_fail(cli, CLI_NOT_FOUND, "there is no job \"%.80s\"; see: %s", name,
                    cli_command_line(cli, "job list"));
}

int cli_job_print(struct cli *cli, const char *name)
{
    ph_jobs *jobs = NULL;
    int code = cli_job_find(cli, name, &jobs);

    if (code == CLI_OK)
        cli_row(cli, ph_jobs_at(jobs, 0));
    ph_jobs_free(jobs);
    return code;
}

/* --------------------------------------------------------------------------- list */

static int list_all(struct cli *cli)
{
    ph_job_list_opts opts = PH_JOB_LIST_OPTS_INIT;
    ph_jobs *jobs = NULL;
    size_t count;

    opts.ns = cli_text(cli, "namespace");
    opts.limit = (int)cli_number(cli, "limit");
    opts.after = cli_text(cli, "after");
    if (ph_job_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &jobs, &cli->err) < 0)
        return cli_fail_store(cli);
    count = ph_jobs_count(jobs);
    for (size_t i = 0; i < count; i++)
        cli_row(cli, ph_jobs_at(jobs, i));
    if (count == 0)
        cli_note(cli, "no jobs");
    if (count == (size_t)opts.limit)
        cli_list_more(cli, cli_quoted(cli, ph_jobs_at(jobs, count - 1)->name));
    ph_jobs_free(jobs);
    return count ? CLI_OK : CLI_NOT_FOUND;
}

static int run_list(struct cli *cli)
{
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code != CLI_OK)
        return code;
    if (cli->operand_count == 0)
        return list_all(cli);
    if (cli->format == CLI_TEXT_FORM)
        cli_layout_set(cli, CLI_CARD);
    return cli_job_print(cli, cli->operands[0]);
}

const struct cli_command cli_job_list = {
    .name = "job list",
    .summary = "list jobs, or show one",
    .operands = "[NAME]",
    .description =
        "Lists jobs by name, or shows everything about one. active: it runs by the clock, as long "
        "as a scheduler does. paused: it makes no runs. broken: a scheduler found that it cannot "
        "run; problem says why. That happens to a job whose time zone the machine of the "
        "scheduler does not have.\n"
        "A page has --limit jobs; the next page begins with --after and the last name of this one.",
    .options = CLI_OPTIONS(
        CLI_NAMESPACE_OPTION("only jobs whose runs are in this queue ('' is the default one)"),
        CLI_LIMIT_OPTION,
        CLI_OPTION("after", 0, TEXT, "NAME",
                   "continue after this name, the last of the previous page")),
    .fields = cli_job_fields,
    .columns = "name state cron timezone topic next_at last_at",
    .examples =
        CLI_EXAMPLES({ "posthorn job set nightly etl.start '0 3 * * *'", "Something to list" },
                     { "posthorn job list", "All jobs" },
                     { "posthorn job list nightly --json", "Everything about one job" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "no job matches" }),
    .only_reads = true,
    .run = run_list,
};

/* --------------------------------------------------------------------------- next */

struct instant {
    int64_t at, in_s;
    const char *local;
};

static const struct cli_field next_fields[] = {
    CLI_FIELD(struct instant, "at", at, TIME, "At", "the instant, in UTC"),
    CLI_FIELD(struct instant, "local", local, TEXT, "Local",
              "the same in the time of the zone, with its offset"),
    CLI_FIELD(struct instant, "in_s", in_s, FROM_NOW, "From now",
              "seconds from now; negative: it has passed"),
    { 0 },
};

/* "2030-01-31T09:30:00+01:00" in the zone that TZ names. */
static const char *local_text(int64_t time, char text[64])
{
    time_t seconds = (time_t)(time / 1000000);
    struct tm local;
    long minutes;

    if (!localtime_r(&seconds, &local))
        return NULL;
    minutes = labs(local.tm_gmtoff) / 60;
    snprintf(text, 64, "%04d-%02d-%02dT%02d:%02d:%02d%c%02ld:%02ld", local.tm_year + 1900,
             local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
             local.tm_gmtoff < 0 ? '-' : '+', minutes / 60, minutes % 60);
    return text;
}

/* The library has read the zone, so TZ names one that exists. */
static void print_times(struct cli *cli, const char *zone, const int64_t *times, size_t count,
                        int64_t now)
{
    setenv("TZ", cli_printf(cli, ":%s", zone), 1);
    tzset();
    for (size_t i = 0; i < count; i++) {
        char local[64];
        const struct instant row = { times[i], (times[i] - now) / 1000000,
                                     local_text(times[i], local) };

        cli_row(cli, &row);
    }
}

static int preview(struct cli *cli, const char *cron, const char *zone)
{
    static const struct cli_option clock = { .name = "after", .type = CLI_TIME };
    struct cli_setting at_once = { .option = &clock, .text = "now", .relative = true };
    size_t most = (size_t)cli_number(cli, "count"), count = 0;
    int64_t *times = cli_alloc(cli, most * sizeof(*times)), now = 0, after = 0;
    int code = cli_time_of(cli, &at_once, &now);

    if (code == CLI_OK)
        code = cli_time(cli, "after", &after);
    if (code != CLI_OK)
        return code;
    if (!cli_given(cli, "after"))
        after = now;
    if (ph_job_next(cron, zone, after, most, times, &count, &cli->err) < 0)
        return cli_fail_store(cli);
    print_times(cli, zone, times, count, now);
    return CLI_OK;
}

static int preview_job(struct cli *cli, const char *name)
{
    const ph_job_info *job;
    ph_jobs *jobs = NULL;
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code == CLI_OK)
        code = cli_job_find(cli, name, &jobs);
    if (code == CLI_OK) {
        job = ph_jobs_at(jobs, 0);
        if (job->paused)
            cli_note(cli, "the job is paused, and makes no runs until it is resumed");
        code = preview(cli, job->cron, job->timezone);
    }
    ph_jobs_free(jobs);
    return code;
}

static int run_next(struct cli *cli)
{
    const char *cron = cli_text(cli, "cron");

    if ((cli->operand_count > 0) == (cron != NULL))
        return cli_usage(cli, "pass either the name of a job, or an expression with --cron");
    if (!cron && cli_given(cli, "timezone"))
        return cli_usage(cli, "--timezone needs --cron; a job has a zone of its own");
    return cron ? preview(cli, cron, cli_text(cli, "timezone"))
                : preview_job(cli, cli->operands[0]);
}

const struct cli_command cli_job_next = {
    .name = "job next",
    .summary = "show when a job runs next",
    .operands = "NAME|--cron EXPR",
    .description = "Prints the next instants of a job, or of an expression: in UTC, in the time of "
                   "the zone with its offset, and relative to now. --cron needs no database.\n"
                   "A time of day fires once a day whatever the clocks do: a time that is skipped "
                   "in spring fires right after the gap, and one that comes twice in autumn fires "
                   "the first time. An interval (every hour) follows the clock as it runs.",
    .options = CLI_OPTIONS(
        CLI_OPTION("cron", 'c', TEXT, "EXPR", "an expression, instead of a job"),
        CLI_OPTION("timezone", 'z', TEXT, "ZONE", "with --cron: its time zone", .value = "UTC"),
        CLI_OPTION("count", 0, NUMBER, "N", "how many instants", .value = "5", .min = 1,
                   .max = PH_BATCH_MAX),
        CLI_OPTION("after", 0, TIME, "TIME", "begin after this time, instead of now")),
    .fields = next_fields,
    .examples = CLI_EXAMPLES(
        { "posthorn job set nightly etl.start '0 3 * * *' --timezone Europe/Berlin", "A job" },
        { "posthorn job next nightly", "When does it run?" },
        { "posthorn job next --cron '0 9 29 2 *' --count 3", "What does this mean?" },
        { "posthorn job next --cron '30 2 * * *' --timezone Europe/Berlin --after "
          "2027-03-27T12:00:00Z",
          "What happens when the clocks change?" }),
    .exits = CLI_EXITS(
        { CLI_USAGE, "the expression is malformed or never fires, or there is no such zone" },
        { CLI_NOT_FOUND, "there is no job of this name" }),
    .only_reads = true,
    .run = run_next,
};

/* --------------------------------------------------------------------------- runs */

/* Prints the runs of the job on a page, at most *left. Returns whether to go on. */
static bool page_print(struct cli *cli, const ph_messages *page, const char *job, int64_t now,
                       ph_message_list_opts *opts, int *left)
{
    size_t count = ph_messages_count(page);

    for (size_t i = 0; i<count && * left> 0; i++) {
        const ph_message_info *run = ph_messages_at(page, i);

        opts->after = run->message->work_id;
        if (!run->message->job || strcmp(run->message->job, job) != 0)
            continue;
        cli_row_json(cli, cli_json_message(cli_job_runs, run, now, false));
        --*left;
    }
    return *left > 0 && count == (size_t)opts->limit;
}

/* The library lists the runs of all jobs, and this picks those of one. */
static int runs_of(struct cli *cli, const char *job, ph_message_list_opts *opts)
{
    ph_messages *page = NULL;
    char id[PH_ID_TEXT_SIZE];
    int64_t now = 0;
    int most, left;
    bool on = true;

    cli_list_opts(cli, opts);
    most = left = opts->limit;
    opts->limit = PAGE;
    if (ph_clock(cli->store, PH_OWN_TX, cli->timeout_ms, &now, &cli->err) < 0)
        return cli_fail_store(cli);
    while (on) {
        if (ph_job_runs_list(cli->store, PH_OWN_TX, opts, cli->timeout_ms, &page, &cli->err) < 0)
            return cli_fail_store(cli);
        on = page_print(cli, page, job, now, opts, &left);
        ph_messages_free(page);
    }
    if (left == most)
        cli_note(cli, "no job runs");
    if (left == 0)
        cli_list_more(cli, ph_id_text(opts->after.b, id));
    return left < most ? CLI_OK : CLI_NOT_FOUND;
}

static int run_runs(struct cli *cli)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    const char *columns;
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code != CLI_OK)
        return code;
    opts.state = (ph_list_state)cli_word(cli, "state");
    columns = cli_given(cli, "payload") ? "work_id state job scheduled_at attempts topic payload"
                                        : cli->command->columns;
    cli_columns_set(cli, columns);
    return cli->operand_count ? runs_of(cli, cli->operands[0], &opts)
                              : cli_list_messages(cli, cli_job_runs, &opts, columns);
}

const struct cli_command cli_job_runs_verb = {
    .name = "job runs",
    .summary = "list job runs",
    .operands = "[NAME]",
    .description =
        "Lists job runs, of all jobs or of one, the newest first. ready: no scheduler has turned "
        "it into a message yet. done: it was turned into a message (or acknowledged by a worker "
        "that handles job runs itself), and is still kept. list and explain show how that message "
        "fares: its message id is the work id of the run.\n"
        "posthorn show and posthorn explain accept the id of a run, too.",
    .options = CLI_OPTIONS(CLI_STATE_OPTION(CLI_STATES), CLI_LIST_OPTIONS),
    .fields = cli_message_fields,
    .columns = "work_id state job scheduled_at attempts topic",
    .examples =
        CLI_EXAMPLES({ "posthorn job set nightly etl.start '0 3 * * *'", "A job" },
                     { "posthorn job trigger nightly", "A run of it" },
                     { "posthorn job runs nightly", "Its runs" },
                     { "posthorn job runs --state ready --jsonl", "Runs to be sent, of all jobs" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "no job run matches" }),
    .only_reads = true,
    .run = run_runs,
};
