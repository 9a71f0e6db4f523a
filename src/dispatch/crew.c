/* crew.c - the threads that talk to databases: each picks a station, serves it, and picks the next.
 * When there is nothing to do one of them watches the bells, and the others wait to be called. */
#include "dispatch/dispatch.h"

#include "core/use.h"

#define SLEEP_MAX_US 60000000
#define HEAR_US 10000 /* so often the bells are heard even if nobody has time to watch them */

bool ph__station_ails(const struct ph__station *station)
{
    return station->entry && (station->suspect || station->deploys);
}

bool ph__station_is_new(const struct ph__station *station)
{
    return station->entry && !station->registered;
}

void ph__crew_call(ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    if (dispatcher->crew_waiting > 0 && !dispatcher->watched)
        pthread_cond_signal(&dispatcher->crew_ready);
}

/* Somebody must watch, and somebody may help; with the lock held. */
static void call_others(ph_dispatcher *dispatcher)
{
    if (dispatcher->crew_waiting > 0 && (!dispatcher->watched || dispatcher->others_ready))
        pthread_cond_signal(&dispatcher->crew_ready);
    else if (dispatcher->others_ready)
        ph__wake_asleep(dispatcher);
}

/* With the lock held, before and after. */
static void begin(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;

    station->busy = true;
    station->hear = station->called = false;
    station->served_us = ph__boot_us();
    station->ailing = ph__station_ails(station);
    station->lagging = station->slow && !station->ailing;
    dispatcher->ailing += station->ailing;
    dispatcher->lagging += station->lagging;
    if (!ph__station_is_new(station)) /* otherwise when it has answered */
        ph__claim_begin(station, station->plan.room);
}

/* It is no longer counted among the busy ones. */
static void uncount(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;

    ph__claim_end(station);
    dispatcher->ailing -= station->ailing;
    dispatcher->lagging -= station->lagging;
    station->ailing = station->lagging = false;
}

static void end(struct ph__station *station)
{
    uncount(station);
    station->dispatcher->choose_us = 0;
    station->busy = station->greeting = false;
    station->met |= station->claim_us || station->retry_us;
    if (station->entry && !station->store->own)
        ph__station_unlinked(station);
    if (station->called)
        ph__station_call(station);
}

static void visit(struct ph__mate *mate, struct ph__station *station, struct ph__station *victim)
{
    ph_dispatcher *dispatcher = mate->dispatcher;
    struct ph__plan plan = station->plan;
    bool leaves = station->draining && station->in_flight == 0;
    uint64_t serial = station->serial;

    begin(station);
    call_others(dispatcher);
    ph__bell_disarm(station);
    ph__unlock(dispatcher);
    if (victim)
        ph__link_give_up(victim);
    if (leaves) {
        ph__station_leave(station);
        ph__lock(dispatcher);
        uncount(station);
        ph__stations_remove(station);
        ph__threads_leave(dispatcher, serial);
        return;
    }
    ph__serve(mate, station, &plan);
    if (station->entry && station->retry_us)
        ph__station_disconnect(station); /* others can use the connection meanwhile */
    ph__lock(dispatcher);
    end(station);
}

/* Hears the bells, for so long; with the lock held, which it lets go meanwhile. */
static void watch(ph_dispatcher *dispatcher, int64_t wait_us)
{
    dispatcher->watched = true;
    ph__bells_wait(dispatcher, wait_us);
    dispatcher->watched = dispatcher->asleep = false;
    dispatcher->heard_us = ph__boot_us();
}

/* While all of them have something to do nobody watches, and a store without a connection, or with
 * nothing to do until then, would not be heard before that is over. */
static void hear_in_passing(ph_dispatcher *dispatcher)
{
    if (dispatcher->set && !dispatcher->watched && ph__boot_us() >= dispatcher->heard_us + HEAR_US)
        watch(dispatcher, 0);
}

/* Waits until there may be something to do; with the lock held, which it lets go meanwhile. */
static void rest(ph_dispatcher *dispatcher, int64_t wake_us)
{
    int64_t now_us = ph__boot_us();

    if (dispatcher->limit_us < wake_us && !dispatcher->tending)
        wake_us = dispatcher->limit_us;
    if (dispatcher->stations_changed && dispatcher->update_us < wake_us && !dispatcher->tending)
        wake_us = dispatcher->update_us;
    if (wake_us > now_us + SLEEP_MAX_US)
        wake_us = now_us + SLEEP_MAX_US;
    if (dispatcher->watched) {
        if (dispatcher->asleep && wake_us < dispatcher->asleep_until_us)
            ph__wake_asleep(dispatcher);
        dispatcher->crew_waiting++;
        ph__wait(dispatcher, &dispatcher->crew_ready);
        dispatcher->crew_waiting--;
        return;
    }
    dispatcher->asleep = true;
    dispatcher->asleep_until_us = wake_us;
    watch(dispatcher, wake_us - now_us);
}

/* What concerns no station, or all of them; by one at a time. True: time has passed. */
static bool tend(ph_dispatcher *dispatcher)
{
    int64_t now_us = ph__boot_us();
    bool stations = dispatcher->stations_changed && now_us >= dispatcher->update_us;
    bool due = now_us >= dispatcher->limit_us, missing = dispatcher->missing_threads > 0, again;

    if (dispatcher->tending || !(stations || due || missing))
        return false;
    dispatcher->tending = true;
    dispatcher->stations_changed &= !stations;
    ph__crew_call(dispatcher);
    ph__unlock(dispatcher);
    if (stations)
        ph__stations_update(dispatcher);
    if (due)
        ph__limits_enforce(dispatcher);
    if (missing || due)
        ph__threads_replace(dispatcher);
    ph__lock(dispatcher);
    dispatcher->tending = false;
    again = dispatcher->stations_changed && ph__boot_us() >= dispatcher->update_us;
    if (dispatcher->stations_changed || dispatcher->limit_us < dispatcher->asleep_until_us)
        ph__wake_asleep(dispatcher); /* who watches has left that to us */
    return stations || again;
}

/* Those that have a connection first: afterwards there is one for each of the crew. */
static struct ph__station *next_to_finish(const ph_dispatcher *dispatcher)
{
    struct ph__station *found = NULL;

    for (size_t i = 0; i < dispatcher->station_count; i++) {
        struct ph__station *station = dispatcher->stations[i];

        if (!station->busy && !station->finished && (!found || station->linked > found->linked))
            found = station;
    }
    return found;
}

/* The last words: what is decided is settled, or the leases run out; then good-bye. */
static void finish_all(struct ph__mate *mate)
{
    ph_dispatcher *dispatcher = mate->dispatcher;

    for (struct ph__station *station; (station = next_to_finish(dispatcher));) {
        station->busy = station->finished = true;
        ph__unlock(dispatcher);
        ph__station_finish(mate, station);
        if (station->entry)
            ph__station_disconnect(station);
        ph__lock(dispatcher);
        station->busy = false;
    }
}

void *ph__crew_work(void *context)
{
    struct ph__mate *mate = context;
    ph_dispatcher *dispatcher = mate->dispatcher;

    ph__use_act_for(dispatcher);
    ph__lock(dispatcher);
    while (!dispatcher->ending) {
        struct ph__station *station, *victim = NULL;
        int64_t wake_us;

        hear_in_passing(dispatcher);
        if (tend(dispatcher))
            continue;
        if (dispatcher->ending)
            break;
        station = ph__pick(dispatcher, &victim, &wake_us);
        if (station)
            visit(mate, station, victim);
        else if (!dispatcher->ending)
            rest(dispatcher, wake_us);
    }
    pthread_cond_broadcast(&dispatcher->crew_ready);
    finish_all(mate);
    ph__unlock(dispatcher);
    ph__dispatcher_drop(dispatcher);
    return NULL;
}
