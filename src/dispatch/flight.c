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

struct ph__flight *ph__flight_new(ph_dispatcher *dispatcher, int capacity)
{
    struct ph__flight *flight =
        ph__alloc_zero(1, sizeof(*flight) + (size_t)capacity * sizeof(flight->works[0]));

    if (flight)
        flight->dispatcher = dispatcher;
    return flight;
}

static size_t size_of_batch(const struct ph__flight *flight)
{
    size_t size = 0;

    for (size_t i = 0; i < flight->count; i++) {
        const ph_delivery *d = flight->works[i].delivery;

        size += SMALL_PARTS_SIZE + d->payload_length + (d->headers ? strlen(d->headers) : 0);
    }
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
        work->handler = ph__handler_of(dispatcher, work->delivery->topic);
        work->no_handler = !work->handler;
        work->delay_ms = PH_DELAY_POLICY;
        work->limit_us = INT64_MAX;
        atomic_init(&work->cancelled, false);
    }
    take_apart(flight);
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

/* Is a handler still busy with an earlier delivery of this message, whose lease was lost or which
 * was settled before the handler returned? Then for so long it is put off; 0: it is not. One that
 * still waits will not be handled. */
static int64_t put_off_ms(const struct ph_work *work)
{
    const ph_work_id *id = &work->lease.work_id;
    int64_t delay_ms = 0;

    for (struct ph_work *w = *slot_of(work); w; w = w->slot_next) {
        if (memcmp(w->lease.work_id.b, id->b, sizeof(id->b)) != 0)
            continue;
        if (w->active) /* one that was given up may never return, and each time is remembered */
            delay_ms = w->given_up ? w->flight->dispatcher->opts.defer_ms : ZOMBIE_DELAY_MS;
        if (w->state == PH__WAITING)
            ph__work_cancel(w);
    }
    return delay_ms;
}

/* ------------------------------------------------------------ coming and going */

void ph__flight_land(struct ph__flight *flight)
{
    ph_dispatcher *dispatcher = flight->dispatcher;

    dispatcher->refs++;
    flight->next = dispatcher->flights;
    if (flight->next)
        flight->next->previous = flight;
    dispatcher->flights = flight;
    dispatcher->in_flight += flight->count;
    if (flight->renew_us < dispatcher->upkeep_us)
        dispatcher->upkeep_us = flight->renew_us;
    dispatcher->stats.claimed += (int64_t)flight->count;
    for (size_t i = 0; i < flight->count; i++) {
        struct ph_work *work = &flight->works[i];
        int64_t delay_ms;

        if (work->no_handler)
            ph__work_decide(work, PH_VERDICT_DEFER);
        else if (dispatcher->stopping)
            ph__work_release(work, 0);
        else if ((delay_ms = put_off_ms(work)) > 0)
            ph__work_release(work, delay_ms);
        else
            ph__work_push(&dispatcher->waiting, work);
        add_to_slot(work);
    }
    ph__threads_call(dispatcher);
}

void ph__works_forget(ph_dispatcher *dispatcher)
{
    for (struct ph_work *work; (work = ph__work_pop(&dispatcher->decided));) {
        work->state = PH__SETTLED;
        work->flight->unsettled--;
        dispatcher->in_flight--;
        dispatcher->refs -= ph__work_unref(work); /* never the last: the user has one */
    }
}

static bool end_flight(struct ph__flight *flight)
{
    if (--flight->live > 0)
        return false;
    if (flight->next)
        flight->next->previous = flight->previous;
    if (flight->previous)
        flight->previous->next = flight->next;
    else
        flight->dispatcher->flights = flight->next;
    ph_batch_free(flight->batch);
    ph__dealloc(flight);
    return true;
}

bool ph__work_unref(struct ph_work *work)
{
    if (--work->refs > 0)
        return false;
    remove_from_slot(work);
    ph__dealloc(work->error);
    work->error = NULL;
    if (!work->flight->batch)
        ph__dealloc((ph_delivery *)(uintptr_t)work->delivery);
    work->delivery = NULL;
    return end_flight(work->flight);
}
