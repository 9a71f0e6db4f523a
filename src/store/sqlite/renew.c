#include "core/error.h"
#include "store/sqlite/under_lock.h"
#include "store/sqlite/held.h"
#include "store/sqlite/queue_row.h"
#include "store/sqlite/verbs.h"

struct renewing {
    struct ph__sqlite_tx *tx;
    struct ph__held_set held;
    struct ph__queue_row queue;
    int lease_s;
};

/* Messages that were claimed together share a lease: it is renewed once. */
static int renew_lease(struct renewing *n, struct ph__held *held)
{
    struct ph__query query;
    int64_t cap, until;
    int r;

    if (held->renewal)
        return 0;
    r = ph__queue_by_id(n->tx, held->lease.queue, &n->queue);
    if (r < 0)
        return r;
    cap = held->lease.claimed_at + (int64_t)n->queue.max_lease_s * 1000000;
    until = n->tx->now + (int64_t)n->lease_s * 1000000;
    held->renewal = cap <= n->tx->now ? PH_OUTCOME_STALE
                    : until < cap     ? PH_OUTCOME_RENEWED
                                      : PH__OUTCOME_CAPPED;
    if (until > cap)
        until = cap;
    if (held->renewal == PH_OUTCOME_STALE || until <= held->lease.until)
        return 0;
    query = ph__query(n->tx, PH__SQL_lease_renew);
    ph__query_int(&query, held->lease.fence);
    ph__query_int(&query, until);
    return ph__query_run(&query);
}

static int renew_one(struct renewing *n, const ph_lease_ref *item, ph_outcome *ret_outcome)
{
    struct ph__hold hold;
    int r = ph__held_find(&n->held, item, &hold);

    *ret_outcome = hold.outcome;
    if (r < 0 || !hold.held)
        return r;
    r = renew_lease(n, hold.held);
    *ret_outcome = hold.held->renewal;
    return r;
}

static int renew_all(struct renewing *n, const ph_lease_ref *items, size_t count,
                     ph_outcome *ret_outcomes)
{
    const size_t *firsts;
    int r = ph__held_firsts(items, sizeof(*items), count, n->held.arena, n->tx->call->err, &firsts);

    for (size_t i = 0; r == 0 && i < count; i++) {
        if (firsts && firsts[i] != i)
            ret_outcomes[i] = ret_outcomes[firsts[i]];
        else
            r = renew_one(n, &items[i], &ret_outcomes[i]);
    }
    return r;
}

int ph__renew_under_lock(struct ph__sqlite_tx *tx, ph_door door, ph_owner owner,
                         const ph_lease_ref *items, size_t count, int lease_s,
                         ph_outcome *ret_outcomes)
{
    struct renewing n = { .tx = tx, .lease_s = lease_s };
    struct ph__arena arena = { 0 };
    int r;

    ph__held_init(&n.held, tx, &arena, door, owner);
    r = renew_all(&n, items, count, ret_outcomes);
    ph__arena_free(&arena);
    return r;
}

int ph__sqlite_renew(struct ph__call *call, ph_door door, ph_owner owner, const ph_lease_ref *items,
                     size_t count, int lease_s, ph_outcome *ret_outcomes)
{
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    r = ph__renew_under_lock(&tx, door, owner, items, count, lease_s, ret_outcomes);
    return ph__sqlite_end(&tx, r);
}
