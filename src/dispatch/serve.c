/* serve.c - what one of the crew does at a station: settle, renew, claim and beat with one call, hear
 * the bell, clean up, schedule, and say good-bye. */
#include "dispatch/dispatch.h"

#include "core/call.h"
#include "core/error.h"
#include "util/random.h"

#include <poll.h>
#include <time.h>

#define SHORT_CLAIM_US 5000    /* after a claim that found less than it asked for */
#define BACKOFF_FIRST_US 10000 /* after one that found nothing; doubled each time */
#define FALSE_ALARMS_MAX 10
#define HEAR_US 1000000 /* so often the bell is heard even if there is no time to sleep */
#define RETENTION_LIMIT 1000
/* The heart beats after a tenth of the stale threshold, and a little: by the database's clock, too,
 * the stored beat must be older than that, or the new one is not written. */
#define BEAT_US_PER_S 105000
#define LOOK_TURNS 8 /* every so many claims go to an empty door where there is room for one */
#define SCHEDULE_MIN_US 1000 /* between two runs of the scheduler, unless there is more */
#define FINISH_NAP_MS 50
#define LATE_CALL_MS 200

/* -------------------------------------------------------------------- claiming */

static bool has_side(const struct ph__station *station, int door)
{
    return station->dispatcher->sides[door].count > 0;
}

/* Half of the room for each door; where one had nothing last time, nearly all for the other. */
static void share(struct ph__station *s, int room, int rooms[PH__SIDES])
{
    bool both = has_side(s, PH__OUTBOX) && has_side(s, PH__INBOX);
    int first = both ? (int)(s->turn++ % PH__SIDES) : has_side(s, PH__INBOX), look;

    if (s->empty[PH__OUTBOX] && s->empty[PH__INBOX])
        s->empty[PH__OUTBOX] = s->empty[PH__INBOX] = false; /* both are looked at anew */
    if (!both) {
        rooms[first] = room;
    } else if (s->empty[PH__OUTBOX] == s->empty[PH__INBOX]) {
        rooms[first] = room - room / 2;
        rooms[!first] = room / 2;
    } else {
        look = room > 1 || s->turn % LOOK_TURNS == 0;
        rooms[s->empty[PH__INBOX]] = look;
        rooms[!s->empty[PH__INBOX]] = room - look;
    }
}

/* Is there something to find, as far as is known? *ret_again: at once. */
static bool has_found(struct ph__station *s, const struct ph__trip *trip, bool *ret_again)
{
    bool found = false;

    *ret_again = false;
    for (int door = 0; door < PH__SIDES; door++) {
        int room = trip->room[door];

        if (room > 0)
            s->empty[door] =
                trip->claimed[door] == 0 && !trip->more[door] && !trip->last_waits[door];
        if (!has_side(s, door) || s->empty[door])
            continue;
        found = true;
        *ret_again |= trip->claimed[door] == room || trip->more[door];
    }
    return found;
}

/* How things were when a claim began. */
struct before {
    bool quiet; /* nothing was in flight anywhere but what is settled with it */
    uint64_t claim, landings;
};

/* Has every door been looked at, since nothing was in flight, and nothing been there? Otherwise, and
 * also if what came has ended already, a handler may have stored messages since. With the lock held. */
static void note_dry(struct ph__station *s, const struct ph__trip *trip,
                     const struct before *before)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    bool found = trip->claimed[PH__OUTBOX] + trip->claimed[PH__INBOX] > 0;
    bool quiet = before->quiet && dispatcher->in_flight == 0 && !found &&
                 dispatcher->landings == before->landings;
    uint64_t drained = UINT64_MAX;

    for (int door = 0; door < PH__SIDES; door++) {
        if (!quiet || trip->more[door] || trip->last_waits[door])
            s->dry[door] = 0;
        else if (trip->room[door] > 0)
            s->dry[door] = before->claim;
        if (has_side(s, door) && s->dry[door] < drained)
            drained = s->dry[door];
    }
    if (drained == 0 || drained < s->drained)
        return;
    s->drained = drained;
    s->drained_landings = dispatcher->landings;
    pthread_cond_broadcast(&dispatcher->changed);
}

/* Where a look at once finds nothing each time, since the rest of the streams comes when their runs
 * are settled, and with that, the looks in between can be left out. */
static void note_in_hand(struct ph__station *s, const struct ph__trip *trip)
{
    ph__lock(s->dispatcher);
    if (!s->found)
        s->in_hand = s->in_flight > 0;
    else if (trip->plain || !trip->settled)
        s->in_hand = false;
    ph__unlock(s->dispatcher);
}

/* When to look again. Who drains one store first does not rest until it has nothing. */
static int64_t claim_pause_us(struct ph__station *s, bool again)
{
    const ph_dispatcher *dispatcher = s->dispatcher;
    bool at_once =
        again || (dispatcher->set && dispatcher->opts.selection == PH_SELECT_DRAIN_FIRST);

    if (s->found) {
        s->backoff_us = 0;
        return at_once && !s->in_hand ? 0 : SHORT_CLAIM_US;
    }
    s->backoff_us = s->backoff_us ? s->backoff_us * 2 : BACKOFF_FIRST_US;
    s->backoff_us = ph__earlier(s->backoff_us, (int64_t)dispatcher->opts.poll_ms * 1000);
    return s->backoff_us;
}

static void claimed(struct ph__station *s, const struct ph__trip *trip, const struct before *before)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    int64_t now_us = ph__boot_us(), pause_us;
    int count = trip->claimed[PH__OUTBOX] + trip->claimed[PH__INBOX];
    bool again;

    s->found = has_found(s, trip, &again);
    note_in_hand(s, trip);
    if (s->found)
        s->false_alarms = 0;
    else if (s->rung && s->false_alarms < FALSE_ALARMS_MAX)
        s->false_alarms++;
    s->rung = false;
    if (count > 0)
        s->worked_us = now_us;
    pause_us = claim_pause_us(s, again);
    ph__lock(dispatcher);
    s->claim_us = now_us;
    s->last_claimed = count;
    s->through = !s->found;
    s->next_claim_us = s->last_waits && ph__thread_is_free_for(s) ? now_us : now_us + pause_us;
    if (count == 0)
        dispatcher->stats.empty_claims++;
    note_dry(s, trip, before);
    ph__drain_look(dispatcher);
    ph__unlock(dispatcher);
}

/* A claim that takes a good part of the lease brings messages that are soon lost again. */
static void adapt(struct ph__station *s, int room, int count, int64_t took_us)
{
    if (room > 1 && took_us > s->dispatcher->lease_us / 4)
        s->claim_max = room / 2;
    else if (count > 0 && count == s->claim_max)
        s->claim_max = (int)ph__earlier((int64_t)s->claim_max * 2, PH__CLAIM_MAX);
}

/* ---------------------------------------------------------------- the exchange */

/* What the call came to. */
static void acted(struct ph__station *s, const struct ph__trip *trip, int room,
                  const struct before *before, int64_t took_us)
{
    ph_dispatcher *dispatcher = s->dispatcher;

    ph__lock(dispatcher);
    dispatcher->stats.exchanges++;
    s->exchanges++;
    s->slow = s->entry && took_us > PH__SLOW_US;
    ph__unlock(dispatcher);
    if (s->entry && took_us < PH__SLOW_US)
        s->limit_ms = ph__station_limit_ms(s);
    if (room > 0)
        claimed(s, trip, before);
}

/* Somebody waits for the end: what is left to other instances for a while is taken, too, since they
 * may be dead; but not of more streams than there may be partitions. */
static int room_in(const struct ph__station *s, int room, bool any_stream)
{
    int most = s->dispatcher->opts.max_partitions;

    return any_stream && most > 0 && most < room ? most : room;
}

static void act(struct ph__mate *mate, struct ph__station *s, const struct ph__plan *plan)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    struct ph__trip trip = { .settle = !plan->outage, .renew = plan->renew };
    int64_t began_us = ph__boot_us(), took_us;
    struct before before;
    ph_error err;
    int r;

    ph__lock(dispatcher);
    dispatcher->claims += plan->room > 0;
    before = (struct before){ dispatcher->in_flight == s->decided.count, dispatcher->claims,
                              dispatcher->landings };
    trip.any_stream = before.quiet && dispatcher->drain_waiters > 0;
    if (plan->room > 0)
        s->stream_free = false;
    ph__unlock(dispatcher);
    if (plan->room > 0) {
        share(s, room_in(s, plan->room, trip.any_stream), trip.room);
        ph__lock(dispatcher);
        ph__reserve(s, &trip);
        ph__unlock(dispatcher);
    }
    r = ph__exchange(mate, s, &trip, &err);
    ph__lock(dispatcher);
    ph__reserve_end(s, r == 0 ? &trip : NULL);
    ph__unlock(dispatcher);
    took_us = ph__boot_us() - began_us;
    adapt(s, plan->room, trip.claimed[PH__OUTBOX] + trip.claimed[PH__INBOX], took_us);
    if (r == 0) {
        s->beat_us = began_us + (int64_t)dispatcher->opts.stale_threshold_s * BEAT_US_PER_S;
        acted(s, &trip, plan->room, &before, took_us);
    } else if (r == PH_EEVICTED) {
        ph__instance_evicted(s);
        s->beat_us = 0; /* it registers at once, also if there is nothing to claim for */
    } else {
        s->exchange_failed |= trip.settle;
        ph__station_failed(s, &err);
    }
}

/* ---------------------------------------------------------------------- chores */

static void run_retention(struct ph__station *s, int64_t now_us)
{
    int64_t every_us = (int64_t)s->dispatcher->opts.retention_ms * 1000, count = 0;
    ph_error err;

    if (s->retry_us)
        return;
    s->retention_us = now_us + every_us;
    if (ph_retention_run(s->store, PH_OWN_TX, RETENTION_LIMIT, s->chore_ms, &count, &err) == 0) {
        if (count >= RETENTION_LIMIT)
            s->retention_us = now_us + BACKOFF_FIRST_US;
        return;
    }
    ph__station_extend(s, &err, &s->chore_ms);
    ph__say(s, PH_LOG_WARN, "old messages could not be deleted", NULL, "error", err.message);
    if (err.code == PH_EPERM)
        s->retention_us = 0;
}

/* When the scheduler is to run again: as soon as something is due, but others may have planned
 * something in the meantime, so no later than the poll. */
static int64_t schedule_pause_us(const struct ph__station *s, const ph_schedule *schedule)
{
    int64_t pause_us = (int64_t)s->dispatcher->opts.poll_ms * 1000;

    if (schedule->more)
        return 0;
    if (schedule->next_at)
        pause_us = ph__earlier(pause_us, schedule->next_at - schedule->now);
    return pause_us > SCHEDULE_MIN_US ? pause_us : SCHEDULE_MIN_US;
}

static void run_scheduler(struct ph__station *s, int64_t now_us)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    ph_schedule schedule = PH_SCHEDULE_INIT;
    ph_error err;

    if (s->retry_us)
        return;
    if (ph_scheduler_run(s->scheduler, s->chore_ms, &schedule, &err) < 0) {
        ph__station_extend(s, &err, &s->chore_ms);
        s->schedule_us = now_us + (int64_t)dispatcher->opts.poll_ms * 1000;
        if (err.code != PH_EPERM) {
            ph__station_failed(s, &err);
            return;
        }
        ph__say(s, PH_LOG_WARN, "the scheduler may not run here", NULL, "error", err.message);
        ph_scheduler_free(s->scheduler);
        s->scheduler = NULL;
        return;
    }
    now_us = ph__boot_us();
    s->schedule_us = now_us + schedule_pause_us(s, &schedule);
    s->schedule_next_us = schedule.next_at ? now_us + schedule.next_at - schedule.now : INT64_MAX;
    if (schedule.timers + schedule.job_runs + schedule.joins > 0) { /* there are new messages */
        ph__lock(dispatcher);
        s->next_claim_us = 0;
        ph__unlock(dispatcher);
    }
}

/* Is there nothing to do for the moment? */
static bool may_rest(struct ph__station *s)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    bool rests;
    long wake_at;

    ph__lock(dispatcher);
    ph__plan_make(s, ph__room(dispatcher, &wake_at), ph__boot_us());
    rests = !s->plan.act && !s->plan.claim && !s->plan.chores && !dispatcher->ending;
    ph__unlock(dispatcher);
    return rests;
}

/* ------------------------------------------------------------------- the visit */

/* What a visit costs: processor time where the database is a file, and otherwise time, since most of
 * it is spent by the server. */
static int64_t cost_clock_us(const struct ph__station *s)
{
    struct timespec now;

    if (!s->store->backend->file)
        return ph__boot_us();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Where it had to connect first, only to find nothing. */
static void note_cost(struct ph__station *s, int64_t cost_us)
{
    s->visit_us += (cost_us - s->visit_us) / (s->visit_us ? 4 : 1);
}

/* To make a schema may take longer than any call: it has the time that the user allows. That the
 * database is there is found out before. */
static bool deploy(struct ph__station *s)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    ph_error err;
    int r;

    if (!s->store->deploy)
        return true;
    r = ph_schema_inspect(s->store, s->limit_ms, &status, &err);
    if (r == 0)
        r = ph_migrate(s->store, s->store->timeout_ms, NULL, &err);
    if (r < 0) {
        ph__station_failed(s, &err);
        return false;
    }
    s->store->deploy = false;
    ph__lock(s->dispatcher);
    s->deploys = false;
    ph__unlock(s->dispatcher);
    return true;
}

/* One of a set that was never reached is greeted before anything is claimed: the room of a claim
 * that waits in vain would be missing elsewhere. Returns how much there is after that. */
static int greet(struct ph__mate *mate, struct ph__station *s, int wanted)
{
    const struct ph__plan hello = { .act = true };
    long ignored;
    int room = 0;

    if (!deploy(s))
        return 0;
    act(mate, s, &hello);
    if (s->retry_us)
        return 0;
    ph__lock(s->dispatcher);
    room = ph__room(s->dispatcher, &ignored);
    room = room < wanted ? room : wanted;
    s->owed = room == 0 && wanted > 0; /* others were faster: the turn that it had was none */
    ph__claim_begin(s, room);
    ph__unlock(s->dispatcher);
    return room;
}

static void exchange(struct ph__mate *mate, struct ph__station *s, struct ph__plan plan)
{
    if (ph__station_is_new(s)) {
        plan.room = greet(mate, s, plan.room);
        if (plan.room == 0)
            return;
    }
    act(mate, s, &plan);
}

void ph__serve(struct ph__mate *mate, struct ph__station *s, const struct ph__plan *plan)
{
    int64_t now_us = ph__boot_us(), began_us = cost_clock_us(s);
    bool cold = s->store->own == NULL && s->registered;

    if (plan->act || plan->claim)
        exchange(mate, s, *plan);
    /* Notifications that nobody takes pile up. */
    if (!(plan->act || plan->claim) || now_us - s->heard_us >= HEAR_US)
        (void)ph__station_rang(s);
    if (plan->retention)
        run_retention(s, now_us);
    if (plan->schedule)
        run_scheduler(s, ph__boot_us());
    ph__unclaimed_look(s, now_us);
    if (cold && s->last_claimed == 0)
        note_cost(s, cost_clock_us(s) - began_us);
    if (may_rest(s))
        ph__station_rest(s);
}

void ph__station_finish(struct ph__mate *mate, struct ph__station *s)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    const struct ph__plan settle = { .act = true };

    for (;;) {
        size_t left;

        ph__lock(dispatcher);
        left = s->decided.count;
        ph__unlock(dispatcher);
        if (left == 0)
            break;
        if (s->retry_us && ph__boot_us() >= dispatcher->finish_us)
            return;
        if (ph__boot_us() >= dispatcher->finish_us && s->limit_ms > LATE_CALL_MS)
            s->limit_ms = LATE_CALL_MS; /* there may be many, and none of them answer */
        act(mate, s, &settle);
        if (s->retry_us)
            (void)poll(NULL, 0, FINISH_NAP_MS);
    }
    /* Otherwise nobody would hear it; and where some did not, not for ever. */
    if (!s->retry_us && (ph__boot_us() < dispatcher->leave_us || !dispatcher->leave_failed) &&
        !ph__instance_leave(s))
        dispatcher->leave_failed = true;
}
