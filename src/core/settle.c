/* settle.c - what becomes of claimed messages: ack, abandon, fail, release, renew, reap. */
#include "core/settle.h"

#include "core/call.h"
#include "core/claim.h"
#include "core/door.h"
#include "core/error.h"
#include "core/join.h"
#include "core/log.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "util/text.h"

#include <stdio.h>
#include <string.h>

#define DELAY_MAX_MS (INT64_C(366) * 86400 * 1000)

ph_lease_ref ph_lease_ref_of(const ph_delivery *delivery)
{
    ph_lease_ref ref = { { { 0 } }, 0, 0, 0 };

    if (delivery)
        ref = (ph_lease_ref){ delivery->work_id, delivery->fence, delivery->attempts,
                              delivery->retry_count };
    return ref;
}

/* Asks the store's own backoff policy, if there is one and the counts are known. */
static int64_t delay_of(const ph_store *store, const ph_settlement *item)
{
    int64_t delay = item->delay_ms;

    if (delay == PH_DELAY_POLICY && item->verb == PH_ABANDON && store->opts.backoff &&
        item->lease.attempts > 0) {
        delay = store->opts.backoff(store->opts.backoff_context, item->lease.retry_count + 1,
                                    item->lease.attempts);
        if (delay < 0)
            delay = PH_DELAY_POLICY;
    }
    return delay > DELAY_MAX_MS ? DELAY_MAX_MS : delay;
}

static int fence_check(int64_t fence, size_t index, ph_error *err)
{
    if (fence < 0)
        return ph__fail(err, PH_EINVAL, "item %zu: fence is negative; give 0 for any", index);
    return 0;
}

static int item_check(const ph_settlement *item, size_t index, ph_error *err)
{
    if (item->verb < PH_ACK || item->verb > PH_RELEASE)
        return ph__fail(err, PH_EINVAL, "item %zu: verb %d is not a ph_settle_verb", index,
                        (int)item->verb);
    if (item->delay_ms < PH_DELAY_POLICY)
        return ph__fail(err, PH_EINVAL,
                        "item %zu: delay_ms is negative; give 0 or more, or PH_DELAY_POLICY",
                        index);
    return fence_check(item->lease.fence, index, err);
}

/* Copies the items with their delays settled and their error texts made fit to
 * store (handlers report whatever they caught: it must not spoil the call). */
static int prepare(struct ph__call *call, const ph_settlement *items, size_t count,
                   struct ph__arena *arena, ph_settlement **ret_items)
{
    ph_settlement *copy = ph__arena_alloc(arena, count * sizeof(*copy));
    const char *last_error = NULL, *last_mended = NULL;

    PH__ASSERT(items && count > 0 && count <= PH_BATCH_MAX);
    if (!copy)
        return ph__fail_memory(call->err);
    for (size_t i = 0; i < count; i++) {
        PH__ASSERT(items[i].verb >= PH_ACK && items[i].verb <= PH_RELEASE);
        copy[i] = items[i];
        copy[i].delay_ms = delay_of(call->store, &items[i]);
        PH__ASSERT(copy[i].delay_ms >= PH_DELAY_POLICY && copy[i].delay_ms <= DELAY_MAX_MS);
        if (items[i].verb != PH_ABANDON && items[i].verb != PH_FAIL)
            copy[i].error = NULL;
        if (!copy[i].error)
            continue;
        if (copy[i].error != last_error) { /* one text for all is the rule */
            struct ph__buffer mended = { 0 };

            ph__buffer_text(&mended, "");
            ph__text_mend(&mended, copy[i].error, PH_ERROR_TEXT_MAX);
            last_error = copy[i].error;
            last_mended = mended.failed ? NULL : ph__arena_copy(arena, mended.data, mended.length);
            ph__buffer_free(&mended);
        }
        if (!last_mended)
            return ph__fail_memory(call->err);
        copy[i].error = last_mended;
    }
    *ret_items = copy;
    return 0;
}

static int list_check(const void *items, size_t count, size_t least, ph_owner owner, ph_error *err)
{
    if (ph_id_is_zero(owner.b))
        return ph__fail(err, PH_EINVAL, "owner is empty; pass the one that claimed");
    if (count < least || count > PH_BATCH_MAX)
        return ph__fail(err, PH_EINVAL, "%zu items; give %zu to %d", count, least, PH_BATCH_MAX);
    if (!items && count > 0)
        return ph__fail(err, PH_EINVAL, "items is NULL");
    return 0;
}

void ph__outcomes_log(const ph_store *store, const char *event, ph_owner owner,
                      const ph_outcome *outcomes, size_t count)
{
    size_t stale = 0;
    char done[24], lost[24], text[PH_ID_TEXT_SIZE];
    ph_log_field fields[] = { { "count", done },
                              { "stale", lost },
                              { "owner", ph_id_text(owner.b, text) } };

    if (!ph__log_wants(store, PH_LOG_DEBUG))
        return;
    for (size_t i = 0; i < count; i++)
        stale += outcomes[i] == PH_OUTCOME_STALE || outcomes[i] == PH_OUTCOME_UNKNOWN;
    snprintf(done, sizeof(done), "%zu", count - stale);
    snprintf(lost, sizeof(lost), "%zu", stale);
    ph__log(store, PH_LOG_DEBUG, event, "done", fields, 3);
}

int ph__settling_check(ph_owner owner, const ph_settlement *items, size_t count, size_t least,
                       ph_error *err)
{
    int r = list_check(items, count, least, owner, err);

    for (size_t i = 0; r == 0 && i < count; i++)
        r = item_check(&items[i], i, err);
    return r;
}

void ph__outcomes_unset(ph_outcome *outcomes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        outcomes[i] = PH_OUTCOME_FORCE_INT;
}

bool ph__outcomes_set(const ph_outcome *outcomes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i] < PH_OUTCOME_UNKNOWN || outcomes[i] > PH__OUTCOME_CAPPED)
            return false;
    }
    return true;
}

int ph__settling_load(struct ph__settling *settling, struct ph__call *call,
                      const ph_settlement *items, size_t count)
{
    int r;

    settling->count = count;
    if (count == 0)
        return 0;
    r = prepare(call, items, count, &settling->arena, &settling->items);
    if (r < 0)
        return r;
    settling->outcomes = ph__arena_alloc(&settling->arena, count * sizeof(*settling->outcomes));
    if (!settling->outcomes)
        return ph__fail_memory(call->err);
    ph__outcomes_unset(settling->outcomes, count);
    return 0;
}

void ph__settling_done(struct ph__settling *settling, const ph_store *store, ph_owner owner,
                       ph_outcome *ret_outcomes)
{
    if (settling->count == 0)
        return;
    PH__ASSERT(ph__outcomes_set(settling->outcomes, settling->count));
    ph__outcomes_log(store, "settle", owner, settling->outcomes, settling->count);
    if (ret_outcomes)
        memcpy(ret_outcomes, settling->outcomes, settling->count * sizeof(*ret_outcomes));
}

void ph__settling_free(struct ph__settling *settling)
{
    ph__arena_free(&settling->arena);
}

static int settle(ph_door door, ph_store *store, ph_tx tx, ph_owner owner,
                  const ph_settlement *items, size_t count, bool commit_follows, int timeout_ms,
                  ph_outcome *ret_outcomes, ph_error *reterr)
{
    struct ph__settling settling = { 0 };
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    call.commit_follows = commit_follows;
    if (r == 0)
        r = ph__settling_check(owner, items, count, 1, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = ph__settling_load(&settling, &call, items, count);
    if (r == 0)
        r = ph__call_joins(&call, store->backend->settle(&call, door, owner, settling.items, count,
                                                         settling.outcomes));
    if (r == 0)
        ph__settling_done(&settling, store, owner, ret_outcomes);
    ph__settling_free(&settling);
    return r;
}

int ph__door_settle(ph_door door, ph_store *store, ph_tx tx, ph_owner owner,
                    const ph_settlement *items, size_t count, int timeout_ms,
                    ph_outcome *ret_outcomes, ph_error *reterr)
{
    return settle(door, store, tx, owner, items, count, false, timeout_ms, ret_outcomes, reterr);
}

int ph__ack_last(ph_door door, ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *lease,
                 int timeout_ms, ph_outcome *ret_outcome, ph_error *reterr)
{
    ph_settlement ack = { .lease = *lease, .verb = PH_ACK };

    return settle(door, store, tx, owner, &ack, 1, true, timeout_ms, ret_outcome, reterr);
}

/* Still says whether the store and the transaction are sound. */
static int settle_none(ph_store *store, ph_tx tx, ph_owner owner, int timeout_ms, ph_error *reterr)
{
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = list_check(NULL, 0, 0, owner, call.err);
    return ph__call_connect(&call, r);
}

int ph__door_settle_alike(ph_door door, ph_store *store, ph_tx tx, ph_owner owner,
                          const ph_lease_ref *items, size_t count, const ph_settlement *like,
                          int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr)
{
    ph_settlement *settlements;
    int r;

    if (count == 0)
        return settle_none(store, tx, owner, timeout_ms, reterr);
    r = list_check(items, count, 0, owner, reterr);
    if (r < 0)
        return r;
    settlements = ph__alloc_zero(count, sizeof(*settlements));
    if (!settlements)
        return ph__fail_memory(reterr);
    for (size_t i = 0; i < count; i++) {
        settlements[i] = *like;
        settlements[i].lease = items[i];
    }
    r = ph__door_settle(door, store, tx, owner, settlements, count, timeout_ms, ret_outcomes,
                        reterr);
    ph__dealloc(settlements);
    return r;
}

int ph__leases_check(const ph_lease_ref *items, size_t count, ph_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int r = fence_check(items[i].fence, i, err);

        if (r < 0)
            return r;
    }
    return 0;
}

void ph__renewals_plain(ph_outcome *outcomes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i] == PH__OUTCOME_CAPPED)
            outcomes[i] = PH_OUTCOME_RENEWED;
    }
}

int ph__door_renew(ph_door door, ph_store *store, ph_tx tx, ph_owner owner,
                   const ph_lease_ref *items, size_t count, int lease_s, int timeout_ms,
                   ph_outcome *ret_outcomes, ph_error *reterr)
{
    ph_outcome *outcomes;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = list_check(items, count, 0, owner, call.err);
    if (r == 0)
        r = ph__leases_check(items, count, call.err);
    if (r == 0 && (lease_s < 0 || lease_s > PH_LEASE_MAX_S))
        r = ph__fail(call.err, PH_EINVAL, "lease_s is %d; give 1 to %d, or 0 for %d", lease_s,
                     PH_LEASE_MAX_S, PH_LEASE_S);
    r = ph__call_connect(&call, r);
    if (r < 0 || count == 0)
        return r;
    outcomes = ph__alloc_zero(count, sizeof(*outcomes));
    if (!outcomes)
        return ph__fail_memory(call.err);
    ph__outcomes_unset(outcomes, count);
    r = store->backend->renew(&call, door, owner, items, count, lease_s ? lease_s : PH_LEASE_S,
                              outcomes);
    if (r == 0) {
        PH__ASSERT(ph__outcomes_set(outcomes, count));
        ph__renewals_plain(outcomes, count);
        ph__outcomes_log(store, "renew", owner, outcomes, count);
        if (ret_outcomes)
            memcpy(ret_outcomes, outcomes, count * sizeof(*outcomes));
    }
    ph__dealloc(outcomes);
    return r;
}

int ph__door_reap_expired(ph_door door, ph_store *store, ph_tx tx, int timeout_ms,
                          int64_t *ret_count, ph_error *reterr)
{
    PH__CALL(call);
    int64_t count = 0;
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_connect(&call, r);
    if (r == 0)
        r = ph__call_joins(&call, store->backend->reap(&call, door, &count));
    if (r < 0)
        return r;
    if (ph__log_wants(store, PH_LOG_INFO)) {
        char number[24];
        ph_log_field field = { "count", number };

        snprintf(number, sizeof(number), "%lld", (long long)count);
        ph__log(store, PH_LOG_INFO, "reap", "expired leases taken back", &field, 1);
    }
    if (ret_count)
        *ret_count = count;
    return 0;
}
