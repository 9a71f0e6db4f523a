/* batch.c - claimed batches: each with its lease, freed when no part of it is held. */
#include "dispatch/dispatch.h"

#include "core/id.h"
#include "util/alloc.h"

#include <string.h>

#define ZOMBIE_DELAY_MS 1000
#define LARGE_BATCH_SIZE ((size_t)512 * 1024)
#define SMALL_PARTS_SIZE 256 /* of a message: about what topic, ids and the like need */

struct ph__batch *ph__batch_new(struct ph__db *db, ph_door door, ph_owner owner, int capacity)
{
    struct ph__batch *batch =
        ph__alloc_zero(1, sizeof(*batch) + (size_t)capacity * sizeof(batch->works[0]));

    if (!batch)
        return NULL;
    batch->dispatcher = db->dispatcher;
    batch->db = db;
    batch->door = door;
    batch->owner = owner;
    return batch;
}

static size_t size_of(const ph_delivery *d)
{
    return SMALL_PARTS_SIZE + d->payload_length + (d->headers ? strlen(d->headers) : 0);
}

static size_t size_of_batch(const struct ph__batch *batch)
{
    size_t size = 0;

    for (size_t i = 0; i < batch->count; i++)
        size += size_of(batch->works[i].delivery);
    return size;
}

/* A large batch is not held in memory for one message that a handler keeps: each work gets its
 * message for itself, and the batch is gone. Without memory it stays. */
static void take_apart(struct ph__batch *batch)
{
    size_t copied = 0;

    if (size_of_batch(batch) < LARGE_BATCH_SIZE)
        return;
    while (copied < batch->count) {
        struct ph_work *work = &batch->works[copied];
        ph_delivery *copy = ph__delivery_copy(work->delivery);

        if (!copy)
            break;
        work->delivery = copy;
        copied++;
    }
    if (copied == batch->count) {
        ph_batch_free(batch->messages);
        batch->messages = NULL;
        return;
    }
    while (copied-- > 0) {
        ph__dealloc((ph_delivery *)(uintptr_t)batch->works[copied].delivery);
        batch->works[copied].delivery = ph_batch_at(batch->messages, copied);
    }
}

void ph__batch_fill(struct ph__batch *batch, ph_batch *messages, int64_t asked_us)
{
    ph_dispatcher *dispatcher = batch->dispatcher;

    batch->messages = messages;
    batch->count = batch->unsettled = batch->live = ph_batch_count(messages);
    batch->claimed_us = ph__boot_us();
    batch->renew_us = asked_us + dispatcher->times.lease_us / 3;
    atomic_init(&batch->fenced_us,
                asked_us + dispatcher->times.lease_us - dispatcher->times.fence_margin_us);
    for (size_t i = 0; i < batch->count; i++) {
        struct ph_work *work = &batch->works[i];

        work->batch = batch;
        work->refs = 1;
        work->delivery = ph_batch_at(messages, i);
        work->lease = ph_lease_ref_of(work->delivery);
        work->handler =
            ph__handler_of(&dispatcher->handlers.sides[batch->door], work->delivery->topic);
        work->no_handler = !work->handler;
        work->state = PH__BEHIND; /* until its turn, which for most comes at once */
        work->decision.delay_ms = PH_DELAY_POLICY;
        work->hold.limit_us = INT64_MAX;
        atomic_init(&work->cancelled, false);
    }
    take_apart(batch);
    ph__runs_find(batch);
}

/* ------------------------------------------------------------- by message */

static struct ph_work **slot_of(const struct ph_work *work)
{
    int64_t number = 0;
    uint64_t salt;

    (void)ph__id_split(work->lease.work_id, &number, &salt);
    return &work->batch->dispatcher->works.slots[(uint64_t)number % PH__SLOTS];
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

/* A database that has left the set and come back has another database. */
static bool same_store(const struct ph__db *one, const struct ph__db *other)
{
    return one == other || strcmp(one->id, other->id) == 0;
}

static bool is_other_delivery(const struct ph_work *of, const struct ph_work *work)
{
    return of != work && same_store(of->batch->db, work->batch->db) &&
           memcmp(of->lease.work_id.b, work->lease.work_id.b, sizeof(work->lease.work_id.b)) == 0;
}

int64_t ph__put_off_ms(const struct ph_work *work)
{
    int64_t delay_ms = 0;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    for (const struct ph_work *w = *slot_of(work); w; w = w->slot_next) {
        if (w->hold.active && is_other_delivery(w, work))
            /* one that was given up may never return, and each time is remembered */
            delay_ms = w->hold.given_up ? w->batch->dispatcher->opts.defer_ms : ZOMBIE_DELAY_MS;
    }
    return delay_ms;
}

bool ph__settles_other(const struct ph_work *work)
{
    PH__NEEDS_LOCK(work->batch->dispatcher);
    for (const struct ph_work *w = *slot_of(work); w; w = w->slot_next) {
        if (w->settling && w->state != PH__SETTLED && w->batch->db == work->batch->db &&
            is_other_delivery(w, work))
            return true;
    }
    return false;
}

/* An earlier delivery that has not been handled yet never will be: its lease was lost. */
static void cancel_earlier(const struct ph_work *work)
{
    for (struct ph_work *w = *slot_of(work); w; w = w->slot_next) {
        if ((w->state == PH__WAITING || w->state == PH__BEHIND) && is_other_delivery(w, work))
            ph__work_cancel(w);
    }
}

/* ------------------------------------------------------------ coming and going */

void ph__batch_lose(struct ph__batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        atomic_store(&batch->works[i].cancelled, true);
}

void ph__batch_add(struct ph__batch *batch)
{
    ph_dispatcher *dispatcher = batch->dispatcher;
    struct ph__db *db = batch->db;

    PH__NEEDS_LOCK(batch->dispatcher);
    dispatcher->refs++;
    batch->next = db->leases.batches;
    if (batch->next)
        batch->next->previous = batch;
    db->leases.batches = batch;
    if (db->works.in_flight == 0 || batch->renew_us < db->leases.renew_us)
        db->leases.renew_us = batch->renew_us;
    if (db->leases.renew_us < dispatcher->pollers.asleep_until_us)
        ph__wake_for(db);
    dispatcher->works.in_flight += batch->count;
    dispatcher->works.bytes += size_of_batch(batch);
    db->works.in_flight += batch->count;
    dispatcher->works.behind += batch->count;
    db->works.behind += batch->count;
    dispatcher->works.arrivals++;
    dispatcher->stats.claimed += (int64_t)batch->count;
    db->claim.total += (int64_t)batch->count;
    for (size_t i = 0; i < batch->count; i++) {
        cancel_earlier(&batch->works[i]);
        add_to_slot(&batch->works[i]);
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (i == 0 || !batch->works[i - 1].behind)
            ph__run_turn(&batch->works[i]);
    }
    ph__threads_call(dispatcher);
}

size_t ph__works_forget(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    size_t count = db->settle.decided.count;

    PH__NEEDS_LOCK(db->dispatcher);
    db->settle.blocked = false;
    for (struct ph_work *work; (work = ph__work_pop(&db->settle.decided));) {
        work->state = PH__SETTLED;
        work->batch->unsettled--;
        dispatcher->works.decided--;
        dispatcher->works.in_flight--;
        db->works.in_flight--;
        dispatcher->refs -= ph__work_unref(work); /* never the last: the user or a poller has one */
    }
    return count;
}

/* A holder lets go of it. */
static bool end_batch(struct ph__batch *batch)
{
    if (--batch->live > 0)
        return false;
    if (batch->next)
        batch->next->previous = batch->previous;
    if (batch->previous)
        batch->previous->next = batch->next;
    else
        batch->db->leases.batches = batch->next;
    ph_batch_free(batch->messages);
    ph__dealloc(batch);
    return true;
}

bool ph__work_unref(struct ph_work *work)
{
    PH__NEEDS_LOCK(work->batch->dispatcher);
    if (--work->refs > 0)
        return false;
    remove_from_slot(work);
    ph__dealloc(work->decision.error);
    work->decision.error = NULL;
    work->batch->dispatcher->works.bytes -= size_of(work->delivery);
    if (!work->batch->messages)
        ph__dealloc((ph_delivery *)(uintptr_t)work->delivery);
    work->delivery = NULL;
    return end_batch(work->batch);
}

size_t ph__works_evict(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__batch *batch = db->leases.batches, *next;
    struct ph__work_list taken;
    size_t count = 0;

    PH__NEEDS_LOCK(db->dispatcher);
    ph__waiting_take(db, INT64_MAX, &taken);
    dispatcher->works.decided -= db->settle.decided.count;
    db->settle.decided = (struct ph__work_list){ .last = &db->settle.decided.first };
    db->settle.blocked = false;
    dispatcher->works.behind -= db->works.behind;
    db->works.behind = 0;
    for (; batch; batch = next) {
        batch->live++; /* for a moment */
        for (size_t i = 0; i < batch->count; i++) {
            struct ph_work *work = &batch->works[i];

            if (work->state == PH__SETTLED)
                continue;
            work->evicted = true;
            if (work->state == PH__RUNNING)
                ph__work_cancel(work);
            (void)ph__work_settled(work, PH_OUTCOME_STALE); /* the batch stays: we hold it */
            count++;
        }
        next = batch->next;
        dispatcher->refs -= end_batch(batch); /* never the last: a poller has one */
    }
    return count;
}
