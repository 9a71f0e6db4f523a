/* exchange.c - the one call: settle what is decided, renew what must be renewed, claim what
 * comes next, and beat the heart, in one round trip. */
#include "dispatch/dispatch.h"

#include "core/batch.h"
#include "core/error.h"
#include "util/alloc.h"

#include <string.h>

/* One call, while it is made. */
struct call {
    struct ph__mate *mate;
    struct ph__station *station;
    struct ph__work_batch batch;
    struct ph__claim claims[PH__SIDES];
    struct ph__flight *flights[PH__SIDES]; /* NULL: nothing is claimed there */
    struct ph__renewal *renewal;
    size_t settling; /* how many works */
};

static struct ph__work_part *part_of(struct call *call, int door)
{
    return door == PH__INBOX ? &call->batch.inbox : &call->batch.outbox;
}

/* Takes decided works off the list, as settlements. */
static void load(struct call *call)
{
    struct ph__station *station = call->station;
    ph_dispatcher *dispatcher = station->dispatcher;
    struct ph__mate *mate = call->mate;

    for (int door = 0; door < PH__SIDES; door++) {
        part_of(call, door)->settle = mate->settlements[door];
        part_of(call, door)->ret_settled = mate->outcomes[door];
    }
    ph__lock(dispatcher);
    while (call->settling < PH__SETTLE_MAX && station->decided.count > 0 &&
           !ph__settles_other(station->decided.first)) {
        struct ph_work *work = ph__work_pop(&station->decided);
        enum ph__door door = work->flight->door;

        dispatcher->decided--;
        work->settling = true;
        mate->settling[call->settling++] = work;
        mate->settlements[door][part_of(call, door)->settle_count++] =
            (ph_settlement){ work->lease, work->verb, work->error, work->delay_ms };
    }
    /* What is released by a stop that has just begun must not come back with the same call. */
    for (int door = 0; (dispatcher->stopping || station->draining) && door < PH__SIDES; door++)
        part_of(call, door)->claim = NULL;
    ph__unlock(dispatcher);
}

/* The call failed: they stay decided, in their order, before those that came since. */
static void unload(struct call *call, bool unknown)
{
    struct ph__station *station = call->station;
    ph_dispatcher *dispatcher = station->dispatcher;

    ph__lock(dispatcher);
    for (size_t count = call->settling; count > 0;) {
        struct ph_work *work = call->mate->settling[--count];

        if (unknown)
            atomic_store(&work->maybe_settled, true);
        work->settling = false;
        work->next = station->decided.first;
        if (!work->next)
            station->decided.last = &work->next;
        station->decided.first = work;
        station->decided.count++;
        dispatcher->decided++;
    }
    ph__unlock(dispatcher);
}

static void say_stale(const struct ph_work *work, ph_outcome outcome)
{
    const struct ph__station *station = work->flight->station;

    if ((outcome == PH_OUTCOME_STALE || outcome == PH_OUTCOME_UNKNOWN) && !work->maybe_settled &&
        work->verdict)
        ph__say(station, PH_LOG_WARN,
                "settled too late: the lease was lost, and the message is somebody else's", work,
                NULL, NULL);
    else if (outcome == PH_OUTCOME_DEAD)
        ph__say(station, PH_LOG_ERROR, "dead: its attempts are spent", work, NULL, NULL);
}

static void settled(const struct call *call)
{
    struct ph__station *station = call->station;
    ph_dispatcher *dispatcher = station->dispatcher;
    struct ph_work **settling = call->mate->settling;
    size_t at[PH__SIDES] = { 0 }, count = call->settling, waiting;
    ph_outcome outcomes[PH__SETTLE_MAX]; /* in the order of the works */

    for (size_t i = 0; i < count; i++) {
        enum ph__door door = settling[i]->flight->door;

        outcomes[i] = call->mate->outcomes[door][at[door]++];
        say_stale(settling[i], outcomes[i]);
    }
    ph__lock(dispatcher);
    waiting = station->waiting;
    for (size_t i = 0; i < count; i++) {
        if (ph__work_settled(settling[i], outcomes[i]))
            dispatcher->refs--; /* never the last: the crew has one */
    }
    if (station->decided.count > 0)
        station->first_decided_us = ph__boot_us();
    if (station->waiting > waiting) /* what was behind these in its stream */
        ph__threads_call(dispatcher);
    pthread_cond_broadcast(&dispatcher->changed);
    ph__unlock(dispatcher);
}

/* Said once for each topic; with the log's lock held. */
static const char *no_handler_text(ph_dispatcher *dispatcher, const char *topic)
{
    for (size_t i = 0; i < dispatcher->warned_count; i++) {
        if (strcmp(dispatcher->warned_topics[i], topic) == 0)
            return NULL;
    }
    if (dispatcher->warned_count == PH__WARNED_TOPICS_MAX)
        return NULL;
    dispatcher->warned_topics[dispatcher->warned_count] = ph__strdup(topic);
    dispatcher->warned_count += dispatcher->warned_topics[dispatcher->warned_count] != NULL;
    return dispatcher->warned_count < PH__WARNED_TOPICS_MAX
               ? "no handler for this topic; its messages are put off"
               : "no handler for this topic; further such topics are not named";
}

static void warn_once(const struct ph_work *work)
{
    ph_dispatcher *dispatcher = work->flight->dispatcher;
    const char *text;

    pthread_mutex_lock(&dispatcher->log_lock);
    text = no_handler_text(dispatcher, work->delivery->topic);
    pthread_mutex_unlock(&dispatcher->log_lock);
    if (text)
        ph__say(work->flight->station, PH_LOG_WARN, text, work, NULL, NULL);
}

static void land(struct ph__flight *flight)
{
    ph_dispatcher *dispatcher = flight->dispatcher;

    for (size_t i = 0; i < flight->count; i++) {
        if (flight->works[i].no_handler)
            warn_once(&flight->works[i]);
    }
    ph__lock(dispatcher);
    ph__flight_land(flight);
    ph__unlock(dispatcher);
}

/* Makes room for what is claimed, before it is claimed. */
static int ask(struct call *call, int door, const struct ph__trip *trip, ph_error *err)
{
    const ph_dispatcher *dispatcher = call->station->dispatcher;
    const struct ph__side *side = &dispatcher->sides[door];
    struct ph__work_part *part = part_of(call, door);
    int room = trip->room[door];

    if (room == 0)
        return 0;
    call->flights[door] = ph__flight_new(call->station, (enum ph__door)door, room);
    part->batch = ph__alloc_zero(1, sizeof(*part->batch));
    if (!call->flights[door] || !part->batch)
        return ph__fail_memory(err);
    call->claims[door] = (struct ph__claim){
        .door = (enum ph__door)door,
        .owner = call->station->owner,
        .lease_s = dispatcher->opts.lease_s,
        .batch_size = room,
        .ns = dispatcher->opts.ns,
        .topics = side->topics,
        .topic_count = side->topics ? side->count : 0,
        .partition_count = dispatcher->opts.partition_count,
        .max_partitions = dispatcher->opts.max_partitions,
        .last = trip->last[door],
    };
    if (trip->any_stream) /* no limit is needed where a claim is of no more messages than that */
        call->claims[door].partition_count = call->claims[door].max_partitions = 0;
    part->claim = &call->claims[door];
    return 0;
}

static void take(struct call *call, int door, struct ph__trip *trip, int64_t asked_us)
{
    struct ph__work_part *part = part_of(call, door);

    trip->claimed[door] = (int)ph_batch_count(part->batch);
    trip->more[door] = part->batch && part->batch->more;
    trip->last_waits[door] = part->batch && part->batch->last_waits;
    trip->last_came[door] = part->batch && part->batch->last;
    if (trip->claimed[door] == 0)
        return;
    for (size_t i = 0; i < part->batch->count && !trip->plain; i++)
        trip->plain = !part->batch->items[i].stream;
    ph__flight_fill(call->flights[door], part->batch, asked_us);
    call->flights[door]->last = trip->last_came[door];
    land(call->flights[door]);
    part->batch = NULL;
    call->flights[door] = NULL;
}

static int make(struct call *call, struct ph__trip *trip, ph_error *err)
{
    struct ph__station *station = call->station;
    int64_t asked_us = ph__boot_us();
    int r = 0;

    call->batch.instance = ph__instance_of(station);
    for (int door = 0; door < PH__SIDES && r == 0; door++)
        r = ask(call, door, trip, err);
    if (r == 0 && trip->renew)
        r = ph__renewal_begin(station, &call->batch, &call->renewal, err);
    if (r < 0)
        return r;
    if (trip->settle)
        load(call);
    trip->settled = call->settling > 0;
    r = ph__work_batch(station->store, &call->batch, station->limit_ms, err);
    /* A handler must not find that the store whose message it has cannot be used. */
    if (r == 0 && (trip->settle || !station->exchange_failed))
        ph__station_succeeded(station);
    if (r == 0)
        settled(call);
    else
        unload(call, err->flags & PH_UNKNOWN);
    ph__renewal_end(station, call->renewal, r, asked_us);
    for (int door = 0; door < PH__SIDES && r == 0; door++)
        take(call, door, trip, asked_us);
    return r;
}

int ph__exchange(struct ph__mate *mate, struct ph__station *station, struct ph__trip *trip,
                 ph_error *err)
{
    struct call call = { .mate = mate, .station = station };
    int r = make(&call, trip, err);

    for (int door = 0; door < PH__SIDES; door++) {
        ph_batch_free(part_of(&call, door)->batch);
        ph__dealloc(call.flights[door]);
    }
    if (r == 0)
        station->registered = true;
    return r;
}
