/* flight.c - claimed batches in the air: each with its lease, freed when nobody holds any of it. */
#include "dispatch/dispatch.h"

#include "core/id.h"
#include "util/alloc.h"

#include <string.h>

#define ZOMBIE_DELAY_MS 1000
#define LARGE_BATCH_SIZE ((size_t)256 * 1024)
#define SMALL_PARTS_SIZE 256 /* of a message: about what topic, ids and the like need */

void ph__work_push(struct ph__work_list *list, struct ph_work *work)
{
    work->next = NULL;
    *list->last = work;
    list->last = &work->next;
    list->count++;
}

struct ph_work *ph__work_pop(struct ph__work_list *list)
{
    struct ph_work *work = list->first;

    if (!work)
        return NULL;
    list->first = work->next;
    if (!list->first)
        list->last = &list->first;
    list->count--;
    return work;
}

/* Before all others. */
static void push_first(struct ph__work_list *list, struct ph_work *work)
{
    work->next = list->first;
    if (!work->next)
        list->last = &work->next;
    list->first = work;
    list->count++;
}

void ph__waiting_push(struct ph_work *work)
{
    struct ph__station *station = work->flight->station;

    PH__NEEDS_LOCK(work->flight->dispatcher);
    work->reserved = work->flight->last && station->reserved > 0;
    if (work->reserved) {
        station->reserved--; /* the thread is now kept for the work */
        push_first(&work->flight->dispatcher->waiting, work);
    } else {
        ph__work_push(&work->flight->dispatcher->waiting, work);
    }
    station->waiting++;
}

/* It waits no longer. */
static void waited(struct ph_work *work)
{
    work->flight->dispatcher->reserved -= work->reserved;
    work->reserved = false;
}

/* A database in which transactions do not begin, or not end, must not get hold of all threads; and
 * those that are kept for last attempts are nobody else's. */
static bool must_wait(const struct ph_work *work)
{
    const ph_dispatcher *dispatcher = work->flight->dispatcher;

    if (work->reserved)
        return false;
    if (ph__threads_are_reserved(dispatcher) && !dispatcher->stopping)
        return true;
    return dispatcher->set && !dispatcher->stopping && work->handler->in_transaction &&
           work->flight->station->tx_waiting >= ph__tx_waiting_max(dispatcher);
}

struct ph_work *ph__waiting_pop(ph_dispatcher *dispatcher)
{
    struct ph__work_list *list = &dispatcher->waiting;
    struct ph_work **at = &list->first, *work;

    PH__NEEDS_LOCK(dispatcher);
    while (*at && must_wait(*at))
        at = &(*at)->next;
    work = *at;
    if (!work)
        return NULL;
    *at = work->next;
    if (list->last == &work->next)
        list->last = at;
    list->count--;
    work->flight->station->waiting--;
    dispatcher->others_turn = work->reserved;
    waited(work);
    return work;
}

/* Takes those of a station that were claimed at this time or before. */
static void waiting_take(struct ph__station *station, int64_t claimed_us,
                         struct ph__work_list *taken)
{
    ph_dispatcher *dispatcher = station->dispatcher;
    struct ph__work_list all = dispatcher->waiting;

    *taken = (struct ph__work_list){ .last = &taken->first };
    if (station->waiting == 0)
        return;
    dispatcher->waiting = (struct ph__work_list){ .last = &dispatcher->waiting.first };
    while (all.count > 0) {
        struct ph_work *work = ph__work_pop(&all);
        bool take = work->flight->station == station && work->flight->claimed_us <= claimed_us;

        ph__work_push(take ? taken : &dispatcher->waiting, work);
        if (take)
            waited(work);
    }
    station->waiting -= taken->count;
}

void ph__waiting_release(struct ph__station *station, int64_t claimed_us)
{
    struct ph__work_list taken;

    PH__NEEDS_LOCK(station->dispatcher);
    waiting_take(station, claimed_us, &taken);
    while (taken.count > 0)
        ph__work_release(ph__work_pop(&taken), 0);
    ph__runs_give_back(station, claimed_us);
}

struct ph__flight *ph__flight_new(struct ph__station *station, enum ph__door door, int capacity)
{
    struct ph__flight *flight =
        ph__alloc_zero(1, sizeof(*flight) + (size_t)capacity * sizeof(flight->works[0]));

    if (!flight)
        return NULL;
    flight->dispatcher = station->dispatcher;
    flight->station = station;
    flight->door = door;
    flight->owner = station->owner;
    return flight;
}

static size_t size_of(const ph_delivery *d)
{
    return SMALL_PARTS_SIZE + d->payload_length + (d->headers ? strlen(d->headers) : 0);
}

static size_t size_of_batch(const struct ph__flight *flight)
{
    size_t size = 0;

    for (size_t i = 0; i < flight->count; i++)
        size += size_of(flight->works[i].delivery);
    return size;
}

/* A large batch is not held in memory for one message that a handler keeps: each work gets its
 * message for itself, and the batch is gone. Without memory it stays. */
static void take_apart(struct ph__flight *flight)
{
    size_t copied = 0;

    if (size_of_batch(flight) < LARGE_BATCH_SIZE)
        return;
    while (copied < flight->count) {
        struct ph_work *work = &flight->works[copied];
        ph_delivery *copy = ph__delivery_copy(work->delivery);

        if (!copy)
            break;
        work->delivery = copy;
        copied++;
    }
    if (copied == flight->count) {
        ph_batch_free(flight->batch);
        flight->batch = NULL;
        return;
    }
    while (copied-- > 0) {
        ph__dealloc((ph_delivery *)(uintptr_t)flight->works[copied].delivery);
        flight->works[copied].delivery = ph_batch_at(flight->batch, copied);
    }
}

void ph__flight_fill(struct ph__flight *flight, ph_batch *batch, int64_t asked_us)
{
    ph_dispatcher *dispatcher = flight->dispatcher;

    flight->batch = batch;
    flight->count = flight->unsettled = flight->live = ph_batch_count(batch);
    flight->claimed_us = ph__boot_us();
    flight->renew_us = asked_us + dispatcher->lease_us / 3;
    atomic_init(&flight->fenced_us, asked_us + dispatcher->lease_us - dispatcher->fence_margin_us);
    for (size_t i = 0; i < flight->count; i++) {
        struct ph_work *work = &flight->works[i];

        work->flight = flight;
        work->refs = 1;
        work->delivery = ph_batch_at(batch, i);
        work->lease = ph_lease_ref_of(work->delivery);
        work->handler = ph__handler_of(&dispatcher->sides[flight->door], work->delivery->topic);
        work->no_handler = !work->handler;
        work->state = PH__BEHIND; /* until its turn, which for most comes at once */
        work->delay_ms = PH_DELAY_POLICY;
        work->limit_us = INT64_MAX;
        atomic_init(&work->cancelled, false);
    }
    take_apart(flight);
    ph__runs_find(flight);
}

/* ------------------------------------------------------------- by message */

static struct ph_work **slot_of(const struct ph_work *work)
{
    int64_t number = 0;
    uint64_t salt;

    (void)ph__id_split(work->lease.work_id, &number, &salt);
    return &work->flight->dispatcher->slots[(uint64_t)number % PH__SLOTS];
}

static void add_to_slot(struct ph_work *work)
{
    struct ph_work **slot = slot_of(work);

    work->slot_next = *slot;
    *slot = work;
}

static void remove_from_slot(struct ph_work *work)
{
    struct ph_work **at = slot_of(work);

    while (*at != work)
        at = &(*at)->slot_next;
    *at = work->slot_next;
}

/* A database that has left the set and come back has another station. */
static bool same_store(const struct ph__station *one, const struct ph__station *other)
{
    return one == other || strcmp(one->id, other->id) == 0;
}

static bool is_other_delivery(const struct ph_work *of, const struct ph_work *work)
{
    return of != work && same_store(of->flight->station, work->flight->station) &&
           memcmp(of->lease.work_id.b, work->lease.work_id.b, sizeof(work->lease.work_id.b)) == 0;
}

int64_t ph__put_off_ms(const struct ph_work *work)
{
    int64_t delay_ms = 0;

    PH__NEEDS_LOCK(work->flight->dispatcher);
    for (const struct ph_work *w = *slot_of(work); w; w = w->slot_next) {
        if (w->active && is_other_delivery(w, work))
            /* one that was given up may never return, and each time is remembered */
            delay_ms = w->given_up ? w->flight->dispatcher->opts.defer_ms : ZOMBIE_DELAY_MS;
    }
    return delay_ms;
}

bool ph__settles_other(const struct ph_work *work)
{
    PH__NEEDS_LOCK(work->flight->dispatcher);
    for (const struct ph_work *w = *slot_of(work); w; w = w->slot_next) {
        if (w->settling && w->state != PH__SETTLED && w->flight->station == work->flight->station &&
            is_other_delivery(w, work))
            return true;
    }
    return false;
}

/* What was delivered before and has not been handled yet will not be: its lease was lost. */
static void cancel_earlier(const struct ph_work *work)
{
    for (struct ph_work *w = *slot_of(work); w; w = w->slot_next) {
        if ((w->state == PH__WAITING || w->state == PH__BEHIND) && is_other_delivery(w, work))
            ph__work_cancel(w);
    }
}

/* ------------------------------------------------------------ coming and going */

void ph__flight_land(struct ph__flight *flight)
{
    ph_dispatcher *dispatcher = flight->dispatcher;
    struct ph__station *station = flight->station;

    PH__NEEDS_LOCK(flight->dispatcher);
    dispatcher->refs++;
    flight->next = station->flights;
    if (flight->next)
        flight->next->previous = flight;
    station->flights = flight;
    dispatcher->in_flight += flight->count;
    dispatcher->bytes += size_of_batch(flight);
    station->in_flight += flight->count;
    dispatcher->behind += flight->count;
    station->behind += flight->count;
    if (flight->renew_us < station->renew_us)
        station->renew_us = flight->renew_us;
    dispatcher->landings++;
    dispatcher->stats.claimed += (int64_t)flight->count;
    station->claimed += (int64_t)flight->count;
    for (size_t i = 0; i < flight->count; i++) {
        cancel_earlier(&flight->works[i]);
        add_to_slot(&flight->works[i]);
    }
    for (size_t i = 0; i < flight->count; i++) {
        if (i == 0 || !flight->works[i - 1].behind)
            ph__run_turn(&flight->works[i]);
    }
    ph__threads_call(dispatcher);
}

size_t ph__works_forget(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;
    size_t count = station->decided.count;

    PH__NEEDS_LOCK(station->dispatcher);
    for (struct ph_work *work; (work = ph__work_pop(&station->decided));) {
        work->state = PH__SETTLED;
        work->flight->unsettled--;
        dispatcher->decided--;
        dispatcher->in_flight--;
        station->in_flight--;
        dispatcher->refs -= ph__work_unref(work); /* never the last: the user or the crew has one */
    }
    return count;
}

/* Somebody holds it no longer. */
static bool end_flight(struct ph__flight *flight)
{
    if (--flight->live > 0)
        return false;
    if (flight->next)
        flight->next->previous = flight->previous;
    if (flight->previous)
        flight->previous->next = flight->next;
    else
        flight->station->flights = flight->next;
    ph_batch_free(flight->batch);
    ph__dealloc(flight);
    return true;
}

bool ph__work_unref(struct ph_work *work)
{
    PH__NEEDS_LOCK(work->flight->dispatcher);
    if (--work->refs > 0)
        return false;
    remove_from_slot(work);
    ph__dealloc(work->error);
    work->error = NULL;
    work->flight->dispatcher->bytes -= size_of(work->delivery);
    if (!work->flight->batch)
        ph__dealloc((ph_delivery *)(uintptr_t)work->delivery);
    work->delivery = NULL;
    return end_flight(work->flight);
}

size_t ph__works_evict(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;
    struct ph__flight *flight = station->flights, *next;
    struct ph__work_list taken;
    size_t count = 0;

    PH__NEEDS_LOCK(station->dispatcher);
    waiting_take(station, INT64_MAX, &taken);
    dispatcher->decided -= station->decided.count;
    station->decided = (struct ph__work_list){ .last = &station->decided.first };
    dispatcher->behind -= station->behind;
    station->behind = 0;
    for (; flight; flight = next) {
        flight->live++; /* for a moment */
        for (size_t i = 0; i < flight->count; i++) {
            struct ph_work *work = &flight->works[i];

            if (work->state == PH__SETTLED)
                continue;
            work->evicted = true;
            if (work->state == PH__RUNNING)
                ph__work_cancel(work);
            (void)ph__work_settled(work, PH_OUTCOME_STALE); /* the flight stays: we hold it */
            count++;
        }
        next = flight->next;
        dispatcher->refs -= end_flight(flight); /* never the last: the crew has one */
    }
    return count;
}
