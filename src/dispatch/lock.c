/* lock.c - the one lock of a dispatcher, and what holds whenever it is let go. */
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

/* What the dispatcher counts for all of its stations, added up. */
struct totals {
    size_t waiting, running, in_flight, behind, decided, last_waiting;
    int claiming, reserved, links, ailing, lagging;
};

static void add(struct totals *totals, const struct ph__station *station)
{
    PH__ASSERT(station->claiming >= 0);
    PH__ASSERT(station->reserved >= 0);
    PH__ASSERT(station->tx_waiting >= 0);
    PH__ASSERT(station->busy || station->claiming == 0);
    totals->waiting += station->waiting;
    totals->running += station->running;
    totals->in_flight += station->in_flight;
    totals->behind += station->behind;
    totals->decided += station->decided.count;
    totals->last_waiting += station->last_waits;
    totals->claiming += station->claiming;
    totals->reserved += station->reserved;
    totals->links += station->linked;
    totals->ailing += station->ailing;
    totals->lagging += station->lagging;
}

static void check_counters(const ph_dispatcher *dispatcher)
{
    struct totals totals = { 0 };

    for (size_t i = 0; i < dispatcher->station_count; i++)
        add(&totals, dispatcher->stations[i]);
    for (const struct ph__station *s = dispatcher->retired; s; s = s->bell_next)
        add(&totals, s);
    PH__ASSERT(dispatcher->waiting.count == totals.waiting);
    PH__ASSERT(dispatcher->running == totals.running);
    PH__ASSERT(dispatcher->in_flight == totals.in_flight);
    PH__ASSERT(dispatcher->behind == totals.behind);
    PH__ASSERT(dispatcher->decided == totals.decided);
    PH__ASSERT(dispatcher->waiting.count + dispatcher->behind + dispatcher->decided <=
               dispatcher->in_flight);
    PH__ASSERT(dispatcher->last_waiting == totals.last_waiting);
    PH__ASSERT(dispatcher->claiming == totals.claiming);
    PH__ASSERT(dispatcher->claiming_doubtful >= 0);
    PH__ASSERT(dispatcher->claiming_doubtful <= dispatcher->claiming);
    PH__ASSERT(dispatcher->reserved >= totals.reserved); /* others are kept for works that wait */
    PH__ASSERT(dispatcher->links == totals.links);
    PH__ASSERT(dispatcher->links <= dispatcher->links_max);
    PH__ASSERT(dispatcher->ailing == totals.ailing);
    PH__ASSERT(dispatcher->lagging == totals.lagging);
    PH__ASSERT(dispatcher->crew_waiting >= 0);
    PH__ASSERT(dispatcher->handler_links >= 0);
    PH__ASSERT(dispatcher->missing_threads >= 0);
    PH__ASSERT(dispatcher->hung_threads >= 0);
    PH__ASSERT(dispatcher->idle_threads >= 0);
    PH__ASSERT(dispatcher->drain_waiters >= 0);
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

static void taken(ph_dispatcher *dispatcher)
{
    (void)dispatcher;
}

static void let_go(ph_dispatcher *dispatcher)
{
    (void)dispatcher;
}

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
