#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/moves.h"
#include "store/sqlite/queue_row.h"
#include "store/sqlite/topics.h"
#include "store/sqlite/verbs.h"
#include "util/random.h"

#include <stdio.h>
#include <string.h>

struct enqueueing {
    struct ph__sqlite_tx tx;
    enum ph__door door;
    const char *ns;             /* of queue; NULL: none yet */
    struct ph__queue_row queue; /* messages of one call mostly share it */
    uint32_t nonces[64];        /* random numbers, taken from the kernel many at a time */
    size_t nonces_left;
};

static uint32_t next_nonce(struct enqueueing *e)
{
    if (e->nonces_left == 0) {
        ph__random_bytes(e->nonces, sizeof(e->nonces));
        e->nonces_left = sizeof(e->nonces) / sizeof(*e->nonces);
    }
    return e->nonces[--e->nonces_left];
}

static int find_queue(struct enqueueing *e, const struct ph__message *m)
{
    int r;

    if (e->ns && strcmp(e->ns, m->ns) == 0)
        return 0;
    r = ph__queue_obtain(&e->tx, e->door, m->ns, &e->queue);
    e->ns = m->ns;
    return r;
}

static int payload_check(const struct enqueueing *e, const struct ph__message *m, long index)
{
    char which[32] = "";

    if (m->payload_length <= (uint64_t)e->queue.max_payload_bytes)
        return 0;
    if (index >= 0)
        snprintf(which, sizeof(which), "message %ld: ", index);
    return ph__fail(e->tx.call->err, PH_EINVAL,
                    "%spayload has %zu bytes, and its queue takes at most %lld; raise the queue's "
                    "max_payload_bytes, or store it elsewhere and send a reference",
                    which, m->payload_length, (long long)e->queue.max_payload_bytes);
}

/* 1 if the key is taken; *ret then says by whom. */
static int find_duplicate(struct enqueueing *e, const struct ph__message *m, ph_enqueued *ret)
{
    struct ph__query query;
    int r;

    if (!m->dedupe_key)
        return 0;
    query = ph__query(&e->tx, PH__SQL_dedupe_get);
    ph__query_int(&query, e->queue.id);
    ph__query_text(&query, m->topic);
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

static int insert_message(struct enqueueing *e, const struct ph__message *m, uint64_t salt)
{
    struct ph__query query = ph__query(&e->tx, PH__SQL_message_insert);

    ph__query_int(&query, (int64_t)salt);
    ph__query_int(&query, e->queue.id);
    ph__query_int(&query, m->level);
    ph__query_text(&query, m->topic);
    ph__query_id(&query, m->message_id ? m->message_id->b : NULL);
    ph__query_id(&query, m->tenant_id ? m->tenant_id->b : NULL);
    ph__query_text(&query, m->dedupe_key);
    ph__query_text(&query, m->correlation_id);
    ph__query_text(&query, m->headers);
    ph__query_int(&query, e->tx.now);
    ph__query_int_or_null(&query, m->due_at);
    ph__query_int_or_null(&query, m->expires_at);
    ph__query_int_or_null(&query, m->max_attempts);
    ph__query_bytes(&query, m->payload, m->payload_length);
    return ph__query_run(&query);
}

static int insert_key(struct enqueueing *e, const struct ph__message *m, int64_t id, uint64_t salt)
{
    struct ph__query query = ph__query(&e->tx, PH__SQL_dedupe_insert);

    ph__query_int(&query, e->queue.id);
    ph__query_text(&query, m->topic);
    ph__query_text(&query, m->dedupe_key);
    ph__query_int(&query, id);
    ph__query_int(&query, (int64_t)salt);
    ph__query_id(&query, m->message_id ? m->message_id->b : NULL);
    ph__query_int(&query, e->tx.now);
    return ph__query_run(&query);
}

static int store_message(struct enqueueing *e, const struct ph__message *m, ph_enqueued *ret)
{
    uint64_t salt = ph__id_salt(e->door, e->tx.store_id, next_nonce(e));
    struct ph__pending_row row = { .queue = e->queue.id,
                                   .level = m->level,
                                   .topic = ph__topic_hash(m->topic) };
    int r = insert_message(e, m, salt);

    if (r < 0)
        return r;
    row.id = sqlite3_last_insert_rowid(e->tx.db);
    row.due = m->due_at && m->due_at > e->tx.now ? m->due_at : e->tx.now;
    if (row.id > PH__NUMBER_MAX)
        return ph__fail(e->tx.call->err, PH_EDATABASE, "the numbers for messages are used up");
    r = ph__put_pending(&e->tx, &row);
    if (r == 0 && m->dedupe_key)
        r = insert_key(e, m, row.id, salt);
    ret->is_new = true;
    ret->work_id = ph__id_make(row.id, salt);
    memcpy(ret->message_id.b, m->message_id ? m->message_id->b : ret->work_id.b,
           sizeof(ret->message_id.b));
    return r;
}

static int enqueue_one(struct enqueueing *e, const struct ph__message *m, long index,
                       ph_enqueued *ret)
{
    int r = find_queue(e, m);

    if (r == 0)
        r = payload_check(e, m, index);
    if (r == 0)
        r = find_duplicate(e, m, ret);
    if (r != 0)
        return r < 0 ? r : 0;
    return store_message(e, m, ret);
}

int ph__sqlite_enqueue(struct ph__call *call, enum ph__door door,
                       const struct ph__message *messages, size_t count, ph_enqueued *ret_enqueued)
{
    struct enqueueing e = { .door = door };
    int r = ph__sqlite_begin_write(&e.tx, call);

    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = enqueue_one(&e, &messages[i], count > 1 ? (long)i : -1, &ret_enqueued[i]);
    return ph__sqlite_end(&e.tx, r);
}
