/* select.c - which database comes next: urgent things in turn, claims as the strategy says. */
#include "dispatch/dispatch.h"

#include "util/alloc.h"

#include <string.h>

#define STUCK_US 1000000 /* a claim that lasts longer does not keep drain-first from the next */

/* ------------------------------------------------------------------ strategies */

static size_t index_of(const ph_dispatcher *dispatcher, uint64_t serial)
{
    size_t i = 0;

    while (i < dispatcher->dbs.count && dispatcher->dbs.items[i]->serial != serial)
        i++;
    return i;
}

/* Are enough of the pollers with such ones? */
static bool is_kept_back(const struct ph__db *db)
{
    const ph_dispatcher *dispatcher = db->dispatcher;
    const struct ph__pollers_use use = { dispatcher->pollers.count, dispatcher->pick.failing,
                                         dispatcher->pick.slow, dispatcher->pick.any_well };

    return db->entry && ph__share_is_used_up(ph__health_meaning(db->health.state)->share, &use);
}

/* Nobody talks to it, it has a connection or can get one, and it is not kept back. */
static bool can_be_served(const struct ph__db *db, bool connections_left)
{
    return !db->visit.busy && (db->has_connection || connections_left) && !is_kept_back(db);
}

static bool is_ready(const struct ph__db *db, bool connections_left)
{
    return can_be_served(db, connections_left) && db->visit.plan.claim;
}

/* Is the store that is drained first not through yet, so that no other is claimed from? */
static bool holds_on(const struct ph__db *db, int64_t now_us)
{
    if (db->visit.busy)
        return now_us < db->visit.began_us + STUCK_US &&
               (!db->claim.through || db->visit.plan.room > 0);
    return !db->claim.through && !db->leaving && !db->health.retry_us && !is_kept_back(db);
}

/* Is somebody with one that was never claimed from? Then those that had their batch wait for it, so
 * that each gives one before any gives a second; but not for long, and not if it has failed before. */
static bool is_greeting(const ph_dispatcher *dispatcher, int64_t now_us)
{
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        const struct ph__db *db = dispatcher->dbs.items[i];

        if (db->turn.greeting && now_us < db->visit.began_us + STUCK_US)
            return true;
    }
    return false;
}

/* The turn moves on to this one. Those before it that are just settling, and may have more, come
 * first afterwards. */
static void turn_on(ph_dispatcher *dispatcher, size_t to)
{
    size_t count = dispatcher->dbs.count;

    for (size_t i = dispatcher->pick.claim_turn % count; i != to; i = (i + 1) % count) {
        struct ph__db *db = dispatcher->dbs.items[i];

        db->turn.owed |=
            db->visit.busy && db->visit.plan.room == 0 && !db->claim.through && !db->leaving;
    }
    dispatcher->pick.claim_turn = to + 1;
}

/* Who comes first: those that were never claimed from, then those that missed their turn. */
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
        struct ph__db *s = dispatcher->dbs.items[(dispatcher->pick.claim_turn + i) % count];

        if (is_ready(s, connections_left) && !(greeting && s->claim.at_us) &&
            (!next || rank(s) < rank(next)))
            next = s;
    }
    return next;
}

static struct ph__db *choose(ph_dispatcher *dispatcher, bool connections_left, int64_t now_us)
{
    size_t count = dispatcher->dbs.count;
    size_t last = index_of(dispatcher, dispatcher->pick.last_chosen);

    if (last < count && dispatcher->opts.selection == PH_SELECT_DRAIN_FIRST) {
        struct ph__db *db = dispatcher->dbs.items[last];

        if (holds_on(db, now_us))
            return is_ready(db, connections_left) ? db : NULL;
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

/* Asks the callback, without the lock: afterwards things may be different. */
static struct ph__db *ask(ph_dispatcher *dispatcher, bool connections_left, int64_t now_us)
{
    size_t count = dispatcher->dbs.count, last = index_of(dispatcher, dispatcher->pick.last_chosen);
    ph_candidate *candidates = ph__alloc_zero(count, sizeof(*candidates));
    uint64_t *serials = ph__alloc_zero(count, sizeof(*serials));
    size_t at = SIZE_MAX;
    int answer;

    for (size_t i = 0; candidates && serials && i < count; i++) {
        const struct ph__db *s = dispatcher->dbs.items[i];

        serials[i] = s->serial;
        candidates[i] = (ph_candidate){ s->id, is_ready(s, connections_left), s->claim.last_count,
                                        claimed_ago_us(s, now_us), (int)s->works.in_flight };
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
            at = index_of(dispatcher, serials[answer]);
    }
    ph__dealloc(candidates);
    ph__dealloc(serials);
    return at < dispatcher->dbs.count ? dispatcher->dbs.items[at] : NULL;
}

/* --------------------------------------------------------------------- picking */

/* What a look at all databases has shown. */
struct survey {
    bool connections_left;
    struct ph__db *urgent;
    size_t urgent_at;
    int urgents, ready;
    uint64_t ready_mark; /* of those that are ready: others have another one */
    int64_t wake_us;
};

static bool is_due(const struct ph__plan *plan)
{
    return plan->act || plan->claim || plan->chores;
}

/* Scattered, so that sums of them differ. */
static uint64_t mark_of(const struct ph__db *db)
{
    uint64_t mark = db->serial * UINT64_C(0x9e3779b97f4a7c15);

    return (mark ^ mark >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* What all databases together mean for each. */
static void look_at_all(ph_dispatcher *dispatcher, int64_t now_us)
{
    dispatcher->pick.any_well = false;
    dispatcher->room.held_up = 0;
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        const struct ph__db *s = dispatcher->dbs.items[i];

        dispatcher->pick.any_well |= ph__health_meaning(s->health.state)->share == PH__SHARE_ALL;
        dispatcher->room.held_up += ph__db_is_held_up(s, now_us) ? s->works.waiting : 0;
    }
}

/* Transactions are waited for: what is held up, and so what may be claimed, changes by itself. */
static bool may_be_held_up(const ph_dispatcher *dispatcher, int room)
{
    bool busy = (long)dispatcher->works.running > dispatcher->pool.hung;

    return dispatcher->room.held_up > 0 ||
           (room == 0 && dispatcher->set && dispatcher->connections.handlers > 0 && busy);
}

static struct survey look_round(ph_dispatcher *dispatcher, int64_t now_us)
{
    size_t count = dispatcher->dbs.count;
    struct survey survey = { .wake_us = INT64_MAX };
    long wake_at;
    int room;

    look_at_all(dispatcher, now_us);
    room = ph__room(dispatcher, &wake_at);
    dispatcher->room.short_of_it = room == 0 && wake_at < 0;
    dispatcher->room.wake_at = room == 0 ? wake_at : -1;
    if (may_be_held_up(dispatcher, room))
        survey.wake_us = now_us + PH__HELD_UP_US;
    survey.connections_left = dispatcher->connections.used < dispatcher->connections.max || ph__connection_spare(dispatcher);
    for (size_t i = 0; i < count; i++) {
        size_t at = (dispatcher->pick.urgent_turn + i) % count;
        struct ph__db *s = dispatcher->dbs.items[at];

        if (s->visit.busy)
            continue;
        survey.wake_us = ph__earlier(survey.wake_us, ph__reserve_lapse(s, now_us));
        ph__plan_make(s, room, now_us);
        if (!is_due(&s->visit.plan)) { /* otherwise it waits for a poller, not for time */
            if (s->visit.plan.wake_us < survey.wake_us)
                survey.wake_us = s->visit.plan.wake_us;
            continue;
        }
        if (!can_be_served(s, survey.connections_left))
            continue;
        if (!s->visit.plan.act && !s->visit.plan.chores && s->visit.plan.urge_us < survey.wake_us)
            survey.wake_us = s->visit.plan.urge_us;
        survey.ready += s->visit.plan.claim;
        survey.ready_mark += s->visit.plan.claim ? mark_of(s) : 0;
        survey.urgents += s->visit.plan.act || s->visit.plan.chores;
        if (!survey.urgent && (s->visit.plan.act || s->visit.plan.chores)) {
            survey.urgent = s;
            survey.urgent_at = at;
        }
    }
    return survey;
}

/* The next to claim from is chosen once, and then kept until it was its turn. */
static bool choice_stands(const ph_dispatcher *dispatcher, const struct survey *survey)
{
    return dispatcher->pick.chosen && is_ready(dispatcher->pick.chosen, survey->connections_left);
}

/* True: time has passed without the lock, and all must be looked at anew. */
static bool make_choice(ph_dispatcher *dispatcher, const struct survey *survey, int64_t now_us)
{
    dispatcher->pick.chosen = NULL;
    if (survey->ready == 0 || dispatcher->pick.selecting)
        return false;
    if (!dispatcher->opts.select) {
        dispatcher->pick.chosen = choose(dispatcher, survey->connections_left, now_us);
        return false;
    }
    if (now_us < dispatcher->pick.choose_us && survey->ready_mark == dispatcher->pick.asked_mark)
        return false;
    dispatcher->pick.asked_mark = survey->ready_mark;
    dispatcher->pick.chosen = ask(dispatcher, survey->connections_left, now_us);
    return true;
}

/* Would somebody else find something to do now? */
static bool is_more(ph_dispatcher *dispatcher, const struct survey *survey,
                    const struct ph__db *picked)
{
    bool one_by_one = dispatcher->opts.selection == PH_SELECT_DRAIN_FIRST;
    int urgents = survey->urgents - (picked->visit.plan.act || picked->visit.plan.chores);
    int ready = survey->ready - picked->visit.plan.claim, taken;
    long ignored;
    bool room;

    if (urgents > 0)
        return true;
    if (ready <= 0 || (one_by_one && !dispatcher->opts.select))
        return false;
    taken = ph__db_is_new(picked) || !ph__health_meaning(picked->health.state)->holds_room
                ? 0
                : picked->visit.plan.room;
    dispatcher->room.claiming += taken;
    room = ph__room(dispatcher, &ignored) > 0;
    dispatcher->room.claiming -= taken;
    return room;
}

struct ph__db *ph__pick(ph_dispatcher *dispatcher, struct ph__db **ret_victim,
                             int64_t *ret_wake_us)
{
    int64_t now_us = ph__boot_us();
    struct survey survey = look_round(dispatcher, now_us);
    struct ph__db *db;

    PH__NEEDS_LOCK(dispatcher);
    if (!choice_stands(dispatcher, &survey) && make_choice(dispatcher, &survey, now_us)) {
        if (dispatcher->phase.ending)
            return NULL;
        survey = look_round(dispatcher, now_us);
        if (!choice_stands(dispatcher, &survey))
            dispatcher->pick.chosen = NULL;
    }
    *ret_wake_us = survey.wake_us;
    /* The strategy wants to wait, but not for ever; who asks it now goes on by itself. */
    if (survey.ready > 0 && !dispatcher->pick.chosen && !dispatcher->pick.selecting) {
        int64_t again_us = dispatcher->opts.select ? dispatcher->pick.choose_us : now_us + STUCK_US;

        if (again_us < survey.wake_us)
            *ret_wake_us = again_us;
    }
    /* Neither keeps the other from its turn. */
    db = survey.urgent && (!dispatcher->pick.chosen || dispatcher->pick.urgent_first)
                  ? survey.urgent
                  : dispatcher->pick.chosen;
    dispatcher->pick.urgent_first = !dispatcher->pick.urgent_first;
    if (!db || !ph__connection_take(db, ret_victim))
        return NULL;
    if (db == survey.urgent)
        dispatcher->pick.urgent_turn = survey.urgent_at + 1;
    if (db == dispatcher->pick.chosen) {
        dispatcher->pick.last_chosen = db->serial;
        if (!db->turn.owed) /* otherwise the turn has moved on with it before */
            turn_on(dispatcher, index_of(dispatcher, db->serial));
        db->turn.owed = false;
        dispatcher->pick.chosen = NULL;
    } else {
        db->visit.plan.claim = false; /* it is not its turn */
        db->visit.plan.room = 0;
    }
    db->turn.greeting = !db->turn.met;
    dispatcher->pick.others_ready = is_more(dispatcher, &survey, db);
    return db;
}
