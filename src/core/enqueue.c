/* enqueue.c - messages in. */
#include "core/enqueue.h"

#include "core/call.h"
#include "core/error.h"
#include "core/join.h"
#include "core/log.h"
#include "core/message.h"
#include "util/alloc.h"
#include "util/assert.h"

#include <string.h>

static void log_one(const ph_store *store, ph_door door, const struct ph__message *m,
                    const ph_enqueued *e)
{
    char work_id[PH_ID_TEXT_SIZE], message_id[PH_ID_TEXT_SIZE];
    ph_log_field fields[] = {
        { "topic", m->topic },
        { "correlation_id", m->correlation_id },
        { "namespace", *m->ns ? m->ns : NULL },
        { "work_id", ph_id_text(e->work_id.b, work_id) },
        { "message_id", m->source ? m->dedupe_key : ph_id_text(e->message_id.b, message_id) },
        { "stream", m->stream },
        { "source", m->source },
    };

    ph__log(store, PH_LOG_INFO, door == PH_INBOX ? "receive" : "enqueue",
            e->is_new ? "stored" : "duplicate, not stored again", fields,
            sizeof(fields) / sizeof(*fields));
}

void ph__enqueued_log(const struct ph__call *call, ph_door door, const struct ph__message *messages,
                      const ph_enqueued *enqueued, size_t count)
{
    size_t repeated = 0;

    for (size_t i = 0; i < count && ph__log_wants(call->store, PH_LOG_INFO); i++) {
        log_one(call->store, door, &messages[i], &enqueued[i]);
        if (door == PH_OUTBOX && messages[i].join_id)
            ph__attached_log(call, *messages[i].join_id, &enqueued[i].message_id, i, &repeated);
    }
}

int ph__messages_check_bytes(const struct ph__message *messages, size_t count, ph_error *err)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes +=
            messages[i].payload_length + (messages[i].headers ? strlen(messages[i].headers) : 0);
    if (bytes <= PH_ENQUEUE_BYTES_MAX)
        return 0;
    return ph__fail(err, PH_EINVAL,
                    "the messages have %zu bytes of payloads and headers; at most %d are allowed "
                    "in one call: give fewer messages at once",
                    bytes, PH_ENQUEUE_BYTES_MAX);
}

int ph__messages_load(struct ph__message *to, const ph_message *from, size_t count, ph_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const ph_message *message = (const void *)((const char *)from + i * from->size);
        int r = 0;

        if (message->size != from->size) /* before it is believed */
            r = ph__item(err, ph__fail(err, PH_EINVAL, "its size differs from the first one's"), i);
        if (r == 0)
            r = ph__message_load(&to[i], message, count > 1 ? (long)i : -1, err);
        if (r < 0)
            return r;
    }
    return ph__messages_check_bytes(to, count, err);
}

int ph__storing_begin(struct ph__storing *storing, const void *from, size_t count, ph_error *err)
{
    storing->count = count;
    storing->messages = &storing->one;
    storing->results = &storing->one_result;
    if (!from || count < 1 || count > PH_BATCH_MAX)
        return ph__fail(err, PH_EINVAL, !from ? "messages is NULL" : "%zu messages; give 1 to %d",
                        count, PH_BATCH_MAX);
    if (count > 1) {
        storing->messages = ph__alloc_zero(count, sizeof(*storing->messages));
        storing->results = ph__alloc_zero(count, sizeof(*storing->results));
    }
    return storing->messages && storing->results ? 0 : ph__fail_memory(err);
}

PH__ONLY_ASSERTED static bool are_stored(const struct ph__storing *storing)
{
    for (size_t i = 0; i < storing->count; i++) {
        if (ph_id_is_zero(storing->results[i].work_id.b) ||
            (!storing->messages[i].source && ph_id_is_zero(storing->results[i].message_id.b)))
            return false;
    }
    return true;
}

int ph__storing_run(struct ph__storing *storing, struct ph__call *call, ph_door door, int checked)
{
    int r = ph__call_connect(call, checked);

    if (r < 0)
        return r;
    r = call->store->backend->enqueue(call, door, storing->messages, storing->count,
                                      storing->results);
    PH__ASSERT(storing->count >= 1 && storing->count <= PH_BATCH_MAX);
    PH__ASSERT(r < 0 || are_stored(storing));
    if (r == 0)
        ph__enqueued_log(call, door, storing->messages, storing->results, storing->count);
    return ph__call_joins(call, r);
}

void ph__storing_end(struct ph__storing *storing)
{
    if (storing->messages != &storing->one)
        ph__dealloc(storing->messages);
    if (storing->results != &storing->one_result)
        ph__dealloc(storing->results);
}

int ph_enqueue_many(ph_store *store, ph_tx tx, const ph_message *messages, size_t count,
                    int timeout_ms, ph_enqueued *ret_enqueued, ph_error *reterr)
{
    struct ph__storing storing;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r < 0)
        return r;
    r = ph__storing_begin(&storing, messages, count, call.err);
    if (r == 0)
        r = ph__messages_load(storing.messages, messages, count, call.err);
    r = ph__storing_run(&storing, &call, PH_OUTBOX, r);
    if (r == 0 && ret_enqueued)
        memcpy(ret_enqueued, storing.results, count * sizeof(*ret_enqueued));
    ph__storing_end(&storing);
    return r;
}

int ph_enqueue(ph_store *store, ph_tx tx, const ph_message *message, int timeout_ms,
               ph_enqueued *ret_enqueued, ph_error *reterr)
{
    return ph_enqueue_many(store, tx, message, 1, timeout_ms, ret_enqueued, reterr);
}
