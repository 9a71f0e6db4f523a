/* schedule.c - posthorn schedule: the scheduler, as a command that keeps running. */
#include "commands.h"
#include "work.h"

#include "util/time_text.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define RETRY_FIRST_MS 250
#define RETRY_MOST_MS 10000
#define PAUSE_LEAST_MS 10
#define POLL_MOST_MS 10000  /* with the lease that dispatchers have by default */
#define STOP_LIMIT_MS 10000 /* for what is under way */

struct schedule {
    struct cli *cli;
    ph_scheduler *scheduler;
    ph_schedule total;
    int64_t retry_ms; /* 0: the database answers */
};

static bool did_anything(const ph_schedule *done)
{
    return done->timers || done->runs || done->job_runs || done->joins || done->problems;
}

static void add(ph_schedule *total, const ph_schedule *done)
{
    total->timers += done->timers;
    total->runs += done->runs;
    total->job_runs += done->job_runs;
    total->joins += done->joins;
    total->problems += done->problems;
    total->now = done->now;
    total->next_at = done->next_at;
}

struct row {
    ph_schedule done;
    json_t *joins;
};

static void row(struct cli *cli, const ph_schedule *done)
{
    const struct row row = { *done, cli_joins_tell(cli) };

    cli_row(cli, &row);
}

/* "3 timers became messages" */
static void line(struct cli *cli, const ph_schedule *done, int64_t count, const char *noun,
                 const char *what)
{
    char time[PH__TIME_TEXT_SIZE];

    if (count == 0)
        return;
    ph__time_text(done->now, time);
    cli_print(cli, "%s%.*sZ%s  %lld %s%s %s\n", cli_colour(cli, CLI_DIM), (int)strcspn(time, "."),
              time, cli_colour(cli, CLI_PLAIN), (long long)count, noun, count == 1 ? "" : "s",
              what);
}

static void tell(struct cli *cli, const ph_schedule *done)
{
    if (!did_anything(done))
        return;
    if (cli->format != CLI_TEXT_FORM) {
        row(cli, done);
    } else {
        line(cli, done, done->timers, "timer", "sent");
        line(cli, done, done->runs, "job run", "made");
        line(cli, done, done->job_runs, "job run", "sent");
        line(cli, done, done->joins, "join", "past the deadline");
        line(cli, done, done->problems, "job", "found broken");
        cli_joins_note(cli);
    }
    cli_flush(cli);
}

/* Does the error pass? A database that is away for a while comes back; others need attention. */
static bool passes(const ph_error *err)
{
    return (err->flags & PH_RETRY) || err->code == PH_ECONNECT || err->code == PH_EUNKNOWN;
}

/* Does what is due. Returns an exit code; CLI_OK with retry_ms set: it could not. */
static int run_once(struct schedule *s, ph_schedule *ret_done)
{
    struct cli *cli = s->cli;
    ph_schedule done = PH_SCHEDULE_INIT;

    if (ph_scheduler_run(s->scheduler, cli->timeout_ms, &done, &cli->err) == 0) {
        if (s->retry_ms)
            cli_note(cli, "the database answers again");
        s->retry_ms = 0;
        add(&s->total, &done);
        *ret_done = done;
        return CLI_OK;
    }
    if (!passes(&cli->err) || cli_given(cli, "once"))
        return cli_fail_store(cli);
    if (s->retry_ms == 0)
        cli_warn(cli, "%s; continuing as soon as it answers", cli_shown(cli, cli->err.message));
    s->retry_ms = s->retry_ms == 0                  ? RETRY_FIRST_MS
                  : s->retry_ms < RETRY_MOST_MS / 2 ? 2 * s->retry_ms
                                                    : RETRY_MOST_MS;
    return CLI_OK;
}

/* The time until something is due, as far as known; at most the poll interval. */
static int64_t pause_ms(const struct schedule *s, const ph_schedule *done)
{
    int64_t poll_ms = cli_number(s->cli, "poll"), due_ms;

    if (s->retry_ms)
        return s->retry_ms;
    if (done->more)
        return 0;
    if (done->next_at == 0)
        return poll_ms;
    due_ms = (done->next_at - done->now + 999) / 1000;
    if (due_ms < PAUSE_LEAST_MS && !did_anything(done))
        due_ms = PAUSE_LEAST_MS; /* another scheduler is at it */
    return due_ms < 0 ? 0 : due_ms < poll_ms ? due_ms : poll_ms;
}

static int go_on(struct schedule *s)
{
    struct cli *cli = s->cli;

    while (!work_stop_is_due()) {
        ph_schedule done = PH_SCHEDULE_INIT;
        int code = run_once(s, &done);

        if (code != CLI_OK)
            return code;
        tell(cli, &done);
        if (cli_write_failed(cli) == EPIPE)
            return cli_fail(cli, CLI_FAILED, "cannot write to stdout: its reader has gone away");
        if (cli_write_failed(cli))
            return CLI_FAILED;
        work_stop_sleep(pause_ms(s, &done));
    }
    return work_stop_first_signal() == SIGINT ? CLI_INTERRUPTED : CLI_OK;
}

/* Runs until a look finds nothing. */
static int until_nothing_is_due(struct schedule *s)
{
    struct cli *cli = s->cli;
    ph_schedule done;
    int code;

    do {
        done = (ph_schedule)PH_SCHEDULE_INIT;
        code = run_once(s, &done);
    } while (code == CLI_OK && (done.more || did_anything(&done)) && !work_stop_is_due());
    if (code == CLI_OK)
        row(cli, &s->total);
    return code;
}

static void sum_up(struct cli *cli, const ph_schedule *total)
{
    cli_note(cli,
             "%lld timers and %lld job runs sent, %lld job runs made, %lld joins past the deadline",
             (long long)total->timers, (long long)total->job_runs, (long long)total->runs,
             (long long)total->joins);
}

static int count_signals(struct cli *cli)
{
    int error = work_stop_prepare();

    return error ? cli_fail(cli, CLI_FAILED, "cannot prepare: %s", strerror(error)) : CLI_OK;
}

static int make_scheduler(struct schedule *s)
{
    struct cli *cli = s->cli;
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    int code = count_signals(cli);

    if (code != CLI_OK)
        return code;
    opts.keep_timers = cli_given(cli, "keep-timers");
    opts.keep_job_runs = cli_given(cli, "keep-job-runs");
    opts.batch_size = (int)cli_number(cli, "batch");
    if (ph_scheduler_new(cli->store, &opts, &s->scheduler, &cli->err) < 0)
        return cli_fail_store(cli);
    return CLI_OK;
}

/* The next time of all stores is the earliest. */
static void add_store(ph_schedule *total, const ph_schedule *done)
{
    int64_t next_at = total->next_at;

    add(total, done);
    if (next_at && (done->next_at == 0 || next_at < done->next_at))
        total->next_at = next_at;
}

/* One database: until a signal ends it; or --once. context: the total of all databases. */
static int one(struct cli *cli, void *context)
{
    struct schedule s = { .cli = cli, .total = PH_SCHEDULE_INIT };
    bool once = cli_given(cli, "once");
    int code = make_scheduler(&s);

    if (code == CLI_OK) {
        code = once ? until_nothing_is_due(&s) : go_on(&s);
        if (!once)
            sum_up(cli, &s.total);
        add_store(context, &s.total);
    }
    ph_scheduler_free(s.scheduler);
    if (code == CLI_OK && once && work_stop_is_due())
        return CLI_INTERRUPTED;
    return code;
}

static int run_each(struct cli *cli)
{
    struct row all = { .done = PH_SCHEDULE_INIT };
    struct cli_each each = {
        .one = one, .failed = cli_row_failed, .context = &all.done, .total = &all
    };
    int code = cli_each(cli, &each);

    if (cli_given(cli, "once") && work_stop_is_due())
        return work_stop_first_signal() == SIGINT ? CLI_INTERRUPTED : CLI_OK;
    return code == CLI_OK && cli_given(cli, "once") && all.done.problems ? CLI_FAILED : code;
}

/* ------------------------------------------------------------- a set of databases */

/* A dispatcher without handlers schedules for all stores. */
static int make_dispatcher(struct cli *cli, ph_dispatcher **ret_dispatcher)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_set *set = NULL;
    int code = cli_set_open(cli, &set);

    if (code != CLI_OK)
        return code;
    opts.schedule = true;
    opts.threads = 1;
    opts.retention_ms = -1;
    opts.service = "schedule";
    opts.poll_ms = (int)cli_number(cli, "poll");
    opts.lease_s = opts.poll_ms > POLL_MOST_MS ? 3 * opts.poll_ms / 1000 + 1 : 0;
    if (ph_dispatcher_new_set(set, &opts, ret_dispatcher, &cli->err) < 0 ||
        ph_dispatcher_start(*ret_dispatcher, &cli->err) < 0)
        return cli_fail_store(cli);
    return CLI_OK;
}

static int serve_set(struct cli *cli)
{
    static const char *const names[] = { "keep-timers", "keep-job-runs", "batch" };
    ph_dispatcher *dispatcher = NULL;
    int code;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (cli_given(cli, names[i]))
            return cli_usage(cli, "--%s is for one database, or for --once", names[i]);
    }
    code = count_signals(cli);
    if (code == CLI_OK)
        code = make_dispatcher(cli, &dispatcher);
    if (code == CLI_OK) {
        cli_set_warn(cli);
        work_stop_wait();
        if (ph_dispatcher_stop(dispatcher, STOP_LIMIT_MS, &cli->err) < 0)
            code = cli_fail_store(cli);
    }
    ph_dispatcher_free(dispatcher);
    if (code != CLI_OK)
        return code;
    return work_stop_first_signal() == SIGINT ? CLI_INTERRUPTED : CLI_OK;
}

static int run(struct cli *cli)
{
    bool once = cli_given(cli, "once");
    int code = cli_set_options_check(cli, false);

    if (code != CLI_OK)
        return code;
    if (!once && cli->format == CLI_JSON)
        return cli_usage(
            cli, "schedule never ends, and --json prints one document at the end; use --jsonl");
    if (!once && cli_is_set(cli))
        return serve_set(cli);
    cli_joins_watch(cli);
    return run_each(cli);
}

/* ------------------------------------------------------------------------ the table */

#define ROW(...) CLI_FIELD(struct row, __VA_ARGS__)
static const struct cli_field fields[] = {
    CLI_STORE_OR_ALL,
    ROW("at", done.now, TIME, "At", "the time of the database at the look"),
    ROW("timers", done.timers, NUMBER, "Timers", "timers turned into messages"),
    ROW("runs", done.runs, NUMBER, "Runs", "job runs made"),
    ROW("job_runs", done.job_runs, NUMBER, "Job runs", "job runs turned into messages"),
    ROW("joins", done.joins, NUMBER, "Joins", "joins whose deadline had passed"),
    ROW("problems", done.problems, NUMBER, "Problems", "jobs found broken; stderr names each"),
    ROW("next_at", done.next_at, TIME, "Next",
        "when something is next due, as far as known; null: nothing is planned"),
    CLI_ENDED_FIELD(struct row, joins, "the joins that ended"),
    CLI_TOTAL_FIELDS,
    CLI_ERROR_FIELD,
    { 0 },
};

const struct cli_command cli_schedule = {
    .name = "schedule",
    .summary = "turn due timers and jobs into messages",
    .description =
        "Does what is due, until a signal ends it: turns timers and job runs into messages, makes "
        "the runs of jobs, and ends joins whose deadline has passed. Workers then get the messages "
        "like any other. It serves all queues of the database. Any number of schedulers may run at "
        "once, so losing one does no harm; there is no leader, and nothing is done twice.\n"
        "It looks when something is due, as far as it knows, and at least every --poll, since "
        "other programs may have set timers and jobs. If the database goes away, it says so once, "
        "and continues when the database is back.\n"
        "On SIGTERM and SIGINT it finishes what it is doing and ends. It prints what it does as it "
        "happens, a line for each kind (with --jsonl an object for each look that found "
        "something), and a summary at the end.\n"
        "With a set of databases it serves all stores, over at most --connections, and rereads the "
        "set every --refresh. Then it does not print what it does, but logs errors. With --once it "
        "takes one store after the other, and prints a line per store and a total.\n"
        "If your workers claim timers or job runs themselves (claim --door), give the scheduler "
        "--keep-timers or --keep-job-runs. Jobs need a scheduler in any case, to make their runs.",
    .options = CLI_OPTIONS(
        CLI_FLAG("once", 0, "do all that is due, print the counts, and end"),
        CLI_FLAG("keep-timers", 0, "leave timers to workers that claim them"),
        CLI_FLAG("keep-job-runs", 0,
                 "leave job runs to workers that claim them; it still makes them"),
        CLI_OPTION("poll", 0, MS, "DURATION", "the longest time between two looks",
                   .value = "500ms", .min = 1, .max = 86400000),
        CLI_OPTION("batch", 'b', NUMBER, "N", "handle at most N of each kind in one look",
                   .value = "1000", .min = 1, .max = PH_BATCH_MAX),
        CLI_SET_OPTIONS("")),
    .fields = fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "posthorn timer add order.expired 17 --in 0s", "A timer that is due" },
        { "posthorn job set nightly etl.start '0 3 * * *'; posthorn job trigger nightly",
          "A job, and a run of it" },
        { "posthorn schedule --once", "Both become messages" },
        { "timeout --preserve-status 1 posthorn schedule --poll 200ms",
          "As a service would, for a second; timeout ends it with SIGTERM" }),
    .exits = CLI_EXITS({ CLI_OK, "ended by SIGTERM; with --once: done, even if nothing was due" },
                       { CLI_FAILED, "with --once: a job is broken; or stdout cannot be written" },
                       { CLI_INTERRUPTED, "ended by SIGINT" }),
    .every_store = true,
    .run = run,
};
