/* checkpoint.c - posthorn checkpoint: how far the consumers of a stream are. */
#include "commands.h"
#include "stream.h"

#define ROW(...) CLI_FIELD(ph_checkpoint_info, __VA_ARGS__)
const struct cli_field cli_checkpoint_fields[] = {
    ROW("consumer", consumer, TEXT, "Consumer", "the name of the consumer"),
    ROW("seq", seq, NUMBER, "Seq", "all messages up to this number are completed"),
    ROW("lag", lag, NUMBER, "Lag", "messages of the stream above it"),
    ROW("ahead", ahead, NUMBER, "Ahead", "how many of these are already completed, above a gap"),
    ROW("error_seq", error_seq, NUMBER, "Failed seq",
        "the message above seq that failed last; or null", .or_null = true),
    ROW("error_at", error_at, TIME, "Failed at", "when it failed; or null"),
    ROW("error", error, TEXT, "Error", "the error that the consumer reported; or null"),
    ROW("updated_at", updated_at, TIME, "Updated", "when it last changed"),
    ROW("rewound_at", rewound_at, TIME, "Rewound", "when it was last set by hand; null: never"),
    { 0 },
};

int cli_checkpoints(struct cli *cli, const struct cli_stream *stream, const char *consumer,
                    ph_checkpoints **ret_list)
{
    ph_checkpoint_list_opts opts = PH_CHECKPOINT_LIST_OPTS_INIT;

    opts.door = stream->door->door;
    opts.ns = stream->ns;
    opts.stream = stream->key;
    opts.consumer = consumer;
    if (ph_checkpoint_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, ret_list, &cli->err) < 0)
        return cli_fail_store(cli);
    return CLI_OK;
}

/* Prints them. *ret_seq: the number of the last one; -1: there are none. */
static int print(struct cli *cli, const struct cli_stream *stream, const char *consumer,
                 int64_t *ret_seq)
{
    ph_checkpoints *list = NULL;
    int code = cli_checkpoints(cli, stream, consumer, &list);

    *ret_seq = -1;
    for (size_t i = 0; i < ph_checkpoints_count(list); i++) {
        *ret_seq = ph_checkpoints_at(list, i)->seq;
        cli_row(cli, ph_checkpoints_at(list, i));
    }
    ph_checkpoints_free(list);
    return code;
}

/* --------------------------------------------------------------------------- list */

static int run_list(struct cli *cli)
{
    struct cli_stream stream = cli_stream_named(cli);
    int64_t seq = 0;
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code == CLI_OK)
        code = print(cli, &stream, cli_text(cli, "consumer"), &seq);
    if (code == CLI_OK && seq < 0) {
        cli_note(cli, "no checkpoints: a consumer begins at 0");
        code = CLI_NOT_FOUND;
    }
    return code;
}

const struct cli_command cli_checkpoint_list = {
    .name = "checkpoint list",
    .summary = "list how far the consumers of a stream have come",
    .operands = "KEY",
    .description =
        "Lists how far the consumers of a stream are. All messages up to the number of a "
        "checkpoint are completed. Messages completed above a gap count as ahead; the checkpoint "
        "moves past them when the gap closes. A failure is shown until its message is completed.\n"
        "Checkpoints are for consumers that read a stream (stream read) instead of claiming its "
        "messages. Each consumer has its own, which never goes back by itself.",
    .options =
        CLI_OPTIONS(CLI_STREAM_OPTIONS, CLI_OPTION("consumer", 'c', TEXT, "NAME", "only this one")),
    .fields = cli_checkpoint_fields,
    .columns = "consumer seq lag ahead error_seq error updated_at",
    .examples = CLI_EXAMPLES(
        { "seq 3 | posthorn enqueue order.changed --lines --stream order-17", "A stream" },
        { "posthorn checkpoint complete order-17 report 1", "A consumer has handled the first" },
        { "posthorn checkpoint list order-17", "How far is each consumer?" },
        { "posthorn checkpoint list order-17 --consumer report --json", "One of them" }),
    .exits = CLI_EXITS(
        { CLI_NOT_FOUND, "no consumer has reported on this stream, or there is no such stream" }),
    .only_reads = true,
    .run = run_list,
};

/* ----------------------------------------------------------------- complete and fail */

static int seq_operand(struct cli *cli, int64_t least, int64_t *ret_seq)
{
    const struct cli_option operand = {
        .name = "SEQ", .type = CLI_NUMBER, .min = least, .max = INT64_MAX
    };
    struct cli_setting setting;
    int code = cli_parse_value(cli, &operand, cli->operands[2], &setting);

    *ret_seq = setting.number;
    return code;
}

/* Says why a report failed; seq may lie beyond the end. */
static int fail(struct cli *cli, const struct cli_stream *stream, int64_t seq)
{
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;
    ph_streams *list = NULL;
    int64_t last = -1;

    if (cli->err.code != PH_ENOTFOUND)
        return cli_fail_store(cli);
    opts.door = stream->door->door;
    opts.ns = stream->ns;
    opts.stream = stream->key;
    if (ph_stream_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &list, &cli->err) < 0)
        return cli_fail_store(cli);
    if (ph_streams_count(list) > 0)
        last = ph_streams_at(list, 0)->last_seq;
    ph_streams_free(list);
    if (last < 0)
        return cli_stream_missing(cli, stream);
    return cli_fail(cli, CLI_NOT_FOUND,
                    "the stream \"%.80s\" has no message %lld yet; its last one is %lld",
                    stream->key, (long long)seq, (long long)last);
}

enum { COMPLETE, FAIL };

static int report(struct cli *cli)
{
    bool failed = cli->command->kind == FAIL;
    struct cli_stream stream = cli_stream_named(cli);
    ph_checkpoint_result result = {
        stream.door->door, stream.ns, stream.key, cli->operands[1], 0, failed, NULL
    };
    int64_t seq = 0;
    int code = seq_operand(cli, 1, &result.seq);

    if (failed)
        result.error = cli_text(cli, "error");
    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code != CLI_OK)
        return code;
    if (ph_checkpoint_report(cli->store, PH_OWN_TX, &result, 1, cli->timeout_ms, &cli->err) < 0)
        return fail(cli, &stream, result.seq);
    code = print(cli, &stream, cli->operands[1], &seq);
    if (code == CLI_OK && failed && seq >= result.seq)
        cli_note(cli, "nothing recorded: %.80s is already past %lld", cli->operands[1],
                 (long long)result.seq);
    return code;
}

static const struct cli_option complete_options[] = { CLI_STREAM_OPTIONS, { 0 } };

static const struct cli_exit_note report_exits[] = {
    { CLI_NOT_FOUND, "there is no such stream, or it does not have this number yet" },
    { 0, NULL },
};

const struct cli_command cli_checkpoint_complete = {
    .name = "checkpoint complete",
    .summary = "record that a consumer has handled a message",
    .operands = "KEY CONSUMER SEQ",
    .description =
        "Records that a consumer has handled the message with this number of a stream, and prints "
        "its checkpoint: the number up to which there is no gap. Messages completed above a gap "
        "are remembered. Completing a message again changes nothing.",
    .options = complete_options,
    .fields = cli_checkpoint_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "seq 3 | posthorn enqueue order.changed --lines --stream order-17", "A stream" },
        { "posthorn checkpoint complete order-17 report 1", "One done: the checkpoint is 1" },
        { "posthorn checkpoint complete order-17 report 3", "Not the next one: it stays there" },
        { "posthorn checkpoint complete order-17 report 2", "The gap is closed: it is 3" }),
    .exits = report_exits,
    .run = report,
    .kind = COMPLETE,
};

const struct cli_command cli_checkpoint_fail = {
    .name = "checkpoint fail",
    .summary = "record that a consumer could not handle a message",
    .operands = "KEY CONSUMER SEQ",
    .description =
        "Records that a consumer could not handle the message with this number of a stream. The "
        "checkpoint stays where it is, and shows the error until the message is completed. At or "
        "below the checkpoint nothing is recorded, since those messages are completed.",
    .options = CLI_OPTIONS(CLI_STREAM_OPTIONS, CLI_OPTION("error", 'e', TEXT, "TEXT",
                                                          "the reason, kept with the checkpoint")),
    .fields = cli_checkpoint_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "seq 3 | posthorn enqueue order.changed --lines --stream order-17", "A stream" },
        { "posthorn checkpoint fail order-17 report 1 --error 'no disk space'",
          "It did not work" }),
    .exits = report_exits,
    .run = report,
    .kind = FAIL,
};

/* ------------------------------------------------------------------------- rewind */

static int run_rewind(struct cli *cli)
{
    struct cli_stream stream = cli_stream_named(cli);
    int64_t seq = 0, now = 0;
    int code = seq_operand(cli, 0, &seq);

    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code != CLI_OK)
        return code;
    if (ph_checkpoint_rewind(cli->store, PH_OWN_TX, stream.door->door, stream.ns, stream.key,
                             cli->operands[1], seq, cli->timeout_ms, NULL, &cli->err) < 0)
        return fail(cli, &stream, seq);
    return print(cli, &stream, cli->operands[1], &now); /* the library logs where it was */
}

const struct cli_command cli_checkpoint_rewind = {
    .name = "checkpoint rewind",
    .summary = "set a consumer's checkpoint by hand",
    .operands = "KEY CONSUMER SEQ",
    .description = "Sets the checkpoint of a consumer to a number by hand: the consumer reads the "
                   "message after it next. 0 begins anew. The completed messages above the number "
                   "are forgotten, so they are handled again. A number ahead of the checkpoint "
                   "skips messages. A warning shows the previous checkpoint.",
    .options = complete_options,
    .fields = cli_checkpoint_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "seq 3 | posthorn enqueue order.changed --lines --stream order-17", "A stream" },
        { "posthorn checkpoint complete order-17 report 1", "One done" },
        { "posthorn checkpoint rewind order-17 report 0", "Once more from the beginning" }),
    .exits = report_exits,
    .run = run_rewind,
};
