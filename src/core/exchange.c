/* exchange.c - settle what is finished and claim what comes next, in one go; and the doorbell. */
#include "core/call.h"
#include "core/claim.h"
#include "core/error.h"
#include "core/join.h"
#include "core/message.h"
#include "core/settle.h"
#include "util/alloc.h"

/* The one exchange of an owner that is no instance; with nothing to settle a claim. */
static int settle_and_claim(struct ph__call *call, const struct ph__settling *settling,
                            const struct ph__claim *claim, ph_batch *batch)
{
    const struct ph__backend *backend = call->store->backend;
    struct ph__work_batch whole = {
        .instance.id = claim->owner,
        .outbox = { .settle = settling->items,
                    .settle_count = settling->count,
                    .ret_settled = settling->outcomes,
                    .claim = claim,
                    .batch = batch },
    };

    return settling->count > 0 ? backend->work_batch(call, &whole)
                               : backend->claim(call, claim, batch);
}

static int exchange(struct ph__call *call, const struct ph__settling *settling,
                    const struct ph__claim *claim, ph_batch **ret_batch)
{
    ph_batch *batch = ph__alloc_zero(1, sizeof(*batch));
    int r;

    if (!batch)
        return ph__fail_memory(call->err);
    r = settle_and_claim(call, settling, claim, batch);
    if (r < 0) {
        ph_batch_free(batch);
        return r;
    }
    ph__claim_log(call->store, claim, batch);
    *ret_batch = batch;
    return 0;
}

int ph_outbox_exchange(ph_store *store, ph_tx tx, ph_owner owner, const ph_settlement *items,
                       size_t count, const ph_claim_opts *claim, int timeout_ms,
                       ph_outcome *ret_outcomes, ph_batch **ret_batch, ph_error *reterr)
{
    struct ph__settling settling = { 0 };
    struct ph__claim loaded;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0 && claim && !ret_batch)
        r = ph__fail(call.err, PH_EINVAL, "ret_batch is NULL; pass claim NULL to settle only");
    if (r == 0 && claim)
        r = ph__claim_load(PH_OUTBOX, owner, claim, &loaded, call.err);
    if (r == 0)
        r = ph__settling_check(owner, items, count, 0, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = ph__settling_load(&settling, &call, items, count);
    if (r == 0 && claim)
        r = exchange(&call, &settling, &loaded, ret_batch);
    else if (r == 0 && count > 0)
        r = store->backend->settle(&call, PH_OUTBOX, owner, settling.items, count,
                                   settling.outcomes);
    r = ph__call_joins(&call, r);
    if (r == 0)
        ph__settling_done(&settling, store, owner, ret_outcomes);
    ph__settling_free(&settling);
    return r;
}

int ph_doorbell_ring(ph_store *store, const char *ns, int timeout_ms, ph_error *reterr)
{
    PH__CALL(call);
    int r = ph__call_begin(&call, store, PH_OWN_TX, timeout_ms, reterr);

    if (r == 0)
        r = ph__name_check(ns ? ns : "", "namespace", true, call.err);
    r = ph__call_connect(&call, r);
    return r < 0 ? r : store->backend->doorbell_ring(&call, ns ? ns : "");
}
