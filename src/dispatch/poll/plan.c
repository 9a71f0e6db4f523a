/* plan.c - the present needs of a database, and when to look again: told from memory alone. Chores
 * are rows of a table; only claims, which wait for their turn and for room, are more than that. */
#include "dispatch/poll/poll.h"

#define FLUSH_US 2000        /* a decided work waits at most so long for company */
#define SECOND_LATE_US 50000 /* … for the second poller, if there is one */
#define TURN_US 20000        /* … and so long for its database's turn to claim */
#define TURN_COLD_US 500000  /* … which would have to connect for it */
#define THREAD_LOOK_US 5000  /* so often it is looked whether a thread is free for a last attempt */
#define THREAD_RETRY_US 5000000 /* after the system has refused one */
#define SLEEP_MAX_US 60000000

/* --------------------------------------------------------------------------- chores */

/* Not later if there are enough of them, or no others to wait for. */
static int64_t settle_us(const struct ph__chore_look *look)
{
    const struct ph__db *db = look->db;
    size_t count = db->settle.decided.count;

    if (count == 0 || db->settle.blocked)
        return INT64_MAX;
    if (look->second)
        return db->settle.since_us + SECOND_LATE_US;
    if (count >= PH__SETTLE_MAX || db->dispatcher->phase.stopping || db->leaving)
        return 0;
    if (look->lazy)
        return db->settle.since_us + (db->has_connection ? TURN_US : TURN_COLD_US);
    return db->works.waiting + db->works.running > 0 ? db->settle.since_us + FLUSH_US : 0;
}

const struct ph__chore ph__chore_settle = { .due_us = settle_us };

/* Leases of nothing need no renewal. */
static int64_t renew_us(const struct ph__chore_look *look)
{
    return look->db->works.in_flight > 0 ? look->db->leases.renew_us : INT64_MAX;
}

const struct ph__chore ph__chore_renew = { .in_outage = true, .due_us = renew_us };

#define CHORE_OF(NUMBER, name) &ph__chore_##name,
const struct ph__chore *const ph__chores[PH__CHORES] = { PH__CHORE_MAP(CHORE_OF) };

/* A chore that is due goes into the plan; any other is a reason to wake up later. */
static void plan_chores(const struct ph__chore_look *look, struct ph__plan *plan)
{
    for (unsigned i = 0; i < PH__CHORES; i++) {
        const struct ph__chore *chore = ph__chores[i];
        int64_t due_us;

        if (plan->outage && !chore->in_outage)
            continue;
        due_us = chore->due_us(look);
        if (look->now_us >= due_us) {
            plan->due |= 1u << i;
            plan->act |= !chore->apart;
            if (chore->visit_us)
                due_us = chore->visit_us(look);
        }
        if (look->now_us >= due_us)
            plan->chores |= chore->apart;
        else if (due_us < plan->wake_us)
            plan->wake_us = due_us;
    }
}

/* --------------------------------------------------------------------------- claims */

/* A doorbell that may have rung is a reason to claim; but where many share a database, and others were
 * quicker lately, not all of them come running at every ring. */
static int64_t claim_us(const struct ph__db *db)
{
    return db->doorbell.hear ? ph__earlier(db->claim.next_us, ph__ring_us(db)) : db->claim.next_us;
}

/* Of all that there is, so much may be claimed here. no_thread: a last attempt stands first, and there
 * is no thread for it. */
static int room_here(const struct ph__db *db, int room, bool no_thread, int64_t now_us)
{
    if (db->last.reserved > 0 && room == 0 && ph__claim_allowed(db->dispatcher))
        room = 1;
    if (db->leaving || no_thread || ph__db_is_held_up(db, now_us))
        return 0;
    return room < db->claim.max ? room : db->claim.max;
}

/* due_us: not before, but for a stream that goes on, or along with what is to be done anyway. */
static void plan_claim(const struct ph__db *db, int room, int64_t now_us, int64_t due_us,
                       struct ph__plan *plan)
{
    bool freed =
        db->claim.stream_free && (PH__IS_DUE(plan, SETTLE) || db->settle.decided.count == 0);

    if (room == 0 || plan->outage)
        return;
    plan->claim = now_us >= due_us || freed || (plan->act && db->claim.found);
    if (plan->claim)
        plan->room = room;
    else
        plan->wake_us = ph__earlier(plan->wake_us, due_us);
}

struct ph__plan ph__plan(const struct ph__db *db, int room, int64_t now_us)
{
    const ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__plan plan = { .outage = now_us < db->health.retry_us,
                             .wake_us = now_us + SLEEP_MAX_US };
    struct ph__chore_look look = { db, now_us, .second = ph__second_is_on(dispatcher) };
    bool no_thread = db->last.waits && !ph__thread_is_free_for(db);
    int64_t due_us = claim_us(db);

    PH__NEEDS_LOCK(dispatcher);
    room = room_here(db, room, no_thread, now_us);
    /* It also waits for its turn to claim, and can settle then. */
    look.lazy = room > 0 && now_us >= due_us && dispatcher->dbs.count > 1 &&
                dispatcher->stop.drain_waiters == 0;
    plan_chores(&look, &plan);
    plan_claim(db, room, now_us, due_us, &plan);
    if (no_thread)
        plan.wake_us = ph__earlier(plan.wake_us, now_us + THREAD_LOOK_US);
    if (dispatcher->pool.missing > 0)
        plan.wake_us = ph__earlier(plan.wake_us, now_us + THREAD_RETRY_US);
    return plan;
}
