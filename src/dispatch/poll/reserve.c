/* reserve.c - handler threads that are kept for last attempts: a message lost with this process
 * before its handler has begun would be dead, and no handler would have seen it.
 *
 * A thread is kept from before the claim until the handler begins. Claims of a set are many at the same
 * time, and one whose database hangs would keep a thread from all others: there a thread is kept only
 * for a store that has shown a last attempt. While others have work for every thread that becomes free,
 * such stores and the others take turns. */
#include "dispatch/poll/poll.h"

#define UNUSED_US 1000000 /* none is kept for a store that has let one lapse, for so long */

/* Threads that run no handler and are not kept. */
static long unreserved(const ph_dispatcher *dispatcher)
{
    long busy = (long)dispatcher->works.running - dispatcher->pool.hung;

    return dispatcher->opts.threads - busy - dispatcher->pool.missing - dispatcher->reserve.count;
}

bool ph__threads_are_reserved(const ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    return dispatcher->reserve.count > 0 && unreserved(dispatcher) <= 0;
}

/* Its handlers might wait for transactions instead of beginning. */
static bool waits_for_transactions(const struct ph__db *db)
{
    const ph_dispatcher *dispatcher = db->dispatcher;

    return dispatcher->set && db->tx.waiting >= ph__tx_waiting_max(dispatcher);
}

/* Is a handled last attempt left that the exchange of the next claim may not settle? Another poller
 * does, or so many stand before it. */
static bool is_left(const struct ph__db *db)
{
    if (!ph__second_is_on(db->dispatcher) && db->settle.decided.count <= PH__SETTLE_MAX)
        return false;
    for (const struct ph__batch *batch = db->leases.batches; batch; batch = batch->next) {
        if (batch->last && batch->works[0].state == PH__DECIDED)
            return true;
    }
    return false;
}

/* Not while the second poller settles, or soon will, perhaps handled last attempts: they would be
 * lost with those that come. */
static bool can_reserve(const struct ph__db *db)
{
    const ph_dispatcher *dispatcher = db->dispatcher;

    PH__NEEDS_LOCK(db->dispatcher);
    return !dispatcher->second.calling && unreserved(dispatcher) > ph__waiting_count(dispatcher) &&
           !waits_for_transactions(db) && !is_left(db);
}

bool ph__thread_is_free_for(const struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    return db->last.reserved > 0 || can_reserve(db);
}

static void keep(struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    db->last.reserved++;
    db->dispatcher->reserve.count++;
    db->dispatcher->reserve.others_turn = true;
}

static void give_back(struct ph__db *db)
{
    bool missed = ph__threads_are_reserved(db->dispatcher);

    PH__NEEDS_LOCK(db->dispatcher);
    db->dispatcher->reserve.count -= db->last.reserved;
    if (db->last.reserved > 0 && missed)
        ph__threads_call(db->dispatcher);
    db->last.reserved = 0;
}

static void note(struct ph__db *db, bool waits, bool came)
{
    PH__NEEDS_LOCK(db->dispatcher);
    db->dispatcher->reserve.waiting -= db->last.waits;
    db->dispatcher->reserve.waiting += waits;
    db->last.waits = waits;
    db->last.came = came;
    if (db->settle.decided.count > 0)
        ph__wake_to_settle(db); /* another poller may have to do it now */
}

void ph__reserve(struct ph__db *db, struct ph__exchange_io *io)
{
    bool expected = !db->dispatcher->set || db->last.waits || db->last.came;
    int used = 0;

    PH__NEEDS_LOCK(db->dispatcher);
    for (unsigned i = 0; i < PH__SIDES; i++) {
        unsigned door = (db->claim.door_turn + i) % PH__SIDES;

        io->last[door] = PH__LAST_NOT;
        if (io->room[door] == 0 || !expected)
            continue;
        if (db->last.reserved == used && can_reserve(db))
            keep(db);
        if (db->last.reserved == used)
            continue;
        io->last[door] = PH__LAST_ALONE;
        used++;
    }
}

void ph__reserve_end(struct ph__db *db, const struct ph__exchange_io *io)
{
    bool waits = false, came = false;

    PH__NEEDS_LOCK(db->dispatcher);
    if (io && io->room[PH_OUTBOX] + io->room[PH_INBOX] == 0)
        return; /* it was not about claiming */
    give_back(db);
    for (int door = 0; io && door < PH__SIDES; door++) {
        waits |= io->last_waits[door];
        came |= io->last_came[door];
    }
    note(db, waits, came);
}

void ph__reserve_turn(ph_dispatcher *dispatcher)
{
    size_t count = dispatcher->dbs.count;
    int64_t now_us;

    PH__NEEDS_LOCK(dispatcher);
    if (!dispatcher->set || dispatcher->reserve.waiting == 0 || unreserved(dispatcher) <= 0 ||
        (dispatcher->reserve.others_turn && dispatcher->works.waiting.count > 0) ||
        !ph__claim_allowed(dispatcher))
        return;
    now_us = ph__boot_us();
    for (size_t i = 0; i < count; i++) {
        size_t at = (dispatcher->reserve.turn + i) % count;
        struct ph__db *db = dispatcher->dbs.items[at];

        if (!db->last.waits || db->visit.busy || db->last.reserved > 0 ||
            now_us < db->last.not_before_us || db->leaving || waits_for_transactions(db))
            continue;
        keep(db);
        db->last.until_us = now_us + PH__RESERVED_US;
        db->claim.next_us = 0;
        db->turn.owed = true; /* its turn has come, and there was no thread */
        dispatcher->reserve.turn = at + 1;
        ph__wake_asleep(dispatcher);
        return;
    }
}

int64_t ph__reserve_lapse(struct ph__db *db, int64_t now_us)
{
    PH__NEEDS_LOCK(db->dispatcher);
    if (db->last.reserved == 0)
        return INT64_MAX;
    if (now_us < db->last.until_us)
        return db->last.until_us;
    db->last.not_before_us = now_us + UNUSED_US;
    give_back(db);
    return INT64_MAX;
}

void ph__reserve_lapse_all(ph_dispatcher *dispatcher)
{
    int64_t now_us = dispatcher->reserve.count > 0 ? ph__boot_us() : 0;

    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = 0; dispatcher->reserve.count > 0 && i < dispatcher->dbs.count; i++) {
        if (!dispatcher->dbs.items[i]->visit.busy) /* otherwise its claim is under way */
            (void)ph__reserve_lapse(dispatcher->dbs.items[i], now_us);
    }
}

void ph__reserve_leave(struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    give_back(db);
    note(db, false, false);
}
