/* operate.c - the clock, counts, and the settings of queues. */
#include "store/sqlite/operate.h"
#include "store/sqlite/stream_row.h"
#include "store/sqlite/tokens.h"
#include "store/sqlite/verbs.h"

int ph__sqlite_clock(struct ph__call *call, int64_t *ret_time)
{
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_read(&tx, call);

    if (r == 0)
        r = ph__sqlite_end(&tx, 0);
    if (r == 0)
        *ret_time = tx.now;
    return r;
}

int ph__sqlite_test_clock(struct ph__call *call, const int64_t *time)
{
    struct ph__sqlite_tx tx;
    struct ph__query query;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    query = ph__query(&tx, PH__SQL_clock_set);
    if (time)
        ph__query_int(&query, *time);
    else
        ph__query_null(&query);
    return ph__sqlite_end(&tx, ph__query_run(&query));
}

static struct ph__query count_query(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which,
                                    ph_door door, const char *ns)
{
    struct ph__query query = ph__query(tx, which);

    ph__query_int(&query, door);
    ph__query_text(&query, ns);
    if (which == PH__SQL_count_pending || which == PH__SQL_count_lease)
        ph__query_int(&query, tx->now);
    return query;
}

static int count_parked(void *context, const struct ph__token *token)
{
    ph_queue_counts *counts = context;

    counts->parked += token->last_seq - token->seq;
    return 0;
}

int ph__count_within(struct ph__sqlite_tx *tx, ph_door door, const char *ns,
                     ph_queue_counts *counts)
{
    struct ph__query query = count_query(tx, PH__SQL_count_pending, door, ns);
    int r = ph__query_row(&query);

    if (r < 0)
        return r;
    counts->ready = ph__column_int(&query, 0);
    counts->scheduled = ph__column_int(&query, 1);
    if (counts->ready > 0)
        counts->oldest_ready_ms = (tx->now - ph__column_int(&query, 2)) / 1000;
    ph__query_end(&query);

    query = count_query(tx, PH__SQL_count_lease, door, ns);
    r = ph__query_row(&query);
    if (r < 0)
        return r;
    counts->in_progress = ph__column_int(&query, 0);
    counts->expired_leases = ph__column_int(&query, 1);
    ph__query_end(&query);

    query = count_query(tx, PH__SQL_count_dead, door, ns);
    r = ph__query_one(&query, &counts->dead, 0);
    if (r < 0)
        return r;
    query = count_query(tx, PH__SQL_count_waiting, door, ns);
    r = ph__query_one(&query, &counts->waiting, 0);
    return r < 0 ? r : ph__tokens_each(tx, door, ns, count_parked, counts);
}

int ph__sqlite_count(struct ph__call *call, ph_door door, const char *ns,
                     ph_queue_counts *ret_counts)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_read(&tx, call);

    if (r < 0)
        return r;
    r = ph__sqlite_end(&tx, ph__count_within(&tx, door, ns, &counts));
    if (r == 0)
        *ret_counts = counts;
    return r;
}

static int update_queue(struct ph__sqlite_tx *tx, int64_t id, const ph_queue_settings *settings)
{
    struct ph__query query = ph__query(tx, PH__SQL_queue_update);

    ph__query_int(&query, id);
    ph__query_int(&query, settings->max_attempts);
    ph__query_int(&query, settings->backoff);
    ph__query_int(&query, settings->backoff_base_ms);
    ph__query_int(&query, settings->backoff_max_ms);
    ph__query_int(&query, settings->retention_s);
    ph__query_int(&query, settings->dead_retention_s);
    ph__query_int(&query, settings->dedupe_retention_s);
    ph__query_int(&query, settings->max_payload_bytes);
    ph__query_int(&query, settings->max_lease_s);
    ph__query_int(&query, settings->delete_on_ack);
    ph__query_text(&query, settings->join_wait_topic);
    ph__query_int(&query, settings->dead_head);
    ph__query_int(&query, settings->affinity_grace_ms);
    return ph__query_run(&query);
}

/* Begins, with the queue, which is made if it is missing. */
static int begin(struct ph__sqlite_tx *tx, struct ph__call *call, ph_door door, const char *ns,
                 struct ph__queue_row *ret_queue)
{
    int r = ph__sqlite_begin_write(tx, call);

    if (r < 0)
        return r;
    r = ph__queue_obtain(tx, door, ns, ret_queue);
    return r < 0 ? ph__sqlite_end(tx, r) : 0;
}

int ph__sqlite_queue_set(struct ph__call *call, ph_door door, const char *ns,
                         const ph_queue_settings *settings)
{
    struct ph__queue_row queue;
    struct ph__sqlite_tx tx;
    int r = begin(&tx, call, door, ns, &queue);

    if (r < 0)
        return r;
    r = update_queue(&tx, queue.id, settings);
    if (r == 0 && settings->dead_head == PH_DEAD_HEAD_SKIP)
        r = ph__stream_unblock_all(&tx, queue.id);
    return ph__sqlite_end(&tx, r);
}

static int set_paused(struct ph__sqlite_tx *tx, int64_t queue, bool paused)
{
    struct ph__query query = ph__query(tx, PH__SQL_queue_pause);

    ph__query_int(&query, queue);
    ph__query_int(&query, paused);
    return ph__query_run(&query);
}

int ph__sqlite_queue_pause(struct ph__call *call, ph_door door, const char *ns, bool paused)
{
    struct ph__queue_row queue;
    struct ph__sqlite_tx tx;
    int r = begin(&tx, call, door, ns, &queue);

    return r < 0 ? r : ph__sqlite_end(&tx, set_paused(&tx, queue.id, paused));
}
