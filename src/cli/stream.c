/* stream.c - posthorn stream: ordered streams, what holds them up, and what is in them. */
#include "explain.h"
#include "commands.h"

#include <string.h>

#define PAGE 1000
#define STATES "idle ready scheduled in_progress blocked"

static const char *const states[] = { "idle", "ready", "scheduled", "in_progress", "blocked" };

struct cli_stream cli_stream_named(const struct cli *cli)
{
    const char *ns = cli_text(cli, "namespace");

    return (struct cli_stream){ cli_door(cli), ns ? ns : "", cli->operands[0] };
}

const char *cli_stream_options(struct cli *cli, const struct cli_stream *stream)
{
    const char *door =
        stream->door == cli_outbox ? "" : cli_printf(cli, " --door %s", stream->door->name);

    return *stream->ns ? cli_printf(cli, "%s --namespace %s", door, cli_quoted(cli, stream->ns))
                       : door;
}

static void opts_fill(const struct cli *cli, ph_stream_list_opts *opts)
{
    opts->service = cli_text(cli, "service");
    opts->partition_count = (int)cli_number(cli, "partitions");
}

int cli_stream_find(struct cli *cli, const struct cli_stream *stream, ph_streams **ret_list)
{
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;
    ph_instances *workers = NULL;
    int code = cli_workers(cli, &workers), r = 0;

    if (code != CLI_OK)
        return code;
    opts_fill(cli, &opts);
    opts.door = stream->door->door;
    opts.ns = stream->ns;
    opts.stream = stream->key;
    opts.idle_too = true;
    if (!opts.service)
        opts.service = cli_workers_service(workers, stream->door, stream->ns);
    r = ph_stream_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, ret_list, &cli->err);
    ph_instances_free(workers);
    if (r < 0)
        return cli_fail_store(cli);
    return ph_streams_count(*ret_list) ? CLI_OK : CLI_NOT_FOUND;
}

int cli_stream_missing(struct cli *cli, const struct cli_stream *stream)
{
    return cli_fail(
        cli, CLI_NOT_FOUND, "there is no stream \"%.80s\" in the %s queue \"%.80s\"; see: %s",
        stream->key, stream->door->name, stream->ns,
        cli_command_line(cli, "stream list --all%s%s", stream->door == cli_outbox ? "" : " --door ",
                         stream->door == cli_outbox ? "" : stream->door->name));
}

/* A stream with what only show looks up. */
struct stream_row {
    ph_stream_info stream;
    const char *door, *why, *owner_process, *affinity_process;
    int64_t head_due_at, head_attempts;
    json_t *checkpoints;
};

static struct stream_row row_of(const ph_stream_info *stream)
{
    bool pending = stream->state == PH_STREAM_READY || stream->state == PH_STREAM_SCHEDULED;
    bool at_work = pending || stream->state == PH_STREAM_IN_PROGRESS;

    return (struct stream_row){ .stream = *stream,
                                .door = cli_doors[stream->door == PH_INBOX].name,
                                .head_due_at = pending ? stream->head_due_at : 0,
                                .head_attempts = at_work ? stream->head_attempts : CLI_NO_NUMBER };
}

#define ROW(...) CLI_FIELD(struct stream_row, __VA_ARGS__)
#define STREAM_FIELDS                                                                              \
    ROW("stream", stream.stream, TEXT, "Stream", "its key"),                                       \
        ROW("door", door, TEXT, "Door", "outbox or inbox"),                                        \
        ROW("namespace", stream.ns, TEXT, "Namespace", "its queue"),                               \
        ROW("state", stream.state, STATE, "State",                                                 \
            "idle (all messages are settled), ready, scheduled (its head is due later), "          \
            "in_progress, or blocked (by a dead head)",                                            \
            .words = states),                                                                      \
        ROW("unsettled", stream.unsettled, NUMBER, "Unsettled",                                    \
            "messages that are neither done nor dead"),                                            \
        ROW("next_seq", stream.next_seq, NUMBER, "Next seq", "the number of the first of these"),  \
        ROW("last_seq", stream.last_seq, NUMBER, "Last seq", "the number of the newest message"),  \
        ROW("head", stream.head, UUID, "Head",                                                     \
            "the work id of its first unsettled message, or of the dead one that blocks it"),      \
        ROW("head_due_at", head_due_at, TIME, "Head due",                                          \
            "ready, scheduled: when the head can be claimed; or null"),                            \
        ROW("head_attempts", head_attempts, NUMBER, "Head attempts",                               \
            "how often the head was claimed; or null"),                                            \
        ROW("owner", stream.owner, UUID, "Owner", "in_progress: the owner of the lease; or null"), \
        ROW("locked_until", stream.locked_until, TIME, "Locked until",                             \
            "in_progress: when the lease expires; or null"),                                       \
        ROW("partition", stream.partition, NUMBER, "Partition",                                    \
            "the partition that the key falls into"),                                              \
        ROW("affinity_service", stream.affinity_service, TEXT, "Service",                          \
            "the service whose instances share the partitions; or null"),                          \
        ROW("affinity_owner", stream.affinity_owner, UUID, "Partition owner",                      \
            "the instance of that service which owns the partition; or null"),                     \
        ROW("created_at", stream.created_at, TIME, "Created", "when its first message was stored")

/* --------------------------------------------------------------------------- list */

/* A list of every queue assumes the one service behind its door. Where that does not work, there is
 * no owner to name. */
static struct stream_row with_owner(const struct cli *cli, const ph_instances *workers,
                                    const ph_stream_info *stream)
{
    struct stream_row row = row_of(stream);
    const char *service;

    if (cli_given(cli, "service"))
        return row;
    service = cli_workers_service(workers, cli_door(cli), stream->ns);
    if (service && (!stream->affinity_service || strcmp(service, stream->affinity_service) == 0))
        return row;
    row.stream.partition = ph_stream_partition(stream->stream, (int)cli_number(cli, "partitions"));
    row.stream.affinity_service = NULL;
    row.stream.affinity_owner = (ph_owner){ { 0 } };
    return row;
}

/* Prints the streams of a page in the wanted state, at most *left. Returns whether there may be
 * more. */
static bool page_print(struct cli *cli, const ph_instances *workers, const ph_streams *page,
                       size_t limit, int *left, const ph_stream_info **ret_last)
{
    size_t count = ph_streams_count(page);
    int state = cli_word(cli, "state");

    for (size_t i = 0; *left > 0 && i < count; i++) {
        const ph_stream_info *stream = ph_streams_at(page, i);
        struct stream_row shown = with_owner(cli, workers, stream);

        *ret_last = stream;
        if (state >= 0 && state != (int)stream->state)
            continue;
        cli_row(cli, &shown);
        --*left;
    }
    return *left > 0 && count == limit;
}

/* Where the next page begins. */
static void more(struct cli *cli, const char *ns, const char *key)
{
    const char *last = cli_quoted(cli, key);

    if (*ns && !cli_given(cli, "namespace"))
        last = cli_printf(cli, "%s --after-namespace %s", last, cli_quoted(cli, ns));
    cli_list_more(cli, last);
}

/* The library lists streams of every state, and this picks those in the wanted one. */
static int list(struct cli *cli, const ph_instances *workers, ph_stream_list_opts *opts)
{
    int most = (int)cli_number(cli, "limit"), left = most;
    bool on = true;

    opts->limit = cli_given(cli, "state") ? PAGE : most;
    while (on) {
        const ph_stream_info *last = NULL;
        ph_streams *page = NULL;

        if (ph_stream_list(cli->store, PH_OWN_TX, opts, cli->timeout_ms, &page, &cli->err) < 0)
            return cli_fail_store(cli);
        on = page_print(cli, workers, page, (size_t)opts->limit, &left, &last);
        if (last) {
            opts->after_ns = cli_strdup(cli, last->ns);
            opts->after_stream = cli_strdup(cli, last->stream);
        }
        ph_streams_free(page);
    }
    if (left == most)
        cli_note(cli, opts->idle_too ? "no streams" : "no active streams; --all lists idle ones");
    if (left == 0)
        more(cli, opts->after_ns, opts->after_stream);
    return left < most ? CLI_OK : CLI_NOT_FOUND;
}

static int run_list(struct cli *cli)
{
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;
    const char *ns = cli_text(cli, "namespace"), *after_ns = cli_text(cli, "after-namespace");
    ph_instances *workers = NULL;
    int code;

    if (after_ns && !cli_given(cli, "after"))
        return cli_usage(cli, "--after-namespace needs --after");
    code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code == CLI_OK)
        code = cli_workers(cli, &workers);
    if (code != CLI_OK)
        return code;
    opts_fill(cli, &opts);
    if (!opts.service)
        opts.service = cli_workers_service(workers, cli_door(cli), ns);
    opts.door = cli_door(cli)->door;
    opts.ns = ns;
    opts.idle_too = cli_given(cli, "all") || cli_word(cli, "state") == PH_STREAM_IDLE;
    opts.after_stream = cli_text(cli, "after");
    if (opts.after_stream)
        opts.after_ns = after_ns ? after_ns : ns ? ns : "";
    code = list(cli, workers, &opts);
    ph_instances_free(workers);
    return code;
}

static const struct cli_field list_fields[] = { STREAM_FIELDS, { 0 } };

const struct cli_command cli_stream_list = {
    .name = "stream list",
    .summary = "list ordered streams",
    .description =
        "Lists active streams, by queue and key; --all adds idle ones, in which all messages are "
        "settled. ready: its head is due, and nobody has claimed it. scheduled: its head is due "
        "later, or waits for its retry, and the messages behind it wait with it. in_progress: an "
        "owner has claimed its head. blocked: its head is dead, and its queue blocks streams "
        "then.\n"
        "A page has --limit streams; the next page begins with --after and the last key of this "
        "one, and with --after-namespace unless that stream is in the default queue.",
    .options = CLI_OPTIONS(
        CLI_STREAM_DOOR_OPTION("the door of the streams"), CLI_NAMESPACE_OPTION(CLI_ONLY_QUEUE),
        CLI_FLAG("all", 'a', "also streams that are idle"),
        CLI_OPTION("state", 's', WORD, "STATE", "only those in this state", .choices = STATES),
        CLI_PARTITION_OPTIONS, CLI_LIMIT_OPTION,
        CLI_OPTION("after", 0, TEXT, "KEY",
                   "continue after this key, the last of the previous page"),
        CLI_OPTION(
            "after-namespace", 0, TEXT, "NAME",
            "the queue of that key; if omitted, the one of --namespace, or the default queue")),
    .fields = list_fields,
    .columns = "namespace stream state unsettled next_seq last_seq head partition owner",
    .examples = CLI_EXAMPLES(
        { "posthorn enqueue order.placed 17 --stream order-17; posthorn enqueue order.paid 17 "
          "--stream order-17",
          "A stream of two messages" },
        { "posthorn stream list", "Active streams, and their owners" },
        { "posthorn stream list --all --door inbox -q || true", "Streams of received messages" },
        { "posthorn stream list --state blocked -q || true", "Blocked streams" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "no stream matches" }),
    .only_reads = true,
    .run = run_list,
};

/* --------------------------------------------------------------------------- show */

/* Where an instance runs; NULL: the owner is not an instance. */
static const char *process_of(struct cli *cli, const ph_instances *instances, ph_owner id)
{
    for (size_t i = 0; i < ph_instances_count(instances); i++) {
        const ph_instance_info *instance = ph_instances_at(instances, i);

        if (memcmp(instance->id.b, id.b, sizeof(id.b)) == 0)
            return cli_printf(cli, "%s:%d", instance->host, instance->process_id);
    }
    return NULL;
}

/* Where the two owners run, if they are instances. */
static int processes_add(struct cli *cli, struct stream_row *row)
{
    ph_instance_list_opts opts = PH_INSTANCE_LIST_OPTS_INIT;
    ph_instances *instances = NULL;

    opts.ended_too = true;
    if (ph_instance_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &instances, &cli->err) < 0)
        return cli_fail_store(cli);
    row->owner_process = process_of(cli, instances, row->stream.owner);
    row->affinity_process = process_of(cli, instances, row->stream.affinity_owner);
    ph_instances_free(instances);
    return CLI_OK;
}

static int checkpoints_add(struct cli *cli, const struct cli_stream *name, struct stream_row *row)
{
    ph_checkpoints *list = NULL;
    int code = cli_checkpoints(cli, name, NULL, &list);

    if (code != CLI_OK)
        return code;
    row->checkpoints = cli_need(json_array());
    for (size_t i = 0; i < ph_checkpoints_count(list); i++)
        cli_array_add(row->checkpoints, cli_checkpoint_fields, ph_checkpoints_at(list, i));
    ph_checkpoints_free(list);
    return CLI_OK;
}

static int show(struct cli *cli, const struct cli_stream *name, const ph_stream_info *stream)
{
    struct stream_row row = row_of(stream);
    bool has_head = !ph_id_is_zero(stream->head.b);
    int code = has_head ? explain_why(cli, name->door, stream->head, &row.why) : CLI_OK;

    if (code == CLI_OK)
        code = processes_add(cli, &row);
    if (code == CLI_OK)
        code = checkpoints_add(cli, name, &row);
    if (code != CLI_OK)
        return code;
    cli_row(cli, &row);
    if (stream->state != PH_STREAM_IDLE && has_head) {
        char id[PH_ID_TEXT_SIZE];

        cli_note(cli, "more about its head: %s",
                 cli_command_line(cli, "explain %s", ph_id_text(stream->head.b, id)));
    }
    return CLI_OK;
}

static int run_show(struct cli *cli)
{
    struct cli_stream name = cli_stream_named(cli);
    ph_streams *list = NULL;
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code != CLI_OK)
        return code;
    code = cli_stream_find(cli, &name, &list);
    if (code == CLI_NOT_FOUND)
        code = cli_stream_missing(cli, &name);
    else if (code == CLI_OK)
        code = show(cli, &name, ph_streams_at(list, 0));
    ph_streams_free(list);
    return code;
}

static const struct cli_field show_fields[] = {
    STREAM_FIELDS,
    ROW("why", why, TEXT, "Why",
        "why its head is where it is: the first reason that explain gives; or null"),
    ROW("owner_process", owner_process, TEXT, "Owner's process",
        "where the owner runs, HOST:PROCESS; null: there is none, or it is not an instance"),
    ROW("affinity_process", affinity_process, TEXT, "Partition's process",
        "where the partition's owner runs, HOST:PROCESS; or null"),
    CLI_FIELD(struct stream_row, "checkpoints", checkpoints, ROWS, "Checkpoints",
              "how far its consumers are", .fields = cli_checkpoint_fields),
    { 0 },
};

const struct cli_command cli_stream_show = {
    .name = "stream show",
    .summary = "show the state, the head and the owners of a stream",
    .operands = "KEY",
    .description =
        "Shows a stream: how far it has come, its head and why that is not done, the owner that "
        "holds it and until when, its partition and the instance that owns that, and the "
        "checkpoints of its consumers.\n"
        "A stream continues when its head is settled. The owner that holds it has claimed the "
        "head, and perhaps some messages after it; nobody else gets a message of the stream "
        "meanwhile.\n"
        "When the head is due, the owner of the partition comes first among the instances of its "
        "service, for the queue's affinity grace; workers outside that service do not wait. "
        "Without --service the owner of the partition is shown if exactly one service runs "
        "posthorn work on the queue. For programs of your own, name their service.",
    .options = CLI_OPTIONS(CLI_STREAM_OPTIONS, CLI_PARTITION_OPTIONS),
    .fields = show_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES({ "posthorn enqueue order.placed 17 --stream order-17; posthorn "
                               "enqueue order.paid 17 --stream order-17",
                               "A stream of two messages" },
                             { "posthorn stream show order-17", "Where does it stand?" },
                             { "posthorn stream show order-17 --service shop --json",
                               "With the partition's owner in shop" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "there is no such stream" }),
    .only_reads = true,
    .run = run_show,
};

/* --------------------------------------------------------------------------- read */

/* Where a consumer continues; one that never reported starts at the beginning. */
static int after_of(struct cli *cli, const struct cli_stream *stream, int64_t *ret_after)
{
    ph_checkpoint_list_opts opts = PH_CHECKPOINT_LIST_OPTS_INIT;
    ph_checkpoints *list = NULL;

    *ret_after = cli_number(cli, "after");
    opts.door = stream->door->door;
    opts.ns = stream->ns;
    opts.stream = stream->key;
    opts.consumer = cli_text(cli, "consumer");
    if (!opts.consumer)
        return CLI_OK;
    if (ph_checkpoint_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &list, &cli->err) < 0)
        return cli_fail_store(cli);
    *ret_after = ph_checkpoints_count(list) ? ph_checkpoints_at(list, 0)->seq : 0;
    ph_checkpoints_free(list);
    return CLI_OK;
}

/* Prints what one call reads, and moves *after and *limit behind it. */
static int read_on(struct cli *cli, const struct cli_stream *stream, int64_t now, int64_t *after,
                   int *limit, size_t *ret_count)
{
    ph_messages *messages = NULL;

    if (ph_stream_read(cli->store, PH_OWN_TX, stream->door->door, stream->ns, stream->key, *after,
                       *limit, cli->timeout_ms, &messages, &cli->err) < 0)
        return cli_fail_store(cli);
    *ret_count = ph_messages_count(messages);
    for (size_t i = 0; i < *ret_count; i++) {
        const ph_message_info *info = ph_messages_at(messages, i);

        cli_row_json(cli, cli_json_message(stream->door, info, now, false));
        *after = info->message->seq;
    }
    *limit -= (int)*ret_count;
    ph_messages_free(messages);
    return CLI_OK;
}

static int read_after(struct cli *cli, const struct cli_stream *stream, int64_t after)
{
    int64_t now = 0, at = after;
    int limit = (int)cli_number(cli, "limit"), code = CLI_OK;
    size_t count = 1;

    if (ph_clock(cli->store, PH_OWN_TX, cli->timeout_ms, &now, &cli->err) < 0)
        return cli_fail_store(cli);
    while (code == CLI_OK && count > 0 && limit > 0) /* large results take several calls */
        code = read_on(cli, stream, now, &at, &limit, &count);
    if (code != CLI_OK)
        return code;
    if (at == after)
        cli_note(cli, "nothing after %lld", (long long)after);
    if (limit == 0)
        cli_note(cli, "there may be more: --after %lld", (long long)at);
    return at == after ? CLI_NOT_FOUND : CLI_OK;
}

static int run_read(struct cli *cli)
{
    struct cli_stream stream = cli_stream_named(cli);
    int64_t after = 0;
    int code;

    if (cli_given(cli, "after") && cli_given(cli, "consumer"))
        return cli_usage(cli, "--after and --consumer cannot be used together");
    code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code == CLI_OK)
        code = after_of(cli, &stream, &after);
    return code == CLI_OK ? read_after(cli, &stream, after) : code;
}

const struct cli_command cli_stream_read = {
    .name = "stream read",
    .summary = "read the messages of a stream in order",
    .operands = "KEY",
    .description =
        "Prints the messages of a stream in order, from the beginning or after a number, whatever "
        "state they are in, as long as retention keeps them. It claims nothing and changes "
        "nothing: any number of consumers can read a stream besides its workers.\n"
        "With --consumer it continues at the checkpoint of that consumer, which checkpoint "
        "complete moves.",
    .options =
        CLI_OPTIONS(CLI_STREAM_OPTIONS,
                    CLI_OPTION("after", 0, NUMBER, "SEQ", "only messages with a higher number",
                               .min = 0, .max = INT64_MAX),
                    CLI_OPTION("consumer", 'c', TEXT, "NAME",
                               "only messages after the checkpoint of this consumer"),
                    CLI_LIMIT_OPTION),
    .fields = cli_message_fields,
    .columns = "seq work_id state topic created_at payload",
    .examples = CLI_EXAMPLES(
        { "seq 3 | posthorn enqueue order.changed --lines --stream order-17", "A stream" },
        { "posthorn stream read order-17", "All of it" },
        { "posthorn stream read order-17 --consumer report --limit 2 --jsonl", "As a consumer …" },
        { "posthorn checkpoint complete order-17 report 2", "… that has handled two" },
        { "posthorn stream read order-17 --consumer report", "The third is left" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "there is nothing more to read, or no such stream" }),
    .only_reads = true,
    .run = run_read,
};
