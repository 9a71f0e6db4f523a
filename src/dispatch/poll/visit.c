/* visit.c - a poller's visit to a database: greet it if it is new, hear its doorbell, exchange, do
 * the chores that are due, and see whether it can be left alone; and the last visit of all. */
#include "dispatch/poll/poll.h"

#include "core/call.h"
#include "core/error.h"
#include "util/random.h"

#include <poll.h>
#include <time.h>

#define HEAR_US 1000000 /* so often the doorbell is heard even if there is no time to sleep */
#define FINISH_NAP_MS 50
#define LATE_CALL_MS 200

/* Is there nothing to do for the moment? Beside a second poller, which may do it first, the doorbell
 * is armed in any case. */
static bool may_rest(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__plan plan;
    bool rests;
    long wake_at;

    ph__lock(dispatcher);
    plan = ph__plan(db, ph__room(dispatcher, &wake_at), ph__boot_us());
    rests = !dispatcher->phase.ending && (!ph__plan_is_due(&plan) || dispatcher->second.running);
    ph__unlock(dispatcher);
    return rests;
}

/* The cost of a visit: processor time where the database is a file, and otherwise time, since the
 * server spends most of it. */
static int64_t cost_clock_us(const struct ph__db *db)
{
    struct timespec now;

    if (!db->store->backend->file)
        return ph__boot_us();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Where it had to connect first, only to find nothing. */
static void note_cost(struct ph__db *db, int64_t cost_us)
{
    db->visit.cost_us += (cost_us - db->visit.cost_us) / (db->visit.cost_us ? 4 : 1);
}

/* To make a schema may take longer than any call, so it has the time that the user allows. A call
 * before it finds out whether the database is there. */
static bool deploy(struct ph__db *db)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    ph_error err;
    int r;

    if (!db->store->deploy)
        return true;
    r = ph_schema_inspect(db->store, db->health.limit_ms, &status, &err);
    if (r == 0)
        r = ph_migrate(db->store, db->store->timeout_ms, NULL, &err);
    if (r < 0) {
        ph__db_failed(db, &err);
        return false;
    }
    db->store->deploy = false;
    ph__lock(db->dispatcher);
    if (db->health.state == PH__DOUBTFUL)
        db->health.state = PH__NEW;
    ph__unlock(db->dispatcher);
    return true;
}

/* One of a set that was never reached is greeted before anything is claimed: the room of a claim
 * that waits in vain would be missing elsewhere. Returns how much there is after that. */
static int greet(struct ph__poller *poller, struct ph__db *db, int wanted)
{
    const struct ph__plan hello = { .act = true };
    long ignored;
    int room = 0;

    if (!deploy(db))
        return 0;
    ph__act(poller, db, &hello);
    if (db->health.retry_us)
        return 0;
    ph__lock(db->dispatcher);
    room = ph__room(db->dispatcher, &ignored);
    room = room < wanted ? room : wanted;
    db->turn.owed = room == 0 && wanted > 0; /* others were faster: the turn that it had was none */
    ph__claim_begin(db, room);
    ph__unlock(db->dispatcher);
    return room;
}

static void exchange(struct ph__poller *poller, struct ph__db *db, struct ph__plan plan)
{
    if (ph__db_is_new(db)) {
        plan.room = greet(poller, db, plan.room);
        if (plan.room == 0)
            return;
    }
    ph__act(poller, db, &plan);
}

/* Does the chores that are due and do not go with the exchange. */
static void run_chores(struct ph__db *db, const struct ph__plan *plan)
{
    for (unsigned i = 0; i < PH__CHORES && !db->health.retry_us; i++) {
        if (plan->due & 1u << i && ph__chores[i]->run)
            ph__chores[i]->run(db, ph__boot_us());
    }
}

void ph__serve(struct ph__poller *poller, struct ph__db *db, const struct ph__plan *given)
{
    int64_t now_us = ph__boot_us(), began_us = cost_clock_us(db);
    bool cold = db->store->own == NULL && db->heart.registered;
    struct ph__plan plan = *given;

    if (PH__IS_DUE(&plan, LISTEN) && !ph__db_rang(db) && now_us < db->claim.next_us)
        plan.claim = false, plan.room = 0; /* it was nothing, or not for us */
    if (plan.act || plan.claim)
        exchange(poller, db, plan);
    /* Notifications that are not read pile up. */
    if (now_us - db->doorbell.heard_us >= HEAR_US)
        (void)ph__db_rang(db);
    run_chores(db, &plan);
    if (cold && db->claim.last_count == 0)
        note_cost(db, cost_clock_us(db) - began_us);
    if (may_rest(db))
        ph__db_rest(db);
}

void ph__db_finish(struct ph__poller *poller, struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    const struct ph__plan settle = { .act = true };

    for (;;) {
        int64_t finish_us;
        size_t left;

        ph__lock(dispatcher);
        left = db->settle.decided.count;
        finish_us = dispatcher->stop.finish_us;
        ph__unlock(dispatcher);
        if (left == 0)
            break;
        if (db->health.retry_us && ph__boot_us() >= finish_us)
            return;
        if (ph__boot_us() >= finish_us && db->health.limit_ms > LATE_CALL_MS)
            db->health.limit_ms = LATE_CALL_MS; /* there may be many, and none of them answer */
        ph__act(poller, db, &settle);
        if (db->health.retry_us)
            (void)poll(NULL, 0, FINISH_NAP_MS);
    }
    /* Otherwise no poller would hear it; and where some did not, not for ever. */
    if (!db->health.retry_us &&
        (ph__boot_us() < dispatcher->stop.leave_us || !dispatcher->stop.leave_failed) &&
        !ph__instance_leave(db))
        dispatcher->stop.leave_failed = true;
}
