/* list.c - lists of messages and queues. */
#include "core/call.h"
#include "core/door.h"
#include "core/error.h"
#include "core/id.h"
#include "core/job.h"
#include "core/list.h"
#include "core/message.h"
#include "core/options.h"
#include "util/alloc.h"
#include "util/assert.h"

#define LIST_LIMIT 50

static int list_of(ph_door door, const ph_message_list_opts *from, struct ph__list *to,
                   ph_error *err)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    int64_t number;
    uint64_t salt;
    int r = ph__options_load(&opts, sizeof(opts), from, "ph_message_list_opts", err);

    if (r < 0)
        return r;
    *to = (struct ph__list){
        .door = door,
        .ns = opts.ns,
        .topic = opts.topic,
        .state = opts.state,
        .oldest_first = opts.oldest_first,
        .with_payload = opts.with_payload,
        .limit = opts.limit ? opts.limit : LIST_LIMIT,
        .after = opts.after,
    };
    if (to->limit < 0 || to->limit > PH_BATCH_MAX)
        return ph__fail(err, PH_EINVAL, "limit is %d; give 1 to %d, or 0 for %d", to->limit,
                        PH_BATCH_MAX, LIST_LIMIT);
    if (to->state < PH_LIST_ALL || to->state > PH_LIST_PARKED)
        return ph__fail(err, PH_EINVAL, "state %d is not a ph_list_state", (int)to->state);
    if (!ph_id_is_zero(to->after.b) && !ph__id_split(to->after, &number, &salt))
        return ph__fail(err, PH_EINVAL,
                        "after is not a work id; give the last one of the page before, or zero");
    if (to->topic)
        r = ph__name_check(to->topic, "topic", false, err);
    return r < 0 || !to->ns ? r : ph__name_check(to->ns, "namespace", true, err);
}

/* A run's headers name its job: they are always read, and shown if asked for. */
static bool name_jobs(ph_messages *list, bool with_payload)
{
    for (size_t i = 0; i < list->count; i++) {
        ph_delivery *run = ph__arena_alloc(&list->arena, sizeof(*run));

        if (!run)
            return false;
        *run = *list->items[i].message;
        if (!ph__job_of_headers(&list->arena, run))
            return false;
        if (!with_payload)
            run->payload = run->headers = NULL;
        list->items[i].message = run;
    }
    return true;
}

int ph__door_list(ph_door door, ph_store *store, ph_tx tx, const ph_message_list_opts *opts,
                  int timeout_ms, ph_messages **ret_list, ph_error *reterr)
{
    bool with_payload = false;
    struct ph__list wanted;
    ph_messages *list;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_list, "ret_list");
    if (r == 0)
        r = list_of(door, opts, &wanted, call.err);
    r = ph__call_connect(&call, r);
    if (r < 0)
        return r;
    with_payload = wanted.with_payload;
    wanted.with_payload = with_payload || door == PH_JOB_RUNS;
    list = ph__alloc_zero(1, sizeof(*list));
    if (!list)
        return ph__fail_memory(call.err);
    r = store->backend->list(&call, &wanted, list);
    if (r == 0 && door == PH_JOB_RUNS && !name_jobs(list, with_payload))
        r = ph__fail_memory(call.err);
    if (r < 0) {
        ph_messages_free(list);
        return r;
    }
    PH__ASSERT(list->count <= (size_t)wanted.limit);
    *ret_list = list;
    return 0;
}

PH__LIST_FUNCTIONS(messages, ph_message_info)

int ph_queue_list(ph_store *store, ph_tx tx, const ph_queue_list_opts *opts, int timeout_ms,
                  ph_queues **ret_list, ph_error *reterr)
{
    ph_queue_list_opts wanted = PH_QUEUE_LIST_OPTS_INIT;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_list, "ret_list");
    if (r == 0)
        r = ph__options_load(&wanted, sizeof(wanted), opts, "ph_queue_list_opts", call.err);
    if (r == 0)
        r = ph__queue_check(wanted.door, wanted.ns, call.err);
    PH__LIST_RETURN(queues, &call, r, ret_list,
                    store->backend->queue_list(&call, wanted.door, wanted.ns, list));
}

PH__LIST_FUNCTIONS(queues, ph_queue_info)
