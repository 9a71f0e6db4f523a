/* plan.c - what a database needs now, as far as can be told without asking its database. */
#include "dispatch/dispatch.h"

#define FLUSH_US 2000       /* a decided work waits at most so long for company */
#define TURN_US 20000       /* … and so long for its database's turn to claim */
#define TURN_COLD_US 500000 /* … which would have to connect for it */
#define THREAD_LOOK_US 5000 /* so often it is looked whether a thread is free for a last attempt */
#define RETRY_MAX_US 5000000
#define SLEEP_MAX_US 60000000

/* What the handlers, as slow as they are lately, will not get to within half a lease is better
 * left to other dispatchers. */
static long useful_prefetch(const ph_dispatcher *dispatcher)
{
    int64_t prefetch = dispatcher->opts.prefetch > 0 ? dispatcher->opts.prefetch : 0;

    if (dispatcher->room.usual_run_us > 0)
        prefetch = ph__earlier(prefetch, dispatcher->opts.threads * (dispatcher->times.lease_us / 2) /
                                             dispatcher->room.usual_run_us);
    return (long)prefetch;
}

/* A store in trouble, or a slow one, may be long about it: others need not wait for what comes from
 * there. */
static long claiming(const ph_dispatcher *dispatcher)
{
    return dispatcher->room.claiming - dispatcher->room.doubtful;
}

int ph__tx_waiting_max(const ph_dispatcher *dispatcher)
{
    return dispatcher->opts.threads > 1 ? dispatcher->opts.threads / 2 : 1;
}

bool ph__db_is_held_up(const struct ph__db *db, int64_t now_us)
{
    return db->works.waiting > 0 && db->tx.full_us &&
           now_us - db->tx.full_us >= PH__HELD_UP_US;
}

long ph__waiting_count(const ph_dispatcher *dispatcher)
{
    long count = (long)dispatcher->works.waiting.count - (long)dispatcher->room.held_up;

    return count > 0 ? count : 0;
}

void ph__claim_begin(struct ph__db *db, int room)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    PH__NEEDS_LOCK(db->dispatcher);
    db->claim.under_way = room;
    dispatcher->room.claiming += room;
    if (db->visit.share != PH__SHARE_ALL)
        dispatcher->room.doubtful += room;
}

void ph__claim_end(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    PH__NEEDS_LOCK(db->dispatcher);
    dispatcher->room.claiming -= db->claim.under_way;
    if (db->visit.share != PH__SHARE_ALL)
        dispatcher->room.doubtful -= db->claim.under_way;
    db->claim.under_way = 0;
}

/* So many more may be in batch. */
static long left_in_flight(const ph_dispatcher *dispatcher)
{
    const ph_dispatcher_opts *opts = &dispatcher->opts;
    long left = (long)opts->in_flight_max - (long)dispatcher->works.in_flight - dispatcher->room.claiming;
    int64_t wanted = opts->message_limit - dispatcher->stats.claimed - dispatcher->room.claiming;

    if (dispatcher->phase.stopping || dispatcher->pool.hung > opts->threads ||
        dispatcher->handlers.count == 0)
        return 0;
    return opts->message_limit > 0 && wanted < (int64_t)left ? (long)wanted : left;
}

bool ph__claim_allowed(const ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    return left_in_flight(dispatcher) > 0;
}

/* What is behind others of its stream counts as prefetched, but keeps no thread from its work. */
int ph__room(const ph_dispatcher *dispatcher, long *ret_wake_at)
{
    const ph_dispatcher_opts *opts = &dispatcher->opts;
    long prefetch = useful_prefetch(dispatcher);
    long busy = (long)dispatcher->works.running - dispatcher->pool.hung;
    long idle = opts->threads - busy - dispatcher->pool.missing;
    long ahead = prefetch - (long)dispatcher->works.behind;
    long queued = ph__waiting_count(dispatcher) + claiming(dispatcher);
    long room = (ahead > 0 ? ahead : 0) + idle - queued;
    long least = prefetch > 0 && prefetch < opts->batch_size ? prefetch : opts->batch_size;
    long in_flight = left_in_flight(dispatcher);

    PH__NEEDS_LOCK(dispatcher);
    if (prefetch == 0)
        least = 1;
    *ret_wake_at = -1;
    if (in_flight <= 0)
        return 0;
    if (dispatcher->works.bytes >= PH_CLAIM_BYTES_MAX && queued > 0) { /* enough waits for the memory */
        *ret_wake_at = (long)(dispatcher->works.waiting.count + dispatcher->works.behind) - 1;
        if (*ret_wake_at < 0)
            *ret_wake_at = 0;
        return 0;
    }
    if (room < least && queued > 0) {
        *ret_wake_at = (long)(dispatcher->works.waiting.count + dispatcher->works.behind) - (least - room);
        if (*ret_wake_at < 0)
            *ret_wake_at = 0;
        return 0;
    }
    room = room < in_flight ? room : in_flight;
    room = room < opts->batch_size ? room : opts->batch_size;
    return room > 0 ? (int)room : 0;
}

/* Is there time for what can wait? */
static bool is_idle(const struct ph__db *db)
{
    return (!db->claim.found || db->dispatcher->room.short_of_it) && !db->health.retry_us;
}

static int64_t turn_us(const struct ph__db *db)
{
    return db->has_connection ? TURN_US : TURN_COLD_US;
}

/* lazy: it also waits for its turn to claim, and can settle then. */
static bool must_flush(const struct ph__db *db, int64_t now_us, bool lazy)
{
    size_t count = db->settle.decided.count;
    int64_t wait_us = lazy ? turn_us(db) : FLUSH_US;

    if (count == 0)
        return false;
    return count >= PH__SETTLE_MAX || db->dispatcher->phase.stopping || db->leaving ||
           now_us >= db->settle.since_us + wait_us ||
           (!lazy && db->works.waiting + db->works.running == 0);
}

static bool is_retention_due(const struct ph__db *db, int64_t now_us)
{
    int64_t every_us = (int64_t)db->dispatcher->opts.retention_ms * 1000;

    /* It waits for an idle moment, but not for ever. */
    return db->retention_us && now_us >= db->retention_us && !db->leaving &&
           !db->health.retry_us && (is_idle(db) || now_us >= db->retention_us + every_us);
}

/* When it is worth a visit of its own: without a connection it waits for another reason to come. */
static int64_t retention_visit_us(const struct ph__db *db)
{
    int64_t every_us = (int64_t)db->dispatcher->opts.retention_ms * 1000;

    return db->retention_us + (db->has_connection ? 0 : 2 * every_us);
}

static bool is_schedule_due(const struct ph__db *db, int64_t now_us)
{
    return db->schedule.scheduler && !db->leaving && !db->health.retry_us &&
           now_us >= db->schedule.due_us;
}

/* All is settled, and nobody has more to say. */
static bool must_leave(const struct ph__db *db)
{
    return db->leaving && db->works.in_flight == 0;
}

/* When to look again if there is nothing to do now. */
static int64_t next_look(const struct ph__db *db, int room, int64_t now_us)
{
    const ph_dispatcher *dispatcher = db->dispatcher;
    int64_t next_us = now_us + SLEEP_MAX_US;

    next_us = ph__earlier(next_us, db->leases.renew_us);
    if (dispatcher->pool.missing > 0) /* the system refused one: it may change its mind */
        next_us = ph__earlier(next_us, now_us + RETRY_MAX_US);
    if (now_us < db->health.retry_us)
        return ph__earlier(next_us, db->health.retry_us);
    next_us = ph__earlier(next_us, db->heart.beat_us);
    if (db->settle.decided.count > 0)
        next_us = ph__earlier(next_us, db->settle.since_us + FLUSH_US);
    if (room > 0)
        next_us = ph__earlier(next_us, db->claim.next_us);
    if (db->leaving)
        return next_us;
    if (db->retention_us && is_idle(db))
        next_us = ph__earlier(next_us, retention_visit_us(db));
    if (db->schedule.scheduler)
        next_us = ph__earlier(next_us, db->schedule.due_us);
    return next_us;
}

void ph__plan_make(struct ph__db *db, int room, int64_t now_us)
{
    const ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__plan *plan = &db->visit.plan;
    bool due, lazy, flush, freed, no_thread;

    PH__NEEDS_LOCK(db->dispatcher);
    if (db->works.in_flight == 0)
        db->leases.renew_us = INT64_MAX;
    no_thread = db->last.waits && !ph__thread_is_free_for(db);
    if (db->last.reserved > 0 && room == 0 && ph__claim_allowed(dispatcher))
        room = 1;
    room = db->leaving || no_thread || ph__db_is_held_up(db, now_us)
               ? 0
               : (int)ph__earlier(room, db->claim.max);
    due = room > 0 && now_us >= db->claim.next_us;
    lazy = due && dispatcher->dbs.count > 1 && dispatcher->stop.drain_waiters == 0;
    flush = must_flush(db, now_us, lazy);
    freed = db->claim.stream_free && (flush || db->settle.decided.count == 0);
    *plan = (struct ph__plan){ .renew = now_us >= db->leases.renew_us,
                               .wake_us = next_look(db, room, now_us) };
    if (no_thread)
        plan->wake_us = ph__earlier(plan->wake_us, now_us + THREAD_LOOK_US);
    if (now_us < db->health.retry_us) {
        plan->act = plan->outage = plan->renew;
        plan->chores = db->doorbell.hear || must_leave(db);
        return;
    }
    plan->act = flush || plan->renew || now_us >= db->heart.beat_us || db->health.retry_us;
    plan->urge_us = ph__earlier(db->leases.renew_us, db->heart.beat_us);
    if (db->settle.decided.count > 0)
        plan->urge_us = ph__earlier(plan->urge_us, db->settle.since_us + turn_us(db));
    plan->claim = due || (room > 0 && (freed || (plan->act && db->claim.found)));
    if (plan->claim)
        plan->room = room;
    plan->retention = is_retention_due(db, now_us);
    plan->schedule = is_schedule_due(db, now_us);
    plan->chores = db->doorbell.hear || plan->schedule || must_leave(db) ||
                   (plan->retention && now_us >= retention_visit_us(db));
}
