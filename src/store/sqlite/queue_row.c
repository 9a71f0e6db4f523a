#include "store/sqlite/queue_row.h"

#include "core/error.h"
#include "store/sqlite/by_topic.h"
#include "util/random.h"

/* Runs the query and loads its row, if there is one. */
static int load(struct ph__query *query, struct ph__queue_row *to)
{
    int r = ph__query_row(query);

    *to = (struct ph__queue_row){ 0 };
    if (r <= 0)
        return r;
    *to = (struct ph__queue_row){
        .id = ph__column_int(query, 0),
        .paused = ph__column_int(query, 1) != 0,
        .max_attempts = (int)ph__column_int(query, 2),
        .backoff = (int)ph__column_int(query, 3),
        .backoff_base_ms = ph__column_int(query, 4),
        .backoff_max_ms = ph__column_int(query, 5),
        .max_payload_bytes = ph__column_int(query, 6),
        .max_lease_s = (int)ph__column_int(query, 7),
        .delete_on_ack = ph__column_int(query, 8) != 0,
        .dead_head = (ph_dead_head)ph__column_int(query, 9),
        .affinity_grace_ms = (int)ph__column_int(query, 10),
        .has_streams = ph__column_int(query, 11) != 0,
        .by_topic = (enum ph__by_topic)ph__column_int(query, 12),
    };
    ph__by_topic_note(query->tx, to);
    ph__query_end(query);
    return 0;
}

int ph__queue_by_name(struct ph__sqlite_tx *tx, ph_door door, const char *ns,
                      struct ph__queue_row *ret_queue)
{
    struct ph__query query = ph__query(tx, PH__SQL_queue_by_name);

    ph__query_int(&query, door);
    ph__query_text(&query, ns);
    return load(&query, ret_queue);
}

int ph__queue_by_id(struct ph__sqlite_tx *tx, int64_t id, struct ph__queue_row *queue)
{
    struct ph__query query;
    int r;

    if (queue->id == id)
        return 0;
    query = ph__query(tx, PH__SQL_queue_by_id);
    ph__query_int(&query, id);
    r = load(&query, queue);
    if (r == 0 && queue->id == 0)
        r = ph__fail(tx->call->err, PH_ECORRUPT,
                     "the queue of a lease is missing; restore a backup");
    return r;
}

int ph__queue_obtain(struct ph__sqlite_tx *tx, ph_door door, const char *ns,
                     struct ph__queue_row *ret_queue)
{
    struct ph__query query;
    int r = ph__queue_by_name(tx, door, ns, ret_queue);

    if (r < 0 || ret_queue->id)
        return r;
    query = ph__query(tx, PH__SQL_queue_insert);
    ph__query_int(&query, door);
    ph__query_text(&query, ns);
    r = ph__query_run(&query);
    return r < 0 ? r : ph__queue_by_name(tx, door, ns, ret_queue);
}

/* min(base * 2^doublings, max), without overflow. */
static int64_t doubled(int64_t base, int64_t max, int doublings)
{
    while (doublings-- > 0 && base < max)
        base *= 2;
    return base < max ? base : max;
}

int64_t ph__queue_backoff_us(const struct ph__queue_row *queue, int retry_count, int attempts)
{
    int64_t us, half;

    if (queue->backoff != PH_BACKOFF_EQUAL_JITTER)
        return doubled(queue->backoff_base_ms, queue->backoff_max_ms, retry_count) * 1000;
    us = doubled(queue->backoff_base_ms, queue->backoff_max_ms, attempts - 1) * 1000;
    half = us / 2;
    return half + (int64_t)(ph__random_u64() % (uint64_t)(us - half + 1));
}
