/* second.c - a second poller for one database that serves several connections at once.
 *
 * It has a connection of its own and settles, so that the first one can listen, and claim at once
 * when the doorbell rings. Where there is plenty it claims, too: one batch is fetched while another
 * is handed out. All else is left to the first, and so is everything when a call of the second has
 * failed: then the first finds out why. */
#include "dispatch/poll/poll.h"

#define FLUSH_US 2000       /* a decided work waits at most so long for company */
#define OFF_US 1000000      /* so long the first does without, after a call that failed */
#define OFF_MAX_US 60000000 /* … and twice as long each time, up to this */
#define NOTHING_US 10000    /* the first looks no sooner, if the second has found nothing */
#define SOME_US 5000        /* … and no later, if it has found as much as it asked for */
#define SLEEP_MAX_US 60000000

/* Last attempts, and the threads that are kept for them, are the first one's affair: it settles the
 * handled ones before it claims the next, so that no more of them are lost with the process than it
 * has threads. */
bool ph__second_is_on(const ph_dispatcher *dispatcher)
{
    const struct ph__db *db;

    PH__NEEDS_LOCK(dispatcher);
    if (!dispatcher->second.running)
        return false;
    db = dispatcher->dbs.items[0];
    return !dispatcher->phase.stopping && db->health.connected &&
           dispatcher->second.off_until_us == 0 && !db->last.waits && !db->last.came;
}

/* If the call of the second is held up, the first settles what that call is not about. */
void ph__wake_to_settle(struct ph__db *db)
{
    bool second = ph__second_is_on(db->dispatcher);

    if (second)
        pthread_cond_signal(&db->dispatcher->wait.second_ready);
    if (!second || db->dispatcher->second.calling)
        ph__wake_for(db);
}

/* How long until there is something to settle; 0: there is. */
static int64_t due_in_us(const struct ph__db *db, int64_t now_us)
{
    const struct ph__settle_state *settle = &db->settle;

    if (!ph__second_is_on(db->dispatcher) || settle->decided.count == 0 || settle->blocked)
        return SLEEP_MAX_US;
    if (settle->decided.count >= PH__SETTLE_MAX || db->works.waiting + db->works.running == 0 ||
        now_us >= settle->since_us + FLUSH_US)
        return 0;
    return settle->since_us + FLUSH_US - now_us;
}

/* How many messages it may claim: where there may be more, or where a stream may go on. */
static int claim_room(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    long ignored;
    int room;

    if (db->claim.through && !db->claim.stream_free)
        return 0;
    room = (int)ph__earlier(ph__room(dispatcher, &ignored), db->claim.max);
    if (room > 0)
        db->claim.stream_free = false;
    return room;
}

/* Half of the room for each door that has handlers. */
static void share(ph_dispatcher *dispatcher, int room, struct ph__exchange_io *io)
{
    int odd = dispatcher->second.turn++ & 1; /* where there is room for one */
    bool outbox = dispatcher->handlers.sides[PH_OUTBOX].count > 0;
    bool inbox = dispatcher->handlers.sides[PH_INBOX].count > 0;

    io->room[PH_INBOX] = inbox ? (outbox ? (room + odd) / 2 : room) : 0;
    io->room[PH_OUTBOX] = room - io->room[PH_INBOX];
    io->last[PH_OUTBOX] = io->last[PH_INBOX] = PH__LAST_NOT;
}

/* Is there more than it has claimed, as far as it has seen? Where there was room for one it has not
 * looked behind both doors. */
static bool is_more(const ph_dispatcher *dispatcher, const struct ph__exchange_io *io)
{
    bool more = false;

    for (int door = 0; door < PH__SIDES; door++) {
        if (dispatcher->handlers.sides[door].count > 0)
            more |= io->claimed[door] == io->room[door] || io->more[door] || io->last_waits[door];
    }
    return more;
}

/* A claim of its own may have shown it otherwise. */
static void let_first_look(struct ph__db *db, int64_t pause_us)
{
    int64_t at_us = ph__boot_us() + pause_us;

    if (db->visit.busy) { /* what its claim shows may have come before this */
        db->claim.stream_free |= db->claim.through;
        return;
    }
    db->claim.through = false;
    db->claim.next_us = ph__earlier(db->claim.next_us, at_us);
    if (at_us < db->dispatcher->pollers.asleep_until_us)
        ph__wake_for(db);
}

/* It need not look at once. */
static void let_first_rest(struct ph__db *db)
{
    int64_t now_us = ph__boot_us();

    if (db->visit.busy || db->doorbell.rung || db->doorbell.hear ||
        db->dispatcher->stop.drain_waiters > 0)
        return;
    db->claim.through = true;
    if (db->claim.next_us < now_us + NOTHING_US)
        db->claim.next_us = ph__earlier(now_us + NOTHING_US, ph__unrung_us(db, now_us));
}

static void note_claim(struct ph__db *db, const struct ph__exchange_io *io)
{
    bool found = io->claimed[PH_OUTBOX] + io->claimed[PH_INBOX] > 0;
    bool more = is_more(db->dispatcher, io);

    db->dispatcher->stats.empty_claims += !found;
    db->claim.more &= more;
    if (more)
        let_first_look(db, found ? SOME_US : 0);
    else if (!found)
        let_first_rest(db);
}

/* Its result; with the lock held. */
static void note(struct ph__db *db, const struct ph__exchange_io *io, int room, int r)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    bool was_short = dispatcher->room.short_of_it || dispatcher->room.wake_at >= 0;
    long ignored;

    PH__NEEDS_LOCK(db->dispatcher);
    if (r < 0) {
        int64_t twice_us = dispatcher->second.off_us * 2;

        dispatcher->second.off_us = twice_us < OFF_US       ? OFF_US
                                    : twice_us < OFF_MAX_US ? twice_us
                                                            : OFF_MAX_US;
        dispatcher->second.off_until_us = ph__boot_us() + dispatcher->second.off_us;
        db->claim.stream_free |= room > 0; /* it has not been looked */
        ph__wake_for(db);
        return;
    }
    dispatcher->second.off_us = 0;
    dispatcher->stats.exchanges += io->settled || room > 0;
    db->works.exchanges += io->settled || room > 0;
    if (room > 0)
        note_claim(db, io);
    if (db->last.waits)
        let_first_look(db, 0);
    ph__drain_look(dispatcher);
    /* The room that it saw taken is free again, or the settlements made some. */
    if ((room > 0 && was_short) ||
        ((was_short || db->claim.more) && ph__room(dispatcher, &ignored) > 0))
        ph__wake_for(db);
}

/* An outage is found by the first, which says so. But if the first is well and the second has failed
 * twice in a row, it is the second connection. With the lock held, which it lets go meanwhile. */
static void say(struct ph__db *db, int r, const ph_error *err)
{
    struct ph__second *second = &db->dispatcher->second;
    bool failed = r < 0 && r != PH_EEVICTED && second->off_us > 0 && db->health.connected;

    if (second->said ? r < 0 : !failed)
        return;
    second->said = failed;
    ph__unlock(db->dispatcher);
    if (failed)
        ph__say(db, PH_LOG_WARN,
                "the second connection cannot be used; going on with one until it can", NULL,
                "error", err->message);
    else
        ph__say(db, PH_LOG_WARN, "the second connection is back", NULL, NULL, NULL);
    ph__lock(db->dispatcher);
}

/* With the lock held, which it lets go meanwhile. False: it came to nothing. */
static bool act(struct ph__poller *poller, struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__exchange_io io = { .settle = true };
    int room = claim_room(db), r;
    ph_error err;

    PH__NEEDS_LOCK(poller->dispatcher);
    share(dispatcher, room, &io);
    dispatcher->works.claims += room > 0;
    dispatcher->second.claiming = room;
    dispatcher->second.calling = true;
    dispatcher->room.claiming += room;
    ph__unlock(dispatcher);
    r = ph__exchange(poller, db, &io, &err);
    ph__lock(dispatcher);
    dispatcher->second.calling = false;
    dispatcher->room.claiming -= room;
    dispatcher->second.claiming = 0;
    say(db, r, &err);
    note(db, &io, room, r);
    return io.settled || io.claimed[PH_OUTBOX] + io.claimed[PH_INBOX] > 0;
}

/* It is tried again when the first has had time to find out. */
static void turn_on_again(ph_dispatcher *dispatcher, int64_t now_us)
{
    if (dispatcher->second.off_until_us && now_us >= dispatcher->second.off_until_us)
        dispatcher->second.off_until_us = 0;
}

void *ph__second_poll(void *context)
{
    struct ph__poller *poller = context;
    ph_dispatcher *dispatcher = poller->dispatcher;
    struct ph__db *db = dispatcher->dbs.items[0];

    ph__thread_begin(dispatcher);
    ph__lock(dispatcher);
    while (!dispatcher->phase.ending) {
        int64_t wait_us = due_in_us(db, ph__boot_us());

        if (wait_us == 0 && !act(poller, db))
            wait_us = FLUSH_US;
        if (dispatcher->second.off_until_us)
            wait_us = ph__earlier(wait_us, FLUSH_US * 100);
        if (wait_us > 0 && !dispatcher->phase.ending)
            ph__wait_us(dispatcher, &dispatcher->wait.second_ready, wait_us);
        turn_on_again(dispatcher, ph__boot_us());
    }
    dispatcher->second.running = false;
    pthread_cond_broadcast(&dispatcher->wait.changed);
    ph__unlock(dispatcher);
    ph_close(poller->store);
    poller->store = NULL;
    ph__dispatcher_drop(dispatcher);
    return NULL;
}
