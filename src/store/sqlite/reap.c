#include "store/sqlite/reap.h"

#include "store/sqlite/joins.h"
#include "store/sqlite/lease_row.h"
#include "store/sqlite/moves.h"
#include "store/sqlite/queue_row.h"
#include "store/sqlite/verbs.h"

#include <limits.h>

static struct ph__query first_expired(struct ph__sqlite_tx *tx, enum ph__door door)
{
    struct ph__query query = ph__query(tx, PH__SQL_lease_expired);

    ph__query_int(&query, tx->now);
    ph__query_int(&query, door);
    return query;
}

int ph__reap_needed(struct ph__sqlite_tx *tx, enum ph__door door)
{
    struct ph__query query = first_expired(tx, door);
    int r = ph__query_row(&query);

    if (r > 0)
        ph__query_end(&query);
    return r;
}

/* Back to pending, or dead if that was its last attempt. */
static int take_back(struct ph__sqlite_tx *tx, const struct ph__lease_row *lease, size_t position,
                     const struct ph__queue_row *queue)
{
    int attempts = ph__lease_attempts(lease, position);
    struct ph__attempt_entry entry = {
        .id = lease->ids[position], .attempt = attempts, .kind = PH__LOST, .owner = &lease->owner
    };
    struct ph__message_facts facts;
    struct ph__pending_row row;
    int r = ph__message_facts(tx, entry.id, &facts);

    if (r < 0 || !facts.exists)
        return r;
    if (attempts >= (facts.max_attempts ? facts.max_attempts : queue->max_attempts)) {
        r = ph__log_attempt(tx, &entry);
        return r < 0 ? r : ph__bury(tx, entry.id, lease->queue, PH__DEAD_LOST, &lease->owner);
    }
    row = (struct ph__pending_row){ .queue = lease->queue,
                                    .level = facts.level,
                                    .due = tx->now,
                                    .id = entry.id,
                                    .attempts = attempts,
                                    .lost = lease->lost + 1,
                                    .topic = facts.topic };
    entry.next_due = &row.due;
    r = ph__log_attempt(tx, &entry);
    return r < 0 ? r : ph__put_pending(tx, &row);
}

static int reap_lease(struct ph__sqlite_tx *tx, const struct ph__lease_row *lease,
                      struct ph__queue_row *queue, int64_t *count)
{
    struct ph__query query;
    int r = ph__queue_by_id(tx, lease->queue, queue);

    for (size_t i = 0; r == 0 && i < lease->count; i++) {
        if (lease->settled[i] == '0') {
            r = take_back(tx, lease, i, queue);
            ++*count;
        }
    }
    if (r < 0)
        return r;
    query = ph__query(tx, PH__SQL_lease_delete);
    ph__query_int(&query, lease->fence);
    return ph__query_run(&query);
}

/* 1 if there was one. The row is read whole before anything is changed. */
static int reap_first(struct ph__sqlite_tx *tx, enum ph__door door, struct ph__queue_row *queue,
                      int64_t *count)
{
    struct ph__query query = first_expired(tx, door);
    struct ph__arena arena = { 0 };
    struct ph__lease_row lease;
    int r = ph__query_row(&query);

    if (r <= 0)
        return r;
    r = ph__lease_load(&query, &arena, &lease);
    ph__query_end(&query);
    if (r == 0)
        r = reap_lease(tx, &lease, queue, count);
    ph__arena_free(&arena);
    return r < 0 ? r : 1;
}

int ph__reap_leases(struct ph__sqlite_tx *tx, enum ph__door door, long max_leases, int64_t *count)
{
    struct ph__queue_row queue = { 0 };
    int r = 1;

    while (r > 0 && max_leases-- > 0)
        r = reap_first(tx, door, &queue, count);
    return r < 0 ? r : ph__steps_count(tx);
}

/* Is there anything to do for a reap? */
static int needed(struct ph__sqlite_tx *tx, enum ph__door door)
{
    int r = ph__reap_needed(tx, door);

    return r == 0 && door == PH__OUTBOX ? ph__joins_expire_needed(tx) : r;
}

static int reap(struct ph__sqlite_tx *tx, enum ph__door door, int64_t *count)
{
    int64_t joins;
    int r = door == PH__OUTBOX ? ph__joins_expire(tx, LONG_MAX, &joins) : 0;

    return r < 0 ? r : ph__reap_leases(tx, door, LONG_MAX, count);
}

int ph__sqlite_reap(struct ph__call *call, enum ph__door door, int64_t *ret_count)
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
