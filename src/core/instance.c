/* instance.c - instances, and ordered streams as operators see them. */
#include "core/call.h"
#include "core/coordination.h"
#include "core/error.h"
#include "core/join.h"
#include "core/list.h"
#include "core/log.h"
#include "core/message.h"
#include "core/options.h"

#define LIST_LIMIT 50

int ph__fail_evicted(ph_error *err, ph_owner instance)
{
    char text[PH_ID_TEXT_SIZE];

    return ph__cure(err,
                    ph__fail(err, PH_EEVICTED,
                             "instance %s was taken for dead, or has left; its messages belong to "
                             "other instances by now",
                             ph_id_text(instance.b, text)),
                    PH_CURE_REGISTER);
}

int ph_instance_leave(ph_store *store, ph_tx tx, ph_owner instance, int timeout_ms, bool *ret_left,
                      ph_error *reterr)
{
    char text[PH_ID_TEXT_SIZE];
    ph_log_field field = { "instance", ph_id_text(instance.b, text) };
    bool left = false;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0 && ph_id_is_zero(instance.b))
        r = ph__fail(call.err, PH_EINVAL, "instance is empty; pass the id that it registered with");
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = ph__call_joins(&call, store->backend->instance_leave(&call, instance, &left));
    if (r < 0)
        return r;
    if (left && ph__log_wants(store, PH_LOG_INFO))
        ph__log(store, PH_LOG_INFO, "instance", "left", &field, 1);
    if (ret_left)
        *ret_left = left;
    return 0;
}

int ph_instance_list(ph_store *store, ph_tx tx, const ph_instance_list_opts *opts, int timeout_ms,
                     ph_instances **ret_list, ph_error *reterr)
{
    ph_instance_list_opts wanted = PH_INSTANCE_LIST_OPTS_INIT;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_list, "ret_list");
    if (r == 0)
        r = ph__options_load(&wanted, sizeof(wanted), opts, "ph_instance_list_opts", call.err);
    if (r == 0 && wanted.service)
        r = ph__name_check(wanted.service, "service", false, call.err);
    PH__LIST_RETURN(instances, &call, r, ret_list,
                    store->backend->instance_list(&call, wanted.service, wanted.ended_too, list));
}

PH__LIST_FUNCTIONS(instances, ph_instance_info)

int ph__stream_load(struct ph__stream *to, ph_door door, const char *ns, const char *key,
                    ph_error *err)
{
    int r;

    *to = (struct ph__stream){ door, ns ? ns : "", key };
    if (door != PH_OUTBOX && door != PH_INBOX)
        return ph__fail(err, PH_EINVAL, "only outbox and inbox have streams");
    r = ph__name_check(to->ns, "namespace", true, err);
    return r < 0 ? r : ph__name_check(key, "stream", false, err);
}

int ph__stream_begin(struct ph__call *call, ph_store *store, ph_tx tx, ph_door door, const char *ns,
                     const char *key, int timeout_ms, ph_error *reterr, struct ph__stream *ret)
{
    int r = ph__call_begin(call, store, tx, timeout_ms, reterr);

    return r < 0 ? r : ph__stream_load(ret, door, ns, key, call->err);
}

static int query_load(const ph_stream_list_opts *from, struct ph__stream_query *to, ph_error *err)
{
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;
    struct ph__stream name;
    int r = ph__options_load(&opts, sizeof(opts), from, "ph_stream_list_opts", err);

    if (r < 0)
        return r;
    *to = (struct ph__stream_query){
        .door = opts.door,
        .ns = opts.ns,
        .key = opts.stream,
        .service = opts.service,
        .after_ns = opts.after_stream && !opts.after_ns ? "" : opts.after_ns,
        .after_key = opts.after_stream,
        .idle_too = opts.idle_too || opts.stream,
        .partition_count = opts.partition_count,
        .limit = opts.limit ? opts.limit : LIST_LIMIT,
    };
    if (to->limit < 0 || to->limit > PH_BATCH_MAX)
        return ph__fail(err, PH_EINVAL, "limit is %d; give 1 to %d, or 0 for %d", to->limit,
                        PH_BATCH_MAX, LIST_LIMIT);
    if (to->partition_count < 0 || to->partition_count > PH_PARTITIONS_MAX)
        return ph__fail(err, PH_EINVAL,
                        "partition_count is %d; give 1 to %d, or 0 for the service's",
                        to->partition_count, PH_PARTITIONS_MAX);
    if (to->after_ns && !to->after_key)
        return ph__fail(err, PH_EINVAL, "after_ns is given without after_stream; give both");
    if (to->service)
        r = ph__name_check(to->service, "service", false, err);
    if (r == 0 && to->after_key)
        r = ph__name_check(to->after_key, "after_stream", false, err);
    if (r == 0 && to->after_ns)
        r = ph__name_check(to->after_ns, "after_ns", true, err);
    return r < 0 ? r
                 : ph__stream_load(&name, opts.door, opts.ns, opts.stream ? opts.stream : "-", err);
}

/* The number of partitions by which the requested service shares its streams, as its live instances
 * have registered it. */
static int partitions_load(struct ph__call *call, struct ph__stream_query *query)
{
    ph_instances list = { 0 };
    int r = 0;

    if (query->partition_count > 0)
        return 0;
    if (query->service)
        r = call->store->backend->instance_list(call, query->service, false, &list);
    query->partition_count = list.count > 0 ? list.items[0].partition_count : PH_PARTITIONS;
    ph__arena_free(&list.arena);
    return r;
}

static int list_streams(struct ph__call *call, struct ph__stream_query *query, ph_streams *list)
{
    int r = partitions_load(call, query);

    return r < 0 ? r : call->store->backend->stream_list(call, query, list);
}

int ph_stream_list(ph_store *store, ph_tx tx, const ph_stream_list_opts *opts, int timeout_ms,
                   ph_streams **ret_list, ph_error *reterr)
{
    struct ph__stream_query query;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_list, "ret_list");
    if (r == 0)
        r = query_load(opts, &query, call.err);
    PH__LIST_RETURN(streams, &call, r, ret_list, list_streams(&call, &query, list));
}

PH__LIST_FUNCTIONS(streams, ph_stream_info)

int ph_stream_read(ph_store *store, ph_tx tx, ph_door door, const char *ns, const char *stream,
                   int64_t after_seq, int limit, int timeout_ms, ph_messages **ret_list,
                   ph_error *reterr)
{
    struct ph__stream name;
    PH__CALL(call);
    int r = ph__stream_begin(&call, store, tx, door, ns, stream, timeout_ms, reterr, &name);

    r = ph__call_wants(&call, r, ret_list, "ret_list");
    if (r == 0 && (limit < 0 || limit > PH_BATCH_MAX))
        r = ph__fail(call.err, PH_EINVAL, "limit is %d; give 1 to %d, or 0 for %d", limit,
                     PH_BATCH_MAX, LIST_LIMIT);
    if (r == 0 && after_seq < 0)
        r = ph__fail(call.err, PH_EINVAL, "after_seq is negative; give 0 for the beginning");
    PH__LIST_RETURN(
        messages, &call, r, ret_list,
        store->backend->stream_read(&call, &name, after_seq, limit ? limit : LIST_LIMIT, list));
}
