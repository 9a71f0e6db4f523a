/* enqueue.c - posthorn enqueue: one message, or one per line of stdin. */
#include "commands.h"
#include "enqueue.h"

#include <string.h>

void enqueue_draft_begin(struct cli *cli, struct enqueue_draft *draft)
{
    ph_message *message = &draft->message;

    cli_id(cli, "tenant", draft->tenant_id.b);
    message->ns = cli_text(cli, "namespace");
    message->stream = cli_text(cli, "stream");
    message->correlation_id = cli_text(cli, "correlation-id");
    message->headers = cli_text(cli, "headers");
    message->priority = cli_priority(cli_word(cli, "priority"));
}

static int draft_fill(struct cli *cli, struct enqueue_draft *draft)
{
    ph_message *message = &draft->message;
    int code;

    enqueue_draft_begin(cli, draft);
    cli_id(cli, "message-id", draft->message_id.b);
    cli_id(cli, "join", draft->join_id.b);
    message->dedupe_key = cli_text(cli, "dedupe-key");
    message->max_attempts = (int)cli_number(cli, "max-attempts");
    code = cli_time(cli, "due", &message->due_at);
    return code == CLI_OK ? cli_time(cli, "expires", &message->expires_at) : code;
}

const ph_message *enqueue_message(struct enqueue_draft *draft)
{
    ph_message *message = &draft->message;

    message->tenant_id = ph_id_is_zero(draft->tenant_id.b) ? NULL : &draft->tenant_id;
    message->message_id = ph_id_is_zero(draft->message_id.b) ? NULL : &draft->message_id;
    message->join_id = ph_id_is_zero(draft->join_id.b) ? NULL : &draft->join_id;
    return message;
}

ph_inbox_message enqueue_received(struct enqueue_draft *draft)
{
    const ph_message *message = enqueue_message(draft);
    ph_inbox_message received = PH_INBOX_MESSAGE_INIT;

    received.source = draft->source;
    received.source_id = draft->source_id;
    received.topic = message->topic;
    received.payload = message->payload;
    received.payload_length = message->payload_length;
    received.ns = message->ns;
    received.tenant_id = message->tenant_id;
    received.correlation_id = message->correlation_id;
    received.stream = message->stream;
    received.priority = message->priority;
    received.headers = message->headers;
    return received;
}

static int enqueue_one(struct cli *cli, struct enqueue_draft *draft)
{
    ph_message *message = &draft->message;
    ph_enqueued enqueued;
    int code = cli_payload(cli, cli->operand_count > 1 ? cli->operands[1] : "", &message->payload,
                           &message->payload_length);

    if (code != CLI_OK)
        return code;
    message->topic = cli->operands[0];
    if (ph_enqueue(cli->store, PH_OWN_TX, enqueue_message(draft), cli->timeout_ms, &enqueued,
                   &cli->err) < 0)
        return cli_fail_store(cli);
    cli_row(cli, &enqueued);
    cli_joins_note(cli); /* a step that has already ended: its dedupe key was taken */
    if (!enqueued.is_new)
        cli_note(cli, "nothing was stored: the dedupe key was taken by this message");
    return CLI_OK;
}

static int arguments_check(struct cli *cli)
{
    bool lines = cli_given(cli, "lines"), objects = cli_given(cli, "from-jsonl");

    if (lines && objects)
        return cli_usage(cli, "--lines and --from-jsonl cannot be used together");
    if (!objects && cli->operand_count < 1)
        return cli_usage(cli, "the topic is missing; usage: posthorn enqueue TOPIC [PAYLOAD|-]");
    if ((lines || objects) && cli->operand_count > 1)
        return cli_usage(cli, "with --%s the payloads come from stdin; leave out \"%.80s\"",
                         lines ? "lines" : "from-jsonl", cli->operands[1]);
    if (lines && (cli_given(cli, "dedupe-key") || cli_given(cli, "message-id")))
        return cli_usage(cli, "with --lines all messages would have the same %s; use --from-jsonl",
                         cli_given(cli, "dedupe-key") ? "dedupe key" : "message id");
    return CLI_OK;
}

static int run(struct cli *cli)
{
    struct enqueue_draft draft = { .message = PH_MESSAGE_INIT };
    int code = arguments_check(cli);

    cli_joins_watch(cli);
    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code == CLI_OK)
        code = draft_fill(cli, &draft);
    if (code != CLI_OK)
        return code;
    if (cli_given(cli, "lines") || cli_given(cli, "from-jsonl"))
        return enqueue_lines(cli, &draft);
    return enqueue_one(cli, &draft);
}

static const struct cli_field fields[] = {
    CLI_FIELD(ph_enqueued, "work_id", work_id, UUID, "Work id",
              "identifies this stay of the message in its queue"),
    CLI_FIELD(ph_enqueued, "message_id", message_id, UUID, "Message id",
              "identifies the message; stays the same when a dead letter is retried"),
    CLI_FIELD(ph_enqueued, "is_new", is_new, BOOL, "New",
              "false: the dedupe key was taken, and the ids are those of the message that has it"),
    { 0 },
};

const struct cli_command cli_enqueue = {
    .name = "enqueue",
    .summary = "store a message",
    .operands = "TOPIC [PAYLOAD|-]",
    .checks_operands = true,
    .description =
        "Stores a message and prints its work id. The payload is the second operand, all of stdin "
        "if that is -, or empty without one. It is UTF-8 text without NUL and comes back byte for "
        "byte.\n"
        "The message can be claimed at once, or when its --due time has come. Of the due messages, "
        "those with a higher --priority are handed out first. After --expires the message is not "
        "handed out any more, but becomes a dead letter.\n"
        "With a --dedupe-key the message is stored only once per namespace and topic: enqueueing "
        "it again prints the ids of the first one, with a note on stderr. With a --tenant the key "
        "must begin with the tenant's id and a slash.\n"
        "With --lines each line of stdin is the payload of a message. With --from-jsonl each line "
        "is an object with the keys topic, payload, namespace, stream, tenant_id, dedupe_key, "
        "correlation_id, priority, due_at, expires_at, headers, message_id, max_attempts and "
        "join_id; the command line supplies the keys that a line leaves out. Lines are stored in "
        "batches, each completely or not at all. If one fails, those before it remain stored, and "
        "a warning says how many.\n"
        "With --stream the message is appended to an ordered stream, which is named by a key of "
        "your choice. The messages of a stream are handled one after the other, in the order in "
        "which they were stored. Due time, priority and expiry count once the message is the head "
        "of its stream. A message that waits for its retry holds up its own stream, and no other.\n"
        "With --join the message is a step of a join from the beginning, and counts when it is "
        "settled. If its dedupe key was taken, the message that has the key becomes the step.\n"
        "A program should enqueue in its own transaction instead, with the library or in SQL.",
    .options = CLI_OPTIONS(
        CLI_NAMESPACE_OPTION(CLI_THE_QUEUE), CLI_STREAM_OPTION, CLI_PRIORITY_OPTION,
        CLI_OPTION("due", 0, TIME, "TIME",
                   "not handed out before this time: +10m, 2030-01-01T09:00:00Z, @1893456000"),
        CLI_OPTION("expires", 0, TIME, "TIME",
                   "not handed out after this time, but made a dead letter"),
        CLI_OPTION("dedupe-key", 'k', TEXT, "KEY",
                   "store it only if no message of this namespace and topic has the key"),
        CLI_CORRELATION_OPTION, CLI_HEADERS_OPTION,
        CLI_OPTION("join", 'j', ID, "JOIN",
                   "make it a step of this join, whose id join start prints"),
        CLI_TENANT_OPTION,
        CLI_OPTION("message-id", 0, ID, "UUID", "its message id; if omitted, a new one"),
        CLI_OPTION("max-attempts", 0, NUMBER, "N",
                   "how often it may be claimed; if omitted, as the queue says", .min = 1,
                   .max = PH_ATTEMPTS_MAX),
        CLI_FLAG("lines", 0, "each line of stdin is a message"),
        CLI_FLAG("from-jsonl", 0, "each line of stdin is an object that describes a message"),
        CLI_STORE_BATCH_OPTION),
    .fields = fields,
    .layout = CLI_BARE,
    .examples = CLI_EXAMPLES(
        { "posthorn enqueue order.placed '{\"order\": 17}'", "Store a message" },
        { "posthorn enqueue mail.reminder 'Pay, please' --due +30m --priority low",
          "In half an hour, and behind others" },
        { "posthorn enqueue order.placed '{\"order\": 18}' --dedupe-key order/18 --json",
          "Once, however often it is run" },
        { "date | posthorn enqueue clock.tick -", "The payload from stdin" },
        { "posthorn enqueue order.paid '{\"order\": 18}' --stream order-18",
          "Behind all that is in the stream already" },
        { "seq 1000 | posthorn enqueue number.seen --lines > ids", "A thousand messages" },
        { "echo '{\"payload\": \"hi\", \"dedupe_key\": \"greeting\"}' | posthorn enqueue mail.send "
          "--from-jsonl",
          "Each line with its own key; the topic for all" }),
    .graceful = true,
    .run = run,
};
