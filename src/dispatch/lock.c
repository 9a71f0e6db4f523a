/* lock.c - the one lock of a dispatcher, and the invariants that hold whenever it is released. */
#include "dispatch/lock.h"

#include "dispatch/dispatch.h"

int ph__lock_init(struct ph__lock *lock)
{
    return -pthread_mutex_init(&lock->mutex, NULL);
}

void ph__lock_destroy(struct ph__lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

bool ph__is_locked(const ph_dispatcher *dispatcher)
{
    return dispatcher->lock.held && pthread_equal(dispatcher->lock.holder, pthread_self());
}

#ifdef PH__CHECKED

/* The counters of all databases, added up. */
struct totals {
    size_t waiting, running, in_flight, behind, decided, last_waiting;
    int claiming, reserved, connections_used, failing, slow;
};

static void add(struct totals *totals, const struct ph__db *db)
{
    size_t unsettled = 0;

    for (const struct ph__batch *batch = db->leases.batches; batch; batch = batch->next)
        unsettled += batch->unsettled;
    PH__ASSERT(db->works.in_flight == unsettled);
    PH__ASSERT(db->claim.under_way >= 0);
    PH__ASSERT(db->last.reserved >= 0);
    PH__ASSERT(db->tx.waiting >= 0);
    PH__ASSERT(db->visit.busy || db->claim.under_way == 0);
    totals->waiting += db->works.waiting;
    totals->running += db->works.running;
    totals->in_flight += db->works.in_flight;
    totals->behind += db->works.behind;
    totals->decided += db->settle.decided.count;
    totals->last_waiting += db->last.waits;
    totals->claiming += db->claim.under_way;
    totals->reserved += db->last.reserved;
    totals->connections_used += db->has_connection;
    totals->failing += db->visit.share == PH__SHARE_FEW;
    totals->slow += db->visit.share == PH__SHARE_MOST;
}

static void check_counters(const ph_dispatcher *dispatcher)
{
    struct totals totals = { 0 };

    for (size_t i = 0; i < dispatcher->dbs.count; i++)
        add(&totals, dispatcher->dbs.items[i]);
    for (const struct ph__db *db = dispatcher->dbs.retired; db; db = db->watch.next)
        add(&totals, db);
    PH__ASSERT(dispatcher->works.waiting.count == totals.waiting);
    PH__ASSERT(dispatcher->works.running == totals.running);
    PH__ASSERT(dispatcher->works.in_flight == totals.in_flight);
    PH__ASSERT(dispatcher->works.behind == totals.behind);
    PH__ASSERT(dispatcher->works.decided == totals.decided);
    PH__ASSERT(dispatcher->works.waiting.count + dispatcher->works.behind +
                   dispatcher->works.decided <=
               dispatcher->works.in_flight);
    PH__ASSERT(dispatcher->reserve.waiting == totals.last_waiting);
    PH__ASSERT(dispatcher->room.claiming == totals.claiming + dispatcher->second.claiming);
    PH__ASSERT(dispatcher->second.claiming >= 0);
    PH__ASSERT(dispatcher->room.doubtful >= 0);
    PH__ASSERT(dispatcher->room.doubtful <= dispatcher->room.claiming);
    PH__ASSERT(dispatcher->reserve.count >=
               totals.reserved); /* others are kept for works that wait */
    PH__ASSERT(dispatcher->connections.used == totals.connections_used);
    PH__ASSERT(dispatcher->connections.used <= dispatcher->connections.max);
    PH__ASSERT(dispatcher->pick.failing == totals.failing);
    PH__ASSERT(dispatcher->pick.slow == totals.slow);
    PH__ASSERT(dispatcher->pollers.waiting >= 0);
    PH__ASSERT(dispatcher->connections.handlers >= 0);
    PH__ASSERT(dispatcher->pool.missing >= 0);
    PH__ASSERT(dispatcher->pool.hung >= 0);
    PH__ASSERT(dispatcher->works.running >= (size_t)dispatcher->pool.hung);
    PH__ASSERT(dispatcher->pool.idle >= 0);
    PH__ASSERT(dispatcher->stop.drain_waiters >= 0);
}

static void taken(ph_dispatcher *dispatcher)
{
    dispatcher->lock.holder = pthread_self();
    dispatcher->lock.held = true;
}

static void let_go(ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    check_counters(dispatcher);
    dispatcher->lock.held = false;
}

#else
#define taken(dispatcher) ((void)0)
#define let_go(dispatcher) ((void)0)
#endif

void ph__lock(ph_dispatcher *dispatcher)
{
    pthread_mutex_lock(&dispatcher->lock.mutex);
    taken(dispatcher);
}

void ph__unlock(ph_dispatcher *dispatcher)
{
    let_go(dispatcher);
    pthread_mutex_unlock(&dispatcher->lock.mutex);
}

void ph__wait(ph_dispatcher *dispatcher, pthread_cond_t *condition)
{
    let_go(dispatcher);
    pthread_cond_wait(condition, &dispatcher->lock.mutex);
    taken(dispatcher);
}

void ph__wait_us(ph_dispatcher *dispatcher, pthread_cond_t *condition, int64_t wait_us)
{
    let_go(dispatcher);
    ph__cond_wait_us(condition, &dispatcher->lock.mutex, wait_us);
    taken(dispatcher);
}
