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
    uint32_t said_codes;  /* of this outage */
    bool exchange_failed; /* in this outage: only an exchange can end it */
    int64_t retention_us; /* next run */
    int64_t schedule_us;  /* the scheduler's next run */
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

/* How many messages may be claimed now, and at how many waiting ones a batch fits in. */
static int room_for(const ph_dispatcher *dispatcher, long *ret_wake_at)
{
    const ph_dispatcher_opts *opts = &dispatcher->opts;
    long prefetch = useful_prefetch(dispatcher);
    long busy = (long)dispatcher->running - dispatcher->hung_threads;
    long idle = opts->threads - busy - dispatcher->missing_threads;
    long room = prefetch + idle - (long)dispatcher->waiting.count;
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
        *ret_wake_at = (long)dispatcher->waiting.count - (least - room);
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

/* With the lock held. */
static struct plan make_plan(struct coordinator *c, int64_t now_us)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    struct plan plan = { .wake_us = earlier(now_us + SLEEP_MAX_US, dispatcher->upkeep_us) };
    long wake_at;
    int room = (int)earlier(room_for(dispatcher, &wake_at), c->claim_max);
    bool claim = room > 0 && now_us >= dispatcher->next_claim_us;
    bool flush = dispatcher->decided.count > 0 &&
                 (dispatcher->decided.count >= PH__SETTLE_MAX || dispatcher->stopping ||
                  dispatcher->waiting.count + dispatcher->running == 0 ||
                  now_us >= dispatcher->first_decided_us + FLUSH_US);

    c->room = room;
    dispatcher->wake_at = -1;
    dispatcher->short_of_room = room == 0 && wake_at < 0;
    if (dispatcher->missing_threads > 0) /* the system refused one: it may change its mind */
        plan.wake_us = earlier(plan.wake_us, now_us + RETRY_MAX_US);
    if (now_us < c->retry_us) {
        plan.wake_us = earlier(plan.wake_us, c->retry_us);
        return plan;
    }
    plan.act = claim || flush;
    plan.room = claim || c->found ? room : 0;
    if (plan.act)
        return plan;
    if (dispatcher->decided.count > 0)
        plan.wake_us = earlier(plan.wake_us, dispatcher->first_decided_us + FLUSH_US);
    if (room > 0)
        plan.wake_us = earlier(plan.wake_us, dispatcher->next_claim_us);
    else if (c->found)
        dispatcher->wake_at = wake_at;
    if (c->retention_us && is_idle(c))
        plan.wake_us = earlier(plan.wake_us, c->retention_us);
    if (dispatcher->scheduler)
        plan.wake_us = earlier(plan.wake_us, c->schedule_us);
    return plan;
}

/* ------------------------------------------------------------------- actions */

/* more: nothing came, but what is due was not looked at to its end. quiet: when the claim began,
 * nothing was in flight but what was settled with it; otherwise a handler's transaction may have
 * stored messages since. */
static void claimed(struct coordinator *c, int room, int count, bool more, bool quiet)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    int64_t now_us = ph__boot_us(), poll_us = (int64_t)dispatcher->opts.poll_ms * 1000, pause_us;

    if (room == 0)
        return;
    c->found = count > 0 || more;
    if (c->found)
        c->false_alarms = 0;
    else if (c->rung && c->false_alarms < FALSE_ALARMS_MAX)
        c->false_alarms++;
    c->rung = false;
    c->claim_us = now_us;
    if (c->found) {
        c->backoff_us = 0;
        pause_us = count < room && !more ? SHORT_CLAIM_US : 0;
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
    if (count == 0) {
        dispatcher->stats.empty_claims++;
        if (dispatcher->in_flight == 0 && quiet && !more) {
            dispatcher->drained = dispatcher->claims;
            pthread_cond_broadcast(&dispatcher->changed);
        }
    }
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

static void act(struct coordinator *c, int room)
{
    int64_t began_us = ph__boot_us();
    ph_error err;
    bool more = false, quiet;
    int count = 0, r;

    pthread_mutex_lock(&c->dispatcher->lock);
    c->dispatcher->claims += room > 0;
    quiet = c->dispatcher->in_flight == c->dispatcher->decided.count;
    pthread_mutex_unlock(&c->dispatcher->lock);
    r = ph__exchange(c->dispatcher, room, &count, &more, &err);
    adapt(c, room, count, ph__boot_us() - began_us);
    if (r < 0) {
        c->exchange_failed = true;
        failed(c, &err);
        return;
    }
    pthread_mutex_lock(&c->dispatcher->lock);
    c->dispatcher->stats.exchanges++;
    pthread_mutex_unlock(&c->dispatcher->lock);
    succeeded(c);
    claimed(c, room, count, more, quiet);
}

static void upkeep_if_due(struct coordinator *c, int64_t now_us)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    bool due, missing;
    ph_error err;
    int r = 0;

    pthread_mutex_lock(&dispatcher->lock);
    due = now_us >= dispatcher->upkeep_us;
    missing = dispatcher->missing_threads > 0;
    pthread_mutex_unlock(&dispatcher->lock);
    if (due)
        r = ph__upkeep(dispatcher, &err);
    if (r < 0)
        failed(c, &err);
    else if (r > 0 && c->said_codes && !c->exchange_failed)
        succeeded(c);
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
    c->backoff_us = 0;
    c->rung = true;
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
    dispatcher->asleep = !plan.act && !dispatcher->ending && now_us < dispatcher->upkeep_us;
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

/* The last words: what is decided is settled, or the leases run out. */
static void finish(struct coordinator *c)
{
    ph_dispatcher *dispatcher = c->dispatcher;
    int64_t until_us = ph__boot_us() + (int64_t)dispatcher->call_timeout_ms * 1000;

    for (;;) {
        size_t left;

        pthread_mutex_lock(&dispatcher->lock);
        left = dispatcher->decided.count;
        pthread_mutex_unlock(&dispatcher->lock);
        if (left == 0)
            return;
        act(c, 0);
        if (c->retry_us && ph__boot_us() >= until_us)
            return;
        if (c->retry_us)
            (void)poll(NULL, 0, RETRY_FIRST_US / 1000);
    }
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

        upkeep_if_due(&c, now_us);
        pthread_mutex_lock(&dispatcher->lock);
        ending = dispatcher->ending;
        plan = make_plan(&c, now_us);
        pthread_mutex_unlock(&dispatcher->lock);
        if (ending)
            break;
        if (plan.act) {
            act(&c, plan.room);
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
