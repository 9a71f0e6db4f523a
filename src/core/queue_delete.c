/* queue_delete.c - deletes an empty queue; for any other, says what it holds. */
#include "core/call.h"
#include "core/door.h"
#include "core/error.h"
#include "core/message.h"
#include "util/buffer.h"

/* "3 messages, 1 stream": those that there are. */
static void contents_add(struct ph__buffer *text, int64_t count, const char *one, const char *many)
{
    if (count > 0)
        ph__buffer_printf(text, "%s%lld %s", text->length > 0 ? ", " : "", (long long)count,
                          count == 1 ? one : many);
}

static int refuse_contents(const struct ph__queue_contents *contents, ph_error *err)
{
    bool only_comes = contents->messages + contents->keys + contents->streams == 0;
    struct ph__buffer text = { 0 };
    int r;

    contents_add(&text, contents->messages, "message", "messages");
    contents_add(&text, contents->keys, "dedupe key", "dedupe keys");
    contents_add(&text, contents->streams, "stream", "streams");
    contents_add(&text, contents->coming, "timer or job run to come", "timers or job runs to come");
    contents_add(&text, contents->jobs, "job", "jobs");
    if (text.failed)
        r = ph__fail_memory(err);
    else if (only_comes)
        r = ph__fail(err, PH_ESTATE, "the queue has %s; cancel or delete them first", text.data);
    else
        r = ph__cure(err, ph__fail(err, PH_ESTATE, "the queue has %s", text.data),
                     PH_CURE_RETENTION);
    ph__buffer_free(&text);
    return r;
}

int ph_queue_delete(ph_store *store, ph_tx tx, ph_door door, const char *ns, int timeout_ms,
                    bool *ret_deleted, ph_error *reterr)
{
    struct ph__queue_contents contents = { 0 };
    bool deleted = false;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = ph__queue_check(door, ns, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->queue_delete(&call, door, ns ? ns : "", &contents, &deleted);
    if (r == 0 && !ph__queue_is_empty(&contents))
        r = refuse_contents(&contents, call.err);
    if (r == 0 && ret_deleted)
        *ret_deleted = deleted;
    return r;
}

int ph_outbox_queue_delete(ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                           bool *ret_deleted, ph_error *reterr)
{
    return ph_queue_delete(store, tx, PH_OUTBOX, ns, timeout_ms, ret_deleted, reterr);
}
