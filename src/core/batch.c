/* batch.c - the one call: heartbeat, results, new messages, renewals and the next work, together. */
#include "core/batch.h"

#include "core/call.h"
#include "core/claim.h"
#include "core/coordination.h"
#include "core/enqueue.h"
#include "core/error.h"
#include "core/join.h"
#include "core/log.h"
#include "core/message.h"
#include "core/options.h"
#include "core/settle.h"
#include "util/alloc.h"
#include "util/assert.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_FLAGS (PH_BATCH_KEEP_COMPLETED | PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX)

/* --------------------------------------------------------------- the exchange */

static void log_instance(const ph_store *store, const struct ph__work_batch *batch)
{
    char text[PH_ID_TEXT_SIZE], one[PH_ID_TEXT_SIZE], evicted[24];
    ph_log_field registered[] = { { "instance", ph_id_text(batch->instance.id.b, text) },
                                  { "service", batch->instance.service },
                                  { "host", batch->instance.host } };
    ph_log_field removed[] = { { "count", evicted },
                               { "instance", ph_id_text(batch->ret_evicted_one.b, one) } };

    if (batch->ret_registered && ph__log_wants(store, PH_LOG_INFO))
        ph__log(store, PH_LOG_INFO, "instance", "registered", registered, 3);
    if (batch->ret_evicted == 0 || !ph__log_wants(store, PH_LOG_WARN))
        return;
    snprintf(evicted, sizeof(evicted), "%d", batch->ret_evicted);
    ph__log(store, PH_LOG_WARN, "instance", "taken for dead; their messages were taken back",
            removed, 2);
}

static void log_part(const struct ph__call *call, ph_door door, ph_owner owner,
                     const struct ph__work_part *part)
{
    const ph_store *store = call->store;

    if (part->renew_count > 0)
        ph__outcomes_log(store, "renew", owner, part->ret_renewed, part->renew_count);
    if (part->message_count > 0)
        ph__enqueued_log(call, door, part->messages, part->ret_enqueued, part->message_count);
    if (part->claim)
        ph__claim_log(store, part->claim, part->batch);
}

/* A part with its settlements as a backend takes them. */
static int prepare(struct ph__call *call, struct ph__work_part *part, struct ph__settling *settling)
{
    int r = ph__settling_load(settling, call, part->settle, part->settle_count);

    part->settle = settling->items;
    part->ret_settled = settling->outcomes;
    return r;
}

static int exchange(struct ph__call *call, struct ph__work_batch *batch)
{
    const struct ph__work_part outbox = batch->outbox, inbox = batch->inbox;
    struct ph__settling first = { 0 }, second = { 0 };
    ph_owner owner = batch->instance.id;
    int r = prepare(call, &batch->outbox, &first);

    if (r == 0)
        r = prepare(call, &batch->inbox, &second);
    if (r == 0)
        r = call->store->backend->work_batch(call, batch);
    batch->outbox.settle = outbox.settle;
    batch->outbox.ret_settled = outbox.ret_settled;
    batch->inbox.settle = inbox.settle;
    batch->inbox.ret_settled = inbox.ret_settled;
    if (r == 0) {
        PH__ASSERT(batch->ret_evicted >= 0);
        PH__ASSERT(ph__outcomes_set(batch->outbox.ret_renewed, batch->outbox.renew_count));
        PH__ASSERT(ph__outcomes_set(batch->inbox.ret_renewed, batch->inbox.renew_count));
        ph__settling_done(&first, call->store, owner, outbox.ret_settled);
        ph__settling_done(&second, call->store, owner, inbox.ret_settled);
        log_part(call, PH_OUTBOX, owner, &batch->outbox);
        log_part(call, PH_INBOX, owner, &batch->inbox);
        log_instance(call->store, batch);
    }
    r = ph__call_joins(call, r);
    ph__settling_free(&first);
    ph__settling_free(&second);
    return r == PH_EEVICTED ? ph__fail_evicted(call->err, owner) : r;
}

static int settlements_check(const struct ph__work_batch *batch, ph_error *err)
{
    const struct ph__work_part *outbox = &batch->outbox, *inbox = &batch->inbox;
    ph_owner owner = batch->instance.id;
    int r = ph__settling_check(owner, outbox->settle, outbox->settle_count, 0, err);

    return r < 0 ? r : ph__settling_check(owner, inbox->settle, inbox->settle_count, 0, err);
}

int ph__work_batch(ph_store *store, struct ph__work_batch *batch, int timeout_ms, ph_error *reterr)
{
    PH__CALL(call);
    int r = ph__call_begin(&call, store, PH_OWN_TX, timeout_ms, reterr);

    if (r == 0)
        r = settlements_check(batch, call.err);
    r = ph__call_connect(&call, r);
    return r < 0 ? r : exchange(&call, batch);
}

/* ------------------------------------------------------------ the public call */

/* A call's options as the backend takes them, and its results. */
struct whole {
    ph_work_batch result; /* first: the public pointer is cast back */
    struct ph__arena arena;
    struct ph__work_batch batch;
    struct ph__claim claims[2];
    char host[HOST_NAME_MAX + 1];
};

static int counts_check(const ph_work_batch_opts *o, ph_error *err)
{
    const struct {
        const char *what;
        const void *items;
        size_t count;
    } parts[] = {
        { "outbox", o->outbox, o->outbox_count },
        { "inbox", o->inbox, o->inbox_count },
        { "receptors", o->receptors, o->receptor_count },
        { "checkpoints", o->checkpoints, o->checkpoint_count },
        { "new_outbox", o->new_outbox, o->new_outbox_count },
        { "new_inbox", o->new_inbox, o->new_inbox_count },
        { "renew_outbox", o->renew_outbox, o->renew_outbox_count },
        { "renew_inbox", o->renew_inbox, o->renew_inbox_count },
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (parts[i].count > PH_BATCH_MAX)
            return ph__fail(err, PH_EINVAL, "%s: %zu items; at most %d are allowed", parts[i].what,
                            parts[i].count, PH_BATCH_MAX);
        if (parts[i].count > 0 && !parts[i].items)
            return ph__fail(err, PH_EINVAL, "%s is NULL, but has a count", parts[i].what);
    }
    return 0;
}

/* Puts the name of a part before an error. */
static int in_part(const char *part, int r, ph_error *err)
{
    return r == PH_EINVAL ? ph__prefix(err, r, "%s: ", part) : r;
}

static int instance_load(struct whole *w, const ph_work_batch_opts *o, ph_error *err)
{
    int r;

    w->batch.instance = (struct ph__instance){
        .id = o->instance_id,
        .service = o->service_name,
        .host = o->host_name ? o->host_name : w->host,
        .metadata = o->metadata,
        .process_id = o->process_id ? o->process_id : (int)getpid(),
        .lease_s = o->instance_lease_s ? o->instance_lease_s : PH_INSTANCE_LEASE_S,
        .stale_s = o->stale_threshold_s ? o->stale_threshold_s : PH_STALE_THRESHOLD_S,
        .partition_count = o->partition_count ? o->partition_count : PH_PARTITIONS,
    };
    if (!o->host_name && gethostname(w->host, sizeof(w->host) - 1) < 0)
        snprintf(w->host, sizeof(w->host), "unknown");
    if (ph_id_is_zero(o->instance_id.b))
        return ph__cure(err, ph__fail(err, PH_EINVAL, "instance_id is empty"), PH_CURE_NEW_OWNER);
    if (w->batch.instance.lease_s < 1 || w->batch.instance.lease_s > PH_LEASE_MAX_S)
        return ph__fail(err, PH_EINVAL, "instance_lease_s is %d; give 1 to %d, or 0 for %d",
                        w->batch.instance.lease_s, PH_LEASE_MAX_S, PH_INSTANCE_LEASE_S);
    if (w->batch.instance.stale_s < 1 || w->batch.instance.stale_s > PH_STALE_THRESHOLD_MAX_S)
        return ph__fail(err, PH_EINVAL, "stale_threshold_s is %d; give 1 to %d, or 0 for %d",
                        w->batch.instance.stale_s, PH_STALE_THRESHOLD_MAX_S, PH_STALE_THRESHOLD_S);
    r = ph__name_check(o->service_name, "service_name", false, err);
    if (r == 0)
        r = ph__name_check(w->batch.instance.host, "host_name", false, err);
    return r < 0 ? r : ph__object_check(o->metadata, "metadata", false, err);
}

static int claims_load(struct whole *w, const ph_work_batch_opts *o, ph_error *err)
{
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;

    claim.lease_s = w->batch.instance.lease_s;
    claim.batch_size = o->batch_size;
    claim.ns = o->ns;
    claim.topics = o->topics;
    claim.topic_count = o->topic_count;
    if (o->flags & ~KNOWN_FLAGS)
        return ph__fail(err, PH_EINVAL, "flags has bits other than PH_BATCH_…");
    if (o->partition_count < 0 || o->partition_count > PH_PARTITIONS_MAX)
        return ph__fail(err, PH_EINVAL, "partition_count is %d; give 1 to %d, or 0 for %d",
                        o->partition_count, PH_PARTITIONS_MAX, PH_PARTITIONS);
    if (o->max_partitions < 0)
        return ph__fail(err, PH_EINVAL, "max_partitions is negative; give 0 for any number");
    for (int door = PH_OUTBOX; door <= PH_INBOX; door++) {
        struct ph__claim *to = &w->claims[door];
        int r = ph__claim_load((ph_door)door, o->instance_id, &claim, to, err);

        if (r < 0)
            return r;
        to->partition_count = w->batch.instance.partition_count;
        to->max_partitions = o->max_partitions;
    }
    w->batch.keep = o->flags & PH_BATCH_KEEP_COMPLETED;
    w->batch.outbox.claim = o->flags & PH_BATCH_NO_OUTBOX ? NULL : &w->claims[PH_OUTBOX];
    w->batch.inbox.claim = o->flags & PH_BATCH_NO_INBOX ? NULL : &w->claims[PH_INBOX];
    return 0;
}

/* Room for the answers of one door. */
static bool make_room(struct whole *w, struct ph__work_part *part, size_t message_count)
{
    part->ret_settled = ph__arena_alloc(&w->arena, part->settle_count * sizeof(ph_outcome));
    part->ret_renewed = ph__arena_alloc(&w->arena, part->renew_count * sizeof(ph_outcome));
    part->ret_enqueued = ph__arena_alloc(&w->arena, message_count * sizeof(ph_enqueued));
    part->messages = ph__arena_alloc(&w->arena, message_count * sizeof(struct ph__message));
    part->message_count = message_count;
    part->batch = ph__alloc_zero(1, sizeof(*part->batch));
    return part->ret_settled && part->ret_renewed && part->ret_enqueued && part->messages &&
           part->batch;
}

static int parts_load(struct whole *w, const ph_work_batch_opts *o, bool own_transaction,
                      ph_error *err)
{
    struct ph__work_part *outbox = &w->batch.outbox, *inbox = &w->batch.inbox;
    ph_receptor_result *receptors = NULL;
    struct ph__checkpoint *checkpoints = NULL;
    int r = 0;

    outbox->settle = o->outbox;
    outbox->settle_count = o->outbox_count;
    outbox->renew = o->renew_outbox;
    outbox->renew_count = o->renew_outbox_count;
    inbox->settle = o->inbox;
    inbox->settle_count = o->inbox_count;
    inbox->renew = o->renew_inbox;
    inbox->renew_count = o->renew_inbox_count;
    if (!make_room(w, outbox, o->new_outbox_count) || !make_room(w, inbox, o->new_inbox_count))
        return ph__fail_memory(err);
    r = in_part("renew_outbox", ph__leases_check(outbox->renew, outbox->renew_count, err), err);
    if (r == 0)
        r = in_part("renew_inbox", ph__leases_check(inbox->renew, inbox->renew_count, err), err);
    if (r == 0 && o->new_outbox_count > 0)
        r = in_part("new_outbox",
                    ph__messages_load((struct ph__message *)(uintptr_t)outbox->messages,
                                      o->new_outbox, o->new_outbox_count, err),
                    err);
    if (r == 0 && o->new_inbox_count > 0)
        r = in_part("new_inbox",
                    ph__inbox_messages_load((struct ph__message *)(uintptr_t)inbox->messages,
                                            o->new_inbox, o->new_inbox_count, own_transaction, err),
                    err);
    if (r == 0 && o->receptor_count > 0)
        r = in_part("receptors",
                    ph__receptors_load(o->receptors, o->receptor_count, &w->arena, &receptors, err),
                    err);
    if (r == 0 && o->checkpoint_count > 0)
        r = in_part(
            "checkpoints",
            ph__checkpoints_load(o->checkpoints, o->checkpoint_count, &w->arena, &checkpoints, err),
            err);
    w->batch.receptors = receptors;
    w->batch.receptor_count = o->receptor_count;
    w->batch.checkpoints = checkpoints;
    w->batch.checkpoint_count = o->checkpoint_count;
    return r;
}

static int load(struct whole *w, const ph_work_batch_opts *from, bool own_transaction,
                ph_error *err)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    int r;

    if (!from)
        return ph__fail(err, PH_EINVAL, "opts is NULL; instance_id and service_name are required");
    r = ph__options_load(&opts, sizeof(opts), from, "ph_work_batch_opts", err);
    if (r == 0)
        r = counts_check(&opts, err);
    if (r == 0)
        r = instance_load(w, &opts, err);
    if (r == 0)
        r = claims_load(w, &opts, err);
    return r < 0 ? r : parts_load(w, &opts, own_transaction, err);
}

/* What the caller gets. */
static int show(struct whole *w, ph_error *err)
{
    const struct ph__work_part *outbox = &w->batch.outbox, *inbox = &w->batch.inbox;
    ph_received *received = ph__arena_alloc(&w->arena, inbox->message_count * sizeof(*received));

    if (!received)
        return ph__fail_flags(err, ph__fail_memory(err), PH_UNKNOWN);
    PH__ASSERT(outbox->batch && inbox->batch);
    for (size_t i = 0; i < inbox->message_count; i++)
        received[i] =
            (ph_received){ inbox->ret_enqueued[i].work_id, inbox->ret_enqueued[i].is_new };
    ph__renewals_plain(outbox->ret_renewed, outbox->renew_count);
    ph__renewals_plain(inbox->ret_renewed, inbox->renew_count);
    w->result = (ph_work_batch){
        .outbox = outbox->batch,
        .inbox = inbox->batch,
        .outbox_outcomes = outbox->ret_settled,
        .inbox_outcomes = inbox->ret_settled,
        .renew_outbox_outcomes = outbox->ret_renewed,
        .renew_inbox_outcomes = inbox->ret_renewed,
        .new_outbox = outbox->ret_enqueued,
        .new_inbox = received,
        .registered = w->batch.ret_registered,
        .evicted = w->batch.ret_evicted,
    };
    return 0;
}

int ph_process_work_batch(ph_store *store, ph_tx tx, const ph_work_batch_opts *opts, int timeout_ms,
                          ph_work_batch **ret_batch, ph_error *reterr)
{
    struct whole *w;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_batch, "ret_batch");
    if (r < 0)
        return r;
    w = ph__alloc_zero(1, sizeof(*w));
    if (!w)
        return ph__fail_memory(call.err);
    r = load(w, opts, !call.connection, call.err);
    if (r == 0)
        r = settlements_check(&w->batch, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = exchange(&call, &w->batch);
    if (r == 0)
        r = show(w, call.err);
    if (r < 0) {
        w->result.outbox = w->batch.outbox.batch;
        w->result.inbox = w->batch.inbox.batch;
        ph_work_batch_free(&w->result);
        return r;
    }
    *ret_batch = &w->result;
    return 0;
}

void ph_work_batch_free(ph_work_batch *batch)
{
    struct whole *w = (struct whole *)batch;

    if (!w)
        return;
    ph_batch_free(batch->outbox);
    ph_batch_free(batch->inbox);
    ph__arena_free(&w->arena);
    ph__dealloc(w);
}
