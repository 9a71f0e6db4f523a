/* coordinator.c - the thread that talks to the database: when to settle, when to claim, when to
 * sleep, and what to do when the database is gone. */
#include "dispatch/dispatch.h"

#include "core/call.h"
#include "core/error.h"
#include "util/random.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define FLUSH_US 2000          /* a decided work waits at most so long for company */
#define SHORT_CLAIM_US 5000    /* after a claim that found less than it asked for */
#define BACKOFF_FIRST_US 10000 /* after one that found nothing; doubled each time */
#define FALSE_ALARM_US 500     /* after one that a bell had called for in vain; more each time */
#define FALSE_ALARMS_MAX 10
#define HEAR_US 1000000      /* so often the bell is heard even if there is no time to sleep */
#define RETRY_FIRST_US 50000 /* after a failed call; doubled each time */
#define RETRY_MAX_US 5000000
#define RETENTION_LIMIT 1000
#define SLEEP_MAX_US 60000000
/* The heart beats after a tenth of the stale threshold, and a little: by the database's clock, too,
 * the stored beat must be older than that, or the new one is not written. */
#define BEAT_US_PER_S 105000
#define LOOK_TURNS 8 /* every so many claims go to an empty door where there is room for one */
#define SCHEDULE_MIN_US 1000 /* between two runs of the scheduler, unless there is more */

struct coordinator {
    ph_dispatcher *dispatcher;
    int64_t backoff_us;
    bool found;       /* the last claim found something */
    int doorbell_fd;  /* -1: none */
    int64_t heard_us; /* when it was last looked whether it had rung */
    bool rung;        /* since the last claim */
    int false_alarms; /* claims in a row for which the bell had rung, and there was nothing */
    int64_t claim_us; /* the last one */
    int room;         /* for so many messages, when it last looked */
    int claim_max;    /* at most so many at once: fewer after a claim that took long */
    int64_t retry_us; /* not before; 0: the database is there */
    int64_t retry_step_us;
    uint32_t said_codes;     /* of this outage */
    bool exchange_failed;    /* in this outage: a renewal alone cannot end it */
    int64_t beat_us;         /* the heart is due */
    unsigned turn;           /* of the doors, where there is not room for both */
    bool empty[PH__SIDES];   /* the last claim of this door found nothing */
    uint64_t dry[PH__SIDES]; /* which claim found nothing there, and nothing in flight; 0: none */
    bool in_hand;            /* all that is due seems to be of streams that are worked on here */
    int64_t retention_us;    /* next run */
    int64_t schedule_us;     /* the scheduler's next run */
};

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ------------------------------------------------------------------- outages */

/* Says it once for each kind of trouble, then tries on, ever more slowly. */
static void failed(struct coordinator *c, const ph_error *err)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    uint32_t bit = UINT32_C(1) << (-err->code & 31);
    int64_t now_us = ph__boot_us();

    if (now_us >= c->retry_us) { /* otherwise it was a renewal, which is tried in between */
        int64_t step_us = earlier(c->retry_step_us * 2, RETRY_MAX_US);

        c->retry_step_us = step_us ? step_us : RETRY_FIRST_US;
        c->retry_us = now_us + c->retry_step_us / 2 +
                      (int64_t)(ph__random_u64() % (uint64_t)(c->retry_step_us / 2 + 1));
    }
    pthread_mutex_lock(&dispatcher->lock);
    if (dispatcher->stats.connected || c->said_codes == 0)
        dispatcher->stats.outages++;
    dispatcher->stats.connected = false;
    dispatcher->last_error = *err;
    pthread_cond_broadcast(&dispatcher->changed);
    pthread_mutex_unlock(&dispatcher->lock);
    if (!(c->said_codes & bit))
        ph__say(dispatcher, PH_LOG_WARN, "the database cannot be used; trying again until it can",
                NULL, "error", err->message);
    c->said_codes |= bit;
}

static void succeeded(struct coordinator *c)
{
    ph_dispatcher *dispatcher = c->dispatcher;

    pthread_mutex_lock(&dispatcher->lock);
    dispatcher->stats.connected = true;
    dispatcher->last_error.code = 0;
    pthread_mutex_unlock(&dispatcher->lock);
    if (c->said_codes)
        ph__say(dispatcher, PH_LOG_INFO, "the database is back", NULL, NULL, NULL);
    c->said_codes = 0;
    c->exchange_failed = false;
    c->retry_us = c->retry_step_us = 0;
}

/* ---------------------------------------------------------------- what to do */

struct plan {
    bool act;
    bool renew;      /* leases must be renewed */
    bool outage;     /* … and nothing else is tried yet */
    int room;        /* messages to claim; 0: none */
    int64_t wake_us; /* otherwise: when to look again */
};

/* What the handlers, as slow as they are lately, will not get to within half a lease is better
 * left to other dispatchers. */
static long useful_prefetch(const ph_dispatcher *dispatcher)
{
    int64_t prefetch = dispatcher->opts.prefetch > 0 ? dispatcher->opts.prefetch : 0;

    if (dispatcher->usual_run_us > 0)
        prefetch = earlier(prefetch, dispatcher->opts.threads * (dispatcher->lease_us / 2) /
                                         dispatcher->usual_run_us);
    return (long)prefetch;
}

/* What waits, what is behind it included. */
static long queued(const ph_dispatcher *dispatcher)
{
    return (long)(dispatcher->waiting.count + dispatcher->behind);
}

/* How many messages may be claimed now, and at how many that wait a batch fits in. What is behind
 * others of its stream counts as prefetched, but keeps no thread from its work. */
static int room_for(const ph_dispatcher *dispatcher, long *ret_wake_at)
{
    const ph_dispatcher_opts *opts = &dispatcher->opts;
    long prefetch = useful_prefetch(dispatcher);
    long busy = (long)dispatcher->running - dispatcher->hung_threads;
    long idle = opts->threads - busy - dispatcher->missing_threads;
    long ahead = prefetch - (long)dispatcher->behind;
    long room = (ahead > 0 ? ahead : 0) + idle - (long)dispatcher->waiting.count;
    long least = prefetch > 0 && prefetch < opts->batch_size ? prefetch : opts->batch_size;
    long in_flight = (long)opts->in_flight_max - (long)dispatcher->in_flight;

    if (prefetch == 0)
        least = 1;
    *ret_wake_at = -1;
    if (dispatcher->stopping || dispatcher->hung_threads > opts->threads)
        return 0;
    if (opts->message_limit > 0 &&
        opts->message_limit - dispatcher->stats.claimed < (int64_t)in_flight)
        in_flight = (long)(opts->message_limit - dispatcher->stats.claimed);
    if (room < least && dispatcher->waiting.count > 0) {
        *ret_wake_at = queued(dispatcher) - (least - room);
        return 0;
    }
    room = room < in_flight ? room : in_flight;
    room = room < opts->batch_size ? room : opts->batch_size;
    return room > 0 ? (int)room : 0;
}

/* Is there time for what can wait? */
static bool is_idle(const struct coordinator *c)
{
    return (!c->found || c->dispatcher->short_of_room) && !c->retry_us;
}

static bool must_flush(const ph_dispatcher *dispatcher, int64_t now_us)
{
    return dispatcher->decided.count > 0 &&
           (dispatcher->decided.count >= PH__SETTLE_MAX || dispatcher->stopping ||
            dispatcher->waiting.count + dispatcher->running == 0 ||
            now_us >= dispatcher->first_decided_us + FLUSH_US);
}

/* When to look again if there is nothing to do now. */
static int64_t next_look(const struct coordinator *c, int64_t now_us)
{
    const ph_dispatcher *dispatcher = c->dispatcher;
    int64_t next_us = earlier(now_us + SLEEP_MAX_US, dispatcher->limit_us);

    next_us = earlier(next_us, dispatcher->renew_us);
    if (dispatcher->missing_threads > 0) /* the system refused one: it may change its mind */
        next_us = earlier(next_us, now_us + RETRY_MAX_US);
    if (now_us < c->retry_us)
        return earlier(next_us, c->retry_us);
    next_us = earlier(next_us, c->beat_us);
    if (dispatcher->decided.count > 0)
        next_us = earlier(next_us, dispatcher->first_decided_us + FLUSH_US);
    if (c->room > 0)
        next_us = earlier(next_us, dispatcher->next_claim_us);
    if (c->retention_us && is_idle(c))
        next_us = earlier(next_us, c->retention_us);
    if (dispatcher->scheduler)
        next_us = earlier(next_us, c->schedule_us);
    return next_us;
}

/* With the lock held. */
static struct plan make_plan(struct coordinator *c, int64_t now_us)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    struct plan plan = { .renew = now_us >= dispatcher->renew_us };
    long wake_at;
    int room = (int)earlier(room_for(dispatcher, &wake_at), c->claim_max);
    bool flush = must_flush(dispatcher, now_us);
    bool freed = dispatcher->stream_free && (flush || dispatcher->decided.count == 0);
    bool claim = room > 0 && (now_us >= dispatcher->next_claim_us || freed);

    c->room = room;
    dispatcher->wake_at = -1;
    dispatcher->short_of_room = room == 0 && wake_at < 0;
    plan.wake_us = next_look(c, now_us);
    if (now_us < c->retry_us) {
        plan.act = plan.outage = plan.renew;
        return plan;
    }
    plan.act = claim || flush || plan.renew || now_us >= c->beat_us;
    if (claim || c->found)
        plan.room = room;
    if (!plan.act && room == 0) /* also if the last look found nothing: the next one needs room */
        dispatcher->wake_at = wake_at;
    return plan;
}

/* ------------------------------------------------------------------- actions */

static bool has_side(const struct coordinator *c, int door)
{
    return c->dispatcher->sides[door].count > 0;
}

/* Half of the room for each door; where one had nothing last time, nearly all for the other. */
static void share(struct coordinator *c, int room, int rooms[PH__SIDES])
{
    bool both = has_side(c, PH__OUTBOX) && has_side(c, PH__INBOX);
    int first = both ? (int)(c->turn++ % PH__SIDES) : has_side(c, PH__INBOX), look;

    if (c->empty[PH__OUTBOX] && c->empty[PH__INBOX])
        c->empty[PH__OUTBOX] = c->empty[PH__INBOX] = false; /* both are looked at anew */
    if (!both) {
        rooms[first] = room;
    } else if (c->empty[PH__OUTBOX] == c->empty[PH__INBOX]) {
        rooms[first] = room - room / 2;
        rooms[!first] = room / 2;
    } else {
        look = room > 1 || c->turn % LOOK_TURNS == 0;
        rooms[c->empty[PH__INBOX]] = look;
        rooms[!c->empty[PH__INBOX]] = room - look;
    }
}

/* Is there something to find, as far as is known? *ret_again: at once. */
static bool has_found(struct coordinator *c, const struct ph__trip *trip, bool *ret_again)
{
    bool found = false;

    *ret_again = false;
    for (int door = 0; door < PH__SIDES; door++) {
        int room = trip->room[door];

        if (room > 0)
            c->empty[door] = trip->claimed[door] == 0 && !trip->more[door];
        if (!has_side(c, door) || c->empty[door])
            continue;
        found = true;
        *ret_again |= trip->claimed[door] == room || trip->more[door];
    }
    return found;
}

/* Has every door been looked at, since nothing was in flight, and nothing been there? quiet: when
 * the claim began, nothing was in flight but what was settled with it; otherwise, and also if what
 * came has ended already, a handler's transaction may have stored messages since. With the lock
 * held. */
static void note_dry(struct coordinator *c, const struct ph__trip *trip, bool quiet)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    uint64_t drained = UINT64_MAX;
    bool found = trip->claimed[PH__OUTBOX] + trip->claimed[PH__INBOX] > 0;

    for (int door = 0; door < PH__SIDES; door++) {
        if (dispatcher->in_flight > 0 || !quiet || found || trip->more[door])
            c->dry[door] = 0;
        else if (trip->room[door] > 0)
            c->dry[door] = dispatcher->claims;
        if (has_side(c, door) && c->dry[door] < drained)
            drained = c->dry[door];
    }
    if (drained <= dispatcher->drained)
        return;
    dispatcher->drained = drained;
    pthread_cond_broadcast(&dispatcher->changed);
}

/* Where a look at once finds nothing each time, since the rest of the streams comes when their runs
 * are settled, and with that, the looks in between can be left out. */
static void note_in_hand(struct coordinator *c, const struct ph__trip *trip)
{
    pthread_mutex_lock(&c->dispatcher->lock);
    if (!c->found)
        c->in_hand = c->dispatcher->in_flight > 0;
    else if (trip->plain || !trip->settled)
        c->in_hand = false;
    pthread_mutex_unlock(&c->dispatcher->lock);
}

static void claimed(struct coordinator *c, const struct ph__trip *trip, bool quiet)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    int64_t now_us = ph__boot_us(), poll_us = (int64_t)dispatcher->opts.poll_ms * 1000, pause_us;
    int count = trip->claimed[PH__OUTBOX] + trip->claimed[PH__INBOX];
    bool again;

    c->found = has_found(c, trip, &again);
    note_in_hand(c, trip);
    if (c->found)
        c->false_alarms = 0;
    else if (c->rung && c->false_alarms < FALSE_ALARMS_MAX)
        c->false_alarms++;
    c->rung = false;
    c->claim_us = now_us;
    if (c->found) {
        c->backoff_us = 0;
        pause_us = again && !c->in_hand ? 0 : SHORT_CLAIM_US;
    } else {
        c->backoff_us = c->backoff_us ? c->backoff_us * 2 : BACKOFF_FIRST_US;
        c->backoff_us = pause_us = earlier(c->backoff_us, poll_us);
    }
    pthread_mutex_lock(&dispatcher->lock);
    dispatcher->next_claim_us = now_us + pause_us;
    /* Somebody waits for the end, not for the next message. */
    if (dispatcher->drain_waiters > 0 && dispatcher->in_flight == 0)
        dispatcher->next_claim_us =
            earlier(dispatcher->next_claim_us, quiet ? now_us + BACKOFF_FIRST_US : now_us);
    if (count == 0)
        dispatcher->stats.empty_claims++;
    note_dry(c, trip, quiet);
    pthread_mutex_unlock(&dispatcher->lock);
}

/* A claim that takes a good part of the lease brings messages that are soon lost again. */
static void adapt(struct coordinator *c, int room, int count, int64_t took_us)
{
    if (room > 1 && took_us > c->dispatcher->lease_us / 4)
        c->claim_max = room / 2;
    else if (count > 0 && count == c->claim_max)
        c->claim_max = (int)earlier((int64_t)c->claim_max * 2, PH__CLAIM_MAX);
}

/* What the call came to. */
static void acted(struct coordinator *c, const struct ph__trip *trip, int room, bool quiet)
{
    ph_dispatcher *dispatcher = c->dispatcher;

    pthread_mutex_lock(&dispatcher->lock);
    dispatcher->stats.exchanges++;
    pthread_mutex_unlock(&dispatcher->lock);
    if (trip->settle || !c->exchange_failed)
        succeeded(c);
    if (room > 0)
        claimed(c, trip, quiet);
}

/* Somebody waits for the end: what is left to other instances for a while is taken, too, since they
 * may be dead; but not of more streams than there may be partitions. */
static int room_in(const struct coordinator *c, int room, bool any_stream)
{
    int most = c->dispatcher->opts.max_partitions;

    return any_stream && most > 0 && most < room ? most : room;
}

static void act(struct coordinator *c, const struct plan *plan)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    struct ph__trip trip = { .settle = !plan->outage, .renew = plan->renew };
    int64_t began_us = ph__boot_us();
    ph_error err;
    bool quiet;
    int r;

    pthread_mutex_lock(&dispatcher->lock);
    dispatcher->claims += plan->room > 0;
    quiet = dispatcher->in_flight == dispatcher->decided.count;
    trip.any_stream = quiet && dispatcher->drain_waiters > 0;
    if (plan->room > 0)
        dispatcher->stream_free = false;
    pthread_mutex_unlock(&dispatcher->lock);
    if (plan->room > 0)
        share(c, room_in(c, plan->room, trip.any_stream), trip.room);
    r = ph__exchange(dispatcher, &trip, &err);
    adapt(c, plan->room, trip.claimed[PH__OUTBOX] + trip.claimed[PH__INBOX],
          ph__boot_us() - began_us);
    if (r == 0) {
        c->beat_us = began_us + (int64_t)dispatcher->opts.stale_threshold_s * BEAT_US_PER_S;
        acted(c, &trip, plan->room, quiet);
    } else if (r == PH_EEVICTED) {
        ph__instance_evicted(dispatcher);
        c->beat_us = 0; /* it registers at once, also if there is nothing to claim for */
    } else {
        c->exchange_failed |= trip.settle;
        failed(c, &err);
    }
}

static void limits_if_due(struct coordinator *c, int64_t now_us)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    bool due, missing;

    pthread_mutex_lock(&dispatcher->lock);
    due = now_us >= dispatcher->limit_us;
    missing = dispatcher->missing_threads > 0;
    pthread_mutex_unlock(&dispatcher->lock);
    if (due)
        ph__limits_enforce(dispatcher);
    if (missing || due)
        ph__threads_replace(dispatcher);
}

/* Waits for an idle moment, but not for ever. */
static void retention_if_due(struct coordinator *c, int64_t now_us)
{
    int64_t every_us = (int64_t)c->dispatcher->opts.retention_ms * 1000, count = 0;
    ph_error err;

    if (!c->retention_us || now_us < c->retention_us || c->retry_us ||
        (!is_idle(c) && now_us < c->retention_us + every_us))
        return;
    c->retention_us = now_us + every_us;
    if (ph_retention_run(c->dispatcher->store, PH_OWN_TX, RETENTION_LIMIT,
                         c->dispatcher->call_timeout_ms, &count, &err) == 0) {
        if (count >= RETENTION_LIMIT)
            c->retention_us = now_us + BACKOFF_FIRST_US;
        return;
    }
    ph__say(c->dispatcher, PH_LOG_WARN, "old messages could not be deleted", NULL, "error",
            err.message);
    if (err.code == PH_EPERM)
        c->retention_us = 0;
}

/* When the scheduler is to run again: as soon as something is due, but others may have planned
 * something in the meantime, so no later than the poll. */
static int64_t schedule_pause_us(const struct coordinator *c, const ph_schedule *schedule)
{
    int64_t pause_us = (int64_t)c->dispatcher->opts.poll_ms * 1000;

    if (schedule->more)
        return 0;
    if (schedule->next_at)
        pause_us = earlier(pause_us, schedule->next_at - schedule->now);
    return pause_us > SCHEDULE_MIN_US ? pause_us : SCHEDULE_MIN_US;
}

static void schedule_if_due(struct coordinator *c, int64_t now_us)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    ph_schedule schedule = PH_SCHEDULE_INIT;
    ph_error err;

    if (!dispatcher->scheduler || now_us < c->schedule_us || c->retry_us)
        return;
    if (ph_scheduler_run(dispatcher->scheduler, dispatcher->call_timeout_ms, &schedule, &err) < 0) {
        c->schedule_us = now_us + (int64_t)dispatcher->opts.poll_ms * 1000;
        if (err.code != PH_EPERM) {
            failed(c, &err);
            return;
        }
        ph__say(dispatcher, PH_LOG_WARN, "the scheduler may not run here", NULL, "error",
                err.message);
        ph_scheduler_free(dispatcher->scheduler);
        dispatcher->scheduler = NULL;
        return;
    }
    c->schedule_us = ph__boot_us() + schedule_pause_us(c, &schedule);
    if (schedule.timers + schedule.job_runs + schedule.joins > 0) { /* there are new messages */
        pthread_mutex_lock(&dispatcher->lock);
        dispatcher->next_claim_us = 0;
        pthread_mutex_unlock(&dispatcher->lock);
    }
}

/* ----------------------------------------------------------------- the doorbell */

/* Others may have rung for others, or been quicker: where many share a database, they do not all
 * come running at every bell. */
static bool rang(struct coordinator *c)
{
    ph_dispatcher *dispatcher = c->dispatcher;

    c->heard_us = ph__boot_us();
    if (c->doorbell_fd < 0 ||
        !dispatcher->store->backend->doorbell_taken(dispatcher->store, dispatcher->opts.ns))
        return false;
    c->rung = true;
    c->empty[PH__OUTBOX] = c->empty[PH__INBOX] = false; /* it may be for either door */
    pthread_mutex_lock(&dispatcher->lock);
    dispatcher->stats.doorbells++;
    dispatcher->next_claim_us =
        earlier(dispatcher->next_claim_us, c->claim_us + c->false_alarms * FALSE_ALARM_US);
    pthread_mutex_unlock(&dispatcher->lock);
    return true;
}

/* Makes sure that the bell is on; a new bell may have missed a message. */
static void listen_again(struct coordinator *c)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    int before = c->doorbell_fd, r;
    struct ph__call call;
    ph_error err, spare;

    if (dispatcher->opts.doorbell == PH_DOORBELL_OFF || c->retry_us)
        return;
    r = ph__call_begin(&call, dispatcher->store, PH_OWN_TX, dispatcher->call_timeout_ms, &err,
                       &spare);
    if (r == 0)
        r = dispatcher->store->backend->doorbell_listen(&call, dispatcher->opts.ns,
                                                        &c->doorbell_fd);
    if (r < 0)
        c->doorbell_fd = -1;
    if (r > 0 || (c->doorbell_fd >= 0 && before < 0)) {
        pthread_mutex_lock(&dispatcher->lock);
        dispatcher->next_claim_us = 0;
        pthread_mutex_unlock(&dispatcher->lock);
    }
}

/* It has heard the bell and is about to claim: another ring would change nothing. */
static bool is_called(const struct coordinator *c)
{
    return c->rung && c->room > 0;
}

/* Notifications that nobody takes pile up in the connection. */
static void hear_now_and_then(struct coordinator *c, int64_t now_us)
{
    if (now_us - c->heard_us >= HEAR_US)
        (void)rang(c);
}

static void sleep_until(struct coordinator *c)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    struct pollfd fds[] = { { .fd = dispatcher->wake_fd, .events = POLLIN },
                            { .fd = -1, .events = POLLIN } };
    int64_t now_us, wait_ms;
    struct plan plan;
    uint64_t ignored;

    listen_again(c);
    if (!is_called(c)) {
        if (rang(c))
            return;
        fds[1].fd = c->retry_us ? -1 : c->doorbell_fd;
    }
    pthread_mutex_lock(&dispatcher->lock);
    now_us = ph__boot_us();
    plan = make_plan(c, now_us);
    dispatcher->asleep = !plan.act && !dispatcher->ending && now_us < dispatcher->limit_us;
    if (!dispatcher->asleep) {
        pthread_mutex_unlock(&dispatcher->lock);
        return;
    }
    pthread_mutex_unlock(&dispatcher->lock);
    wait_ms = (plan.wake_us - now_us + 999) / 1000;
    (void)poll(fds, 2, wait_ms > 0 ? (int)wait_ms : 0);
    pthread_mutex_lock(&dispatcher->lock);
    dispatcher->asleep = false;
    pthread_mutex_unlock(&dispatcher->lock);
    if (fds[0].revents && read(dispatcher->wake_fd, &ignored, sizeof(ignored)) < 0)
        return; /* nothing was there after all */
    if (fds[1].revents)
        (void)rang(c);
}

/* The last words: what is decided is settled, or the leases run out; then good-bye. */
static void finish(struct coordinator *c)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    int64_t until_us = ph__boot_us() + (int64_t)dispatcher->call_timeout_ms * 1000;
    const struct plan settle = { .act = true };

    for (;;) {
        size_t left;

        pthread_mutex_lock(&dispatcher->lock);
        left = dispatcher->decided.count;
        pthread_mutex_unlock(&dispatcher->lock);
        if (left == 0)
            break;
        act(c, &settle);
        if (c->retry_us && ph__boot_us() >= until_us)
            return;
        if (c->retry_us)
            (void)poll(NULL, 0, RETRY_FIRST_US / 1000);
    }
    if (!c->retry_us) /* otherwise nobody would hear it */
        ph__instance_leave(dispatcher);
}

void *ph__coordinate(void *context)
{
    ph_dispatcher *dispatcher = context;
    struct coordinator c = { .dispatcher = dispatcher,
                             .doorbell_fd = -1,
                             .claim_max = PH__CLAIM_MAX };

    if (dispatcher->opts.retention_ms > 0)
        c.retention_us = ph__boot_us() + (int64_t)dispatcher->opts.retention_ms * 1000;
    for (;;) {
        int64_t now_us = ph__boot_us();
        struct plan plan;
        bool ending;

        limits_if_due(&c, now_us);
        pthread_mutex_lock(&dispatcher->lock);
        ending = dispatcher->ending;
        plan = make_plan(&c, now_us);
        pthread_mutex_unlock(&dispatcher->lock);
        if (ending)
            break;
        if (plan.act) {
            act(&c, &plan);
            hear_now_and_then(&c, now_us);
        } else {
            sleep_until(&c);
        }
        retention_if_due(&c, now_us);
        schedule_if_due(&c, ph__boot_us());
    }
    finish(&c);
    ph__dispatcher_drop(dispatcher);
    return NULL;
}
