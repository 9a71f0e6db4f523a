/* strategy.c - from which database to claim next: in turn, one until it has nothing, or as a callback
 * says. */
#include "dispatch/poll/poll.h"

#include "util/alloc.h"

size_t ph__db_index(const ph_dispatcher *dispatcher, uint64_t serial)
{
    size_t i = 0;

    PH__NEEDS_LOCK(dispatcher);
    while (i < dispatcher->dbs.count && dispatcher->dbs.items[i]->serial != serial)
        i++;
    return i;
}

/* Are enough of the pollers with databases of such health? */
static bool is_kept_back(const struct ph__db *db)
{
    const ph_dispatcher *dispatcher = db->dispatcher;
    const struct ph__pollers_use use = { dispatcher->pollers.count, dispatcher->pick.failing,
                                         dispatcher->pick.slow, dispatcher->pick.any_well };

    return db->entry && ph__share_is_used_up(ph__health_meaning(db->health.state)->share, &use);
}

bool ph__db_can_be_served(const struct ph__db *db, bool connections_left)
{
    PH__NEEDS_LOCK(db->dispatcher);
    return !db->visit.busy && (db->has_connection || connections_left) && !is_kept_back(db);
}

bool ph__db_is_ready(const struct ph__db *db, bool connections_left)
{
    return ph__db_can_be_served(db, connections_left) && db->visit.plan.claim;
}

/* Is the store that is drained first not through yet, so that no other is claimed from? */
static bool holds_on(const struct ph__db *db, int64_t now_us)
{
    if (db->visit.busy)
        return now_us < db->visit.began_us + PH__STUCK_US &&
               (!db->claim.through || db->visit.plan.room > 0);
    return !db->claim.through && !db->leaving && !db->health.retry_us && !is_kept_back(db);
}

/* Is a poller with a database that was never claimed from? Then those that had their batch wait for
 * it, so that each gives one before any gives a second; but not for long, and not if it has failed
 * before. */
static bool is_greeting(const ph_dispatcher *dispatcher, int64_t now_us)
{
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        const struct ph__db *db = dispatcher->dbs.items[i];

        if (db->turn.greeting && now_us < db->visit.began_us + PH__STUCK_US)
            return true;
    }
    return false;
}

void ph__turn_on(ph_dispatcher *dispatcher, size_t to)
{
    size_t count = dispatcher->dbs.count;

    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = dispatcher->pick.claim_turn % count; i != to; i = (i + 1) % count) {
        struct ph__db *db = dispatcher->dbs.items[i];

        db->turn.owed |=
            db->visit.busy && db->visit.plan.room == 0 && !db->claim.through && !db->leaving;
    }
    dispatcher->pick.claim_turn = to + 1;
}

/* Lower comes first: databases that were never claimed from, then those that missed their turn. */
static int rank(const struct ph__db *db)
{
    if (!db->turn.met)
        return 0;
    return db->turn.owed ? 1 : 2;
}

/* In a circle, by rank. */
static struct ph__db *next_in_turn(ph_dispatcher *dispatcher, bool connections_left, int64_t now_us)
{
    bool greeting = is_greeting(dispatcher, now_us);
    size_t count = dispatcher->dbs.count;
    struct ph__db *next = NULL;

    for (size_t i = 0; i < count; i++) {
        struct ph__db *db = dispatcher->dbs.items[(dispatcher->pick.claim_turn + i) % count];

        if (ph__db_is_ready(db, connections_left) && !(greeting && db->claim.at_us) &&
            (!next || rank(db) < rank(next)))
            next = db;
    }
    return next;
}

struct ph__db *ph__choose(ph_dispatcher *dispatcher, bool connections_left, int64_t now_us)
{
    size_t count = dispatcher->dbs.count;
    size_t last = ph__db_index(dispatcher, dispatcher->pick.last_chosen);

    PH__NEEDS_LOCK(dispatcher);
    if (last < count && dispatcher->opts.selection == PH_SELECT_DRAIN_FIRST) {
        struct ph__db *db = dispatcher->dbs.items[last];

        if (holds_on(db, now_us))
            return ph__db_is_ready(db, connections_left) ? db : NULL;
    }
    return next_in_turn(dispatcher, connections_left, now_us);
}

/* How long ago its last claim was; 0: there was none, so one of this very moment is a little older. */
static int64_t claimed_ago_us(const struct ph__db *db, int64_t now_us)
{
    if (!db->claim.at_us)
        return 0;
    return now_us > db->claim.at_us ? now_us - db->claim.at_us : 1;
}

struct ph__db *ph__ask(ph_dispatcher *dispatcher, bool connections_left, int64_t now_us)
{
    size_t count = dispatcher->dbs.count,
           last = ph__db_index(dispatcher, dispatcher->pick.last_chosen);
    ph_candidate *candidates = ph__alloc_zero(count, sizeof(*candidates));
    uint64_t *serials = ph__alloc_zero(count, sizeof(*serials));
    size_t at = SIZE_MAX;
    int answer;

    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = 0; candidates && serials && i < count; i++) {
        const struct ph__db *db = dispatcher->dbs.items[i];

        serials[i] = db->serial;
        candidates[i] =
            (ph_candidate){ db->id, ph__db_is_ready(db, connections_left), db->claim.last_count,
                            claimed_ago_us(db, now_us), (int)db->works.in_flight };
    }
    dispatcher->pick.choose_us = now_us + (int64_t)dispatcher->opts.poll_ms * 1000;
    if (candidates && serials) {
        dispatcher->pick.selecting = true; /* so no database goes away */
        ph__poller_call(dispatcher);
        ph__unlock(dispatcher);
        answer = dispatcher->opts.select(dispatcher->opts.select_context, candidates, count, last);
        ph__lock(dispatcher);
        dispatcher->pick.selecting = false;
        if (answer >= 0 && (size_t)answer < count && candidates[answer].ready)
            at = ph__db_index(dispatcher, serials[answer]);
    }
    ph__dealloc(candidates);
    ph__dealloc(serials);
    return at < dispatcher->dbs.count ? dispatcher->dbs.items[at] : NULL;
}
