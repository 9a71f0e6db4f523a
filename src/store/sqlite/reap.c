#include "store/sqlite/reap.h"

#include "store/sqlite/claimer.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/lease_row.h"
#include "store/sqlite/stream_row.h"
#include "store/sqlite/verbs.h"

#include <limits.h>

static struct ph__query first_expired(struct ph__sqlite_tx *tx, ph_door door)
{
    struct ph__query query = ph__query(tx, PH__SQL_lease_expired);

    ph__query_int(&query, tx->now);
    ph__query_int(&query, door);
    return query;
}

int ph__reap_needed(struct ph__sqlite_tx *tx, ph_door door)
{
    struct ph__query query = first_expired(tx, door);
    int r = ph__query_row(&query);

    if (r > 0)
        ph__query_end(&query);
    return r;
}

/* Taking back leases, as lost or as released. */
struct taking_back {
    struct ph__sqlite_tx *tx;
    struct ph__queue_row queue;
    bool lost; /* otherwise their owner gives them back, untouched */
    int64_t *count;
};

/* Its last attempt was lost, too. */
static int end_lost(struct taking_back *t, const struct ph__attempt_entry *entry,
                    const struct ph__pending_row *row, int64_t seq)
{
    int r = ph__log_attempt(t->tx, entry);

    if (r == 0)
        r = ph__bury(t->tx, entry->id, row->queue, PH__DEAD_LOST, entry->owner);
    if (r < 0 || !row->stream)
        return r;
    return ph__stream_head_died(t->tx, t->queue.dead_head, row, seq);
}

/* Back to pending, or dead if that was its last attempt. stream, seq: if it is the head of one. */
static int take_back(struct taking_back *t, const struct ph__lease_row *lease, size_t position,
                     int64_t stream, int64_t seq)
{
    int attempts = ph__lease_attempts(lease, position);
    struct ph__attempt_entry entry = { .id = lease->ids[position],
                                       .attempt = attempts,
                                       .kind = t->lost ? PH__LOST : PH__RELEASED,
                                       .owner = &lease->owner };
    struct ph__message_facts facts;
    struct ph__pending_row row;
    int r = ph__message_facts(t->tx, entry.id, &facts);

    if (r < 0 || !facts.exists)
        return r;
    row = (struct ph__pending_row){ .queue = lease->queue,
                                    .level = facts.level,
                                    .due = t->tx->now,
                                    .id = entry.id,
                                    .attempts = attempts - !t->lost,
                                    .lost = lease->lost + t->lost,
                                    .topic = facts.topic,
                                    .stream = stream };
    if (t->lost && attempts >= (facts.max_attempts ? facts.max_attempts : t->queue.max_attempts))
        return end_lost(t, &entry, &row, seq);
    entry.next_due = &row.due;
    r = ph__log_attempt(t->tx, &entry);
    return r < 0 ? r : ph__put_pending(t->tx, &row);
}

/* The first message of a run is taken back; the others are parked again by leaving the lease. */
static int take_back_run(struct taking_back *t, const struct ph__lease_row *lease,
                         const struct ph__lease_run *run)
{
    size_t first = ph__run_first(lease, run);

    if (first == run->count)
        return 0;
    return take_back(t, lease, run->places[first], run->stream, run->first_seq + (int64_t)first);
}

static int take_back_lease(struct taking_back *t, const struct ph__lease_row *lease)
{
    struct ph__query query;
    int r = ph__queue_by_id(t->tx, lease->queue, &t->queue);

    for (size_t i = 0; r == 0 && i < lease->count; i++) {
        if (lease->settled[i] != '0')
            continue;
        if (!lease->in_run || !lease->in_run[i])
            r = take_back(t, lease, i, 0, 0);
        ++*t->count;
    }
    for (size_t i = 0; r == 0 && i < lease->run_count; i++)
        r = take_back_run(t, lease, &lease->runs[i]);
    if (r < 0)
        return r;
    query = ph__query(t->tx, PH__SQL_lease_delete);
    ph__query_int(&query, lease->fence);
    return ph__query_run(&query);
}

/* The lease that the query finds: 1 if there was one. The row is read whole before anything is
 * changed. */
static int take_back_found(struct taking_back *t, struct ph__query *query)
{
    struct ph__arena arena = { 0 };
    struct ph__lease_row lease;
    int r = ph__query_row(query);

    if (r <= 0)
        return r;
    r = ph__lease_load(query, &arena, &lease);
    ph__query_end(query);
    if (r == 0)
        r = take_back_lease(t, &lease);
    if (r == 0 && t->lost) /* an owner whose lease ran out does not come */
        r = ph__claimer_stays_away(t->tx, lease.owner, NULL);
    ph__arena_free(&arena);
    return r < 0 ? r : 1;
}

int ph__reap_leases(struct ph__sqlite_tx *tx, ph_door door, long max_leases, int64_t *count)
{
    struct taking_back t = { .tx = tx, .lost = true, .count = count };
    int r = 1;

    while (r > 0 && max_leases-- > 0) {
        struct ph__query query = first_expired(tx, door);

        r = take_back_found(&t, &query);
    }
    return r < 0 ? r : ph__steps_count(tx);
}

static int take_back_owner(struct taking_back *t, ph_owner owner)
{
    int r;

    do {
        struct ph__query query = ph__query(t->tx, PH__SQL_lease_of_owner);

        ph__query_id(&query, owner.b);
        r = take_back_found(t, &query);
    } while (r > 0);
    return r < 0 ? r : ph__steps_count(t->tx);
}

int ph__reap_owner(struct ph__sqlite_tx *tx, ph_owner owner, int64_t *count)
{
    struct taking_back t = { .tx = tx, .lost = true, .count = count };

    return take_back_owner(&t, owner);
}

int ph__release_owner(struct ph__sqlite_tx *tx, ph_owner owner, int64_t *count)
{
    struct taking_back t = { .tx = tx, .lost = false, .count = count };

    return take_back_owner(&t, owner);
}

/* Is there anything to do for a reap? */
static int needed(struct ph__sqlite_tx *tx, ph_door door)
{
    int r = ph__reap_needed(tx, door);

    return r == 0 && door == PH_OUTBOX ? ph__joins_expire_needed(tx) : r;
}

static int reap(struct ph__sqlite_tx *tx, ph_door door, int64_t *count)
{
    int64_t joins;
    int r = door == PH_OUTBOX ? ph__joins_expire(tx, LONG_MAX, &joins) : 0;

    return r < 0 ? r : ph__reap_leases(tx, door, LONG_MAX, count);
}

int ph__sqlite_reap(struct ph__call *call, ph_door door, int64_t *ret_count)
{
    struct ph__sqlite_tx tx;
    int64_t count = 0;
    int r;

    if (!call->connection) { /* with nothing to do, no lock is taken */
        r = ph__sqlite_begin_read(&tx, call);
        if (r < 0)
            return r;
        r = needed(&tx, door);
        if (r <= 0) {
            *ret_count = 0;
            return ph__sqlite_end(&tx, r);
        }
        r = ph__sqlite_end(&tx, 0);
        if (r < 0)
            return r;
    }
    r = ph__sqlite_begin_write(&tx, call);
    if (r < 0)
        return r;
    r = ph__sqlite_end(&tx, reap(&tx, door, &count));
    if (r == 0)
        *ret_count = count;
    return r;
}
