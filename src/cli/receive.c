/* receive.c - posthorn receive: stores a message of another system, once; or one per line. */
#include "commands.h"
#include "enqueue.h"

#include <string.h>

static int receive_one(struct cli *cli, struct enqueue_draft *draft)
{
    ph_inbox_message message;
    ph_received received;
    int code = cli_payload(cli, cli->operand_count > 3 ? cli->operands[3] : "",
                           &draft->message.payload, &draft->message.payload_length);

    if (code != CLI_OK)
        return code;
    draft->source = cli->operands[0];
    draft->source_id = cli->operands[1];
    draft->message.topic = cli->operands[2];
    message = enqueue_received(draft);
    if (ph_inbox_receive(cli->store, PH_OWN_TX, &message, cli->timeout_ms, &received, &cli->err) <
        0)
        return cli_fail_store(cli);
    cli_row(cli, &received);
    if (!received.is_new)
        cli_note(cli, "nothing was stored: it had been received before, as this message");
    return CLI_OK;
}

static int arguments_check(struct cli *cli)
{
    if (!cli_given(cli, "from-jsonl") && cli->operand_count < 3)
        return cli_usage(cli, "%s is missing; usage: posthorn receive SOURCE ID TOPIC [PAYLOAD|-]",
                         cli->operand_count == 0   ? "the source"
                         : cli->operand_count == 1 ? "the id"
                                                   : "the topic");
    if (cli_given(cli, "from-jsonl") && cli->operand_count > 1)
        return cli_usage(
            cli, "with --from-jsonl all but the source comes from stdin; leave out \"%.80s\"",
            cli->operands[1]);
    return CLI_OK;
}

static int run(struct cli *cli)
{
    struct enqueue_draft draft = { .message = PH_MESSAGE_INIT };
    int code = arguments_check(cli);

    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code != CLI_OK)
        return code;
    enqueue_draft_begin(cli, &draft);
    if (!cli_given(cli, "from-jsonl"))
        return receive_one(cli, &draft);
    draft.source = cli->operand_count ? cli->operands[0] : NULL;
    return enqueue_lines(cli, &draft);
}

static const struct cli_field fields[] = {
    CLI_FIELD(ph_received, "work_id", work_id, UUID, "Work id",
              "identifies this stay of the message in its queue"),
    CLI_FIELD(ph_received, "is_new", is_new, BOOL, "New",
              "false: it had been received before, and work_id is that of the first time"),
    { 0 },
};

const struct cli_command cli_receive = {
    .name = "receive",
    .summary = "store a message from another system, once",
    .operands = "SOURCE ID TOPIC [PAYLOAD|-]",
    .checks_operands = true,
    .description =
        "Stores a message from another system in the inbox and prints its work id. SOURCE names "
        "the sender, such as a service or a broker's queue; ID is the message's id there. The "
        "payload is the fourth operand, all of stdin if that is -, or empty without one.\n"
        "However often a message is delivered, it is stored once: the next time, receive prints "
        "the same work id and a note, and still exits with 0. That holds long after the message "
        "was handled, and for two deliveries at the same time. The inbox remembers the ids for "
        "ever, unless queue set --door inbox --dedupe-retention says otherwise. Each --namespace "
        "remembers its own.\n"
        "Workers get the message with work --door inbox or claim --door inbox.\n"
        "With --from-jsonl each line of stdin is an object with the keys source, source_id (or "
        "message_id, as process_work_batch calls it), topic, payload, namespace, tenant_id, "
        "correlation_id, stream, priority and headers; the command line supplies the keys that a "
        "line leaves out. Lines are stored in batches, each completely or not at all. If one "
        "fails, those before it remain stored, and a warning says how many.",
    .options =
        CLI_OPTIONS(CLI_NAMESPACE_OPTION(CLI_THE_QUEUE), CLI_STREAM_OPTION, CLI_PRIORITY_OPTION,
                    CLI_CORRELATION_OPTION, CLI_HEADERS_OPTION, CLI_TENANT_OPTION,
                    CLI_FLAG("from-jsonl", 0,
                             "each line of stdin is an object that describes a message; then give "
                             "no operand but the SOURCE"),
                    CLI_STORE_BATCH_OPTION),
    .fields = fields,
    .layout = CLI_BARE,
    .examples = CLI_EXAMPLES(
        { "posthorn receive billing inv-17 invoice.paid '{\"order\": 17}'", "A message arrives" },
        { "posthorn receive billing inv-17 invoice.paid '{\"order\": 17}' --json",
          "It is delivered again, and stored once" },
        { "posthorn receive billing inv-18 invoice.paid '{\"order\": 17}' --stream order-17",
          "In the order in which they arrive" },
        { "echo '{\"source_id\": \"inv-19\", \"topic\": \"invoice.paid\", \"payload\": \"{}\"}' | "
          "posthorn receive billing --from-jsonl",
          "From a broker's client, a line each" },
        { "posthorn work invoice.paid --door inbox --drain --exec cat", "Handle them" }),
    .graceful = true,
    .run = run,
};
