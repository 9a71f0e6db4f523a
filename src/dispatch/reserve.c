/* reserve.c - handler threads that are kept for last attempts: what is lost with this process before a
 * handler has begun with it would be dead, and nobody would have seen it.
 *
 * A thread is kept from before the claim until the handler begins. Claims of a set are many at the same
 * time, and one whose database hangs would keep a thread from all others: there a thread is kept only
 * for a store that has shown a last attempt. While others have work for every thread that becomes free,
 * such stores and the others take turns. */
#include "dispatch/dispatch.h"

#define UNUSED_US 1000000 /* none is kept for a store that has let one lapse, for so long */

/* Threads that run no handler and are not kept. */
static long unreserved(const ph_dispatcher *dispatcher)
{
    long busy = (long)dispatcher->running - dispatcher->hung_threads;

    return dispatcher->opts.threads - busy - dispatcher->missing_threads - dispatcher->reserved;
}

bool ph__threads_are_reserved(const ph_dispatcher *dispatcher)
{
    return dispatcher->reserved > 0 && unreserved(dispatcher) <= 0;
}

/* Its handlers might wait for transactions instead of beginning. */
static bool waits_for_transactions(const struct ph__station *station)
{
    const ph_dispatcher *dispatcher = station->dispatcher;

    return dispatcher->set && station->tx_waiting >= ph__tx_waiting_max(dispatcher);
}

static bool can_reserve(const struct ph__station *station)
{
    const ph_dispatcher *dispatcher = station->dispatcher;

    return unreserved(dispatcher) > ph__waiting_count(dispatcher) &&
           !waits_for_transactions(station);
}

bool ph__thread_is_free_for(const struct ph__station *station)
{
    return station->reserved > 0 || can_reserve(station);
}

static void keep(struct ph__station *station)
{
    station->reserved++;
    station->dispatcher->reserved++;
    station->dispatcher->others_turn = true;
}

static void give_back(struct ph__station *station)
{
    station->dispatcher->reserved -= station->reserved;
    if (station->reserved > 0)
        ph__threads_call(station->dispatcher);
    station->reserved = 0;
}

static void note(struct ph__station *station, bool waits, bool came)
{
    station->dispatcher->last_waiting -= station->last_waits;
    station->dispatcher->last_waiting += waits;
    station->last_waits = waits;
    station->last_came = came;
}

void ph__reserve(struct ph__station *station, struct ph__trip *trip)
{
    bool expected = !station->dispatcher->set || station->last_waits || station->last_came;
    int used = 0;

    PH__NEEDS_LOCK(station->dispatcher);
    for (unsigned i = 0; i < PH__SIDES; i++) {
        unsigned door = (station->turn + i) % PH__SIDES;

        trip->last[door] = PH__LAST_NOT;
        if (trip->room[door] == 0 || !expected)
            continue;
        if (station->reserved == used && can_reserve(station))
            keep(station);
        if (station->reserved == used)
            continue;
        trip->last[door] = PH__LAST_ALONE;
        used++;
    }
}

void ph__reserve_end(struct ph__station *station, const struct ph__trip *trip)
{
    bool waits = false, came = false;

    PH__NEEDS_LOCK(station->dispatcher);
    if (trip && trip->room[PH__OUTBOX] + trip->room[PH__INBOX] == 0)
        return; /* it was not about claiming */
    give_back(station);
    for (int door = 0; trip && door < PH__SIDES; door++) {
        waits |= trip->last_waits[door];
        came |= trip->last_came[door];
    }
    note(station, waits, came);
}

void ph__reserve_turn(ph_dispatcher *dispatcher)
{
    size_t count = dispatcher->station_count;
    int64_t now_us;

    PH__NEEDS_LOCK(dispatcher);
    if (!dispatcher->set || dispatcher->last_waiting == 0 || unreserved(dispatcher) <= 0 ||
        (dispatcher->others_turn && dispatcher->waiting.count > 0) ||
        !ph__claim_allowed(dispatcher))
        return;
    now_us = ph__boot_us();
    for (size_t i = 0; i < count; i++) {
        size_t at = (dispatcher->reserve_turn + i) % count;
        struct ph__station *station = dispatcher->stations[at];

        if (!station->last_waits || station->busy || station->reserved > 0 ||
            now_us < station->reserve_us || station->draining || waits_for_transactions(station))
            continue;
        keep(station);
        station->reserved_until_us = now_us + PH__RESERVED_US;
        station->next_claim_us = 0;
        station->owed = true; /* its turn has come, and there was no thread */
        dispatcher->reserve_turn = at + 1;
        ph__wake_asleep(dispatcher);
        return;
    }
}

int64_t ph__reserve_lapse(struct ph__station *station, int64_t now_us)
{
    PH__NEEDS_LOCK(station->dispatcher);
    if (station->reserved == 0)
        return INT64_MAX;
    if (now_us < station->reserved_until_us)
        return station->reserved_until_us;
    station->reserve_us = now_us + UNUSED_US;
    give_back(station);
    return INT64_MAX;
}

void ph__reserve_lapse_all(ph_dispatcher *dispatcher)
{
    int64_t now_us = dispatcher->reserved > 0 ? ph__boot_us() : 0;

    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = 0; dispatcher->reserved > 0 && i < dispatcher->station_count; i++) {
        if (!dispatcher->stations[i]->busy) /* otherwise its claim is under way */
            (void)ph__reserve_lapse(dispatcher->stations[i], now_us);
    }
}

void ph__reserve_leave(struct ph__station *station)
{
    PH__NEEDS_LOCK(station->dispatcher);
    give_back(station);
    note(station, false, false);
}
