/* pick.c - which database comes next: urgent things and claims take turns. */
#include "dispatch/poll/poll.h"

/* The result of a look at all databases. */
struct survey {
    bool connections_left;
    struct ph__db *urgent;
    size_t urgent_at;
    int urgents, ready;
    uint64_t ready_mark; /* of those that are ready: others have another one */
    int64_t wake_us;
};

/* Something is due there that does not wait for its turn to claim. */
static bool is_urgent(const struct ph__db *db)
{
    return db->visit.plan.act || db->visit.plan.chores;
}

/* Scattered, so that sums of them differ. */
static uint64_t mark_of(const struct ph__db *db)
{
    uint64_t mark = db->serial * UINT64_C(0x9e3779b97f4a7c15);

    return (mark ^ mark >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Counts the states of all databases, which matter to each. */
static void look_at_all(ph_dispatcher *dispatcher, int64_t now_us)
{
    dispatcher->pick.any_well = false;
    dispatcher->room.held_up = 0;
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        const struct ph__db *db = dispatcher->dbs.items[i];

        dispatcher->pick.any_well |= ph__health_meaning(db->health.state)->share == PH__SHARE_ALL;
        dispatcher->room.held_up += ph__db_is_held_up(db, now_us) ? db->works.waiting : 0;
    }
}

/* Works wait for transactions: how many do, and so how much may be claimed, changes by itself. */
static bool may_be_held_up(const ph_dispatcher *dispatcher, int room)
{
    bool busy = (long)dispatcher->works.running > dispatcher->pool.hung;

    return dispatcher->room.held_up > 0 ||
           (room == 0 && dispatcher->set && dispatcher->connections.handlers > 0 && busy);
}

/* How much room there is; if there is none, notes what to wake up for. */
static int look_for_room(ph_dispatcher *dispatcher)
{
    long wake_at;
    int room = ph__room(dispatcher, &wake_at);

    dispatcher->room.short_of_it = room == 0 && wake_at < 0;
    dispatcher->room.wake_at = room == 0 ? wake_at : -1;
    return room;
}

static struct survey look_round(ph_dispatcher *dispatcher, int64_t now_us)
{
    size_t count = dispatcher->dbs.count;
    struct survey survey = { .wake_us = INT64_MAX };
    int room;

    look_at_all(dispatcher, now_us);
    room = look_for_room(dispatcher);
    if (may_be_held_up(dispatcher, room))
        survey.wake_us = now_us + PH__HELD_UP_US;
    survey.connections_left = dispatcher->connections.used < dispatcher->connections.max ||
                              ph__connection_spare(dispatcher);
    for (size_t i = 0; i < count; i++) {
        size_t at = (dispatcher->pick.urgent_turn + i) % count;
        struct ph__db *db = dispatcher->dbs.items[at];

        if (db->visit.busy)
            continue;
        survey.wake_us = ph__earlier(survey.wake_us, ph__reserve_lapse(db, now_us));
        db->visit.plan = ph__plan(db, room, now_us);
        if (!is_urgent(db)) /* otherwise it waits for a poller, not for time */
            survey.wake_us = ph__earlier(survey.wake_us, db->visit.plan.wake_us);
        if (!ph__db_can_be_served(db, survey.connections_left))
            continue;
        survey.ready += db->visit.plan.claim;
        survey.ready_mark += db->visit.plan.claim ? mark_of(db) : 0;
        survey.urgents += is_urgent(db);
        if (!survey.urgent && is_urgent(db)) {
            survey.urgent = db;
            survey.urgent_at = at;
        }
    }
    return survey;
}

/* The next to claim from is chosen once, and then kept until it was its turn. */
static bool choice_stands(const ph_dispatcher *dispatcher, const struct survey *survey)
{
    return dispatcher->pick.chosen &&
           ph__db_is_ready(dispatcher->pick.chosen, survey->connections_left);
}

/* True: time has passed without the lock, and all must be looked at anew. */
static bool make_choice(ph_dispatcher *dispatcher, const struct survey *survey, int64_t now_us)
{
    dispatcher->pick.chosen = NULL;
    if (survey->ready == 0 || dispatcher->pick.selecting)
        return false;
    if (!dispatcher->opts.select) {
        dispatcher->pick.chosen = ph__choose(dispatcher, survey->connections_left, now_us);
        return false;
    }
    if (now_us < dispatcher->pick.choose_us && survey->ready_mark == dispatcher->pick.asked_mark)
        return false;
    dispatcher->pick.asked_mark = survey->ready_mark;
    dispatcher->pick.chosen = ph__ask(dispatcher, survey->connections_left, now_us);
    return true;
}

/* Would another poller find something to do now? */
static bool is_more(ph_dispatcher *dispatcher, const struct survey *survey,
                    const struct ph__db *picked)
{
    bool one_by_one = dispatcher->opts.selection == PH_SELECT_DRAIN_FIRST;
    int urgents = survey->urgents - is_urgent(picked);
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

/* One store and no callback: there is nothing to choose. */
static struct ph__db *pick_only(ph_dispatcher *dispatcher, struct ph__db **ret_victim,
                                int64_t *ret_wake_us)
{
    struct ph__db *db = dispatcher->dbs.items[0];
    int64_t now_us = ph__boot_us();

    *ret_wake_us = ph__reserve_lapse(db, now_us);
    db->visit.plan = ph__plan(db, look_for_room(dispatcher), now_us);
    *ret_wake_us = ph__earlier(*ret_wake_us, db->visit.plan.wake_us);
    return ph__plan_is_due(&db->visit.plan) && ph__connection_take(db, ret_victim) ? db : NULL;
}

static struct ph__db *pick_among(ph_dispatcher *dispatcher, struct ph__db **ret_victim,
                                 int64_t *ret_wake_us)
{
    int64_t now_us = ph__boot_us();
    struct survey survey = look_round(dispatcher, now_us);
    struct ph__db *db;

    if (!choice_stands(dispatcher, &survey) && make_choice(dispatcher, &survey, now_us)) {
        if (dispatcher->phase.ending)
            return NULL;
        survey = look_round(dispatcher, now_us);
        if (!choice_stands(dispatcher, &survey))
            dispatcher->pick.chosen = NULL;
    }
    *ret_wake_us = survey.wake_us;
    /* The strategy wants to wait, but not for ever. A thread that is asking it now goes on by
     * itself. */
    if (survey.ready > 0 && !dispatcher->pick.chosen && !dispatcher->pick.selecting)
        *ret_wake_us =
            ph__earlier(*ret_wake_us, dispatcher->opts.select ? dispatcher->pick.choose_us
                                                              : now_us + PH__STUCK_US);
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
            ph__turn_on(dispatcher, ph__db_index(dispatcher, db->serial));
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

struct ph__db *ph__pick(ph_dispatcher *dispatcher, struct ph__db **ret_victim, int64_t *ret_wake_us)
{
    PH__NEEDS_LOCK(dispatcher);
    return dispatcher->set || dispatcher->opts.select
               ? pick_among(dispatcher, ret_victim, ret_wake_us)
               : pick_only(dispatcher, ret_victim, ret_wake_us);
}
