/* serve.c - what a poller does at a database: settle, renew, claim and beat with one call, hear
 * the doorbell, clean up, schedule, and say good-bye. */
#include "dispatch/dispatch.h"

#include "core/call.h"
#include "core/error.h"
#include "util/random.h"

#include <poll.h>
#include <time.h>

#define SHORT_CLAIM_US 5000    /* after a claim that found less than it asked for */
#define BACKOFF_FIRST_US 10000 /* after one that found nothing; doubled each time */
#define FALSE_ALARMS_MAX 10
#define HEAR_US 1000000 /* so often the doorbell is heard even if there is no time to sleep */
#define RETENTION_LIMIT 1000
/* The heart beats after a tenth of the stale threshold, and a little: by the database's clock, too,
 * the stored beat must be older than that, or the new one is not written. */
#define BEAT_US_PER_S 105000
#define LOOK_TURNS 8 /* every so many claims go to an empty door where there is room for one */
#define SCHEDULE_MIN_US 1000 /* between two runs of the scheduler, unless there is more */
#define FINISH_NAP_MS 50
#define LATE_CALL_MS 200

/* -------------------------------------------------------------------- claiming */

static bool has_side(const struct ph__db *db, int door)
{
    return db->dispatcher->handlers.sides[door].count > 0;
}

/* Half of the room for each door; where one had nothing last time, nearly all for the other. */
static void share(struct ph__db *s, int room, int rooms[PH__SIDES])
{
    bool both = has_side(s, PH__OUTBOX) && has_side(s, PH__INBOX);
    int first = both ? (int)(s->claim.door_turn++ % PH__SIDES) : has_side(s, PH__INBOX), look;

    if (s->claim.empty[PH__OUTBOX] && s->claim.empty[PH__INBOX])
        s->claim.empty[PH__OUTBOX] = s->claim.empty[PH__INBOX] = false; /* both are looked at anew */
    if (!both) {
        rooms[first] = room;
    } else if (s->claim.empty[PH__OUTBOX] == s->claim.empty[PH__INBOX]) {
        rooms[first] = room - room / 2;
        rooms[!first] = room / 2;
    } else {
        look = room > 1 || s->claim.door_turn % LOOK_TURNS == 0;
        rooms[s->claim.empty[PH__INBOX]] = look;
        rooms[!s->claim.empty[PH__INBOX]] = room - look;
    }
}

/* Is there something to find, as far as is known? *ret_again: at once. */
static bool has_found(struct ph__db *s, const struct ph__exchange_io *io, bool *ret_again)
{
    bool found = false;

    *ret_again = false;
    for (int door = 0; door < PH__SIDES; door++) {
        int room = io->room[door];

        if (room > 0)
            s->claim.empty[door] =
                io->claimed[door] == 0 && !io->more[door] && !io->last_waits[door];
        if (!has_side(s, door) || s->claim.empty[door])
            continue;
        found = true;
        *ret_again |= io->claimed[door] == room || io->more[door];
    }
    return found;
}

/* How things were when a claim began. */
struct before {
    bool quiet; /* nothing was in batch anywhere but what is settled with it */
    uint64_t claim, arrivals;
};

/* Has every door been looked at, since nothing was in batch, and nothing been there? Otherwise, and
 * also if what came has ended already, a handler may have stored messages since. With the lock held. */
static void note_dry(struct ph__db *s, const struct ph__exchange_io *io,
                     const struct before *before)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    bool found = io->claimed[PH__OUTBOX] + io->claimed[PH__INBOX] > 0;
    bool quiet = before->quiet && dispatcher->works.in_flight == 0 && !found &&
                 dispatcher->works.arrivals == before->arrivals;
    uint64_t drained = UINT64_MAX;

    for (int door = 0; door < PH__SIDES; door++) {
        if (!quiet || io->more[door] || io->last_waits[door])
            s->claim.dry[door] = 0;
        else if (io->room[door] > 0)
            s->claim.dry[door] = before->claim;
        if (has_side(s, door) && s->claim.dry[door] < drained)
            drained = s->claim.dry[door];
    }
    if (drained == 0 || drained < s->claim.drained)
        return;
    s->claim.drained = drained;
    s->claim.drained_arrivals = dispatcher->works.arrivals;
    pthread_cond_broadcast(&dispatcher->wait.changed);
}

/* Where a look at once finds nothing each time, since the rest of the streams comes when their runs
 * are settled, and with that, the looks in between can be left out. */
static void note_in_hand(struct ph__db *s, const struct ph__exchange_io *io)
{
    ph__lock(s->dispatcher);
    if (!s->claim.found)
        s->claim.in_hand = s->works.in_flight > 0;
    else if (io->plain || !io->settled)
        s->claim.in_hand = false;
    ph__unlock(s->dispatcher);
}

/* When to look again. Who drains one store first does not rest until it has nothing. */
static int64_t claim_pause_us(struct ph__db *s, bool again)
{
    const ph_dispatcher *dispatcher = s->dispatcher;
    bool at_once =
        again || (dispatcher->set && dispatcher->opts.selection == PH_SELECT_DRAIN_FIRST);

    if (s->claim.found) {
        s->claim.backoff_us = 0;
        return at_once && !s->claim.in_hand ? 0 : SHORT_CLAIM_US;
    }
    s->claim.backoff_us = s->claim.backoff_us ? s->claim.backoff_us * 2 : BACKOFF_FIRST_US;
    s->claim.backoff_us = ph__earlier(s->claim.backoff_us, (int64_t)dispatcher->opts.poll_ms * 1000);
    return s->claim.backoff_us;
}

static void claimed(struct ph__db *s, const struct ph__exchange_io *io, const struct before *before)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    int64_t now_us = ph__boot_us(), pause_us;
    int count = io->claimed[PH__OUTBOX] + io->claimed[PH__INBOX];
    bool again;

    s->claim.found = has_found(s, io, &again);
    note_in_hand(s, io);
    if (s->claim.found)
        s->doorbell.false_alarms = 0;
    else if (s->doorbell.rung && s->doorbell.false_alarms < FALSE_ALARMS_MAX)
        s->doorbell.false_alarms++;
    s->doorbell.rung = false;
    if (count > 0)
        s->visit.worked_us = now_us;
    pause_us = claim_pause_us(s, again);
    ph__lock(dispatcher);
    s->claim.at_us = now_us;
    s->claim.last_count = count;
    s->claim.through = !s->claim.found;
    s->claim.next_us = s->last.waits && ph__thread_is_free_for(s) ? now_us : now_us + pause_us;
    if (count == 0)
        dispatcher->stats.empty_claims++;
    note_dry(s, io, before);
    ph__drain_look(dispatcher);
    ph__unlock(dispatcher);
}

/* A claim that takes a good part of the lease brings messages that are soon lost again. */
static void adapt(struct ph__db *s, int room, int count, int64_t took_us)
{
    if (room > 1 && took_us > s->dispatcher->times.lease_us / 4)
        s->claim.max = room / 2;
    else if (count > 0 && count == s->claim.max)
        s->claim.max = (int)ph__earlier((int64_t)s->claim.max * 2, PH__CLAIM_MAX);
}

/* ---------------------------------------------------------------- the exchange */

/* What the call came to. */
static void acted(struct ph__db *s, const struct ph__exchange_io *io, int room,
                  const struct before *before, int64_t took_us)
{
    ph_dispatcher *dispatcher = s->dispatcher;

    ph__lock(dispatcher);
    dispatcher->stats.exchanges++;
    s->works.exchanges++;
    ph__db_took(s, took_us);
    ph__unlock(dispatcher);
    if (room > 0)
        claimed(s, io, before);
}

/* Somebody waits for the end: what is left to other instances for a while is taken, too, since they
 * may be dead; but not of more streams than there may be partitions. */
static int room_in(const struct ph__db *s, int room, bool any_stream)
{
    int most = s->dispatcher->opts.max_partitions;

    return any_stream && most > 0 && most < room ? most : room;
}

static void act(struct ph__poller *poller, struct ph__db *s, const struct ph__plan *plan)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    struct ph__exchange_io io = { .settle = !plan->outage, .renew = plan->renew };
    int64_t began_us = ph__boot_us(), took_us;
    struct before before;
    ph_error err;
    int r;

    ph__lock(dispatcher);
    dispatcher->works.claims += plan->room > 0;
    before = (struct before){ dispatcher->works.in_flight == s->settle.decided.count, dispatcher->works.claims,
                              dispatcher->works.arrivals };
    io.any_stream = before.quiet && dispatcher->stop.drain_waiters > 0;
    if (plan->room > 0)
        s->claim.stream_free = false;
    ph__unlock(dispatcher);
    if (plan->room > 0) {
        share(s, room_in(s, plan->room, io.any_stream), io.room);
        ph__lock(dispatcher);
        ph__reserve(s, &io);
        ph__unlock(dispatcher);
    }
    r = ph__exchange(poller, s, &io, &err);
    ph__lock(dispatcher);
    ph__reserve_end(s, r == 0 ? &io : NULL);
    ph__unlock(dispatcher);
    took_us = ph__boot_us() - began_us;
    adapt(s, plan->room, io.claimed[PH__OUTBOX] + io.claimed[PH__INBOX], took_us);
    if (r == 0) {
        s->heart.beat_us = began_us + (int64_t)dispatcher->opts.stale_threshold_s * BEAT_US_PER_S;
        acted(s, &io, plan->room, &before, took_us);
    } else if (r == PH_EEVICTED) {
        ph__instance_evicted(s);
        s->heart.beat_us = 0; /* it registers at once, also if there is nothing to claim for */
    } else {
        s->health.exchange_failed |= io.settle;
        ph__db_failed(s, &err);
    }
}

/* ---------------------------------------------------------------------- chores */

static void run_retention(struct ph__db *s, int64_t now_us)
{
    int64_t every_us = (int64_t)s->dispatcher->opts.retention_ms * 1000, count = 0;
    ph_error err;

    if (s->health.retry_us)
        return;
    s->retention_us = now_us + every_us;
    if (ph_retention_run(s->store, PH_OWN_TX, RETENTION_LIMIT, s->health.chore_ms, &count, &err) == 0) {
        if (count >= RETENTION_LIMIT)
            s->retention_us = now_us + BACKOFF_FIRST_US;
        return;
    }
    ph__db_extend(s, &err, &s->health.chore_ms);
    ph__say(s, PH_LOG_WARN, "old messages could not be deleted", NULL, "error", err.message);
    if (err.code == PH_EPERM)
        s->retention_us = 0;
}

/* When the scheduler is to run again: as soon as something is due, but others may have planned
 * something in the meantime, so no later than the poll. */
static int64_t schedule_pause_us(const struct ph__db *s, const ph_schedule *schedule)
{
    int64_t pause_us = (int64_t)s->dispatcher->opts.poll_ms * 1000;

    if (schedule->more)
        return 0;
    if (schedule->next_at)
        pause_us = ph__earlier(pause_us, schedule->next_at - schedule->now);
    return pause_us > SCHEDULE_MIN_US ? pause_us : SCHEDULE_MIN_US;
}

static void run_scheduler(struct ph__db *s, int64_t now_us)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    ph_schedule schedule = PH_SCHEDULE_INIT;
    ph_error err;

    if (s->health.retry_us)
        return;
    if (ph_scheduler_run(s->schedule.scheduler, s->health.chore_ms, &schedule, &err) < 0) {
        ph__db_extend(s, &err, &s->health.chore_ms);
        s->schedule.due_us = now_us + (int64_t)dispatcher->opts.poll_ms * 1000;
        if (err.code != PH_EPERM) {
            ph__db_failed(s, &err);
            return;
        }
        ph__say(s, PH_LOG_WARN, "the scheduler may not run here", NULL, "error", err.message);
        ph_scheduler_free(s->schedule.scheduler);
        s->schedule.scheduler = NULL;
        return;
    }
    now_us = ph__boot_us();
    s->schedule.due_us = now_us + schedule_pause_us(s, &schedule);
    s->schedule.next_us = schedule.next_at ? now_us + schedule.next_at - schedule.now : INT64_MAX;
    if (schedule.timers + schedule.job_runs + schedule.joins > 0) { /* there are new messages */
        ph__lock(dispatcher);
        s->claim.next_us = 0;
        ph__unlock(dispatcher);
    }
}

/* Is there nothing to do for the moment? */
static bool may_rest(struct ph__db *s)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    bool rests;
    long wake_at;

    ph__lock(dispatcher);
    ph__plan_make(s, ph__room(dispatcher, &wake_at), ph__boot_us());
    rests = !s->visit.plan.act && !s->visit.plan.claim && !s->visit.plan.chores && !dispatcher->phase.ending;
    ph__unlock(dispatcher);
    return rests;
}

/* ------------------------------------------------------------------- the visit */

/* What a visit costs: processor time where the database is a file, and otherwise time, since most of
 * it is spent by the server. */
static int64_t cost_clock_us(const struct ph__db *s)
{
    struct timespec now;

    if (!s->store->backend->file)
        return ph__boot_us();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Where it had to connect first, only to find nothing. */
static void note_cost(struct ph__db *s, int64_t cost_us)
{
    s->visit.cost_us += (cost_us - s->visit.cost_us) / (s->visit.cost_us ? 4 : 1);
}

/* To make a schema may take longer than any call: it has the time that the user allows. That the
 * database is there is found out before. */
static bool deploy(struct ph__db *s)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    ph_error err;
    int r;

    if (!s->store->deploy)
        return true;
    r = ph_schema_inspect(s->store, s->health.limit_ms, &status, &err);
    if (r == 0)
        r = ph_migrate(s->store, s->store->timeout_ms, NULL, &err);
    if (r < 0) {
        ph__db_failed(s, &err);
        return false;
    }
    s->store->deploy = false;
    ph__lock(s->dispatcher);
    if (s->health.state == PH__UNDEPLOYED)
        s->health.state = PH__NEW;
    ph__unlock(s->dispatcher);
    return true;
}

/* One of a set that was never reached is greeted before anything is claimed: the room of a claim
 * that waits in vain would be missing elsewhere. Returns how much there is after that. */
static int greet(struct ph__poller *poller, struct ph__db *s, int wanted)
{
    const struct ph__plan hello = { .act = true };
    long ignored;
    int room = 0;

    if (!deploy(s))
        return 0;
    act(poller, s, &hello);
    if (s->health.retry_us)
        return 0;
    ph__lock(s->dispatcher);
    room = ph__room(s->dispatcher, &ignored);
    room = room < wanted ? room : wanted;
    s->turn.owed = room == 0 && wanted > 0; /* others were faster: the turn that it had was none */
    ph__claim_begin(s, room);
    ph__unlock(s->dispatcher);
    return room;
}

static void exchange(struct ph__poller *poller, struct ph__db *s, struct ph__plan plan)
{
    if (ph__db_is_new(s)) {
        plan.room = greet(poller, s, plan.room);
        if (plan.room == 0)
            return;
    }
    act(poller, s, &plan);
}

void ph__serve(struct ph__poller *poller, struct ph__db *s, const struct ph__plan *plan)
{
    int64_t now_us = ph__boot_us(), began_us = cost_clock_us(s);
    bool cold = s->store->own == NULL && s->heart.registered;

    if (plan->act || plan->claim)
        exchange(poller, s, *plan);
    /* Notifications that nobody takes pile up. */
    if (!(plan->act || plan->claim) || now_us - s->doorbell.heard_us >= HEAR_US)
        (void)ph__db_rang(s);
    if (plan->retention)
        run_retention(s, now_us);
    if (plan->schedule)
        run_scheduler(s, ph__boot_us());
    ph__unclaimed_look(s, now_us);
    if (cold && s->claim.last_count == 0)
        note_cost(s, cost_clock_us(s) - began_us);
    if (may_rest(s))
        ph__db_rest(s);
}

void ph__db_finish(struct ph__poller *poller, struct ph__db *s)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    const struct ph__plan settle = { .act = true };

    for (;;) {
        size_t left;

        ph__lock(dispatcher);
        left = s->settle.decided.count;
        ph__unlock(dispatcher);
        if (left == 0)
            break;
        if (s->health.retry_us && ph__boot_us() >= dispatcher->stop.finish_us)
            return;
        if (ph__boot_us() >= dispatcher->stop.finish_us && s->health.limit_ms > LATE_CALL_MS)
            s->health.limit_ms = LATE_CALL_MS; /* there may be many, and none of them answer */
        act(poller, s, &settle);
        if (s->health.retry_us)
            (void)poll(NULL, 0, FINISH_NAP_MS);
    }
    /* Otherwise nobody would hear it; and where some did not, not for ever. */
    if (!s->health.retry_us && (ph__boot_us() < dispatcher->stop.leave_us || !dispatcher->stop.leave_failed) &&
        !ph__instance_leave(s))
        dispatcher->stop.leave_failed = true;
}
