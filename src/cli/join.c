/* join.c - posthorn join start, attach, wait, report and cancel. */
#include "commands.h"
#include "join.h"
#include "message.h"

#include <string.h>

struct started {
    ph_join_id id;
};

static const struct cli_field started_fields[] = {
    CLI_FIELD(struct started, "join_id", id, UUID, "Join id", "identifies the join"),
    { 0 },
};

/* Prints the join, and notes others that have ended. A producer may change joins, but not read
 * them: its request was carried out all the same. */
static int print(struct cli *cli, ph_join_id id)
{
    ph_join_info *join = NULL;
    int r;

    cli_joins_note(cli);
    r = ph_join_find(cli->store, PH_OWN_TX, id, 1, cli->timeout_ms, &join, &cli->err);
    if (r == PH_EPERM) {
        cli_warn(cli, "done, but this role may not read how the join stands now");
        cli_row_json(cli, cli_object(started_fields, &(struct started){ id }));
        return CLI_OK;
    }
    if (r < 0)
        return cli_fail_store(cli);
    cli_row(cli, join);
    ph_join_info_free(join);
    return CLI_OK;
}

/* Reads the first operand, and opens the store. */
static int begin(struct cli *cli, ph_join_id *ret_join)
{
    int code = cli_join_operand(cli, 0, ret_join);

    cli_joins_watch(cli);
    return code == CLI_OK ? cli_open(cli, CLI_OPEN_CHECKED) : code;
}

#define EXAMPLE_START                                                                              \
    {                                                                                              \
        "join=$(posthorn join start 2 --key nightly)", "A join of two steps"                       \
    }

/* -------------------------------------------------------------------------- start */

static int run_start(struct cli *cli)
{
    static const struct cli_option steps_operand = {
        .name = "STEPS", .type = CLI_NUMBER, .min = 1, .max = PH_JOIN_STEPS_MAX
    };
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    struct cli_setting steps;
    ph_join_id join;
    int code = cli_parse_value(cli, &steps_operand, cli->operands[0], &steps);

    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code == CLI_OK)
        code = cli_time(cli, "deadline", &opts.deadline);
    if (code != CLI_OK)
        return code;
    opts.grouping_key = cli_text(cli, "key");
    opts.metadata = cli_text(cli, "metadata");
    if (ph_join_start(cli->store, PH_OWN_TX, (int)steps.number, &opts, cli->timeout_ms, &join,
                      &cli->err) < 0)
        return cli_fail_store(cli);
    cli_row(cli, &join);
    return CLI_OK;
}

const struct cli_command cli_join_start = {
    .name = "join start",
    .summary = "start a join of several steps",
    .operands = "STEPS",
    .description =
        "Starts a join and prints its id. A join expects a number of steps. Its steps are "
        "messages, added by enqueue --join or join attach. Each counts once: as completed when it "
        "is acknowledged, as failed when it becomes a dead letter. When all expected steps have "
        "ended, the join is complete, and each wait on it (join wait) sends one message.\n"
        "After its --deadline an unfinished join fails at the next claim, reap or scheduler run.",
    .options =
        CLI_OPTIONS(CLI_OPTION("key", 'k', TEXT, "KEY",
                               "what the join belongs to; join list finds it by this key"),
                    CLI_OPTION("metadata", 0, TEXT, "TEXT",
                               "a text to keep and show; Posthorn does not interpret it"),
                    CLI_OPTION("deadline", 0, TIME, "TIME",
                               "when it fails if it is not complete: +2h, 2030-01-01T09:00:00Z")),
    .fields = started_fields,
    .layout = CLI_BARE,
    .examples = CLI_EXAMPLES(
        { "join=$(posthorn join start 3 --key nightly --deadline +2h)", "A join of three steps" },
        { "seq 3 | posthorn enqueue etl.extract --lines --join \"$join\"", "Its steps" },
        { "posthorn join wait \"$join\" --on-complete etl.transform --payload '{}'",
          "The message to send when all three have ended" }),
    .run = run_start,
};

/* ------------------------------------------------------------------------- attach */

static int run_attach(struct cli *cli)
{
    ph_message_id *messages;
    struct cli_ids ids;
    ph_join_id join;
    size_t count;
    int code = cli_ids_read_from(cli, 1, "message_id", &ids);

    if (code == CLI_OK)
        code = begin(cli, &join);
    if (code != CLI_OK)
        return code;
    messages = cli_alloc(cli, ids.count * sizeof(*messages));
    for (size_t i = 0; i < ids.count; i++)
        memcpy(messages[i].b, ids.refs[i].work_id.b, sizeof(messages[i].b));
    for (size_t at = 0; at < ids.count; at += count) {
        count = ids.count - at < PH_BATCH_MAX ? ids.count - at : PH_BATCH_MAX;
        if (ph_join_attach_many(cli->store, PH_OWN_TX, join, messages + at, count, cli->timeout_ms,
                                &cli->err) < 0)
            return cli_fail_store(cli);
    }
    return print(cli, join);
}

const struct cli_command cli_join_attach = {
    .name = "join attach",
    .summary = "make messages steps of a join",
    .operands = "JOIN MESSAGE...|-",
    .description = "Makes messages steps of a join, and prints the join. Attaching a message again "
                   "changes nothing. A pending message counts when it ends, and one that has "
                   "already ended counts now. If one message cannot be attached, none is; a longer "
                   "list is attached in parts of 10000, each completely or not at all.\n"
                   "The ids are message ids. With - they come from stdin: the first word of each "
                   "line, as enqueue prints it, or objects with a message_id, as enqueue --jsonl "
                   "and list --jsonl print them.\n"
                   "enqueue --join does the same for a new message.",
    .fields = cli_join_fields,
    .layout = CLI_CARD,
    .examples =
        CLI_EXAMPLES(EXAMPLE_START, { "id=$(posthorn enqueue etl.extract 1)", "A message" },
                     { "posthorn join attach \"$join\" \"$id\"", "It is a step now" },
                     { "posthorn enqueue etl.extract 2 --jsonl | posthorn join attach \"$join\" -",
                       "From stdin" }),
    .exits = CLI_EXITS(
        { CLI_FAILED,
          "the join is full, was cancelled or is past its deadline; or a message is a wait" },
        { CLI_NOT_FOUND, "there is no such join or message" }),
    .run = run_attach,
};

/* --------------------------------------------------------------------------- wait */

static int payload_read(struct cli *cli, const char **ret_payload)
{
    const char *text = cli_text(cli, "payload");
    size_t length = 0;
    int code = cli_payload(cli, text ? text : "", ret_payload, &length);

    if (code == CLI_OK && strlen(*ret_payload) != length)
        code = cli_usage(cli, "the payload contains a NUL; leave it out");
    return code;
}

static int wait_fill(struct cli *cli, ph_wait *wait)
{
    if (!cli_given(cli, "on-complete"))
        return cli_usage(cli, "no topic given for the message to send; pass it with --on-complete");
    if (cli_given(cli, "fail-payload") && !cli_given(cli, "on-fail"))
        return cli_usage(cli, "--fail-payload needs a topic; add --on-fail");
    wait->fail_if_any_step_failed = cli_given(cli, "fail-if-any");
    wait->on_complete_topic = cli_text(cli, "on-complete");
    wait->on_fail_topic = cli_text(cli, "on-fail");
    wait->on_fail_payload = cli_text(cli, "fail-payload");
    wait->ns = cli_text(cli, "namespace");
    return payload_read(cli, &wait->on_complete_payload);
}

struct waiting {
    ph_work_id id;
    ph_join_id join;
};

static const struct cli_field wait_fields[] = {
    CLI_FIELD(struct waiting, "work_id", id, UUID, "Work id",
              "identifies the wait, a message of its own"),
    CLI_FIELD(struct waiting, "join_id", join, UUID, "Join id", "the join"),
    { 0 },
};

static int run_wait(struct cli *cli)
{
    ph_wait wait = PH_WAIT_INIT;
    struct waiting row;
    int code = wait_fill(cli, &wait);

    if (code == CLI_OK)
        code = begin(cli, &row.join);
    if (code != CLI_OK)
        return code;
    if (ph_join_wait(cli->store, PH_OWN_TX, row.join, &wait, cli->timeout_ms, &row.id, &cli->err) <
        0)
        return cli_fail_store(cli);
    cli_row(cli, &row);
    return CLI_OK;
}

const struct cli_command cli_join_wait = {
    .name = "join wait",
    .summary = "send a message when a join has ended",
    .operands = "JOIN",
    .description = "Sends one message when a join has ended, at once if it already has. Prints the "
                   "work id of the wait, a message that nobody can claim: it is waiting until the "
                   "join ends, and done then, in the same transaction.\n"
                   "When all expected steps have ended, the message for success is sent, even if "
                   "some of them failed. With --fail-if-any a failed step leads to the message for "
                   "failure instead. A cancelled join and one past its deadline always lead to the "
                   "message for failure. Without --on-fail a failure sends nothing. The sent "
                   "message has the headers join_id and join_status.",
    .options = CLI_OPTIONS(
        CLI_OPTION("on-complete", 0, TEXT, "TOPIC", "topic of the message for success; required"),
        CLI_OPTION("payload", 'p', TEXT, "TEXT",
                   "payload of the success message; -: all of stdin (default: empty)"),
        CLI_OPTION("on-fail", 0, TEXT, "TOPIC",
                   "topic of the message for failure; if omitted, none is sent"),
        CLI_OPTION("fail-payload", 0, TEXT, "TEXT", "payload of the failure message"),
        CLI_FLAG("fail-if-any", 0, "any failed step makes it a failure; otherwise steps may fail"),
        CLI_NAMESPACE_OPTION(
            "the queue of the wait and of its message; if omitted, the default queue")),
    .fields = wait_fields,
    .layout = CLI_BARE,
    .examples = CLI_EXAMPLES(
        EXAMPLE_START,
        { "posthorn join wait \"$join\" --on-complete etl.transform --payload '{\"night\": 7}'",
          "Go on when both have ended" },
        { "posthorn join wait \"$join\" --on-complete mail.report --on-fail mail.alarm "
          "--fail-if-any",
          "Another wait: a report, or an alarm if a step failed" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "there is no such join; nothing was stored" }),
    .run = run_wait,
};

/* ------------------------------------------------------------------------- report */

static int run_report(struct cli *cli)
{
    bool completed = cli_given(cli, "completed");
    ph_message_id message;
    ph_join_id join;
    int code = cli_parse_id(cli, cli->operands[1], message.b), r;

    if (code == CLI_OK && completed == cli_given(cli, "failed"))
        code = cli_usage(cli, "pass either --completed or --failed to say how the step ended");
    if (code == CLI_OK)
        code = begin(cli, &join);
    if (code != CLI_OK)
        return code;
    r = completed ? ph_join_report_completed(cli->store, PH_OWN_TX, join, message, cli->timeout_ms,
                                             &cli->err)
                  : ph_join_report_failed(cli->store, PH_OWN_TX, join, message, cli->timeout_ms,
                                          &cli->err);
    return r < 0 ? cli_fail_store(cli) : print(cli, join);
}

const struct cli_command cli_join_report = {
    .name = "join report",
    .summary = "count a step by hand, for exceptions only",
    .operands = "JOIN MESSAGE",
    .description = "Counts a step of a join by hand, and prints the join. This is for exceptions, "
                   "such as a message that will never be settled because its work was done "
                   "elsewhere. Otherwise ack and fail count steps by themselves.\n"
                   "The first report on a step stands: a later report or settlement of it counts "
                   "nothing, nor does a report on a join that has ended.",
    .options = CLI_OPTIONS(CLI_FLAG("completed", 0, "the step is completed"),
                           CLI_FLAG("failed", 0, "the step failed")),
    .fields = cli_join_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        EXAMPLE_START, { "id=$(posthorn enqueue etl.extract 1 --join \"$join\")", "A step" },
        { "posthorn join report \"$join\" \"$id\" --completed", "It was done by hand" }),
    .exits =
        CLI_EXITS({ CLI_NOT_FOUND, "there is no such join, or the message is not a step of it" }),
    .run = run_report,
};

/* ------------------------------------------------------------------------- cancel */

static int run_cancel(struct cli *cli)
{
    bool cancelled = false;
    ph_join_id join;
    int code = begin(cli, &join);

    if (code == CLI_OK)
        code = cli_confirm(cli, "Cancel join %s? Its waits will send their messages for failure.",
                           cli->operands[0]);
    if (code != CLI_OK)
        return code;
    if (ph_join_cancel(cli->store, PH_OWN_TX, join, cli->timeout_ms, &cancelled, &cli->err) < 0)
        return cli_fail_store(cli);
    code = print(cli, join);
    if (code == CLI_OK && !cancelled)
        code = cli_fail(cli, CLI_FAILED, "the join had already ended; nothing changed");
    return code;
}

const struct cli_command cli_join_cancel = {
    .name = "join cancel",
    .summary = "end a join as cancelled",
    .operands = "JOIN",
    .description =
        "Ends an open join as cancelled, and prints it. Its counters stay as they are, nothing can "
        "be attached any more, and its waits send their messages for failure. The messages that "
        "are its steps go on. It asks first; without a terminal it requires --yes.",
    .fields = cli_join_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        EXAMPLE_START, { "posthorn join cancel \"$join\" --yes", "It is not needed any more" }),
    .exits = CLI_EXITS({ CLI_FAILED, "it had already ended" },
                       { CLI_NOT_FOUND, "there is no such join" }),
    .run = run_cancel,
};
