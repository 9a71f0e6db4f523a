/* exchange.c - the coordinator's call: settle what is decided, claim what comes next. */
#include "dispatch/dispatch.h"

#include "core/error.h"
#include "util/alloc.h"

#include <string.h>

/* Takes decided works off the list, as settlements. */
static size_t load(ph_dispatcher *dispatcher)
{
    size_t count = 0;

    pthread_mutex_lock(&dispatcher->lock);
    while (count < PH__SETTLE_MAX && dispatcher->decided.count > 0) {
        struct ph_work *work = ph__work_pop(&dispatcher->decided);

        dispatcher->settling[count] = work;
        dispatcher->settlements[count++] =
            (ph_settlement){ work->lease, work->verb, work->error, work->delay_ms };
    }
    pthread_mutex_unlock(&dispatcher->lock);
    return count;
}

/* The call failed: they stay decided, in their order, before those that came since. */
static void unload(ph_dispatcher *dispatcher, size_t count, bool unknown)
{
    pthread_mutex_lock(&dispatcher->lock);
    while (count > 0) {
        struct ph_work *work = dispatcher->settling[--count];

        if (unknown)
            atomic_store(&work->maybe_settled, true);
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

static void settled(ph_dispatcher *dispatcher, size_t count)
{
    for (size_t i = 0; i < count; i++)
        say_stale(dispatcher, dispatcher->settling[i], dispatcher->outcomes[i]);
    pthread_mutex_lock(&dispatcher->lock);
    for (size_t i = 0; i < count; i++) {
        if (ph__work_settled(dispatcher->settling[i], dispatcher->outcomes[i]))
            dispatcher->refs--; /* never the last: the coordinator has one */
    }
    if (dispatcher->decided.count > 0)
        dispatcher->first_decided_us = ph__boot_us();
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

int ph__exchange(ph_dispatcher *dispatcher, int room, int *ret_claimed, bool *ret_more,
                 ph_error *err)
{
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;
    struct ph__flight *flight = NULL;
    ph_batch *batch = NULL;
    int64_t asked_us = ph__boot_us();
    size_t count;
    int r;

    if (room > 0 && !(flight = ph__flight_new(dispatcher, room)))
        return ph__fail_memory(err);
    claim.lease_s = dispatcher->opts.lease_s;
    claim.batch_size = room;
    claim.ns = dispatcher->opts.ns;
    claim.topics = dispatcher->topics;
    claim.topic_count = dispatcher->handler_count;
    count = load(dispatcher);
    r = ph_outbox_exchange(dispatcher->store, PH_OWN_TX, dispatcher->owner, dispatcher->settlements,
                           count, room > 0 ? &claim : NULL, dispatcher->call_timeout_ms,
                           dispatcher->outcomes, &batch, err);
    if (r < 0) {
        unload(dispatcher, count, err->flags & PH_UNKNOWN);
        ph__dealloc(flight);
        return r;
    }
    settled(dispatcher, count);
    *ret_claimed = (int)ph_batch_count(batch);
    *ret_more = batch && batch->more;
    if (*ret_claimed > 0) {
        ph__flight_fill(flight, batch, asked_us);
        land(flight);
    } else {
        ph__dealloc(flight);
        ph_batch_free(batch);
    }
    return 0;
}
