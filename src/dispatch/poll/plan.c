/* plan.c - what a database needs now, and when to look again: told from memory alone. Chores are rows
 * of a table; only claims, which wait for their turn and for room, are more than that. */
#include "dispatch/poll/poll.h"

#define FLUSH_US 2000        /* a decided work waits at most so long for company */
#define SECOND_LATE_US 50000 /* … for the second poller, if there is one */
#define TURN_US 20000        /* … and so long for its database's turn to claim */
#define TURN_COLD_US 500000  /* … which would have to connect for it */
#define THREAD_LOOK_US 5000  /* so often it is looked whether a thread is free for a last attempt */
#define THREAD_RETRY_US 5000000 /* after the system has refused one */
#define SLEEP_MAX_US 60000000

/* ---------------------------------------------------------- chores that go with an exchange */

static int64_t turn_us(const struct ph__db *db)
{
    return db->has_connection ? TURN_US : TURN_COLD_US;
}

/* Not later if there are enough of them, or no others to wait for. */
static int64_t settle_us(const struct ph__chore_look *look)
{
    const struct ph__db *db = look->db;
    size_t count = db->settle.decided.count;
    int64_t wait_us = look->lazy ? turn_us(db) : FLUSH_US;

    if (count == 0 || db->settle.blocked)
        return INT64_MAX;
    if (look->second)
        return db->settle.since_us + SECOND_LATE_US;
    if (count >= PH__SETTLE_MAX || db->dispatcher->phase.stopping || db->leaving ||
        (!look->lazy && db->works.waiting + db->works.running == 0))
        return 0;
    return db->settle.since_us + wait_us;
}

/* Leases of nothing need no renewal. */
static int64_t renew_us(const struct ph__chore_look *look)
{
    return look->db->works.in_flight > 0 ? look->db->leases.renew_us : INT64_MAX;
}

static int64_t heartbeat_us(const struct ph__chore_look *look)
{
    return look->db->heart.beat_us;
}

static int64_t retry_us(const struct ph__chore_look *look)
{
    return look->db->health.retry_us ? look->db->health.retry_us : INT64_MAX;
}

/* ------------------------------------------------------------------ chores for themselves */

static int64_t listen_us(const struct ph__chore_look *look)
{
    return look->db->doorbell.hear ? 0 : INT64_MAX;
}

/* All is settled, and nobody has more to say. */
static int64_t leave_us(const struct ph__chore_look *look)
{
    return look->db->leaving && look->db->works.in_flight == 0 ? 0 : INT64_MAX;
}

/* --------------------------------------------------------------------------- the table */

const struct ph__chore ph__chores[PH__CHORES] = {
    [PH__CHORE_SETTLE] = { "settle", false, false, settle_us, NULL, NULL },
    [PH__CHORE_RENEW] = { "renew", false, true, renew_us, NULL, NULL },
    [PH__CHORE_HEARTBEAT] = { "heartbeat", false, false, heartbeat_us, NULL, NULL },
    [PH__CHORE_RETRY] = { "retry", false, true, retry_us, NULL, NULL },
    [PH__CHORE_LISTEN] = { "listen", true, true, listen_us, NULL, NULL },
    [PH__CHORE_LEAVE] = { "leave", true, true, leave_us, NULL, NULL },
    [PH__CHORE_RETENTION] = { "retention", true, false, ph__retention_us, ph__retention_visit_us,
                              ph__retention_run },
    [PH__CHORE_SCHEDULE] = { "schedule", true, false, ph__schedule_us, NULL, ph__schedule_run },
    [PH__CHORE_UNCLAIMED] = { "unclaimed", true, false, ph__unclaimed_us, ph__unclaimed_visit_us,
                              ph__unclaimed_run },
};

/* What is due goes into the plan; what is not is a reason to wake up later. */
static void plan_chores(const struct ph__chore_look *look, struct ph__plan *plan)
{
    plan->outage = look->now_us < look->db->health.retry_us;
    for (unsigned i = 0; i < PH__CHORES; i++) {
        const struct ph__chore *chore = &ph__chores[i];
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

/* -------------------------------------------------------------------------- claims */

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

/* When it must act even if it is not its turn to claim. */
static int64_t urge_us(const struct ph__chore_look *look)
{
    const struct ph__db *db = look->db;
    int64_t urge_us = ph__earlier(renew_us(look), db->heart.beat_us);

    if (db->settle.decided.count > 0 && !db->settle.blocked && !look->second)
        urge_us = ph__earlier(urge_us, db->settle.since_us + turn_us(db));
    return urge_us;
}

static void plan_claim(const struct ph__chore_look *look, struct ph__plan *plan)
{
    const struct ph__db *db = look->db;
    bool settles = plan->due & 1u << PH__CHORE_SETTLE;
    bool freed = db->claim.stream_free && (settles || db->settle.decided.count == 0);

    if (look->room == 0 || plan->outage)
        return;
    plan->claim = look->now_us >= look->claim_us || freed || (plan->act && db->claim.found);
    if (plan->claim)
        plan->room = look->room;
    else if (look->claim_us < plan->wake_us)
        plan->wake_us = look->claim_us;
}

struct ph__plan ph__plan(const struct ph__db *db, int room, int64_t now_us)
{
    const ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__plan plan = { .wake_us = now_us + SLEEP_MAX_US };
    bool no_thread = db->last.waits && !ph__thread_is_free_for(db);
    struct ph__chore_look look = { .db = db,
                                   .now_us = now_us,
                                   .room = room_here(db, room, no_thread, now_us),
                                   .claim_us = claim_us(db),
                                   .second = ph__second_is_on(dispatcher) };

    /* It also waits for its turn to claim, and can settle then. */
    look.lazy = look.room > 0 && now_us >= look.claim_us && dispatcher->dbs.count > 1 &&
                dispatcher->stop.drain_waiters == 0;
    plan_chores(&look, &plan);
    plan_claim(&look, &plan);
    plan.urge_us = urge_us(&look);
    if (no_thread && plan.wake_us > now_us + THREAD_LOOK_US)
        plan.wake_us = now_us + THREAD_LOOK_US;
    if (dispatcher->pool.missing > 0 && plan.wake_us > now_us + THREAD_RETRY_US)
        plan.wake_us = now_us + THREAD_RETRY_US;
    return plan;
}
