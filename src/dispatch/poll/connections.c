/* connections.c - connections, of which there may be fewer than databases: which database gets one,
 * which gives its own up, and how long one without is left alone. */
#include "dispatch/poll/poll.h"

#include "core/call.h"

#define COLD_PAUSE_MAX_US 60000000
#define FRESH_US 10000000 /* so long after a ring a commit may still be on its way to the disk */
#define FRESH_PAUSE_US 10000
#define COLD_SHARE 50 /* a fiftieth of a processor goes into looking where no connection is kept */

struct ph__db *ph__connection_spare(const ph_dispatcher *dispatcher)
{
    struct ph__db *found = NULL;

    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        struct ph__db *db = dispatcher->dbs.items[i];
        bool held = db->works.in_flight > 0;

        if (db->visit.busy || !db->has_connection)
            continue;
        if (!found || held < (found->works.in_flight > 0) ||
            (held == (found->works.in_flight > 0) &&
             (db->visit.worked_us < found->visit.worked_us ||
              (db->visit.worked_us == found->visit.worked_us &&
               db->claim.at_us < found->claim.at_us))))
            found = db;
    }
    return found;
}

/* How long a database without a connection is left alone, so that all of them together cost no more
 * than their share. */
static int64_t cold_pause_us(const struct ph__db *db)
{
    const ph_dispatcher *dispatcher = db->dispatcher;
    int64_t cold = (int64_t)dispatcher->dbs.count - dispatcher->connections.used;
    int64_t pause_us = db->visit.cost_us * cold * COLD_SHARE;
    int64_t poll_us = (int64_t)dispatcher->opts.poll_ms * 1000;

    pause_us = pause_us > poll_us ? pause_us : poll_us;
    return pause_us < COLD_PAUSE_MAX_US ? pause_us : COLD_PAUSE_MAX_US;
}

void ph__connection_end(struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    if (!db->has_connection)
        return;
    db->has_connection = false;
    db->dispatcher->connections.used--;
}

/* Puts off something that is not due yet; if it is due, it waits for its turn only. */
static void put_off(int64_t *time_us, int64_t now_us, int64_t until_us)
{
    if (*time_us > now_us && *time_us < until_us)
        *time_us = until_us;
}

/* Its doorbell has rung lately, and the message may not be visible yet: the next look is soon, and
 * later ones come ever more rarely. INT64_MAX: it has not. */
static int64_t fresh_pause_us(const struct ph__db *db, int64_t now_us)
{
    int64_t since_us = now_us - db->doorbell.rung_us;

    if (!db->doorbell.rung_us || since_us >= FRESH_US)
        return INT64_MAX;
    return since_us > FRESH_PAUSE_US / 2 ? 2 * since_us : FRESH_PAUSE_US;
}

/* How long until something comes due by itself, and whether something is due already that was not
 * for us. */
struct outlook {
    bool known, due;
    int64_t in_us; /* INT64_MAX: never */
};

/* Those that have handlers, a bit each. */
static unsigned doors_of(const ph_dispatcher *dispatcher)
{
    unsigned doors = 0;

    for (int door = 0; door < PH__SIDES; door++)
        doors |= (unsigned)(dispatcher->handlers.sides[door].count > 0) << door;
    return doors;
}

static struct outlook look_ahead(struct ph__db *db)
{
    struct outlook outlook = { .in_us = INT64_MAX };
    PH__CALL(call);
    ph_error err;

    if (!db->watch.name || db->health.retry_us || !db->store->own)
        return outlook;
    outlook.known =
        ph__call_own(&call, db->store, db->health.limit_ms, &err) == 0 &&
        db->store->backend->outlook(&call, db->dispatcher->opts.ns, doors_of(db->dispatcher),
                                    &outlook.in_us, &outlook.due) == 0;
    return outlook;
}

/* How long it is left alone. */
static void cool(struct ph__db *db, const struct outlook *outlook)
{
    int64_t now_us = ph__boot_us(), pause_us = cold_pause_us(db), planned_us;
    bool known = db->watch.name && !db->watch.lost && outlook->known;

    PH__NEEDS_LOCK(db->dispatcher);
    if (db->doorbell.rung || db->claim.found || db->visit.woken)
        return; /* it is waited for */
    if (known && !outlook->due)
        pause_us = COLD_PAUSE_MAX_US;
    else if (known) /* a ring of its doorbell a moment ago may be for us */
        pause_us = ph__earlier(pause_us, fresh_pause_us(db, now_us));
    planned_us = known ? ph__earlier(pause_us, fresh_pause_us(db, now_us)) : pause_us;
    put_off(&db->schedule.due_us, now_us, ph__earlier(db->schedule.next_us, now_us + planned_us));
    if (known)
        pause_us = ph__earlier(pause_us, outlook->in_us);
    put_off(&db->claim.next_us, now_us, now_us + pause_us);
}

/* A poller that has gone to sleep meanwhile did not reckon with this database, and we go elsewhere
 * now. */
static void wake_if_due(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    long ignored;
    struct ph__plan plan = ph__plan(db, ph__room(dispatcher, &ignored), ph__boot_us());

    if (!ph__plan_is_due(&plan) && plan.wake_us >= dispatcher->pollers.asleep_until_us)
        return;
    ph__poller_call(dispatcher);
    ph__wake_asleep(dispatcher);
}

void ph__connection_give_up(struct ph__db *victim)
{
    ph_dispatcher *dispatcher = victim->dispatcher;
    struct outlook outlook = look_ahead(victim);

    (void)ph__db_rang(victim); /* a ring not heard yet would be lost */
    ph__db_disconnect(victim);
    ph__lock(dispatcher);
    cool(victim, &outlook);
    victim->visit.busy = false;
    if (victim->visit.woken)
        ph__db_wake(victim);
    wake_if_due(victim);
    ph__unlock(dispatcher);
}

bool ph__connection_take(struct ph__db *db, struct ph__db **ret_victim)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__db *victim = NULL;

    PH__NEEDS_LOCK(db->dispatcher);
    *ret_victim = NULL;
    if (db->has_connection)
        return true;
    if (dispatcher->connections.used >= dispatcher->connections.max) {
        victim = ph__connection_spare(dispatcher);
        if (!victim)
            return false;
        victim->visit.busy = true;
        ph__connection_end(victim);
    }
    db->has_connection = true;
    dispatcher->connections.used++;
    *ret_victim = victim;
    return true;
}
