/* poller.c - the threads that talk to databases: each picks a database, serves it, and picks the next.
 * When there is nothing to do one of them watches the wake-ups, and the others wait to be called. */
#include "dispatch/poll/poll.h"

#include "core/use.h"

#define SLEEP_MAX_US 60000000
#define HEAR_US 10000 /* so often the wake-ups are heard even if no poller has time to watch them */

bool ph__db_is_new(const struct ph__db *db)
{
    return db->entry && !db->heart.registered;
}

void ph__poller_call(ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    if (dispatcher->pollers.waiting > 0 && !dispatcher->pollers.watched)
        pthread_cond_signal(&dispatcher->wait.pollers_ready);
}

/* One poller must watch, and another may help. */
static void call_others(ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    if (dispatcher->pollers.waiting > 0 &&
        (!dispatcher->pollers.watched || dispatcher->pick.others_ready))
        pthread_cond_signal(&dispatcher->wait.pollers_ready);
    else if (dispatcher->pick.others_ready)
        ph__wake_asleep(dispatcher);
}

static void begin(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    PH__NEEDS_LOCK(dispatcher);
    db->visit.busy = true;
    db->doorbell.hear = db->visit.woken = false;
    db->visit.began_us = ph__boot_us();
    db->visit.share = db->entry ? ph__health_meaning(db->health.state)->share : PH__SHARE_ALL;
    dispatcher->pick.failing += db->visit.share == PH__SHARE_FEW;
    dispatcher->pick.slow += db->visit.share == PH__SHARE_MOST;
    if (!ph__db_is_new(db)) /* otherwise when it has answered */
        ph__claim_begin(db, db->visit.plan.room);
}

/* It is no longer counted among the busy ones. */
static void uncount(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    ph__claim_end(db);
    dispatcher->pick.failing -= db->visit.share == PH__SHARE_FEW;
    dispatcher->pick.slow -= db->visit.share == PH__SHARE_MOST;
    db->visit.share = PH__SHARE_ALL;
}

static void end(struct ph__db *db)
{
    uncount(db);
    db->dispatcher->pick.choose_us = 0;
    db->visit.busy = db->turn.greeting = false;
    db->turn.met |= db->claim.at_us || db->health.retry_us;
    if (db->entry && !db->store->own)
        ph__connection_end(db);
    if (db->visit.woken)
        ph__db_wake(db);
}

static void visit(struct ph__poller *poller, struct ph__db *db, struct ph__db *victim)
{
    ph_dispatcher *dispatcher = poller->dispatcher;
    struct ph__plan plan = db->visit.plan;
    bool leaves = db->leaving && db->works.in_flight == 0;
    uint64_t serial = db->serial;

    begin(db);
    call_others(dispatcher);
    ph__doorbell_disarm(db);
    ph__unlock(dispatcher);
    if (victim)
        ph__connection_give_up(victim);
    if (leaves) {
        ph__db_leave(db);
        ph__lock(dispatcher);
        uncount(db);
        ph__databases_remove(db);
        ph__threads_leave(dispatcher, serial);
        return;
    }
    ph__serve(poller, db, &plan);
    if (db->entry && db->health.retry_us)
        ph__db_disconnect(db); /* others can use the connection meanwhile */
    ph__lock(dispatcher);
    end(db);
}

/* Hears the wake-ups, for so long; lets go of the lock meanwhile. */
static void watch(ph_dispatcher *dispatcher, int64_t wait_us)
{
    PH__NEEDS_LOCK(dispatcher);
    dispatcher->pollers.watched = true;
    ph__wakeups_wait(dispatcher, wait_us);
    dispatcher->pollers.watched = dispatcher->pollers.asleep = false;
    dispatcher->pollers.heard_us = ph__boot_us();
}

/* While all pollers are busy none watches, and a store that has no connection, or had nothing to
 * do, would not be heard until one is free. */
static void hear_in_passing(ph_dispatcher *dispatcher)
{
    if (dispatcher->set && !dispatcher->pollers.watched &&
        ph__boot_us() >= dispatcher->pollers.heard_us + HEAR_US)
        watch(dispatcher, 0);
}

/* Waits until there may be something to do; lets go of the lock meanwhile. */
static void rest(ph_dispatcher *dispatcher, int64_t wake_us)
{
    int64_t now_us = ph__boot_us();

    PH__NEEDS_LOCK(dispatcher);
    wake_us = ph__earlier(wake_us, now_us + SLEEP_MAX_US);
    if (!dispatcher->pollers.maintaining)
        wake_us = ph__earlier(wake_us, dispatcher->times.limit_us);
    if (!dispatcher->pollers.maintaining && dispatcher->dbs.changed)
        wake_us = ph__earlier(wake_us, dispatcher->dbs.update_us);
    if (dispatcher->pollers.watched) {
        if (dispatcher->pollers.asleep && wake_us < dispatcher->pollers.asleep_until_us)
            ph__wake_asleep(dispatcher);
        dispatcher->pollers.waiting++;
        ph__wait(dispatcher, &dispatcher->wait.pollers_ready);
        dispatcher->pollers.waiting--;
        return;
    }
    dispatcher->pollers.asleep = true;
    dispatcher->pollers.asleep_until_us = wake_us;
    watch(dispatcher, wake_us - now_us);
}

/* Does what concerns no database, or all of them; one poller at a time. Lets go of the lock
 * meanwhile. True: time has passed. */
static bool tend(ph_dispatcher *dispatcher)
{
    int64_t now_us = ph__boot_us();
    bool dbs = dispatcher->dbs.changed && now_us >= dispatcher->dbs.update_us;
    bool due = now_us >= dispatcher->times.limit_us, missing = dispatcher->pool.missing > 0, again;

    PH__NEEDS_LOCK(dispatcher);
    if (dispatcher->pollers.maintaining || !(dbs || due || missing))
        return false;
    dispatcher->pollers.maintaining = true;
    dispatcher->dbs.changed &= !dbs;
    ph__poller_call(dispatcher);
    ph__unlock(dispatcher);
    if (dbs)
        ph__databases_update(dispatcher);
    if (due)
        ph__limits_enforce(dispatcher);
    if (missing || due)
        ph__threads_replace(dispatcher);
    ph__lock(dispatcher);
    dispatcher->pollers.maintaining = false;
    if (dispatcher->stop.drain_waiters > 0)
        pthread_cond_broadcast(&dispatcher->wait.changed);
    again = dispatcher->dbs.changed && ph__boot_us() >= dispatcher->dbs.update_us;
    if (dispatcher->dbs.changed || dispatcher->times.limit_us < dispatcher->pollers.asleep_until_us)
        ph__wake_asleep(dispatcher); /* the one that watches has left that to us */
    return dbs || again;
}

/* Those that have a connection first: afterwards there is one for each of the pollers. */
static struct ph__db *next_to_finish(const ph_dispatcher *dispatcher)
{
    struct ph__db *found = NULL;

    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        struct ph__db *db = dispatcher->dbs.items[i];

        if (!db->visit.busy && !db->visit.finished &&
            (!found || db->has_connection > found->has_connection))
            found = db;
    }
    return found;
}

/* The end: decided works are settled, or their leases run out; then the instance leaves. */
static void finish_all(struct ph__poller *poller)
{
    ph_dispatcher *dispatcher = poller->dispatcher;

    for (struct ph__db *db; (db = next_to_finish(dispatcher));) {
        db->visit.busy = db->visit.finished = true;
        ph__unlock(dispatcher);
        ph__db_finish(poller, db);
        if (db->entry)
            ph__db_disconnect(db);
        ph__lock(dispatcher);
        db->visit.busy = false;
    }
}

/* Works that it could not settle come back, and get their time. */
static void wait_for_second(ph_dispatcher *dispatcher)
{
    struct ph__stop *stop = &dispatcher->stop;

    PH__NEEDS_LOCK(dispatcher);
    if (!dispatcher->second.running)
        return;
    while (dispatcher->second.running)
        ph__wait(dispatcher, &dispatcher->wait.changed);
    stop->finish_least_us = ph__boot_us() + (int64_t)dispatcher->times.call_timeout_ms * 1000;
    if (stop->finish_us < stop->finish_least_us)
        stop->finish_us = stop->finish_least_us;
}

void *ph__poll(void *context)
{
    struct ph__poller *poller = context;
    ph_dispatcher *dispatcher = poller->dispatcher;

    ph__thread_begin(dispatcher);
    ph__use_act_for(dispatcher);
    ph__lock(dispatcher);
    while (!dispatcher->phase.ending) {
        struct ph__db *db, *victim = NULL;
        int64_t wake_us;

        hear_in_passing(dispatcher);
        if (tend(dispatcher))
            continue;
        if (dispatcher->phase.ending)
            break;
        db = ph__pick(dispatcher, &victim, &wake_us);
        if (db)
            visit(poller, db, victim);
        else if (!dispatcher->phase.ending)
            rest(dispatcher, wake_us);
    }
    pthread_cond_broadcast(&dispatcher->wait.pollers_ready);
    wait_for_second(dispatcher);
    finish_all(poller);
    ph__unlock(dispatcher);
    ph__dispatcher_drop(dispatcher);
    return NULL;
}
