/* enqueue.c - the verbs of producers. */
#include "core/error.h"
#include "extension/arguments.h"
#include "extension/json_text.h"
#include "extension/message.h"
#include "extension/verbs.h"

static int enqueue(struct ph__ext_call *call, sqlite3_context *result)
{
    char work_id[PH_ID_TEXT_SIZE], message_id[PH_ID_TEXT_SIZE];
    ph_message message = PH_MESSAGE_INIT;
    ph_enqueued enqueued;
    const char *options;
    int r = ph__arg_text(call, 0, &message.topic);

    if (r == 0)
        r = ph__arg_text(call, 1, &message.payload);
    if (r == 0)
        r = ph__arg_json(call, 2, JSON_OBJECT, PH__EXT_JSON_FLAGS, &options);
    if (r == 0 && call->json)
        r = ph__ext_message_load(call, call->json, options, false, &message);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_enqueue(call->ext->store, call->tx, &message, 0, &enqueued, &call->err);
    if (r < 0)
        return r;
    return ph__result_json(
        call, result,
        sqlite3_mprintf("{\"work_id\":\"%s\",\"message_id\":\"%s\",\"is_new\":%s}",
                        ph_id_text(enqueued.work_id.b, work_id),
                        ph_id_text(enqueued.message_id.b, message_id),
                        enqueued.is_new ? "true" : "false"));
}

static int message_of(struct ph__ext_call *call, const json_t *element, const char *text,
                      size_t index, ph_message *message)
{
    ph_error plain;
    int r;

    *message = (ph_message)PH_MESSAGE_INIT;
    r = json_is_object(element) ? ph__ext_message_load(call, element, text, true, message)
                                : ph__fail(&call->err, PH_EINVAL, "is not a JSON object");
    if (r == 0)
        return 0;
    plain = call->err;
    return ph__fail(&call->err, plain.code, "message %zu: %s", index, plain.message);
}

static int enqueue_many(struct ph__ext_call *call, struct ph__answer *answer)
{
    ph_enqueued *enqueued = NULL;
    ph_message *messages = NULL;
    const char *text, *at;
    json_t *element;
    size_t count, i;
    int r = ph__arg_json(call, 0, JSON_ARRAY, PH__EXT_JSON_FLAGS, &text);

    if (r < 0)
        return r;
    count = json_array_size(call->json);
    if (count == 0)
        return 0;
    if (count > PH_BATCH_MAX)
        return ph__fail(&call->err, PH_EINVAL, "%zu messages; at most %d are allowed", count,
                        PH_BATCH_MAX);
    messages = ph__arena_alloc(&call->arena, count * sizeof(*messages));
    enqueued = ph__arena_alloc(&answer->arena, count * sizeof(*enqueued));
    if (!messages || !enqueued)
        return ph__fail_memory(&call->err);
    at = ph__json_first(text);
    json_array_foreach(call->json, i, element)
    {
        r = message_of(call, element, at, i, &messages[i]);
        if (r < 0)
            return r;
        at = ph__json_next(at);
    }
    r = ph__ext_begin(call);
    if (r == 0)
        r = ph_enqueue_many(call->ext->store, call->tx, messages, count, 0, enqueued, &call->err);
    answer->items = enqueued;
    answer->count = count;
    return r;
}

static void enqueued_column(const struct ph__answer *answer, size_t row, int column,
                            sqlite3_context *result)
{
    const ph_enqueued *enqueued = (const ph_enqueued *)answer->items + row;

    if (column == 0)
        ph__result_id(result, enqueued->work_id.b);
    else if (column == 1)
        ph__result_id(result, enqueued->message_id.b);
    else
        sqlite3_result_int(result, enqueued->is_new);
}

const struct ph__scalar_verb ph__enqueue_scalars[] = {
    { { "posthorn_enqueue", 2, { "topic", "payload", "options" } }, .run = enqueue },
    { .run = NULL },
};
const struct ph__scalar_verb *const ph__enqueue_verb = &ph__enqueue_scalars[0];

const struct ph__rows_verb ph__enqueue_rows[] = {
    { { "posthorn_enqueue_many", 1, { "messages" } },
      .columns = "work_id TEXT, message_id TEXT, is_new INTEGER",
      .column_count = 3,
      .repeats = false,
      .run = enqueue_many,
      .column = enqueued_column },
    { .run = NULL },
};
