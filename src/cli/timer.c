/* timer.c - posthorn timer add, cancel and list: messages for later that can be cancelled. */
#include "commands.h"
#include "message.h"

#include <string.h>

#define IN_MAX_MS (INT64_C(100) * 366 * 86400000)

/* ---------------------------------------------------------------------------- add */

/* When it is due: exactly one of --due and --in says so. */
static int due_read(struct cli *cli, int64_t *ret_due)
{
    int64_t now = 0;

    if (!cli_given(cli, "in"))
        return cli_time(cli, "due", ret_due);
    if (ph_clock(cli->store, PH_OWN_TX, cli->timeout_ms, &now, &cli->err) < 0)
        return cli_fail_store(cli);
    *ret_due = now + cli_number(cli, "in") * 1000;
    return CLI_OK;
}

struct added {
    ph_work_id id;
    int64_t due_at;
};

static const struct cli_field add_fields[] = {
    CLI_FIELD(struct added, "work_id", id, UUID, "Work id", "identifies the timer"),
    CLI_FIELD(struct added, "due_at", due_at, TIME, "Due", "when it is due"),
    { 0 },
};

static int run_add(struct cli *cli)
{
    ph_timer timer = PH_TIMER_INIT;
    struct added row;
    int code;

    if (cli_given(cli, "due") == cli_given(cli, "in"))
        return cli_usage(cli, "pass either --due TIME or --in DURATION");
    code = cli_payload(cli, cli->operand_count > 1 ? cli->operands[1] : "", &timer.payload,
                       &timer.payload_length);
    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code == CLI_OK)
        code = due_read(cli, &timer.due_at);
    if (code != CLI_OK)
        return code;
    timer.topic = cli->operands[0];
    timer.ns = cli_text(cli, "namespace");
    timer.correlation_id = cli_text(cli, "correlation-id");
    timer.headers = cli_text(cli, "headers");
    if (ph_timer_schedule(cli->store, PH_OWN_TX, &timer, cli->timeout_ms, &row.id, &cli->err) < 0)
        return cli_fail_store(cli);
    row.due_at = timer.due_at;
    cli_row(cli, &row);
    return CLI_OK;
}

const struct cli_command cli_timer_add = {
    .name = "timer add",
    .summary = "store a message for later that can be cancelled",
    .operands = "TOPIC [PAYLOAD|-]",
    .description =
        "Stores a message for later and prints its id, with which timer cancel can take it back "
        "until then. The payload is the second operand, all of stdin if that is -, or empty "
        "without one.\n"
        "When it is due, a scheduler (posthorn schedule, or one inside a program) turns it into a "
        "message with the same topic, payload, queue, correlation id and headers, whose message id "
        "is the id of the timer. It is never early; it comes when a scheduler next looks.\n"
        "A message that will never be cancelled needs no timer: posthorn enqueue --due.",
    .options = CLI_OPTIONS(
        CLI_OPTION("due", 0, TIME, "TIME", "at this time: +10m, 2030-01-01T09:00:00Z, @1893456000"),
        CLI_OPTION("in", 0, MS, "DURATION", "after this time: 30s, 5m, 2h, 7d", .min = 0,
                   .max = IN_MAX_MS),
        CLI_NAMESPACE_OPTION(CLI_THE_QUEUE), CLI_CORRELATION_OPTION, CLI_HEADERS_OPTION),
    .fields = add_fields,
    .layout = CLI_BARE,
    .examples = CLI_EXAMPLES(
        { "posthorn timer add order.expired '{\"order\": 17}' --in 30m",
          "Unless it is paid by then" },
        { "posthorn timer add mail.greeting hello --due 2040-01-01T00:00:00Z", "At a time" },
        { "date | posthorn timer add clock.tick - --in 1s --correlation-id clock", "From stdin" }),
    .run = run_add,
};

/* ------------------------------------------------------------------------- cancel */

struct cancelled {
    ph_work_id id;
    bool cancelled;
};

static const struct cli_field cancel_fields[] = {
    CLI_FIELD(struct cancelled, "work_id", id, UUID, "Work id", "the timer"),
    CLI_FIELD(struct cancelled, "cancelled", cancelled, BOOL, "Cancelled",
              "false: too late, or there is no such timer"),
    { 0 },
};

static int run_cancel(struct cli *cli)
{
    struct cli_ids ids;
    size_t won = 0;
    int code = cli_ids_read(cli, &ids);

    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    for (size_t i = 0; code == CLI_OK && i < ids.count; i++) {
        struct cancelled row = { .id = ids.refs[i].work_id };

        if (ph_timer_cancel(cli->store, PH_OWN_TX, row.id, cli->timeout_ms, &row.cancelled,
                            &cli->err) < 0)
            return cli_fail_store(cli);
        cli_row(cli, &row);
        won += row.cancelled;
    }
    if (code == CLI_OK && won == 0)
        code = cli_fail(cli, CLI_NOT_FOUND,
                        "nothing was cancelled: too late, or there is no such timer");
    else if (code == CLI_OK && won < ids.count)
        code = cli_fail(cli, CLI_FAILED,
                        "%zu of %zu were not cancelled: too late, or there is no such timer",
                        ids.count - won, ids.count);
    return code;
}

const struct cli_command cli_timer_cancel = {
    .name = "timer cancel",
    .summary = "cancel timers",
    .operands = "ID...|-",
    .description = "Cancels timers that are neither claimed nor turned into a message yet; they "
                   "are gone then. It says for each whether that was in time: if a worker claims a "
                   "timer at the same time, exactly one of the two wins.\n"
                   "With - it reads the ids from stdin, as timer add and timer list print them.",
    .fields = cancel_fields,
    .examples = CLI_EXAMPLES(
        { "id=$(posthorn timer add order.expired 17 --in 30m)", "A timer" },
        { "posthorn timer cancel \"$id\"", "It was paid" },
        { "posthorn timer add order.expired 18 --in 30m | posthorn timer cancel -", "From stdin" }),
    .exits =
        CLI_EXITS({ CLI_FAILED, "some were not cancelled: too late, or there is no such timer" },
                  { CLI_NOT_FOUND, "none was cancelled" }),
    .run = run_cancel,
};

/* --------------------------------------------------------------------------- list */

static int run_list(struct cli *cli)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;

    opts.state = (ph_list_state)cli_word(cli, "state");
    return cli_list_messages(cli, cli_timers, &opts,
                             cli_given(cli, "payload")
                                 ? "work_id state namespace topic due_at attempts payload"
                                 : cli->command->columns);
}

const struct cli_command cli_timer_list = {
    .name = "timer list",
    .summary = "list timers",
    .description =
        "Lists timers, the newest first. scheduled: due later. ready: due now, and no scheduler "
        "has looked yet. in_progress: leased by a worker that handles timers itself. done: turned "
        "into a message (or acknowledged), and still kept. dead: a dead letter.\n"
        "posthorn show and posthorn explain accept the id of a timer, too.",
    .options = CLI_OPTIONS(CLI_STATE_OPTION(CLI_STATES), CLI_LIST_OPTIONS),
    .fields = cli_message_fields,
    .columns = "work_id state namespace topic due_at attempts payload_length",
    .examples =
        CLI_EXAMPLES({ "posthorn timer add order.expired 17 --in 30m", "Something to list" },
                     { "posthorn timer list", "The newest timers" },
                     { "posthorn timer list --state scheduled --topic order.expired --payload",
                       "What is to come" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "no timer matches" }),
    .every_store = true,
    .only_reads = true,
    .run = run_list,
};
