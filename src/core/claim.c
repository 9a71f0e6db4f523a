/* claim.c - messages out, and the batch that carries them. */
#include "core/claim.h"

#include "core/call.h"
#include "core/door.h"
#include "core/error.h"
#include "core/job.h"
#include "core/join.h"
#include "core/list.h"
#include "core/log.h"
#include "core/message.h"
#include "core/options.h"
#include "util/alloc.h"
#include "util/assert.h"

#include <stdio.h>

#define TOPICS_MAX 1000

int ph__claim_load(ph_door door, ph_owner owner, const ph_claim_opts *from, struct ph__claim *to,
                   ph_error *err)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    int r = ph__options_load(&opts, sizeof(opts), from, "ph_claim_opts", err);

    if (r < 0)
        return r;
    *to = (struct ph__claim){
        .door = door,
        .owner = owner,
        .lease_s = opts.lease_s ? opts.lease_s : PH_LEASE_S,
        .batch_size = opts.batch_size ? opts.batch_size : PH__BATCH_SIZE,
        .ns = opts.ns ? opts.ns : "",
        .topics = opts.topics,
        .topic_count = opts.topic_count,
    };
    if (ph_id_is_zero(owner.b))
        return ph__cure(err, ph__fail(err, PH_EINVAL, "owner is empty"), PH_CURE_NEW_OWNER);
    if (to->lease_s < 0 || to->lease_s > PH_LEASE_MAX_S)
        return ph__fail(err, PH_EINVAL, "lease_s is %d; give 1 to %d, or 0 for %d", to->lease_s,
                        PH_LEASE_MAX_S, PH_LEASE_S);
    if (to->batch_size < 0 || to->batch_size > PH_BATCH_MAX)
        return ph__fail(err, PH_EINVAL, "batch_size is %d; give 1 to %d, or 0 for %d",
                        to->batch_size, PH_BATCH_MAX, PH__BATCH_SIZE);
    if (to->topics && (to->topic_count < 1 || to->topic_count > TOPICS_MAX))
        return ph__fail(err, PH_EINVAL, "topic_count is %zu; give 1 to %d, or topics NULL",
                        to->topic_count, TOPICS_MAX);
    for (size_t i = 0; to->topics && i < to->topic_count && r == 0; i++)
        r = ph__name_check(to->topics[i], "topics: a topic", false, err);
    PH__ASSERT(to->lease_s > 0 && to->batch_size > 0);
    return r < 0 ? r : ph__name_check(to->ns, "namespace", true, err);
}

/* Every backend gives leased messages, with all that a delivery must have. */
PH__ONLY_ASSERTED static bool is_leased(const ph_delivery *item)
{
    return !ph_id_is_zero(item->work_id.b) && item->fence > 0 && item->attempts > 0 && item->topic;
}

PH__ONLY_ASSERTED static bool are_leased(const ph_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (!is_leased(&batch->items[i]))
            return false;
    }
    return true;
}

void ph__claim_log(const ph_store *store, const struct ph__claim *claim, const ph_batch *batch)
{
    char count[24], text[PH_ID_TEXT_SIZE];
    ph_log_field fields[] = { { "count", count },
                              { "owner", ph_id_text(claim->owner.b, text) },
                              { "namespace", *claim->ns ? claim->ns : NULL } };

    PH__ASSERT(batch->count <= (size_t)claim->batch_size);
    PH__ASSERT(are_leased(batch));
    if (!ph__log_wants(store, PH_LOG_DEBUG))
        return;
    snprintf(count, sizeof(count), "%zu", batch->count);
    ph__log(store, PH_LOG_DEBUG, "claim", "leased", fields, 3);
}

/* Sets the members that only job runs have, from their headers. */
static int finish(const struct ph__call *call, ph_door door, ph_batch *batch)
{
    for (size_t i = 0; door == PH_JOB_RUNS && i < batch->count; i++) {
        if (!ph__job_of_headers(&batch->arena, &batch->items[i]))
            /* they are leased: only a rollback can undo that */
            return ph__fail_flags(call->err, ph__fail_memory(call->err),
                                  call->connection ? PH_TX_DEAD : PH_UNKNOWN);
    }
    return 0;
}

int ph__door_claim(ph_door door, ph_store *store, ph_tx tx, ph_owner owner,
                   const ph_claim_opts *opts, int timeout_ms, ph_batch **ret_batch,
                   ph_error *reterr)
{
    struct ph__claim claim;
    PH__CALL(call);
    ph_batch *batch;
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_batch, "ret_batch");
    if (r == 0)
        r = ph__claim_load(door, owner, opts, &claim, call.err);
    r = ph__call_connect(&call, r);
    if (r < 0)
        return r;
    batch = ph__alloc_zero(1, sizeof(*batch));
    if (!batch)
        return ph__fail_memory(call.err);
    r = ph__call_joins(&call, store->backend->claim(&call, &claim, batch));
    if (r == 0)
        r = finish(&call, door, batch);
    if (r < 0) {
        ph_batch_free(batch);
        return r;
    }
    ph__claim_log(store, &claim, batch);
    *ret_batch = batch;
    return 0;
}

PH__LIST_FUNCTIONS(batch, ph_delivery)
