/* claim.c - the exchange of a visit: how much it claims from which door, and what follows from the
 * messages that came. */
#include "dispatch/poll/poll.h"

#define SHORT_CLAIM_US 5000    /* after a claim that found less than it asked for */
#define BACKOFF_FIRST_US 10000 /* after one that found nothing; doubled each time */
#define FALSE_ALARMS_MAX 10
#define LOOK_TURNS 8 /* every so many claims go to an empty door where there is room for one */
/* The heart beats after a tenth of the stale threshold, and a little: by the database's clock, too,
 * the stored beat must be older than that, or the new one is not written. */
#define BEAT_US_PER_S 105000

static bool has_side(const struct ph__db *db, int door)
{
    return db->dispatcher->handlers.sides[door].count > 0;
}

/* Half of the room for each door; where one had nothing last time, nearly all for the other. */
static void share(struct ph__db *s, int room, int rooms[PH__SIDES])
{
    bool inbox = has_side(s, PH_INBOX), both = inbox && has_side(s, PH_OUTBOX);
    int first = both ? (int)(s->claim.door_turn++ % PH__SIDES) : inbox, look;

    if (s->claim.empty[PH_OUTBOX] && s->claim.empty[PH_INBOX])
        s->claim.empty[PH_OUTBOX] = s->claim.empty[PH_INBOX] = false; /* both are looked at anew */
    if (!both) {
        rooms[first] = room;
    } else if (s->claim.empty[PH_OUTBOX] == s->claim.empty[PH_INBOX]) {
        rooms[first] = room - room / 2;
        rooms[!first] = room / 2;
    } else {
        look = room > 1 || s->claim.door_turn % LOOK_TURNS == 0;
        rooms[s->claim.empty[PH_INBOX]] = look;
        rooms[!s->claim.empty[PH_INBOX]] = room - look;
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
    bool quiet; /* nothing was in flight anywhere but the works that it settles */
    uint64_t claim, arrivals;
};

/* Has every door been looked at, since nothing was in flight, and nothing been there? Otherwise, and
 * also if what came has ended already, a handler may have stored messages since. With the lock held. */
static void note_dry(struct ph__db *s, const struct ph__exchange_io *io,
                     const struct before *before)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    bool found = io->claimed[PH_OUTBOX] + io->claimed[PH_INBOX] > 0;
    bool quiet = before->quiet && io->alone && dispatcher->works.in_flight == 0 && !found &&
                 dispatcher->second.claiming == 0 && dispatcher->works.arrivals == before->arrivals;
    uint64_t drained = UINT64_MAX;

    /* Handlers of messages that came since, perhaps from elsewhere, may have stored something
     * behind either door. */
    if (s->claim.dry_arrivals != before->arrivals)
        s->claim.dry[PH_OUTBOX] = s->claim.dry[PH_INBOX] = 0;
    s->claim.dry_arrivals = before->arrivals;
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

/* When to look again. A dispatcher that drains one store first does not rest until it has
 * nothing. */
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
    s->claim.backoff_us =
        ph__earlier(s->claim.backoff_us, (int64_t)dispatcher->opts.poll_ms * 1000);
    return s->claim.backoff_us;
}

static void claimed(struct ph__db *s, const struct ph__exchange_io *io, const struct before *before)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    int64_t now_us = ph__boot_us(), pause_us;
    int count = io->claimed[PH_OUTBOX] + io->claimed[PH_INBOX];
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
    s->claim.more = again;
    s->claim.next_us = s->last.waits && ph__thread_is_free_for(s) ? now_us : now_us + pause_us;
    s->claim.next_us = ph__earlier(s->claim.next_us, ph__unrung_us(s, now_us));
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

/* The result of the call. */
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

/* A caller waits for the end: then messages that are left to other instances for a while are taken,
 * too, since those may be dead; but not of more streams than there may be partitions. */
static int room_in(const struct ph__db *s, int room, bool any_stream)
{
    int most = s->dispatcher->opts.max_partitions;

    return any_stream && most > 0 && most < room ? most : room;
}

void ph__act(struct ph__poller *poller, struct ph__db *s, const struct ph__plan *plan)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    bool renew = PH__IS_DUE(plan, RENEW);
    struct ph__exchange_io io = { .settle = !plan->outage, .renew = renew };
    int64_t began_us = ph__boot_us(), took_us;
    struct before before;
    ph_error err;
    int r;

    ph__lock(dispatcher);
    dispatcher->works.claims += plan->room > 0;
    before = (struct before){ dispatcher->works.in_flight == s->settle.decided.count &&
                                  dispatcher->second.claiming == 0,
                              dispatcher->works.claims, dispatcher->works.arrivals };
    io.any_stream = before.quiet && dispatcher->stop.drain_waiters > 0;
    if (plan->room > 0)
        s->claim.stream_free = false;
    if (plan->room > 0) {
        share(s, room_in(s, plan->room, io.any_stream), io.room);
        ph__reserve(s, &io);
    }
    ph__unlock(dispatcher);
    r = ph__exchange(poller, s, &io, &err);
    took_us = ph__boot_us() - began_us;
    ph__lock(dispatcher);
    ph__reserve_end(s, r == 0 ? &io : NULL);
    adapt(s, plan->room, io.claimed[PH_OUTBOX] + io.claimed[PH_INBOX], took_us);
    ph__unlock(dispatcher);
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
