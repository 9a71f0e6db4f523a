/* work.c - "posthorn work": a command per message. */
#include "work.h"
#include "commands.h"
#include "door.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENV_MAX 256
#define DRAIN_SLICE_MS 200   /* how long a wait may hide a signal */
#define OUTAGE_MS 30000      /* then --once and --drain give up */
#define STOP_RESERVE_MS 5000 /* for the last settlements, after the last command was killed */

/* ------------------------------------------------------------------ prepare */

static int find_command(struct work *work)
{
    struct cli *cli = work->cli;
    const char **command = cli->operands + cli->rest_at;
    size_t count = cli->operand_count - cli->rest_at;
    int error;

    if (!cli_given(cli, "exec") || count == 0)
        return cli_usage(cli, "no command was given; end with --exec CMD [ARG...]");
    error = process_find(command[0], getenv("PATH"), &work->path);
    if (error == ENOENT && !strchr(command[0], '/'))
        return cli_fail(cli, CLI_USAGE, "%s is not in PATH; give --exec the path of a program",
                        command[0]);
    if (error)
        return cli_fail(cli, CLI_USAGE, "%s cannot be run: %s", command[0],
                        error == EACCES ? "it is not an executable file" : strerror(error));
    work->argv = cli_alloc(cli, (count + 1) * sizeof(*work->argv));
    for (size_t i = 0; i < count; i++)
        work->argv[i] = cli_strdup(cli, command[i]);
    return CLI_OK;
}

static bool names_database(const char *variable)
{
    return strcmp(variable, "POSTHORN_DB") == 0 || strcmp(variable, "DATABASE_URL") == 0;
}

/* CMD was looked up in PATH, and looks up its own commands there. */
static void pass_path(struct work *work, const char *const *names, size_t count)
{
    const char *path = getenv("PATH");

    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], "PATH") == 0)
            return; /* it is passed already */
    }
    if (path)
        work->passed[work->passed_count++] = cli_printf(work->cli, "PATH=%s", path);
}

static int pass_environment(struct work *work)
{
    struct cli *cli = work->cli;
    const char *names[ENV_MAX];
    size_t count = cli_texts(cli, "env", names, ENV_MAX);

    if (count > ENV_MAX)
        return cli_usage(cli, "--env is given more than %d times", ENV_MAX);
    work->gives_db = !cli_given(cli, "no-db");
    work->passed = cli_alloc(cli, (count + 2) * sizeof(*work->passed));
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(names[i]);

        if (!*names[i] || strchr(names[i], '='))
            return cli_usage(cli,
                             "--env takes the name of a variable, not \"%s\"; its value is that of "
                             "posthorn work",
                             names[i]);
        if (work_env_is_ours(names[i]))
            return cli_usage(cli, "--env %s: that variable describes the message", names[i]);
        if (cli_given(cli, "no-db") && names_database(names[i]))
            return cli_usage(cli, "--no-db and --env %s cannot be used together", names[i]);
        if (value)
            work->passed[work->passed_count++] = cli_printf(cli, "%s=%s", names[i], value);
        else
            cli_warn(cli, "--env %s: the variable is not set", names[i]);
        if (strcmp(names[i], "POSTHORN_DB") == 0)
            work->gives_db = false;
    }
    pass_path(work, names, count);
    return CLI_OK;
}

static int check(struct work *work)
{
    struct cli *cli = work->cli;
    bool any = cli_given(cli, "any-topic");
    int code = find_command(work);

    if (code != CLI_OK)
        return code;
    if (any == (cli->rest_at > 0))
        return cli_usage(cli, any ? "--any-topic and TOPICs cannot be used together"
                                  : "no topic was given; name some, or use --any-topic");
    if (cli_given(cli, "once") && cli_given(cli, "drain"))
        return cli_usage(cli, "--once and --drain cannot be used together");
    if (cli_given(cli, "select") && !cli_is_set(cli))
        return cli_usage(cli, "--select is for a set of databases; leave it out");
    code = cli_set_options_check(cli, true);
    if (code != CLI_OK)
        return code;
    work->seen = cli_alloc(cli, (cli->rest_at + 1) * sizeof(*work->seen));
    work->time_limit_ms = (int)cli_number(cli, "time-limit");
    work->kill_after_ms = (int)cli_number(cli, "kill-after");
    work->stop_limit_ms = (int)cli_number(cli, "stop-limit");
    work->retry_delay_ms = cli_given(cli, "retry-delay") ? cli_number(cli, "retry-delay") : -1;
    work->verbose = cli_given(cli, "verbose");
    work->stdout_fd = cli->format == CLI_TEXT_FORM ? STDOUT_FILENO : STDERR_FILENO;
    return pass_environment(work);
}

/* The instances of a service share the streams. Workers with other work must not belong to it, or
 * heads would wait for an instance that does not claim them. */
static const char *service(struct cli *cli)
{
    const char *ns = cli_text(cli, "namespace");
    const char *name = cli_door(cli) == cli_inbox ? "inbox:" : "";

    if (cli_given(cli, "service"))
        return cli_text(cli, "service");
    if (ns && *ns)
        name = cli_printf(cli, "%s%s/", name, ns);
    if (cli->rest_at == 0)
        name = cli_printf(cli, "%s*", name);
    for (size_t i = 0; i < cli->rest_at; i++)
        name = cli_printf(cli, "%s%s%s", name, i ? "," : "", cli->operands[i]);
    return *name && strlen(name) <= PH_NAME_MAX ? name : "posthorn";
}

/* How the instance describes itself, without the arguments of the command: they may hold a
 * secret. */
static const char *metadata(const struct work *work)
{
    struct cli *cli = work->cli;
    const char *ns = cli_text(cli, "namespace"), *name = strrchr(work->path, '/');
    json_t *topics = json_array(), *object = cli_need(json_object());
    char *text, *copy;

    for (size_t i = 0; i < cli->rest_at; i++)
        json_array_append_new(topics, cli_json_text(cli->operands[i]));
    json_object_set_new(object, "door", cli_json_text(cli_door(cli)->name));
    json_object_set_new(object, "namespace", cli_json_text(ns ? ns : ""));
    json_object_set_new(object, "topics", cli->rest_at ? json_incref(topics) : json_null());
    json_object_set_new(object, "command", cli_json_text(name ? name + 1 : work->path));
    json_decref(topics);
    text = cli_need(json_dumps(object, JSON_COMPACT));
    copy = cli_strdup(cli, text);
    json_decref(object);
    free(text);
    return copy;
}

/* On the one database, or on all of a set. */
static int new_dispatcher(struct cli *cli, const ph_dispatcher_opts *opts,
                          ph_dispatcher **ret_dispatcher)
{
    ph_set *set = NULL;
    int code = cli_is_set(cli) ? cli_set_open(cli, &set) : cli_open(cli, CLI_OPEN_CHECKED), r;

    if (code != CLI_OK)
        return code;
    r = set ? ph_dispatcher_new_set(set, opts, ret_dispatcher, &cli->err)
            : ph_dispatcher_new(cli->store, opts, ret_dispatcher, &cli->err);
    return r < 0 ? cli_fail_store(cli) : CLI_OK;
}

static int make_dispatcher(struct work *work, ph_dispatcher **ret_dispatcher)
{
    struct cli *cli = work->cli;
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    int r = 0, code;

    opts.ns = cli_text(cli, "namespace");
    opts.threads = cli_given(cli, "once") ? 1 : (int)cli_number(cli, "concurrency");
    opts.batch_size = cli_given(cli, "batch") ? (int)cli_number(cli, "batch") : opts.threads;
    /* A message that waits behind a long command here could run elsewhere. */
    opts.prefetch = opts.batch_size > opts.threads ? opts.batch_size : -1;
    opts.lease_s = (int)cli_number(cli, "lease");
    opts.poll_ms = (int)cli_number(cli, "poll");
    opts.defer_ms = (int)cli_number(cli, "defer-delay");
    opts.message_limit = cli_given(cli, "once") ? 1 : 0;
    opts.connections = cli_is_set(cli) ? 0 : (int)cli_number(cli, "connections");
    opts.service = service(cli);
    opts.metadata = metadata(work);
    opts.stale_threshold_s = (int)cli_number(cli, "stale-threshold");
    opts.partition_count = (int)cli_number(cli, "partitions");
    opts.max_partitions = (int)cli_number(cli, "max-partitions");
    opts.selection = cli_word(cli, "select") == 1 ? PH_SELECT_DRAIN_FIRST : PH_SELECT_ROUND_ROBIN;
    handler.handle = work_handle;
    handler.context = work;
    handler.inbox = cli_door(cli) == cli_inbox;
    code = new_dispatcher(cli, &opts, ret_dispatcher);
    if (code != CLI_OK)
        return code;
    if (cli_given(cli, "any-topic"))
        r = ph_dispatcher_handle(*ret_dispatcher, &handler, &cli->err);
    for (size_t i = 0; r == 0 && i < cli->rest_at; i++) {
        handler.topic = cli->operands[i];
        r = ph_dispatcher_handle(*ret_dispatcher, &handler, &cli->err);
    }
    return r < 0 ? cli_fail_store(cli) : CLI_OK;
}

/* ---------------------------------------------------------------------- run */

/* --once needs no more than one store that has a message. */
static bool has_enough(struct cli *cli, ph_dispatcher *dispatcher)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;

    return cli_given(cli, "once") && ph_dispatcher_stats_get(dispatcher, &stats, &cli->err) == 0 &&
           stats.started > 0;
}

/* Different ones are CLI_FAILED together. */
static int worse(int code, int other)
{
    if (code == CLI_OK || other == CLI_OK)
        return code == CLI_OK ? other : code;
    return code == other ? code : CLI_FAILED;
}

/* Reports the stores of a set that could not be drained. Returns an exit code. */
static int unserved(struct cli *cli, ph_dispatcher *dispatcher)
{
    ph_served_stores *list = NULL;
    int code = CLI_OK;

    if (has_enough(cli, dispatcher)) {
        cli_set_warn(cli);
        return CLI_OK;
    }
    if (ph_served_store_list(dispatcher, NULL, &list, &cli->err) < 0)
        return cli_fail_store(cli);
    for (size_t i = 0; i < ph_served_stores_count(list); i++) {
        const ph_served_store *store = ph_served_stores_at(list, i);
        int its_code;

        if (store->last_error.code == 0)
            continue;
        cli->err = store->last_error;
        cli->place = store->id;
        its_code = cli_fail_store(cli);
        cli->place = NULL;
        code = worse(code, its_code);
    }
    ph_served_stores_free(list);
    return worse(code, cli_set_fail(cli));
}

/* Waits until all is handled, a signal comes, or the database is away for too long. */
static int drain(struct work *work, ph_dispatcher *dispatcher)
{
    struct cli *cli = work->cli;
    int away_ms = 0, r = PH_ETIMEOUT;

    while (r < 0 && away_ms < OUTAGE_MS && !work_stop_is_due()) {
        r = ph_dispatcher_drain(dispatcher, DRAIN_SLICE_MS, &cli->err);
        away_ms = r == PH_ETIMEOUT || r == 0 ? 0 : away_ms + DRAIN_SLICE_MS;
        if (r == PH_EINVAL || ((r == PH_EPERM || r == PH_EAUTH) && !cli_is_set(cli)))
            break; /* waiting does not help */
    }
    if (r == PH_ETIMEOUT)
        return CLI_OK;
    if (r < 0 && !cli_is_set(cli))
        return cli_fail_store(cli);
    return cli_is_set(cli) ? unserved(cli, dispatcher) : CLI_OK;
}

/* The dispatcher claims messages until it is stopped: nothing may block us before. */
static bool stderr_takes_words(void)
{
    struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

    return poll(&fd, 1, 0) > 0;
}

/* code: of a failure that was already reported. */
static int stop(struct work *work, ph_dispatcher *dispatcher, int code)
{
    struct cli *cli = work->cli;
    int64_t limit_ms = (int64_t)work->stop_limit_ms + work->kill_after_ms + STOP_RESERVE_MS;
    int r;

    if (work_stop_signals() && stderr_takes_words())
        cli_note(cli, "ending; a second signal ends the commands that still run");
    work_stop_begin(work->stop_limit_ms);
    r = ph_dispatcher_stop(dispatcher, (int)limit_ms, &cli->err);
    return r < 0 && code == CLI_OK ? cli_fail_store(cli) : code;
}

static void sum_up(struct cli *cli, const ph_dispatcher_stats *stats)
{
    cli_note(cli,
             "%lld handled: %lld done, %lld to be retried, %lld dead, %lld deferred or given back, "
             "%lld too late",
             (long long)stats->started, (long long)stats->done,
             (long long)(stats->retried - stats->dead), (long long)(stats->failed + stats->dead),
             (long long)stats->deferred, (long long)stats->stale);
}

/* Stdout cannot be written. Closing it reports every reason but a reader that is gone. */
static int unread(struct cli *cli)
{
    if (cli_write_failed(cli) == EPIPE)
        cli_fail(cli, CLI_FAILED, "cannot write to stdout: its reader has gone away");
    return CLI_FAILED;
}

static int exit_code(struct work *work, const ph_dispatcher_stats *stats)
{
    struct cli *cli = work->cli;
    bool to_an_end = cli_given(cli, "once") || cli_given(cli, "drain");

    if (work_stop_is_broken())
        return cli_fail(cli, CLI_FAILED, "cannot start %s: %s%s; the message was given back",
                        work->argv[0], strerror(work_stop_is_broken()),
                        work_stop_is_broken() == ENOEXEC
                            ? " (a script needs a first line such as #!/bin/sh)"
                            : "");
    if (work_stop_is_unread())
        return unread(cli);
    if (work_stop_signals())
        return work_stop_first_signal() == SIGINT ? CLI_INTERRUPTED : CLI_OK;
    if (cli_given(cli, "once") && stats->started == 0)
        return CLI_NOT_FOUND;
    return to_an_end && stats->retried + stats->failed + stats->stale > 0 ? CLI_FAILED : CLI_OK;
}

static int run_dispatcher(struct work *work, ph_dispatcher *dispatcher)
{
    struct cli *cli = work->cli;
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;
    int code = CLI_OK;

    if (ph_dispatcher_start(dispatcher, &cli->err) < 0)
        return cli_fail_store(cli);
    if (cli_given(cli, "once") || cli_given(cli, "drain")) {
        code = drain(work, dispatcher);
    } else {
        cli_set_warn(cli);
        work_stop_wait();
    }
    code = stop(work, dispatcher, code);
    if (code != CLI_OK && !cli_is_set(cli))
        return code;
    if (ph_dispatcher_stats_get(dispatcher, &stats, &cli->err) < 0)
        return cli_fail_store(cli);
    sum_up(cli, &stats);
    /* Only if all stores answered, and no signal wants us to end. */
    if (code == CLI_OK && !work_stop_is_due())
        work_topics_tell(work);
    return code == CLI_OK ? exit_code(work, &stats) : code;
}

static int run(struct cli *cli)
{
    struct work work = { .cli = cli, .words = PTHREAD_MUTEX_INITIALIZER };
    ph_dispatcher *dispatcher = NULL;
    int error = cli_given(cli, "no-db") ? work_db_hide(cli) : 0;
    int code = error ? cli_fail(cli, CLI_FAILED, "cannot hide the database: %s", strerror(error))
                     : check(&work);

    if (code == CLI_OK)
        code = make_dispatcher(&work, &dispatcher);
    if (code == CLI_OK) {
        error = work_stop_prepare();
        error = error ? error : process_begin();
        code = error ? cli_fail(cli, CLI_FAILED, "cannot prepare: %s", strerror(error)) : CLI_OK;
    }
    if (code == CLI_OK)
        code = run_dispatcher(&work, dispatcher);
    ph_dispatcher_free(dispatcher);
    process_end_all();
    free(work.path);
    return code;
}

const struct cli_command cli_work = {
    .name = "work",
    .summary = "run a command for each message",
    .operands = "TOPIC... --exec CMD [ARG...]",
    .description =
        "Claims messages of the TOPICs and runs CMD once for each: the payload is on its standard "
        "input, everything else in variables. All that follows --exec is the command and its "
        "arguments, passed on unchanged and without a shell. CMD is looked up in PATH once, at the "
        "start.\n"
        "The end of the command decides. Exit status 0: done. 75: try again later, and do not "
        "count this attempt. 65: fail for good, the message is dead. Any other status or a signal: "
        "try again after the backoff of the queue, dead when the attempts are spent; the end of "
        "standard error (4 KiB) is kept as the error.\n"
        "The environment is empty but for PATH, what --env names and POSTHORN_WORK_ID, "
        "_MESSAGE_ID, _TOPIC, _NAMESPACE, _ATTEMPTS (1 at the first), _RETRY_COUNT, _FENCE, "
        "_PRIORITY (a word: urgent, normal, low, bulk), _CREATED_AT, _DUE_AT; if the message has "
        "them _TENANT_ID, _DEDUPE_KEY, _CORRELATION_ID, _HEADERS (JSON), _LAST_ERROR, in a stream "
        "_STREAM and _SEQ, from the inbox _SOURCE and _SOURCE_ID; and with a set of databases "
        "_STORE, the id of its store.\n"
        "POSTHORN_DB is set so that a posthorn started by the command uses the database of the "
        "message. It names a file in memory that processes with the rights of posthorn work can "
        "read for as long as the command runs. With --no-db the command learns nothing of the "
        "database, and cannot read it from the arguments, the environment or the memory of "
        "posthorn work. It can still open what its user may open, such as an SQLite file; to "
        "prevent that, run it as another user.\n"
        "Messages of one stream are handled one after the other, in order, by any instance; others "
        "at the same time, up to --concurrency. With --door inbox it handles messages that "
        "posthorn receive, or a program, has stored.\n"
        "While it runs it is an instance: posthorn instance list shows it, and others take its "
        "messages over if it is silent for --stale-threshold. The instances of a --service share "
        "the streams, so give workers that do the same work the same name; by default the name is "
        "made from door, queue and topics. Its metadata are door, namespace, topics and command.\n"
        "With a set of databases it serves all stores with the same commands at once, over at most "
        "--connections. A store that is down does not hold up the others; it is retried, ever more "
        "slowly. The set is reread every --refresh; messages claimed from a store that has left it "
        "are still handled. With --drain it ends when no store has anything left that is due. If "
        "the set names no database it waits for one; it retries sources that cannot be read.\n"
        "--once and --drain do not wait for ever: if the database is away, or some of a set are, "
        "they give up after 30 seconds, with the exit status of the failure (3: no connection). "
        "They give up at once if the role lacks a right or its credentials are refused.\n"
        "Each command has a session of its own, without a terminal, and a file in memory as "
        "standard input. Its standard output is that of work, or with --json or --jsonl work's "
        "standard error. Its standard error is a pipe, not a terminal, copied to work's. When the "
        "command ends, the processes that it has left behind in its process group are killed. If "
        "posthorn itself is killed, so are the commands.\n"
        "The lease is renewed while the command runs, up to the max_lease of the queue (by default "
        "a day). If it is lost (the machine slept, the database was away), the command is ended, "
        "since another worker may have the message. A message can be delivered twice: commands "
        "must tolerate that.\n"
        "SIGTERM or SIGINT: nothing more is claimed, and running commands may finish within "
        "--stop-limit. Then, or at a second signal, they get SIGTERM, and SIGKILL after "
        "--kill-after or at a third signal; their messages go back, and the attempt is not "
        "counted. Once a command was sent SIGTERM, its exit status no longer counts: a 0 may mean "
        "that it obeyed. A fourth signal ends everything at once, with exit status 130; the "
        "messages come back when their leases have expired.\n"
        "If the command cannot be started because it is gone or no longer a program, work ends "
        "with exit status 1, and the message goes back uncounted. If the machine is short of "
        "memory or processes, the message is deferred by a second. If the headers of the message "
        "are too large for an environment, that costs an attempt like a failure. If standard "
        "output cannot be written with --json or --jsonl, work ends as after SIGTERM, but with "
        "exit status 1.",
    .options = CLI_OPTIONS(
        CLI_OPTION("exec", 0, REST, "CMD [ARG...]",
                   "the command to run for each message; takes the rest of the command line"),
        CLI_STREAM_DOOR_OPTION("the door to claim from"), CLI_NAMESPACE_OPTION(CLI_THE_QUEUE),
        CLI_FLAG("any-topic", 0, "messages of every topic, instead of TOPICs"),
        CLI_OPTION("concurrency", 'c', NUMBER, "N", "commands at the same time", .value = "1",
                   .min = 1, .max = 1024),
        CLI_FLAG("once", 0, "handle one message, then end"),
        CLI_FLAG("drain", 0, "handle all that is due, then end"),
        CLI_OPTION("time-limit", 0, MS, "DURATION",
                   "how long a command may run; if omitted, without limit", .min = 1,
                   .max = 86400000),
        CLI_OPTION("kill-after", 0, MS, "DURATION",
                   "how long a command has between SIGTERM and SIGKILL", .value = "5s", .min = 0,
                   .max = 3600000),
        CLI_OPTION("stop-limit", 0, MS, "DURATION",
                   "how long commands may continue after SIGTERM or SIGINT", .value = "30s",
                   .min = 0, .max = 86400000),
        CLI_OPTION("retry-delay", 0, MS, "DURATION",
                   "wait this long before a retry, instead of the queue's backoff", .min = 0,
                   .max = 31536000000),
        CLI_OPTION("defer-delay", 0, MS, "DURATION", "wait this long after exit status 75",
                   .value = "60s", .min = 1, .max = 86400000),
        CLI_OPTION("env", 'e', TEXT, "NAME", "pass this variable on to the command, such as LANG",
                   .repeated = true),
        CLI_FLAG("no-db", 0, "do not let the command reach the database"),
        CLI_OPTION("lease", 'l', SECONDS, "DURATION",
                   "how long a lease lasts from one renewal to the next", .value = "30s", .min = 1,
                   .max = PH_LEASE_MAX_S),
        CLI_OPTION("batch", 'b', NUMBER, "N",
                   "messages per claim; those beyond --concurrency wait here for their turn",
                   .min = 1, .max = PH_BATCH_MAX),
        CLI_OPTION("poll", 0, MS, "DURATION",
                   "the longest time between two looks; at most a third of the lease", .min = 1,
                   .max = PH_LEASE_MAX_S * 1000LL),
        CLI_OPTION("service", 0, TEXT, "NAME",
                   "the service to register as: one name for all workers that do the same work"),
        CLI_OPTION("stale-threshold", 0, SECONDS, "DURATION",
                   "how long it may be silent before others take it for dead, at least twice the "
                   "lease (default: 10 minutes, or twice the lease if that is more)",
                   .min = 1, .max = PH_STALE_THRESHOLD_MAX_S),
        CLI_OPTION("partitions", 0, NUMBER, "N",
                   "the number of partitions for streams; the same for all instances of a service",
                   .value = CLI_PARTITIONS, .min = 1, .max = PH_PARTITIONS_MAX),
        CLI_OPTION(
            "max-partitions", 0, NUMBER, "N",
            "work on streams of at most N partitions at the same time; if omitted, of any number",
            .min = 1, .max = PH_PARTITIONS_MAX),
        CLI_SET_OPTIONS("; without a set: 1 or 2 to talk to the database (2 on PostgreSQL)"),
        CLI_OPTION("select", 0, WORD, "ORDER",
                   "with a set: a batch from each store in turn, or from one until it is empty",
                   .value = "round-robin", .choices = "round-robin drain-first")),
    .fields = work_fields,
    .examples = CLI_EXAMPLES(
        { "posthorn enqueue mail.send '{\"to\":\"ada@example.org\"}'", "A message to work on" },
        { "posthorn work mail.send --drain --exec cat", "Print the payload of all that are due" },
        { "posthorn enqueue mail.send '{\"to\":\"bob@example.org\"}'", "Another one" },
        { "posthorn work mail.send --once --time-limit 10s --env HOME --exec sh -c 'wc -c'",
          "One message, with HOME, within ten seconds, through a shell of your choice" },
        { "posthorn receive billing inv-17 invoice.paid '{\"order\": 17}' --stream order-17",
          "A received message" },
        { "posthorn work invoice.paid --door inbox --service shop --drain --exec cat",
          "Work on the inbox" },
        { "posthorn --db eu=sqlite:eu.db --db us=sqlite:us.db -q migrate up", "Two databases" },
        { "posthorn --db eu=sqlite:eu.db --db us=sqlite:us.db work mail.send --drain --exec cat",
          "A worker for both" }),
    .exits = CLI_EXITS(
        { CLI_OK,
          "ended by SIGTERM; with --once or --drain: all that was handled is done or deferred" },
        { CLI_FAILED, "with --once or --drain: a command failed, or its end was stored too late; "
                      "or it cannot be started, or stdout cannot be written" },
        { CLI_NOT_FOUND, "with --once: there was no message" },
        { CLI_INTERRUPTED, "ended by SIGINT" }),
    .every_store = true,
    .run = run,
};
