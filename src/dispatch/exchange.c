/* exchange.c - the coordinator's call: settle what is decided, renew what must be renewed, claim what
 * comes next, and beat the heart, in one round trip. */
#include "dispatch/dispatch.h"

#include "core/batch.h"
#include "core/error.h"
#include "util/alloc.h"

#include <string.h>

/* One call, while it is made. */
struct call {
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
static void load(ph_dispatcher *dispatcher, struct call *call)
{
    for (int door = 0; door < PH__SIDES; door++) {
        part_of(call, door)->settle = dispatcher->settlements[door];
        part_of(call, door)->ret_settled = dispatcher->outcomes[door];
    }
    pthread_mutex_lock(&dispatcher->lock);
    while (call->settling < PH__SETTLE_MAX && dispatcher->decided.count > 0 &&
           !ph__settles_other(dispatcher->decided.first)) {
        struct ph_work *work = ph__work_pop(&dispatcher->decided);
        enum ph__door door = work->flight->door;

        work->settling = true;
        dispatcher->settling[call->settling++] = work;
        dispatcher->settlements[door][part_of(call, door)->settle_count++] =
            (ph_settlement){ work->lease, work->verb, work->error, work->delay_ms };
    }
    /* What is released by a stop that has just begun must not come back with the same call. */
    for (int door = 0; dispatcher->stopping && door < PH__SIDES; door++)
        part_of(call, door)->claim = NULL;
    pthread_mutex_unlock(&dispatcher->lock);
}

/* The call failed: they stay decided, in their order, before those that came since. */
static void unload(ph_dispatcher *dispatcher, size_t count, bool unknown)
{
    pthread_mutex_lock(&dispatcher->lock);
    while (count > 0) {
        struct ph_work *work = dispatcher->settling[--count];

        if (unknown)
            atomic_store(&work->maybe_settled, true);
        work->settling = false;
        work->next = dispatcher->decided.first;
        if (!work->next)
            dispatcher->decided.last = &work->next;
        dispatcher->decided.first = work;
        dispatcher->decided.count++;
    }
    pthread_mutex_unlock(&dispatcher->lock);
}

static void say_stale(ph_dispatcher *dispatcher, const struct ph_work *work, ph_outcome outcome)
{
    if ((outcome == PH_OUTCOME_STALE || outcome == PH_OUTCOME_UNKNOWN) && !work->maybe_settled &&
        work->verdict)
        ph__say(dispatcher, PH_LOG_WARN,
                "settled too late: the lease was lost, and the message is somebody else's", work,
                NULL, NULL);
    else if (outcome == PH_OUTCOME_DEAD)
        ph__say(dispatcher, PH_LOG_ERROR, "dead: its attempts are spent", work, NULL, NULL);
}

static void settled(ph_dispatcher *dispatcher, const struct call *call)
{
    size_t at[PH__SIDES] = { 0 }, count = call->settling, waiting;
    ph_outcome outcomes[PH__SETTLE_MAX]; /* in the order of the works */

    for (size_t i = 0; i < count; i++) {
        enum ph__door door = dispatcher->settling[i]->flight->door;

        outcomes[i] = dispatcher->outcomes[door][at[door]++];
        say_stale(dispatcher, dispatcher->settling[i], outcomes[i]);
    }
    pthread_mutex_lock(&dispatcher->lock);
    waiting = dispatcher->waiting.count;
    for (size_t i = 0; i < count; i++) {
        if (ph__work_settled(dispatcher->settling[i], outcomes[i]))
            dispatcher->refs--; /* never the last: the coordinator has one */
    }
    if (dispatcher->decided.count > 0)
        dispatcher->first_decided_us = ph__boot_us();
    if (dispatcher->waiting.count > waiting) /* what was behind these in its stream */
        ph__threads_call(dispatcher);
    pthread_cond_broadcast(&dispatcher->changed);
    pthread_mutex_unlock(&dispatcher->lock);
}

static void warn_once(ph_dispatcher *dispatcher, const struct ph_work *work)
{
    const char *topic = work->delivery->topic;

    for (size_t i = 0; i < dispatcher->warned_count; i++) {
        if (strcmp(dispatcher->warned_topics[i], topic) == 0)
            return;
    }
    if (dispatcher->warned_count == PH__WARNED_TOPICS_MAX)
        return;
    ph__say(dispatcher, PH_LOG_WARN,
            dispatcher->warned_count + 1 < PH__WARNED_TOPICS_MAX
                ? "no handler for this topic; its messages are put off"
                : "no handler for this topic; further such topics are not named",
            work, NULL, NULL);
    dispatcher->warned_topics[dispatcher->warned_count] = ph__strdup(topic);
    dispatcher->warned_count += dispatcher->warned_topics[dispatcher->warned_count] != NULL;
}

static void land(struct ph__flight *flight)
{
    ph_dispatcher *dispatcher = flight->dispatcher;

    for (size_t i = 0; i < flight->count; i++) {
        if (flight->works[i].no_handler)
            warn_once(dispatcher, &flight->works[i]);
    }
    pthread_mutex_lock(&dispatcher->lock);
    ph__flight_land(flight);
    pthread_mutex_unlock(&dispatcher->lock);
}

/* Makes room for what is claimed, before it is claimed. */
static int ask(ph_dispatcher *dispatcher, struct call *call, int door, const struct ph__trip *trip,
               ph_error *err)
{
    const struct ph__side *side = &dispatcher->sides[door];
    struct ph__work_part *part = part_of(call, door);
    int room = trip->room[door];

    if (room == 0)
        return 0;
    call->flights[door] = ph__flight_new(dispatcher, (enum ph__door)door, room);
    part->batch = ph__alloc_zero(1, sizeof(*part->batch));
    if (!call->flights[door] || !part->batch)
        return ph__fail_memory(err);
    call->claims[door] = (struct ph__claim){
        .door = (enum ph__door)door,
        .owner = dispatcher->owner,
        .lease_s = dispatcher->opts.lease_s,
        .batch_size = room,
        .ns = dispatcher->opts.ns,
        .topics = side->topics,
        .topic_count = side->topics ? side->count : 0,
        .partition_count = dispatcher->opts.partition_count,
        .max_partitions = dispatcher->opts.max_partitions,
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
    if (trip->claimed[door] == 0)
        return;
    for (size_t i = 0; i < part->batch->count && !trip->plain; i++)
        trip->plain = !part->batch->items[i].stream;
    ph__flight_fill(call->flights[door], part->batch, asked_us);
    land(call->flights[door]);
    part->batch = NULL;
    call->flights[door] = NULL;
}

static int make(ph_dispatcher *dispatcher, struct call *call, struct ph__trip *trip, ph_error *err)
{
    int64_t asked_us = ph__boot_us();
    int r = 0;

    call->batch.instance = ph__instance_of(dispatcher);
    for (int door = 0; door < PH__SIDES && r == 0; door++)
        r = ask(dispatcher, call, door, trip, err);
    if (r == 0 && trip->renew)
        r = ph__renewal_begin(dispatcher, &call->batch, &call->renewal, err);
    if (r < 0)
        return r;
    if (trip->settle)
        load(dispatcher, call);
    trip->settled = call->settling > 0;
    r = ph__work_batch(dispatcher->store, &call->batch, dispatcher->call_timeout_ms, err);
    if (r == 0)
        settled(dispatcher, call);
    else
        unload(dispatcher, call->settling, err->flags & PH_UNKNOWN);
    ph__renewal_end(dispatcher, call->renewal, r, asked_us);
    for (int door = 0; door < PH__SIDES && r == 0; door++)
        take(call, door, trip, asked_us);
    return r;
}

int ph__exchange(ph_dispatcher *dispatcher, struct ph__trip *trip, ph_error *err)
{
    struct call call = { 0 };
    int r = make(dispatcher, &call, trip, err);

    for (int door = 0; door < PH__SIDES; door++) {
        ph_batch_free(part_of(&call, door)->batch);
        ph__dealloc(call.flights[door]);
    }
    if (r == 0)
        dispatcher->registered = true;
    return r;
}
