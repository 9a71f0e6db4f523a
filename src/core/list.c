/* list.c - lists of messages and queues. */
#include "core/call.h"
#include "core/error.h"
#include "core/id.h"
#include "core/message.h"
#include "core/options.h"
#include "util/alloc.h"

#define LIST_LIMIT 50

static int list_of(const ph_list_opts *from, struct ph__list *to, ph_error *err)
{
    ph_list_opts opts = PH_LIST_OPTS_INIT;
    int64_t number;
    uint64_t salt;
    int r = ph__options_load(&opts, sizeof(opts), from, "ph_list_opts", err);

    if (r < 0)
        return r;
    *to = (struct ph__list){
        .door = PH__OUTBOX,
        .ns = opts.ns,
        .topic = opts.topic,
        .state = opts.state,
        .oldest_first = opts.oldest_first,
        .with_payload = opts.with_payload,
        .limit = opts.limit ? opts.limit : LIST_LIMIT,
        .after = opts.after,
    };
    if (to->limit < 0 || to->limit > PH_BATCH_MAX)
        return ph__fail(err, PH_EINVAL, "limit is %d; allowed are 1 to %d", to->limit,
                        PH_BATCH_MAX);
    if (to->state < PH_LIST_ALL || to->state > PH_LIST_DEAD)
        return ph__fail(err, PH_EINVAL, "state %d is not a ph_list_state", (int)to->state);
    if (!ph_id_is_zero(to->after.b) && !ph__id_split(to->after, &number, &salt))
        return ph__fail(err, PH_EINVAL,
                        "after is not a work id; give the last one of the page before, or zero");
    if (to->topic)
        r = ph__name_check(to->topic, "topic", false, err);
    return r < 0 || !to->ns ? r : ph__name_check(to->ns, "namespace", true, err);
}

int ph_outbox_list(ph_store *store, ph_tx tx, const ph_list_opts *opts, int timeout_ms,
                   ph_message_list **ret_list, ph_error *reterr)
{
    struct ph__list wanted;
    ph_message_list *list;
    struct ph__call call;
    ph_error spare;
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr, &spare);

    if (r == 0 && !ret_list)
        r = ph__fail(call.err, PH_EINVAL, "ret_list is NULL");
    if (r == 0)
        r = list_of(opts, &wanted, call.err);
    if (r < 0)
        return r;
    list = ph__alloc_zero(1, sizeof(*list));
    if (!list)
        return ph__fail_memory(call.err);
    r = store->backend->list(&call, &wanted, list);
    if (r < 0) {
        ph_message_list_free(list);
        return r;
    }
    *ret_list = list;
    return 0;
}

size_t ph_message_list_count(const ph_message_list *list)
{
    return list ? list->count : 0;
}

const ph_message_info *ph_message_list_at(const ph_message_list *list, size_t index)
{
    return list && index < list->count ? &list->items[index] : NULL;
}

void ph_message_list_free(ph_message_list *list)
{
    if (!list)
        return;
    ph__arena_free(&list->arena);
    ph__dealloc(list);
}

int ph_outbox_queue_list(ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                         ph_queue_list **ret_list, ph_error *reterr)
{
    ph_queue_list *list;
    struct ph__call call;
    ph_error spare;
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr, &spare);

    if (r == 0 && !ret_list)
        r = ph__fail(call.err, PH_EINVAL, "ret_list is NULL");
    if (r == 0 && ns)
        r = ph__name_check(ns, "namespace", true, call.err);
    if (r < 0)
        return r;
    list = ph__alloc_zero(1, sizeof(*list));
    if (!list)
        return ph__fail_memory(call.err);
    r = store->backend->queue_list(&call, PH__OUTBOX, ns, list);
    if (r < 0) {
        ph_queue_list_free(list);
        return r;
    }
    *ret_list = list;
    return 0;
}

size_t ph_queue_list_count(const ph_queue_list *list)
{
    return list ? list->count : 0;
}

const ph_queue_info *ph_queue_list_at(const ph_queue_list *list, size_t index)
{
    return list && index < list->count ? &list->items[index] : NULL;
}

void ph_queue_list_free(ph_queue_list *list)
{
    if (!list)
        return;
    ph__arena_free(&list->arena);
    ph__dealloc(list);
}
