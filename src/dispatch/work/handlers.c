/* handlers.c - one handler per door and topic, and the topics that are claimed for them. */
#include "dispatch/dispatch.h"

#include "core/error.h"
#include "core/message.h"
#include "core/options.h"
#include "util/alloc.h"

#include <stdlib.h>
#include <string.h>

#define HANDLERS_MAX 1000
#define TIME_LIMIT_MAX_MS (PH_LEASE_MAX_S * 1000)

static bool has_handler(const ph_dispatcher *dispatcher, const ph_handler *handler)
{
    for (size_t i = 0; i < dispatcher->handlers.count; i++) {
        const ph_handler *other = &dispatcher->handlers.items[i];

        if (other->inbox == handler->inbox &&
            (handler->topic && other->topic ? strcmp(handler->topic, other->topic) == 0
                                            : handler->topic == other->topic))
            return true;
    }
    return false;
}

static int check_handler(ph_dispatcher *dispatcher, const ph_handler *handler, ph_error *err)
{
    int r = handler->topic ? ph__name_check(handler->topic, "topic", false, err) : 0;

    if (r < 0)
        return r;
    if (!handler->handle)
        return ph__fail(err, PH_EINVAL, "handle is NULL; give the function to call");
    if (handler->time_limit_ms < 0 || handler->time_limit_ms > TIME_LIMIT_MAX_MS)
        return ph__fail(err, PH_EINVAL, "time_limit_ms is %d; give 1 to %d, or 0 for no limit",
                        handler->time_limit_ms, TIME_LIMIT_MAX_MS);
    if (dispatcher->phase.started || dispatcher->phase.stopping)
        return ph__fail(err, PH_EINVAL,
                        "the dispatcher was started already; register handlers before");
    if (has_handler(dispatcher, handler))
        return ph__fail(err, PH_EINVAL, "%s has a handler already; there is one per topic%s",
                        handler->topic ? handler->topic : "the rest of the topics",
                        handler->inbox ? " of the inbox" : "");
    if (dispatcher->handlers.count == HANDLERS_MAX)
        return ph__fail(err, PH_EINVAL, "%d handlers are the limit; use one with topic NULL",
                        HANDLERS_MAX);
    return 0;
}

int ph_dispatcher_handle(ph_dispatcher *dispatcher, const ph_handler *handler, ph_error *reterr)
{
    ph_handler loaded = PH_HANDLER_INIT, *grown;
    char *topic = NULL;
    int r;

    ph__ok(reterr);
    if (!dispatcher || !handler)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", dispatcher ? "handler" : "dispatcher");
    r = ph__options_load(&loaded, sizeof(loaded), handler, "ph_handler", reterr);
    if (r < 0)
        return r;
    ph__lock(dispatcher);
    r = check_handler(dispatcher, &loaded, reterr);
    if (r == 0 && loaded.topic && !(topic = ph__strdup(loaded.topic)))
        r = ph__fail_memory(reterr);
    if (r == 0) {
        grown = ph__grow(dispatcher->handlers.items, dispatcher->handlers.count + 1,
                         &dispatcher->handlers.room, sizeof(*grown));
        if (grown) {
            dispatcher->handlers.items = grown;
            loaded.topic = topic;
            grown[dispatcher->handlers.count++] = loaded;
        } else {
            ph__dealloc(topic);
            r = ph__fail_memory(reterr);
        }
    }
    ph__unlock(dispatcher);
    return r;
}

/* By door, then topic, the one for the rest last. */
static int by_door_and_topic(const void *left, const void *right)
{
    const ph_handler *a = left, *b = right;

    if (a->inbox != b->inbox)
        return a->inbox ? 1 : -1;
    if (!a->topic || !b->topic)
        return a->topic ? -1 : 1;
    return strcmp(a->topic, b->topic);
}

static int prepare_side(struct ph__side *side, bool any_topic, ph_error *err)
{
    ph__dealloc(side->topics); /* of an earlier try */
    side->topics = NULL;
    if (side->count == 0)
        return 0;
    side->catch_all =
        side->handlers[side->count - 1].topic ? NULL : &side->handlers[side->count - 1];
    if (side->catch_all || any_topic)
        return 0;
    side->topics = ph__alloc_zero(side->count, sizeof(*side->topics));
    if (!side->topics)
        return ph__fail_memory(err);
    for (size_t i = 0; i < side->count; i++)
        side->topics[i] = side->handlers[i].topic;
    return 0;
}

int ph__handlers_prepare(ph_dispatcher *dispatcher, ph_error *err)
{
    struct ph__side *outbox = &dispatcher->handlers.sides[PH_OUTBOX];
    struct ph__side *inbox = &dispatcher->handlers.sides[PH_INBOX];
    int r;

    PH__NEEDS_LOCK(dispatcher);
    if (dispatcher->handlers.count > 0)
        qsort(dispatcher->handlers.items, dispatcher->handlers.count,
              sizeof(*dispatcher->handlers.items), by_door_and_topic);
    outbox->handlers = dispatcher->handlers.items;
    outbox->count = 0;
    while (outbox->count < dispatcher->handlers.count && !outbox->handlers[outbox->count].inbox)
        outbox->count++;
    inbox->handlers = dispatcher->handlers.items + outbox->count;
    inbox->count = dispatcher->handlers.count - outbox->count;
    r = prepare_side(outbox, dispatcher->opts.any_topic, err);
    return r < 0 ? r : prepare_side(inbox, dispatcher->opts.any_topic, err);
}

const ph_handler *ph__handler_of(const struct ph__side *side, const char *topic)
{
    size_t from = 0, to = side->count - (side->catch_all != NULL);

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = strcmp(topic, side->handlers[middle].topic);

        if (order == 0)
            return &side->handlers[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return side->catch_all;
}

void ph__handlers_free(ph_dispatcher *dispatcher)
{
    for (size_t i = 0; i < dispatcher->handlers.count; i++)
        ph__dealloc((char *)(uintptr_t)dispatcher->handlers.items[i].topic);
    ph__dealloc(dispatcher->handlers.items);
    for (int door = 0; door < PH__SIDES; door++)
        ph__dealloc(dispatcher->handlers.sides[door].topics);
}
