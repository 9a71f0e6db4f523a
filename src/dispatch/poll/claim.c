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
static void share(struct ph__db *db, int room, int rooms[PH__SIDES])
{
    bool inbox = has_side(db, PH_INBOX), both = inbox && has_side(db, PH_OUTBOX);
    int first = both ? (int)(db->claim.door_turn++ % PH__SIDES) : inbox, look;

    if (db->claim.empty[PH_OUTBOX] && db->claim.empty[PH_INBOX])
        db->claim.empty[PH_OUTBOX] = db->claim.empty[PH_INBOX] =
            false; /* both are looked at anew */
    if (!both) {
        rooms[first] = room;
    } else if (db->claim.empty[PH_OUTBOX] == db->claim.empty[PH_INBOX]) {
        rooms[first] = room - room / 2;
        rooms[!first] = room / 2;
    } else {
        look = room > 1 || db->claim.door_turn % LOOK_TURNS == 0;
        rooms[db->claim.empty[PH_INBOX]] = look;
        rooms[!db->claim.empty[PH_INBOX]] = room - look;
    }
}

/* Is there something to find, as far as is known? *ret_again: at once. */
static bool has_found(struct ph__db *db, const struct ph__exchange_io *io, bool *ret_again)
{
    bool found = false;

    *ret_again = false;
    for (int door = 0; door < PH__SIDES; door++) {
        int room = io->room[door];

        if (room > 0)
            db->claim.empty[door] =
                io->claimed[door] == 0 && !io->more[door] && !io->last_waits[door];
        if (!has_side(db, door) || db->claim.empty[door])
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
static void note_dry(struct ph__db *db, const struct ph__exchange_io *io,
                     const struct before *before)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    bool found = io->claimed[PH_OUTBOX] + io->claimed[PH_INBOX] > 0;
    bool quiet = before->quiet && io->alone && dispatcher->works.in_flight == 0 && !found &&
                 dispatcher->second.claiming == 0 && dispatcher->works.arrivals == before->arrivals;
    uint64_t drained = UINT64_MAX;

    /* Handlers of messages that came since, perhaps from elsewhere, may have stored something
     * behind either door. */
    if (db->claim.dry_arrivals != before->arrivals)
        db->claim.dry[PH_OUTBOX] = db->claim.dry[PH_INBOX] = 0;
    db->claim.dry_arrivals = before->arrivals;
    for (int door = 0; door < PH__SIDES; door++) {
        if (!quiet || io->more[door] || io->last_waits[door])
            db->claim.dry[door] = 0;
        else if (io->room[door] > 0)
            db->claim.dry[door] = before->claim;
        if (has_side(db, door) && db->claim.dry[door] < drained)
            drained = db->claim.dry[door];
    }
    if (drained == 0 || drained < db->claim.drained)
        return;
    db->claim.drained = drained;
    db->claim.drained_arrivals = dispatcher->works.arrivals;
    pthread_cond_broadcast(&dispatcher->wait.changed);
}

/* Where a look at once finds nothing each time, since the rest of the streams comes when their runs
 * are settled, and with that, the looks in between can be left out. */
static void note_in_hand(struct ph__db *db, const struct ph__exchange_io *io)
{
    ph__lock(db->dispatcher);
    if (!db->claim.found)
        db->claim.in_hand = db->works.in_flight > 0;
    else if (io->plain || !io->settled)
        db->claim.in_hand = false;
    ph__unlock(db->dispatcher);
}

/* When to look again. A dispatcher that drains one store first does not rest until it has
 * nothing. */
static int64_t claim_pause_us(struct ph__db *db, bool again)
{
    const ph_dispatcher *dispatcher = db->dispatcher;
    bool at_once =
        again || (dispatcher->set && dispatcher->opts.selection == PH_SELECT_DRAIN_FIRST);

    if (db->claim.found) {
        db->claim.backoff_us = 0;
        return at_once && !db->claim.in_hand ? 0 : SHORT_CLAIM_US;
    }
    db->claim.backoff_us = db->claim.backoff_us ? db->claim.backoff_us * 2 : BACKOFF_FIRST_US;
    db->claim.backoff_us =
        ph__earlier(db->claim.backoff_us, (int64_t)dispatcher->opts.poll_ms * 1000);
    return db->claim.backoff_us;
}

static void claimed(struct ph__db *db, const struct ph__exchange_io *io,
                    const struct before *before)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    int64_t now_us = ph__boot_us(), pause_us;
    int count = io->claimed[PH_OUTBOX] + io->claimed[PH_INBOX];
    bool again;

    db->claim.found = has_found(db, io, &again);
    note_in_hand(db, io);
    if (db->claim.found)
        db->doorbell.false_alarms = 0;
    else if (db->doorbell.rung && db->doorbell.false_alarms < FALSE_ALARMS_MAX)
        db->doorbell.false_alarms++;
    db->doorbell.rung = false;
    if (count > 0)
        db->visit.worked_us = now_us;
    pause_us = claim_pause_us(db, again);
    ph__lock(dispatcher);
    db->claim.at_us = now_us;
    db->claim.last_count = count;
    db->claim.through = !db->claim.found;
    db->claim.more = again;
    db->claim.next_us = db->last.waits && ph__thread_is_free_for(db) ? now_us : now_us + pause_us;
    db->claim.next_us = ph__earlier(db->claim.next_us, ph__unrung_us(db, now_us));
    if (count == 0)
        dispatcher->stats.empty_claims++;
    note_dry(db, io, before);
    ph__drain_look(dispatcher);
    ph__unlock(dispatcher);
}

/* A claim that takes a good part of the lease brings messages that are soon lost again. */
static void adapt(struct ph__db *db, int room, int count, int64_t took_us)
{
    if (room > 1 && took_us > db->dispatcher->times.lease_us / 4)
        db->claim.max = room / 2;
    else if (count > 0 && count == db->claim.max)
        db->claim.max = (int)ph__earlier((int64_t)db->claim.max * 2, PH__CLAIM_MAX);
}

/* The result of the call. */
static void acted(struct ph__db *db, const struct ph__exchange_io *io, int room,
                  const struct before *before, int64_t took_us)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    ph__lock(dispatcher);
    dispatcher->stats.exchanges++;
    db->works.exchanges++;
    ph__db_took(db, took_us);
    ph__unlock(dispatcher);
    if (room > 0)
        claimed(db, io, before);
}

/* A caller waits for the end: then messages that are left to other instances for a while are taken,
 * too, since those may be dead; but not of more streams than there may be partitions. */
static int room_in(const struct ph__db *db, int room, bool any_stream)
{
    int most = db->dispatcher->opts.max_partitions;

    return any_stream && most > 0 && most < room ? most : room;
}

void ph__act(struct ph__poller *poller, struct ph__db *db, const struct ph__plan *plan)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    bool renew = PH__IS_DUE(plan, RENEW);
    struct ph__exchange_io io = { .settle = !plan->outage, .renew = renew };
    int64_t began_us = ph__boot_us(), took_us;
    struct before before;
    ph_error err;
    int r;

    ph__lock(dispatcher);
    dispatcher->works.claims += plan->room > 0;
    before = (struct before){ dispatcher->works.in_flight == db->settle.decided.count &&
                                  dispatcher->second.claiming == 0,
                              dispatcher->works.claims, dispatcher->works.arrivals };
    io.any_stream = before.quiet && dispatcher->stop.drain_waiters > 0;
    if (plan->room > 0)
        db->claim.stream_free = false;
    if (plan->room > 0) {
        share(db, room_in(db, plan->room, io.any_stream), io.room);
        ph__reserve(db, &io);
    }
    ph__unlock(dispatcher);
    r = ph__exchange(poller, db, &io, &err);
    took_us = ph__boot_us() - began_us;
    ph__lock(dispatcher);
    ph__reserve_end(db, r == 0 ? &io : NULL);
    adapt(db, plan->room, io.claimed[PH_OUTBOX] + io.claimed[PH_INBOX], took_us);
    ph__unlock(dispatcher);
    if (r == 0) {
        db->heart.beat_us = began_us + (int64_t)dispatcher->opts.stale_threshold_s * BEAT_US_PER_S;
        acted(db, &io, plan->room, &before, took_us);
    } else if (r == PH_EEVICTED) {
        ph__instance_evicted(db);
        db->heart.beat_us = 0; /* it registers at once, also if there is nothing to claim for */
    } else {
        db->health.exchange_failed |= io.settle;
        ph__db_failed(db, &err);
    }
}
