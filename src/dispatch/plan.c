/* plan.c - what a station needs now, as far as can be told without asking its database. */
#include "dispatch/dispatch.h"

#define FLUSH_US 2000       /* a decided work waits at most so long for company */
#define TURN_US 20000       /* … and so long for its station's turn to claim */
#define TURN_COLD_US 500000 /* … which would have to connect for it */
#define THREAD_LOOK_US 5000 /* so often it is looked whether a thread is free for a last attempt */
#define RETRY_MAX_US 5000000
#define SLEEP_MAX_US 60000000

/* What the handlers, as slow as they are lately, will not get to within half a lease is better
 * left to other dispatchers. */
static long useful_prefetch(const ph_dispatcher *dispatcher)
{
    int64_t prefetch = dispatcher->opts.prefetch > 0 ? dispatcher->opts.prefetch : 0;

    if (dispatcher->usual_run_us > 0)
        prefetch = ph__earlier(prefetch, dispatcher->opts.threads * (dispatcher->lease_us / 2) /
                                             dispatcher->usual_run_us);
    return (long)prefetch;
}

/* A store in trouble, or a slow one, may be long about it: others need not wait for what comes from
 * there. */
static long claiming(const ph_dispatcher *dispatcher)
{
    return dispatcher->claiming - dispatcher->claiming_doubtful;
}

int ph__tx_waiting_max(const ph_dispatcher *dispatcher)
{
    return dispatcher->opts.threads > 1 ? dispatcher->opts.threads / 2 : 1;
}

bool ph__station_is_clogged(const struct ph__station *station, int64_t now_us)
{
    return station->waiting > 0 && station->tx_full_us &&
           now_us - station->tx_full_us >= PH__CLOGGED_US;
}

long ph__waiting_count(const ph_dispatcher *dispatcher)
{
    long count = (long)dispatcher->waiting.count - (long)dispatcher->clogged;

    return count > 0 ? count : 0;
}

void ph__claim_begin(struct ph__station *station, int room)
{
    ph_dispatcher *dispatcher = station->dispatcher;

    PH__NEEDS_LOCK(station->dispatcher);
    station->claiming = room;
    dispatcher->claiming += room;
    if (station->ailing || station->lagging)
        dispatcher->claiming_doubtful += room;
}

void ph__claim_end(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;

    PH__NEEDS_LOCK(station->dispatcher);
    dispatcher->claiming -= station->claiming;
    if (station->ailing || station->lagging)
        dispatcher->claiming_doubtful -= station->claiming;
    station->claiming = 0;
}

/* So many more may be in flight. */
static long left_in_flight(const ph_dispatcher *dispatcher)
{
    const ph_dispatcher_opts *opts = &dispatcher->opts;
    long left = (long)opts->in_flight_max - (long)dispatcher->in_flight - dispatcher->claiming;
    int64_t wanted = opts->message_limit - dispatcher->stats.claimed - dispatcher->claiming;

    if (dispatcher->stopping || dispatcher->hung_threads > opts->threads ||
        dispatcher->handler_count == 0)
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
    long busy = (long)dispatcher->running - dispatcher->hung_threads;
    long idle = opts->threads - busy - dispatcher->missing_threads;
    long ahead = prefetch - (long)dispatcher->behind;
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
    if (dispatcher->bytes >= PH_CLAIM_BYTES_MAX && queued > 0) { /* enough waits for the memory */
        *ret_wake_at = (long)(dispatcher->waiting.count + dispatcher->behind) - 1;
        if (*ret_wake_at < 0)
            *ret_wake_at = 0;
        return 0;
    }
    if (room < least && queued > 0) {
        *ret_wake_at = (long)(dispatcher->waiting.count + dispatcher->behind) - (least - room);
        if (*ret_wake_at < 0)
            *ret_wake_at = 0;
        return 0;
    }
    room = room < in_flight ? room : in_flight;
    room = room < opts->batch_size ? room : opts->batch_size;
    return room > 0 ? (int)room : 0;
}

/* Is there time for what can wait? */
static bool is_idle(const struct ph__station *station)
{
    return (!station->found || station->dispatcher->short_of_room) && !station->retry_us;
}

static int64_t turn_us(const struct ph__station *station)
{
    return station->linked ? TURN_US : TURN_COLD_US;
}

/* lazy: it also waits for its turn to claim, and can settle then. */
static bool must_flush(const struct ph__station *station, int64_t now_us, bool lazy)
{
    size_t count = station->decided.count;
    int64_t wait_us = lazy ? turn_us(station) : FLUSH_US;

    if (count == 0)
        return false;
    return count >= PH__SETTLE_MAX || station->dispatcher->stopping || station->draining ||
           now_us >= station->first_decided_us + wait_us ||
           (!lazy && station->waiting + station->running == 0);
}

static bool is_retention_due(const struct ph__station *station, int64_t now_us)
{
    int64_t every_us = (int64_t)station->dispatcher->opts.retention_ms * 1000;

    /* It waits for an idle moment, but not for ever. */
    return station->retention_us && now_us >= station->retention_us && !station->draining &&
           !station->retry_us && (is_idle(station) || now_us >= station->retention_us + every_us);
}

/* When it is worth a visit of its own: without a connection it waits for another reason to come. */
static int64_t retention_visit_us(const struct ph__station *station)
{
    int64_t every_us = (int64_t)station->dispatcher->opts.retention_ms * 1000;

    return station->retention_us + (station->linked ? 0 : 2 * every_us);
}

static bool is_schedule_due(const struct ph__station *station, int64_t now_us)
{
    return station->scheduler && !station->draining && !station->retry_us &&
           now_us >= station->schedule_us;
}

/* All is settled, and nobody has more to say. */
static bool must_leave(const struct ph__station *station)
{
    return station->draining && station->in_flight == 0;
}

/* When to look again if there is nothing to do now. */
static int64_t next_look(const struct ph__station *station, int room, int64_t now_us)
{
    const ph_dispatcher *dispatcher = station->dispatcher;
    int64_t next_us = now_us + SLEEP_MAX_US;

    next_us = ph__earlier(next_us, station->renew_us);
    if (dispatcher->missing_threads > 0) /* the system refused one: it may change its mind */
        next_us = ph__earlier(next_us, now_us + RETRY_MAX_US);
    if (now_us < station->retry_us)
        return ph__earlier(next_us, station->retry_us);
    next_us = ph__earlier(next_us, station->beat_us);
    if (station->decided.count > 0)
        next_us = ph__earlier(next_us, station->first_decided_us + FLUSH_US);
    if (room > 0)
        next_us = ph__earlier(next_us, station->next_claim_us);
    if (station->draining)
        return next_us;
    if (station->retention_us && is_idle(station))
        next_us = ph__earlier(next_us, retention_visit_us(station));
    if (station->scheduler)
        next_us = ph__earlier(next_us, station->schedule_us);
    return next_us;
}

void ph__plan_make(struct ph__station *station, int room, int64_t now_us)
{
    const ph_dispatcher *dispatcher = station->dispatcher;
    struct ph__plan *plan = &station->plan;
    bool due, lazy, flush, freed, no_thread;

    PH__NEEDS_LOCK(station->dispatcher);
    if (station->in_flight == 0)
        station->renew_us = INT64_MAX;
    no_thread = station->last_waits && !ph__thread_is_free_for(station);
    if (station->reserved > 0 && room == 0 && ph__claim_allowed(dispatcher))
        room = 1;
    room = station->draining || no_thread || ph__station_is_clogged(station, now_us)
               ? 0
               : (int)ph__earlier(room, station->claim_max);
    due = room > 0 && now_us >= station->next_claim_us;
    lazy = due && dispatcher->station_count > 1 && dispatcher->drain_waiters == 0;
    flush = must_flush(station, now_us, lazy);
    freed = station->stream_free && (flush || station->decided.count == 0);
    *plan = (struct ph__plan){ .renew = now_us >= station->renew_us,
                               .wake_us = next_look(station, room, now_us) };
    if (no_thread)
        plan->wake_us = ph__earlier(plan->wake_us, now_us + THREAD_LOOK_US);
    if (now_us < station->retry_us) {
        plan->act = plan->outage = plan->renew;
        plan->chores = station->hear || must_leave(station);
        return;
    }
    plan->act = flush || plan->renew || now_us >= station->beat_us || station->retry_us;
    plan->urge_us = ph__earlier(station->renew_us, station->beat_us);
    if (station->decided.count > 0)
        plan->urge_us = ph__earlier(plan->urge_us, station->first_decided_us + turn_us(station));
    plan->claim = due || (room > 0 && (freed || (plan->act && station->found)));
    if (plan->claim)
        plan->room = room;
    plan->retention = is_retention_due(station, now_us);
    plan->schedule = is_schedule_due(station, now_us);
    plan->chores = station->hear || plan->schedule || must_leave(station) ||
                   (plan->retention && now_us >= retention_visit_us(station));
}
