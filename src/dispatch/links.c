/* links.c - connections of which there may be fewer than stations: who gets one, who gives its own up,
 * and how long a station without one is left alone. */
#include "dispatch/dispatch.h"

#include "core/call.h"

#define COLD_PAUSE_MAX_US 60000000
#define FRESH_US 10000000 /* so long after a ring a commit may still be on its way to the disk */
#define FRESH_PAUSE_US 10000
#define COLD_SHARE 50 /* a fiftieth of a processor goes into looking where no connection is kept */

struct ph__station *ph__link_spare(const ph_dispatcher *dispatcher)
{
    struct ph__station *found = NULL;

    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = 0; i < dispatcher->station_count; i++) {
        struct ph__station *s = dispatcher->stations[i];
        bool held = s->in_flight > 0;

        if (s->busy || !s->linked)
            continue;
        if (!found || held < (found->in_flight > 0) ||
            (held == (found->in_flight > 0) &&
             (s->worked_us < found->worked_us ||
              (s->worked_us == found->worked_us && s->claim_us < found->claim_us))))
            found = s;
    }
    return found;
}

/* How long a station without a connection is left alone: its share of what may be spent. */
static int64_t cold_pause_us(const struct ph__station *station)
{
    const ph_dispatcher *dispatcher = station->dispatcher;
    int64_t cold = (int64_t)dispatcher->station_count - dispatcher->links;
    int64_t pause_us = station->visit_us * cold * COLD_SHARE;
    int64_t poll_us = (int64_t)dispatcher->opts.poll_ms * 1000;

    pause_us = pause_us > poll_us ? pause_us : poll_us;
    return pause_us < COLD_PAUSE_MAX_US ? pause_us : COLD_PAUSE_MAX_US;
}

void ph__station_unlinked(struct ph__station *station)
{
    PH__NEEDS_LOCK(station->dispatcher);
    if (!station->linked)
        return;
    station->linked = false;
    station->dispatcher->links--;
}

/* What is due already waits for its turn, and not for longer. */
static void put_off(int64_t *time_us, int64_t now_us, int64_t until_us)
{
    if (*time_us > now_us && *time_us < until_us)
        *time_us = until_us;
}

/* Its bell has rung lately, and what it rang for may not be visible yet: then the next look is soon,
 * and later ones ever more rarely. INT64_MAX: it has not. */
static int64_t fresh_pause_us(const struct ph__station *station, int64_t now_us)
{
    int64_t since_us = now_us - station->rung_us;

    if (!station->rung_us || since_us >= FRESH_US)
        return INT64_MAX;
    return since_us > FRESH_PAUSE_US / 2 ? 2 * since_us : FRESH_PAUSE_US;
}

/* What time alone will bring: how long until something comes due, and whether something is that was
 * not for us. */
struct outlook {
    bool known, due;
    int64_t in_us; /* INT64_MAX: never */
};

/* Those that have handlers, a bit each. */
static unsigned doors_of(const ph_dispatcher *dispatcher)
{
    unsigned doors = 0;

    for (int door = 0; door < PH__SIDES; door++)
        doors |= (unsigned)(dispatcher->sides[door].count > 0) << door;
    return doors;
}

static struct outlook look_ahead(struct ph__station *s)
{
    struct outlook outlook = { .in_us = INT64_MAX };
    PH__CALL(call);
    ph_error err, spare;

    if (!s->bell_name || s->retry_us || !s->store->own)
        return outlook;
    outlook.known =
        ph__call_begin(&call, s->store, PH_OWN_TX, s->limit_ms, &err, &spare) == 0 &&
        s->store->backend->outlook(&call, s->dispatcher->opts.ns, doors_of(s->dispatcher),
                                   &outlook.in_us, &outlook.due) == 0;
    return outlook;
}

/* How long it is left alone; with the lock held. */
static void cool(struct ph__station *station, const struct outlook *outlook)
{
    int64_t now_us = ph__boot_us(), pause_us = cold_pause_us(station), planned_us;
    bool known = station->bell_name && !station->bell_lost && outlook->known;

    if (station->rung || station->found || station->called)
        return; /* it is waited for */
    if (known && !outlook->due)
        pause_us = COLD_PAUSE_MAX_US;
    else if (known) /* if its bell has rung lately that may be for us */
        pause_us = ph__earlier(pause_us, fresh_pause_us(station, now_us));
    planned_us = known ? ph__earlier(pause_us, fresh_pause_us(station, now_us)) : pause_us;
    put_off(&station->schedule_us, now_us,
            ph__earlier(station->schedule_next_us, now_us + planned_us));
    if (known)
        pause_us = ph__earlier(pause_us, outlook->in_us);
    put_off(&station->next_claim_us, now_us, now_us + pause_us);
}

/* Who has gone to sleep meanwhile did not count with it, and we go elsewhere now. */
static void wake_if_due(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;
    const struct ph__plan *plan = &station->plan;
    long ignored;

    ph__plan_make(station, ph__room(dispatcher, &ignored), ph__boot_us());
    if (!plan->act && !plan->claim && !plan->chores && plan->wake_us >= dispatcher->asleep_until_us)
        return;
    ph__crew_call(dispatcher);
    ph__wake_asleep(dispatcher);
}

void ph__link_give_up(struct ph__station *victim)
{
    ph_dispatcher *dispatcher = victim->dispatcher;
    struct outlook outlook = look_ahead(victim);

    (void)ph__station_rang(victim); /* what was not heard yet would be lost */
    ph__station_disconnect(victim);
    ph__lock(dispatcher);
    cool(victim, &outlook);
    victim->busy = false;
    if (victim->called)
        ph__station_call(victim);
    wake_if_due(victim);
    ph__unlock(dispatcher);
}

bool ph__station_link(struct ph__station *station, struct ph__station **ret_victim)
{
    ph_dispatcher *dispatcher = station->dispatcher;
    struct ph__station *victim = NULL;

    PH__NEEDS_LOCK(station->dispatcher);
    *ret_victim = NULL;
    if (station->linked)
        return true;
    if (dispatcher->links >= dispatcher->links_max) {
        victim = ph__link_spare(dispatcher);
        if (!victim)
            return false;
        victim->busy = true;
        ph__station_unlinked(victim);
    }
    station->linked = true;
    dispatcher->links++;
    *ret_victim = victim;
    return true;
}
