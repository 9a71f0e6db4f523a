/* enqueue.c - messages in. */
#include "core/call.h"
#include "core/error.h"
#include "core/join.h"
#include "core/log.h"
#include "core/message.h"
#include "util/alloc.h"

#include <string.h>

static void log_enqueued(const ph_store *store, const struct ph__message *m, const ph_enqueued *e)
{
    char work_id[PH_ID_TEXT_SIZE], message_id[PH_ID_TEXT_SIZE];
    ph_log_field fields[] = {
        { "topic", m->topic },
        { "correlation_id", m->correlation_id },
        { "namespace", *m->ns ? m->ns : NULL },
        { "work_id", ph_id_text(e->work_id.b, work_id) },
        { "message_id", ph_id_text(e->message_id.b, message_id) },
    };

    ph__log(store, PH_LOG_INFO, "enqueue", e->is_new ? "stored" : "duplicate, not stored again",
            fields, sizeof(fields) / sizeof(*fields));
}

static int load_all(struct ph__message *to, const ph_message *from, size_t count, ph_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const ph_message *message = (const void *)((const char *)from + i * from->size);
        int r = ph__message_load(&to[i], message, count > 1 ? (long)i : -1, err);

        if (r == 0 && message->size != from->size)
            r = ph__fail(err, PH_EINVAL, "message %zu: its size differs from the first one's", i);
        if (r < 0)
            return r;
    }
    return 0;
}

int ph_enqueue_many(ph_store *store, ph_tx tx, const ph_message *messages, size_t count,
                    int timeout_ms, ph_enqueued *ret_enqueued, ph_error *reterr)
{
    struct ph__message one, *loaded = &one;
    ph_enqueued one_result, *results = &one_result;
    struct ph__call call;
    ph_error spare;
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr, &spare);

    if (r < 0)
        return r;
    if (!messages || count < 1 || count > PH_BATCH_MAX)
        return ph__fail(call.err, PH_EINVAL,
                        !messages ? "messages is NULL" : "%zu messages; allowed are 1 to %d", count,
                        PH_BATCH_MAX);
    if (count > 1) {
        loaded = ph__alloc_zero(count, sizeof(*loaded));
        results = ph__alloc_zero(count, sizeof(*results));
    }
    r = loaded && results ? load_all(loaded, messages, count, call.err) : ph__fail_memory(call.err);
    if (r == 0)
        r = ph__call_joins(&call,
                           store->backend->enqueue(&call, PH__OUTBOX, loaded, count, results));
    if (r == 0 && ret_enqueued)
        memcpy(ret_enqueued, results, count * sizeof(*results));
    for (size_t i = 0; r == 0 && i < count && ph__log_wants(store, PH_LOG_INFO); i++)
        log_enqueued(store, &loaded[i], &results[i]);
    if (count > 1) {
        ph__dealloc(loaded);
        ph__dealloc(results);
    }
    return r;
}

int ph_enqueue(ph_store *store, ph_tx tx, const ph_message *message, int timeout_ms,
               ph_enqueued *ret_enqueued, ph_error *reterr)
{
    return ph_enqueue_many(store, tx, message, 1, timeout_ms, ret_enqueued, reterr);
}
