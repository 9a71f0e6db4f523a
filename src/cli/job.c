/* job.c - posthorn job set, delete, trigger, pause and resume. */
#include "commands.h"
#include "job.h"
#include "message.h"

#include "util/time_text.h"

static const struct cli_exit_note exits[] = {
    { CLI_NOT_FOUND, "there is no job of this name" },
    { 0, NULL },
};

#define EXAMPLE_SET                                                                                \
    {                                                                                              \
        "posthorn job set nightly etl.start '0 3 * * *'", "A job"                                  \
    }

/* ---------------------------------------------------------------------------- set */

static int job_fill(struct cli *cli, ph_job *job)
{
    job->name = cli->operands[0];
    job->topic = cli->operands[1];
    job->cron = cli->operands[2];
    job->timezone = cli_text(cli, "timezone");
    job->misfire = (ph_misfire)(cli_word(cli, "misfire") + 1);
    job->misfire_limit = (int)cli_number(cli, "misfire-limit");
    job->overlap = (ph_overlap)(cli_word(cli, "overlap") + 1);
    job->ns = cli_text(cli, "namespace");
    if (!cli_given(cli, "payload"))
        return CLI_OK;
    return cli_payload(cli, cli_text(cli, "payload"), &job->payload, &job->payload_length);
}

/* The job is valid, but is it what the user meant? The next instant shows it. */
static void next_note(struct cli *cli, const ph_job *job, const char *what)
{
    char text[PH__TIME_TEXT_SIZE], distance[CLI_FROM_NOW_SIZE];
    int64_t now = 0, next = 0;
    size_t count = 0;

    if (ph_clock(cli->store, PH_OWN_TX, cli->timeout_ms, &now, &cli->err) < 0 ||
        ph_job_next(job->cron, job->timezone, now, 1, &next, &count, &cli->err) < 0 || count == 0)
        cli_note(cli, "%s", what);
    else
        cli_note(cli, "%s; the next instant is %s (%s)", what, ph__time_text(next, text),
                 cli_from_now_text((next - now) / 1000, distance));
}

/* When the job was last changed; 0: there is none. */
static int64_t changed_at(struct cli *cli, const char *name)
{
    ph_job_list_opts opts = PH_JOB_LIST_OPTS_INIT;
    ph_jobs *jobs = NULL;
    int64_t at = 0;

    opts.name = name;
    if (ph_job_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &jobs, &cli->err) == 0 &&
        ph_jobs_count(jobs) > 0)
        at = ph_jobs_at(jobs, 0)->updated_at;
    ph_jobs_free(jobs);
    return at;
}

static int run_set(struct cli *cli)
{
    ph_job job = PH_JOB_INIT;
    bool is_new = false;
    int64_t before;
    int code = job_fill(cli, &job);

    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code != CLI_OK)
        return code;
    before = changed_at(cli, job.name);
    if (ph_job_set(cli->store, PH_OWN_TX, &job, cli->timeout_ms, &is_new, &cli->err) < 0)
        return cli_fail_store(cli);
    if (!is_new && changed_at(cli, job.name) == before)
        next_note(cli, &job, "unchanged");
    else
        next_note(cli, &job, is_new ? "created" : "changed");
    return cli_job_print(cli, job.name);
}

const struct cli_command cli_job_set = {
    .name = "job set",
    .summary = "create or change a job that runs by the clock",
    .operands = "NAME TOPIC CRON",
    .description = "Creates a job, or changes every setting of the job with this name, and prints "
                   "it. Each instant of its cron expression makes exactly one job run, however "
                   "many schedulers there are. A scheduler (posthorn schedule, or one inside a "
                   "program) turns each run into a message with the job's topic and payload.\n"
                   "An expression has five fields (minute, hour, day, month, weekday) or six "
                   "(second first), with names, ranges, lists and steps, or is one of @yearly, "
                   "@monthly, @weekly, @daily and @hourly. posthorn job next shows what it means.\n"
                   "Setting a job again without changes has no effect, so a service can do it at "
                   "every start. Otherwise existing runs stay as they are, and a paused job stays "
                   "paused. The instants of a new expression count from now on; instants of the "
                   "old one that were due and have no run yet still get theirs. Options that you "
                   "leave out return to their defaults, and the payload becomes empty.\n"
                   "Instants that pass while no scheduler runs are missed. --misfire once makes "
                   "one run for the latest of them, skip makes none, and all makes one for each, "
                   "but at most --misfire-limit. With --overlap skip an instant is skipped, and "
                   "counted, while an earlier run has not ended.",
    .options =
        CLI_OPTIONS(CLI_OPTION("payload", 'p', TEXT, "TEXT",
                               "payload of its runs; -: all of stdin (default: empty)"),
                    CLI_OPTION("timezone", 'z', TEXT, "ZONE",
                               "its time zone, such as Europe/Berlin", .value = "UTC"),
                    CLI_OPTION("misfire", 0, WORD, "POLICY", "what to do about missed instants",
                               .value = "once", .choices = CLI_MISFIRES),
                    CLI_OPTION("misfire-limit", 0, NUMBER, "N",
                               "with --misfire all: make at most N runs, the latest",
                               .value = "100", .min = 1, .max = PH_MISFIRE_LIMIT_MAX),
                    CLI_OPTION("overlap", 0, WORD, "POLICY",
                               "what to do at an instant while an earlier run has not ended",
                               .value = "allow", .choices = CLI_OVERLAPS),
                    CLI_NAMESPACE_OPTION("the queue of its runs; if omitted, the default queue")),
    .fields = cli_job_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "posthorn job set nightly etl.start '0 3 * * *' --timezone Europe/Berlin",
          "At three in the morning, in Berlin" },
        { "posthorn job set heartbeat monitor.beat '*/10 * * * * *' --misfire skip --overlap skip",
          "Every ten seconds, and never two runs at once" },
        { "posthorn job set report mail.report '0 9 * * mon-fri' --payload '{\"kind\": \"daily\"}'",
          "On working days at nine" }),
    .run = run_set,
};

/* ------------------------------------------------------------------------- delete */

struct deleted {
    const char *name;
    bool deleted;
};

static const struct cli_field delete_fields[] = {
    CLI_FIELD(struct deleted, "name", name, TEXT, "Name", "the job's name"),
    CLI_FIELD(struct deleted, "deleted", deleted, BOOL, "Deleted",
              "false: it was deleted in the meantime"),
    { 0 },
};

static int run_delete(struct cli *cli)
{
    struct deleted row = { .name = cli->operands[0] };
    ph_jobs *jobs = NULL;
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code == CLI_OK)
        code = cli_job_find(cli, row.name, &jobs);
    ph_jobs_free(jobs);
    if (code == CLI_OK)
        code =
            cli_confirm(cli, "Delete job \"%.80s\", and its runs that have not begun?", row.name);
    if (code != CLI_OK)
        return code;
    if (ph_job_delete(cli->store, PH_OWN_TX, row.name, cli->timeout_ms, &row.deleted, &cli->err) <
        0)
        return cli_fail_store(cli);
    cli_row(cli, &row);
    return row.deleted ? CLI_OK : CLI_NOT_FOUND;
}

const struct cli_command cli_job_delete = {
    .name = "job delete",
    .summary = "delete a job",
    .operands = "NAME",
    .description = "Deletes a job, and those of its runs that are neither claimed nor turned into "
                   "messages yet. It asks first; without a terminal it requires --yes. posthorn "
                   "job pause stops a job for a while.",
    .fields = delete_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(EXAMPLE_SET, { "posthorn job delete nightly --yes", "No more of it" }),
    .exits = exits,
    .run = run_delete,
};

/* ------------------------------------------------------------------------ trigger */

/* The cure of the library names a function. */
static int failed(struct cli *cli)
{
    if (cli->err.code == PH_ENOTFOUND)
        return cli_fail(cli, CLI_NOT_FOUND, "there is no job \"%.80s\"; see: %s", cli->operands[0],
                        cli_command_line(cli, "job list"));
    return cli_fail_store(cli);
}

struct triggered {
    ph_work_id run;
    const char *job;
};

static const struct cli_field trigger_fields[] = {
    CLI_FIELD(struct triggered, "work_id", run, UUID, "Work id", "identifies the run"),
    CLI_FIELD(struct triggered, "job", job, TEXT, "Job", "the job's name"),
    { 0 },
};

static int run_trigger(struct cli *cli)
{
    struct triggered row = { .job = cli->operands[0] };
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code != CLI_OK)
        return code;
    if (ph_job_trigger(cli->store, PH_OWN_TX, row.job, cli->timeout_ms, &row.run, &cli->err) < 0)
        return failed(cli);
    cli_row(cli, &row);
    return CLI_OK;
}

const struct cli_command cli_job_trigger = {
    .name = "job trigger",
    .summary = "run a job now",
    .operands = "NAME",
    .description = "Makes a run of a job now and prints its id, even if the job is paused and "
                   "whatever its overlap policy. The schedule of the job does not change.",
    .fields = trigger_fields,
    .layout = CLI_BARE,
    .examples = CLI_EXAMPLES(EXAMPLE_SET, { "posthorn job trigger nightly", "Now, for once" }),
    .exits = exits,
    .run = run_trigger,
};

/* -------------------------------------------------------------- pause and resume */

enum { PAUSE, RESUME };

static int run_change(struct cli *cli)
{
    const char *name = cli->operands[0];
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code != CLI_OK)
        return code;
    if ((cli->command->kind == PAUSE ? ph_job_pause : ph_job_resume)(
            cli->store, PH_OWN_TX, name, cli->timeout_ms, &cli->err) < 0)
        return failed(cli);
    return cli_job_print(cli, name);
}

const struct cli_command cli_job_pause = {
    .name = "job pause",
    .summary = "stop a job for a while",
    .operands = "NAME",
    .description =
        "Stops a job and prints it: it makes no runs until job resume. Existing runs go on.",
    .fields = cli_job_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(EXAMPLE_SET, { "posthorn job pause nightly", "Not for now" }),
    .exits = exits,
    .run = run_change,
    .kind = PAUSE,
};

const struct cli_command cli_job_resume = {
    .name = "job resume",
    .summary = "resume a paused job",
    .operands = "NAME",
    .description = "Resumes a paused job and prints it, with its next instant from now on. It does "
                   "not make up for instants that have passed meanwhile.",
    .fields = cli_job_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(EXAMPLE_SET, { "posthorn job pause nightly", "Not for now" },
                             { "posthorn job resume nightly", "Go on" }),
    .exits = exits,
    .run = run_change,
    .kind = RESUME,
};
