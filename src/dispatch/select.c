/* select.c - which station comes next: urgent things in turn, claims as the strategy says. */
#include "dispatch/dispatch.h"

#include "util/alloc.h"

#include <string.h>

#define STUCK_US 1000000 /* a claim that lasts longer does not keep drain-first from the next */

/* ------------------------------------------------------------------ strategies */

static size_t index_of(const ph_dispatcher *dispatcher, uint64_t serial)
{
    size_t i = 0;

    while (i < dispatcher->station_count && dispatcher->stations[i]->serial != serial)
        i++;
    return i;
}

/* Are enough of the crew with such ones? A quarter may be with those that are in trouble; all but a
 * quarter with slow ones, if there are others. */
static bool is_kept_back(const struct ph__station *station)
{
    const ph_dispatcher *dispatcher = station->dispatcher;
    int quarter = dispatcher->crew_count / 4 > 0 ? dispatcher->crew_count / 4 : 1;

    if (dispatcher->crew_count == 1)
        return false;
    if (ph__station_ails(station))
        return dispatcher->ailing >= quarter;
    return station->slow && dispatcher->any_well &&
           dispatcher->ailing + dispatcher->lagging >= dispatcher->crew_count - quarter;
}

/* Nobody talks to it, it has a connection or can get one, and it is not kept back. */
static bool can_be_served(const struct ph__station *station, bool links_left)
{
    return !station->busy && (station->linked || links_left) && !is_kept_back(station);
}

static bool is_ready(const struct ph__station *station, bool links_left)
{
    return can_be_served(station, links_left) && station->plan.claim;
}

/* Is the store that is drained first not through yet, so that no other is claimed from? */
static bool holds_on(const struct ph__station *station, int64_t now_us)
{
    if (station->busy)
        return now_us < station->served_us + STUCK_US &&
               (!station->through || station->plan.room > 0);
    return !station->through && !station->draining && !station->retry_us && !is_kept_back(station);
}

/* Is somebody with one that was never claimed from? Then those that had their batch wait for it, so
 * that each gives one before any gives a second; but not for long, and not if it has failed before. */
static bool is_greeting(const ph_dispatcher *dispatcher, int64_t now_us)
{
    for (size_t i = 0; i < dispatcher->station_count; i++) {
        const struct ph__station *station = dispatcher->stations[i];

        if (station->greeting && now_us < station->served_us + STUCK_US)
            return true;
    }
    return false;
}

/* The turn moves on to this one. Those before it that are just settling, and may have more, come
 * first afterwards. */
static void turn_on(ph_dispatcher *dispatcher, size_t to)
{
    size_t count = dispatcher->station_count;

    for (size_t i = dispatcher->claim_turn % count; i != to; i = (i + 1) % count) {
        struct ph__station *station = dispatcher->stations[i];

        station->owed |=
            station->busy && station->plan.room == 0 && !station->through && !station->draining;
    }
    dispatcher->claim_turn = to + 1;
}

/* Who comes first: those that were never claimed from, then those that missed their turn. */
static int rank(const struct ph__station *station)
{
    if (!station->met)
        return 0;
    return station->owed ? 1 : 2;
}

/* In a circle, by rank. */
static struct ph__station *next_in_turn(ph_dispatcher *dispatcher, bool links_left, int64_t now_us)
{
    bool greeting = is_greeting(dispatcher, now_us);
    size_t count = dispatcher->station_count;
    struct ph__station *next = NULL;

    for (size_t i = 0; i < count; i++) {
        struct ph__station *s = dispatcher->stations[(dispatcher->claim_turn + i) % count];

        if (is_ready(s, links_left) && !(greeting && s->claim_us) &&
            (!next || rank(s) < rank(next)))
            next = s;
    }
    return next;
}

static struct ph__station *choose(ph_dispatcher *dispatcher, bool links_left, int64_t now_us)
{
    size_t count = dispatcher->station_count;
    size_t last = index_of(dispatcher, dispatcher->last_chosen);

    if (last < count && dispatcher->opts.selection == PH_SELECT_DRAIN_FIRST) {
        struct ph__station *station = dispatcher->stations[last];

        if (holds_on(station, now_us))
            return is_ready(station, links_left) ? station : NULL;
    }
    return next_in_turn(dispatcher, links_left, now_us);
}

/* How long ago its last claim was; 0: there was none, so one of this very moment is a little older. */
static int64_t claimed_ago_us(const struct ph__station *station, int64_t now_us)
{
    if (!station->claim_us)
        return 0;
    return now_us > station->claim_us ? now_us - station->claim_us : 1;
}

/* Asks the callback, without the lock: afterwards things may be different. */
static struct ph__station *ask(ph_dispatcher *dispatcher, bool links_left, int64_t now_us)
{
    size_t count = dispatcher->station_count, last = index_of(dispatcher, dispatcher->last_chosen);
    ph_candidate *candidates = ph__alloc_zero(count, sizeof(*candidates));
    uint64_t *serials = ph__alloc_zero(count, sizeof(*serials));
    size_t at = SIZE_MAX;
    int answer;

    for (size_t i = 0; candidates && serials && i < count; i++) {
        const struct ph__station *s = dispatcher->stations[i];

        serials[i] = s->serial;
        candidates[i] = (ph_candidate){ s->id, is_ready(s, links_left), s->last_claimed,
                                        claimed_ago_us(s, now_us), (int)s->in_flight };
    }
    dispatcher->choose_us = now_us + (int64_t)dispatcher->opts.poll_ms * 1000;
    if (candidates && serials) {
        dispatcher->selecting = true; /* so no station goes away */
        ph__crew_call(dispatcher);
        ph__unlock(dispatcher);
        answer = dispatcher->opts.select(dispatcher->opts.select_context, candidates, count, last);
        ph__lock(dispatcher);
        dispatcher->selecting = false;
        if (answer >= 0 && (size_t)answer < count && candidates[answer].ready)
            at = index_of(dispatcher, serials[answer]);
    }
    ph__dealloc(candidates);
    ph__dealloc(serials);
    return at < dispatcher->station_count ? dispatcher->stations[at] : NULL;
}

/* --------------------------------------------------------------------- picking */

/* What a look at all stations has shown. */
struct survey {
    bool links_left;
    struct ph__station *urgent;
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
static uint64_t mark_of(const struct ph__station *station)
{
    uint64_t mark = station->serial * UINT64_C(0x9e3779b97f4a7c15);

    return (mark ^ mark >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* What all stations together mean for each. */
static void look_at_all(ph_dispatcher *dispatcher, int64_t now_us)
{
    dispatcher->any_well = false;
    dispatcher->clogged = 0;
    for (size_t i = 0; i < dispatcher->station_count; i++) {
        const struct ph__station *s = dispatcher->stations[i];

        dispatcher->any_well |= !s->slow && !ph__station_ails(s);
        dispatcher->clogged += ph__station_is_clogged(s, now_us) ? s->waiting : 0;
    }
}

/* Transactions are waited for: what is clogged, and so what may be claimed, changes by itself. */
static bool may_clog(const ph_dispatcher *dispatcher, int room)
{
    bool busy = (long)dispatcher->running > dispatcher->hung_threads;

    return dispatcher->clogged > 0 ||
           (room == 0 && dispatcher->set && dispatcher->handler_links > 0 && busy);
}

static struct survey look_round(ph_dispatcher *dispatcher, int64_t now_us)
{
    size_t count = dispatcher->station_count;
    struct survey survey = { .wake_us = INT64_MAX };
    long wake_at;
    int room;

    look_at_all(dispatcher, now_us);
    room = ph__room(dispatcher, &wake_at);
    dispatcher->short_of_room = room == 0 && wake_at < 0;
    dispatcher->wake_at = room == 0 ? wake_at : -1;
    if (may_clog(dispatcher, room))
        survey.wake_us = now_us + PH__CLOGGED_US;
    survey.links_left = dispatcher->links < dispatcher->links_max || ph__link_spare(dispatcher);
    for (size_t i = 0; i < count; i++) {
        size_t at = (dispatcher->urgent_turn + i) % count;
        struct ph__station *s = dispatcher->stations[at];

        if (s->busy)
            continue;
        survey.wake_us = ph__earlier(survey.wake_us, ph__reserve_lapse(s, now_us));
        ph__plan_make(s, room, now_us);
        if (!is_due(&s->plan)) { /* otherwise it waits for one of the crew, not for time */
            if (s->plan.wake_us < survey.wake_us)
                survey.wake_us = s->plan.wake_us;
            continue;
        }
        if (!can_be_served(s, survey.links_left))
            continue;
        if (!s->plan.act && !s->plan.chores && s->plan.urge_us < survey.wake_us)
            survey.wake_us = s->plan.urge_us;
        survey.ready += s->plan.claim;
        survey.ready_mark += s->plan.claim ? mark_of(s) : 0;
        survey.urgents += s->plan.act || s->plan.chores;
        if (!survey.urgent && (s->plan.act || s->plan.chores)) {
            survey.urgent = s;
            survey.urgent_at = at;
        }
    }
    return survey;
}

/* The next to claim from is chosen once, and then kept until it was its turn. */
static bool choice_stands(const ph_dispatcher *dispatcher, const struct survey *survey)
{
    return dispatcher->chosen && is_ready(dispatcher->chosen, survey->links_left);
}

/* True: time has passed without the lock, and all must be looked at anew. */
static bool make_choice(ph_dispatcher *dispatcher, const struct survey *survey, int64_t now_us)
{
    dispatcher->chosen = NULL;
    if (survey->ready == 0 || dispatcher->selecting)
        return false;
    if (!dispatcher->opts.select) {
        dispatcher->chosen = choose(dispatcher, survey->links_left, now_us);
        return false;
    }
    if (now_us < dispatcher->choose_us && survey->ready_mark == dispatcher->asked_mark)
        return false;
    dispatcher->asked_mark = survey->ready_mark;
    dispatcher->chosen = ask(dispatcher, survey->links_left, now_us);
    return true;
}

/* Would somebody else find something to do now? */
static bool is_more(ph_dispatcher *dispatcher, const struct survey *survey,
                    const struct ph__station *picked)
{
    bool one_by_one = dispatcher->opts.selection == PH_SELECT_DRAIN_FIRST;
    int urgents = survey->urgents - (picked->plan.act || picked->plan.chores);
    int ready = survey->ready - picked->plan.claim, taken;
    long ignored;
    bool room;

    if (urgents > 0)
        return true;
    if (ready <= 0 || (one_by_one && !dispatcher->opts.select))
        return false;
    taken = ph__station_is_new(picked) || ph__station_ails(picked) || picked->slow
                ? 0 /* they hold no room */
                : picked->plan.room;
    dispatcher->claiming += taken;
    room = ph__room(dispatcher, &ignored) > 0;
    dispatcher->claiming -= taken;
    return room;
}

struct ph__station *ph__pick(ph_dispatcher *dispatcher, struct ph__station **ret_victim,
                             int64_t *ret_wake_us)
{
    int64_t now_us = ph__boot_us();
    struct survey survey = look_round(dispatcher, now_us);
    struct ph__station *station;

    PH__NEEDS_LOCK(dispatcher);
    if (!choice_stands(dispatcher, &survey) && make_choice(dispatcher, &survey, now_us)) {
        if (dispatcher->ending)
            return NULL;
        survey = look_round(dispatcher, now_us);
        if (!choice_stands(dispatcher, &survey))
            dispatcher->chosen = NULL;
    }
    *ret_wake_us = survey.wake_us;
    /* The strategy wants to wait, but not for ever; who asks it now goes on by itself. */
    if (survey.ready > 0 && !dispatcher->chosen && !dispatcher->selecting) {
        int64_t again_us = dispatcher->opts.select ? dispatcher->choose_us : now_us + STUCK_US;

        if (again_us < survey.wake_us)
            *ret_wake_us = again_us;
    }
    /* Neither keeps the other from its turn. */
    station = survey.urgent && (!dispatcher->chosen || dispatcher->urgent_first)
                  ? survey.urgent
                  : dispatcher->chosen;
    dispatcher->urgent_first = !dispatcher->urgent_first;
    if (!station || !ph__station_link(station, ret_victim))
        return NULL;
    if (station == survey.urgent)
        dispatcher->urgent_turn = survey.urgent_at + 1;
    if (station == dispatcher->chosen) {
        dispatcher->last_chosen = station->serial;
        if (!station->owed) /* otherwise the turn has moved on with it before */
            turn_on(dispatcher, index_of(dispatcher, station->serial));
        station->owed = false;
        dispatcher->chosen = NULL;
    } else {
        station->plan.claim = false; /* it is not its turn */
        station->plan.room = 0;
    }
    station->greeting = !station->met;
    dispatcher->others_ready = is_more(dispatcher, &survey, station);
    return station;
}
