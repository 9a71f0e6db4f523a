#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/store_message.h"
#include "store/sqlite/verbs.h"

#include <stdio.h>
#include <string.h>

static int payload_check(const struct ph__message_writer *s, const struct ph__message *m,
                         long index)
{
    ph_error *err = s->tx->call->err;

    if (m->payload_length <= (uint64_t)s->queue.max_payload_bytes)
        return 0;
    ph__fail(err, PH_EINVAL,
             "payload has %zu bytes, and its queue takes at most %lld; raise the queue's "
             "max_payload_bytes, or store it elsewhere and send a reference",
             m->payload_length, (long long)s->queue.max_payload_bytes);
    return index >= 0 ? ph__item(err, PH_EINVAL, (size_t)index) : PH_EINVAL;
}

/* 1 if the key is taken; *ret then has the ids of the message that has it. */
static int find_duplicate(struct ph__message_writer *s, const struct ph__message *m,
                          ph_enqueued *ret)
{
    struct ph__query query;
    int r;

    if (!m->dedupe_key)
        return 0;
    query = ph__query(s->tx, PH__SQL_dedupe_get);
    ph__query_int(&query, s->queue.id);
    ph__query_text(&query, m->source ? m->source : m->topic);
    ph__query_text(&query, m->dedupe_key);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    ret->is_new = false;
    ret->work_id = ph__id_make(ph__column_int(&query, 0), (uint64_t)ph__column_int(&query, 1));
    if (!ph__column_id(&query, 2, ret->message_id.b))
        memcpy(ret->message_id.b, ret->work_id.b, sizeof(ret->message_id.b));
    ph__query_end(&query);
    return 1;
}

static int store_new(struct ph__message_writer *s, const struct ph__message *m, ph_enqueued *ret)
{
    int r = ph__store_message(s, m, &ret->work_id);

    if (r < 0)
        return r;
    ret->is_new = true;
    memcpy(ret->message_id.b, m->message_id ? m->message_id->b : ret->work_id.b,
           sizeof(ret->message_id.b));
    return 0;
}

/* The new message, or the one that has the key. */
static int attach(struct ph__attaching *a, const struct ph__message *m, const ph_enqueued *enqueued)
{
    if (!m->join_id)
        return 0;
    if (enqueued->is_new && !m->message_id)
        return ph__attach_new(a, *m->join_id, enqueued->work_id);
    return ph__attach(a, *m->join_id, &enqueued->message_id);
}

static int enqueue_one(struct ph__message_writer *s, const struct ph__message *m, long index,
                       ph_enqueued *ret)
{
    int r = ph__store_queue(s, m->ns);

    if (r == 0)
        r = payload_check(s, m, index);
    if (r == 0)
        r = find_duplicate(s, m, ret);
    if (r != 0)
        return r < 0 ? r : 0;
    return store_new(s, m, ret);
}

int ph__enqueue_under_lock(struct ph__sqlite_tx *tx, ph_door door,
                           const struct ph__message *messages, size_t count,
                           ph_enqueued *ret_enqueued)
{
    struct ph__message_writer s = { .tx = tx, .door = door };
    struct ph__attaching a = { .tx = tx };
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++) {
        r = enqueue_one(&s, &messages[i], count > 1 ? (long)i : -1, &ret_enqueued[i]);
        a.index = i;
        if (r == 0)
            r = attach(&a, &messages[i], &ret_enqueued[i]);
    }
    if (r == 0)
        r = ph__store_end(&s);
    return r < 0 ? r : ph__attach_end(&a);
}

int ph__sqlite_enqueue(struct ph__call *call, ph_door door, const struct ph__message *messages,
                       size_t count, ph_enqueued *ret_enqueued)
{
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    return ph__sqlite_end(&tx, ph__enqueue_under_lock(&tx, door, messages, count, ret_enqueued));
}
