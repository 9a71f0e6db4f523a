/* inbox.c - messages from elsewhere, each taken in once. */
#include "core/call.h"
#include "core/enqueue.h"
#include "core/error.h"
#include "core/message.h"

int ph__inbox_messages_load(struct ph__message *to, const ph_inbox_message *from, size_t count,
                            bool own_transaction, ph_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const ph_inbox_message *message = (const void *)((const char *)from + i * from->size);
        int r = 0;

        if (message->size != from->size) /* before it is believed */
            r = ph__item(err, ph__fail(err, PH_EINVAL, "its size differs from the first one's"), i);
        if (r == 0)
            r = ph__inbox_load(&to[i], message, own_transaction, count > 1 ? (long)i : -1, err);
        if (r < 0)
            return r;
    }
    return ph__messages_check_bytes(to, count, err);
}

int ph_inbox_receive_many(ph_store *store, ph_tx tx, const ph_inbox_message *messages, size_t count,
                          int timeout_ms, ph_received *ret_received, ph_error *reterr)
{
    struct ph__storing storing;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r < 0)
        return r;
    r = ph__storing_begin(&storing, messages, count, call.err);
    if (r == 0)
        r = ph__inbox_messages_load(storing.messages, messages, count, !call.connection, call.err);
    r = ph__storing_run(&storing, &call, PH_INBOX, r);
    for (size_t i = 0; r == 0 && ret_received && i < count; i++)
        ret_received[i] = (ph_received){ storing.results[i].work_id, storing.results[i].is_new };
    ph__storing_end(&storing);
    return r;
}

int ph_inbox_receive(ph_store *store, ph_tx tx, const ph_inbox_message *message, int timeout_ms,
                     ph_received *ret_received, ph_error *reterr)
{
    return ph_inbox_receive_many(store, tx, message, 1, timeout_ms, ret_received, reterr);
}
