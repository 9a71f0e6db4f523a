/* enqueue.c - the verbs of producers. */
#include "core/error.h"
#include "extension/arguments.h"
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

static int enqueue_many(struct ph__ext_call *call, struct ph__answer *answer)
{
    ph_enqueued *enqueued;
    const ph_message *messages;
    size_t count;
    int r = ph__ext_messages_load(call, 0, &messages, &count);

    if (r < 0 || count == 0)
        return r;
    enqueued = ph__arena_alloc(&answer->arena, count * sizeof(*enqueued));
    if (!enqueued)
        return ph__fail_memory(&call->err);
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

/* ------------------------------------------------------------------- inbox */

int ph__ext_handled_check(struct ph__ext_call *call, const ph_inbox_message *messages, size_t count)
{
    for (size_t i = 0; call->began && i < count; i++) {
        if (messages[i].handled)
            return ph__fail(&call->err, PH_EINVAL,
                            "handled needs a transaction of yours, in which the work is done; "
                            "begin it with BEGIN IMMEDIATE");
    }
    return 0;
}

static int inbox_receive(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_inbox_message message = PH_INBOX_MESSAGE_INIT;
    const char **texts[] = { &message.source, &message.source_id, &message.topic,
                             &message.payload };
    char work_id[PH_ID_TEXT_SIZE];
    ph_received received;
    const char *options;
    int r = 0;

    for (int i = 0; r == 0 && i < (int)(sizeof(texts) / sizeof(*texts)); i++)
        r = ph__arg_text(call, i, texts[i]);
    if (r == 0)
        r = ph__arg_json(call, 4, JSON_OBJECT, PH__EXT_JSON_FLAGS, &options);
    if (r == 0 && call->json)
        r = ph__ext_inbox_message_load(call, call->json, options, false, &message);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph__ext_handled_check(call, &message, 1);
    if (r == 0)
        r = ph_inbox_receive(call->ext->store, call->tx, &message, 0, &received, &call->err);
    return r < 0 ? r
                 : ph__result_json(call, result,
                                   sqlite3_mprintf("{\"work_id\":\"%s\",\"is_new\":%s}",
                                                   ph_id_text(received.work_id.b, work_id),
                                                   received.is_new ? "true" : "false"));
}

const struct ph__scalar_verb ph__enqueue_scalars[] = {
    { { "posthorn_enqueue", 2, { "topic", "payload", "options" } }, .run = enqueue },
    { { "posthorn_inbox_receive", 4, { "source", "message_id", "topic", "payload", "options" } },
      .run = inbox_receive },
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
