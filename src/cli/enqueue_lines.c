/* enqueue_lines.c - enqueue --lines and --from-jsonl, receive --from-jsonl: many messages, in
 * batches. */
#include "commands.h"
#include "enqueue.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES (16 * 1024 * 1024) /* a batch that holds so much is stored */

/* One line: the message, and what it borrows from. */
struct line {
    struct enqueue_draft draft;
    char *text;
    json_t *object;
};

struct batch {
    struct cli *cli;
    const struct enqueue_draft *defaults;
    struct line *lines;
    bool inbox;
    ph_message *messages; /* these two, … */
    ph_enqueued *enqueued;
    ph_inbox_message *inbox_messages; /* … or, for the inbox, these */
    ph_received *received;
    size_t count, size, bytes;
    int64_t read, stored, duplicates; /* lines so far, over all batches */
    char where[64];
};

/* The keys of an object, described like options so that they are read alike, and their places in
 * the draft. */
struct key {
    struct cli_option option;
    size_t at;
};

#define KEY(type_, member_, ...)                                                                   \
    {                                                                                              \
        { .type = CLI_##type_, .name = __VA_ARGS__ }, offsetof(struct enqueue_draft, member_)      \
    }
#define SHARED_KEYS                                                                                \
    KEY(TEXT, message.topic, "topic"), KEY(TEXT, message.payload, "payload"),                      \
        KEY(TEXT, message.ns, "namespace"), KEY(TEXT, message.stream, "stream"),                   \
        KEY(TEXT, message.correlation_id, "correlation_id"), KEY(ID, tenant_id, "tenant_id"),      \
        KEY(WORD, message.priority, "priority", .choices = CLI_PRIORITIES),                        \
        KEY(TEXT, message.headers, "headers")

static const struct key outbox_keys[] = {
    SHARED_KEYS,
    KEY(TEXT, message.dedupe_key, "dedupe_key"),
    KEY(ID, message_id, "message_id"),
    KEY(ID, join_id, "join_id"),
    KEY(TIME, message.due_at, "due_at"),
    KEY(TIME, message.expires_at, "expires_at"),
    KEY(NUMBER, message.max_attempts, "max_attempts", .min = 1, .max = PH_ATTEMPTS_MAX),
    { { 0 }, 0 },
};

static const struct key inbox_keys[] = {
    SHARED_KEYS,
    KEY(TEXT, source, "source"),
    KEY(TEXT, source_id, "source_id"),
    KEY(TEXT, source_id, "message_id"), /* as process_work_batch calls it */
    { { 0 }, 0 },
};

static bool is_inbox(const struct cli *cli)
{
    return cli->command == &cli_receive;
}

static int value_set(struct cli *cli, struct line *line, const struct key *key, const char *text)
{
    void *to = (char *)&line->draft + key->at;
    struct cli_setting value;
    int code = cli_parse_value(cli, &key->option, text, &value);

    if (code != CLI_OK)
        return code;
    if (key->option.type == CLI_TIME)
        return cli_time_of(cli, &value, to);
    if (key->option.type == CLI_ID)
        memcpy(to, value.id, sizeof(value.id));
    else if (key->option.type == CLI_WORD)
        *(ph_priority *)to = cli_priority((int)value.number);
    else if (key->option.type == CLI_NUMBER)
        *(int *)to = (int)value.number;
    else
        *(const char **)to = text;
    return CLI_OK;
}

static int member_set(struct cli *cli, struct line *line, const char *name, json_t *value)
{
    const struct key *key = is_inbox(cli) ? inbox_keys : outbox_keys;
    char number[32];

    while (key->option.name && strcmp(key->option.name, name) != 0)
        key++;
    if (!key->option.name)
        return cli_usage(cli, "there is no key \"%.80s\"; posthorn help %s lists them", name,
                         cli->command->name);
    if (json_is_null(value) && strcmp(name, "payload") == 0)
        return cli_usage(cli, "payload is null; leave it out, or give a text, which may be empty");
    if (json_is_null(value))
        return CLI_OK; /* as if it had been left out */
    if (strcmp(name, "payload") == 0 && json_is_string(value)) {
        line->draft.message.payload = json_string_value(value);
        line->draft.message.payload_length = json_string_length(value);
        return CLI_OK;
    }
    if (strcmp(name, "headers") == 0 && json_is_object(value)) {
        free(line->text);
        line->text = cli_need(json_dumps(value, JSON_COMPACT));
        return value_set(cli, line, key, line->text);
    }
    if (json_is_integer(value) &&
        (key->option.type == CLI_NUMBER || key->option.type == CLI_WORD)) {
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
        return value_set(cli, line, key, number);
    }
    if (!json_is_string(value) || strcmp(name, "headers") == 0)
        return cli_usage(cli, "%s must be %s", name,
                         strcmp(name, "headers") == 0     ? "an object"
                         : key->option.type == CLI_NUMBER ? "a whole number"
                                                          : "a string");
    if (strlen(json_string_value(value)) != json_string_length(value))
        return cli_usage(cli, "%s contains a NUL; leave it out", name);
    return value_set(cli, line, key, json_string_value(value));
}

static int object_read(struct cli *cli, struct line *line, const char *text, size_t length)
{
    json_error_t error;
    const char *name;
    json_t *value;
    int code = CLI_OK;

    line->object = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!json_is_object(line->object))
        return cli_usage(cli, "this is not a JSON object (%s); give one object per line",
                         line->object ? "but another value" : cli_json_error(cli, &error));
    json_object_foreach(line->object, name, value)
    {
        if (code == CLI_OK)
            code = member_set(cli, line, name, value);
    }
    return code;
}

static int line_check(const struct batch *batch, const struct line *line)
{
    struct cli *cli = batch->cli;

    if (!line->draft.message.topic)
        return cli_usage(cli, "there is no topic; give one in the line%s",
                         batch->inbox ? "" : " or as an operand");
    if (batch->inbox && !line->draft.source)
        return cli_usage(cli, "there is no source; give one in the line or as an operand");
    if (batch->inbox && !line->draft.source_id)
        return cli_usage(cli, "there is no source_id; give one in the line");
    if (batch->inbox && json_object_get(line->object, "source_id") &&
        json_object_get(line->object, "message_id"))
        return cli_usage(cli, "source_id and message_id are two names for one id; give one");
    return CLI_OK;
}

static int line_read(struct batch *batch, const char *text, size_t length)
{
    struct cli *cli = batch->cli;
    struct line *line = &batch->lines[batch->count++];
    ph_message *message = &line->draft.message;
    int code = CLI_OK;

    line->draft = *batch->defaults;
    message->topic = cli->operand_count && !batch->inbox ? cli->operands[0] : NULL;
    message->payload = "";
    message->payload_length = 0;
    if (cli_given(cli, "from-jsonl")) {
        code = object_read(cli, line, text, length);
        if (code == CLI_OK)
            code = line_check(batch, line);
    } else {
        line->text = cli_need(malloc(length + 1));
        memcpy(line->text, text, length + 1);
        message->payload = line->text;
        message->payload_length = length;
    }
    return code;
}

static void batch_forget(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        json_decref(batch->lines[i].object);
        free(batch->lines[i].text);
        memset(&batch->lines[i], 0, sizeof(batch->lines[i]));
    }
    batch->count = batch->bytes = 0;
}

/* The library counts messages within a call; users count lines. */
static int batch_failed(struct batch *batch)
{
    struct cli *cli = batch->cli;
    long index = ph_error_take_item(&cli->err);
    long long first = batch->read - (long long)batch->count + 1;

    if (index >= 0) {
        snprintf(batch->where, sizeof(batch->where), "line %lld", first + index);
    } else if (batch->count > 1) {
        snprintf(batch->where, sizeof(batch->where), "lines %lld to %lld", first,
                 (long long)batch->read);
    } else {
        snprintf(batch->where, sizeof(batch->where), "line %lld", first);
    }
    cli->where = batch->where;
    return cli_fail_store(cli);
}

static void batch_fill(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct enqueue_draft *draft = &batch->lines[i].draft;

        if (batch->inbox)
            batch->inbox_messages[i] = enqueue_received(draft);
        else
            batch->messages[i] = *enqueue_message(draft);
    }
}

static void batch_print(struct batch *batch)
{
    struct cli *cli = batch->cli;

    for (size_t i = 0; i < batch->count; i++) {
        if (batch->inbox)
            cli_row(cli, &batch->received[i]);
        else
            cli_row(cli, &batch->enqueued[i]);
        batch->duplicates += batch->inbox ? !batch->received[i].is_new : !batch->enqueued[i].is_new;
    }
    if (!batch->inbox)
        cli_joins_note(cli);
}

static int batch_store(struct batch *batch)
{
    struct cli *cli = batch->cli;
    int code = CLI_OK, r;

    if (batch->count == 0)
        return CLI_OK;
    batch_fill(batch);
    r = batch->inbox
            ? ph_inbox_receive_many(cli->store, PH_OWN_TX, batch->inbox_messages, batch->count,
                                    cli->timeout_ms, batch->received, &cli->err)
            : ph_enqueue_many(cli->store, PH_OWN_TX, batch->messages, batch->count, cli->timeout_ms,
                              batch->enqueued, &cli->err);
    if (r < 0) {
        code = batch_failed(batch);
    } else {
        batch_print(batch);
        cli_flush(cli); /* ids of stored messages are printed, whatever happens next */
        batch->stored += (int64_t)batch->count;
        cli_progress_at(cli, batch->stored, 0);
    }
    batch_forget(batch);
    return code;
}

static int all_lines(struct batch *batch)
{
    struct cli *cli = batch->cli;
    size_t line_max = cli_given(cli, "from-jsonl") ? CLI_JSON_LINE_MAX : PH_PAYLOAD_MAX;
    char *text;
    size_t length;
    int code;

    for (;;) {
        if (cli_interrupted())
            return CLI_INTERRUPTED;
        snprintf(batch->where, sizeof(batch->where), "line %lld", (long long)batch->read + 1);
        cli->where = batch->where;
        code = cli_read_line(cli, line_max, &text, &length);
        if (code != CLI_OK || !text)
            break;
        batch->read++;
        code = line_read(batch, text, length);
        if (code != CLI_OK)
            return code;
        cli->where = NULL;
        batch->bytes += length;
        if (batch->count == batch->size || batch->bytes >= BATCH_BYTES)
            code = batch_store(batch);
        if (code != CLI_OK)
            return code;
    }
    cli->where = NULL;
    return code == CLI_OK ? batch_store(batch) : code;
}

/* Says how many lines were stored. */
static void told(const struct batch *batch, int code)
{
    struct cli *cli = batch->cli;
    long long stored = batch->stored, duplicates = batch->duplicates;

    if (code != CLI_OK && stored == 0)
        cli_warn(cli, "nothing was stored");
    else if (code != CLI_OK)
        cli_warn(cli, "the first %lld line%s stored", stored, stored == 1 ? " was" : "s were");
    else if (duplicates)
        cli_note(cli, "%lld messages; %lld of them had %s", stored, duplicates,
                 batch->inbox ? "been received before" : "been stored before, by their dedupe key");
    else
        cli_note(cli, "%lld message%s stored", stored, stored == 1 ? "" : "s");
}

int enqueue_lines(struct cli *cli, const struct enqueue_draft *defaults)
{
    struct batch batch = { .cli = cli, .defaults = defaults };
    int code;

    batch.size = (size_t)cli_number(cli, "batch");
    batch.inbox = is_inbox(cli);
    batch.lines = cli_alloc(cli, batch.size * sizeof(*batch.lines));
    batch.messages = cli_alloc(cli, batch.size * sizeof(*batch.messages));
    batch.enqueued = cli_alloc(cli, batch.size * sizeof(*batch.enqueued));
    batch.inbox_messages = cli_alloc(cli, batch.size * sizeof(*batch.inbox_messages));
    batch.received = cli_alloc(cli, batch.size * sizeof(*batch.received));
    cli_layout_set(cli, CLI_BARE_MANY);
    cli_progress_begin(cli, "stored", 0);
    code = all_lines(&batch);
    cli_progress_end(cli);
    cli->where = NULL;
    batch_forget(&batch);
    told(&batch, code);
    return code;
}
