/* renew.c - leases that must be renewed, as long as something of their batch is not decided. */
#include "dispatch/dispatch.h"

#include "core/error.h"
#include "util/alloc.h"

#define NEVER INT64_MAX
#define AGAIN_US 10000

struct ph__renewal {
    struct ph_work *works[PH__CLAIM_MAX];
    ph_lease_ref leases[PH__CLAIM_MAX];
    ph_outcome outcomes[PH__CLAIM_MAX];
    bool kept[PH__CLAIM_MAX];
    size_t count;
};

/* Collects the leases of one door that must be renewed, and holds their works. */
static void collect(struct ph__db *db, ph_door door, int64_t now_us, struct ph__renewal *renewal)
{
    int64_t lease_us = db->dispatcher->times.lease_us;

    for (struct ph__batch *batch = db->leases.batches; batch; batch = batch->next) {
        if (batch->door != door || now_us < batch->renew_us)
            continue;
        if (renewal->count + batch->unsettled > PH__CLAIM_MAX)
            break; /* its turn comes at once after this */
        batch->renew_us = now_us + lease_us / 3;
        for (size_t i = 0; i < batch->count; i++) {
            struct ph_work *work = &batch->works[i];

            if (work->state >= PH__DECIDED)
                continue;
            work->refs++;
            renewal->works[renewal->count] = work;
            renewal->leases[renewal->count++] = work->lease;
        }
    }
}

/* False: the lease of a message that is being handled was lost. */
static bool apply(struct ph_work *work, int r, ph_outcome outcome, int64_t asked_us)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;
    struct ph__batch *batch = work->batch;
    int64_t soon_us =
        asked_us +
        (dispatcher->times.lease_us < 10000000 ? dispatcher->times.lease_us / 10 : 1000000);

    if (r < 0) { /* the database could not be asked: again soon, and the fence stands */
        if (soon_us < batch->renew_us)
            batch->renew_us = soon_us;
        return true;
    }
    if (outcome == PH__OUTCOME_CAPPED) /* the fence of the last full renewal is right */
        return true;
    if (outcome == PH_OUTCOME_RENEWED) {
        atomic_store(&batch->fenced_us,
                     asked_us + dispatcher->times.lease_us - dispatcher->times.fence_margin_us);
        return true;
    }
    if (work->state == PH__DECIDED || work->state == PH__SETTLED || atomic_load(&work->cancelled))
        return true;
    ph__work_cancel(work);
    return work->state != PH__RUNNING;
}

static int64_t next_renewal(const struct ph__db *db)
{
    int64_t next = NEVER;

    for (const struct ph__batch *batch = db->leases.batches; batch; batch = batch->next) {
        if (batch->unsettled > 0 && batch->renew_us < next)
            next = batch->renew_us;
    }
    return next;
}

int ph__renewal_begin(struct ph__db *db, struct ph__work_batch *batch,
                      struct ph__renewal **ret_renewal, ph_error *err)
{
    struct ph__work_part *parts[PH__SIDES] = { &batch->outbox, &batch->inbox };
    struct ph__renewal *renewal = ph__alloc_zero(1, sizeof(*renewal));
    ph_dispatcher *dispatcher = db->dispatcher;
    int64_t now_us = ph__boot_us();

    *ret_renewal = renewal;
    ph__lock(dispatcher);
    if (!renewal) {
        db->leases.renew_us = now_us + AGAIN_US;
        ph__unlock(dispatcher);
        return ph__fail_memory(err);
    }
    /* Messages that have waited for a thread for a whole lease are better off with another
     * instance. */
    ph__waiting_release(db, now_us - dispatcher->times.lease_us);
    for (int door = 0; door < PH__SIDES; door++) {
        size_t before = renewal->count;

        collect(db, (ph_door)door, now_us, renewal);
        parts[door]->renew = renewal->leases + before;
        parts[door]->renew_count = renewal->count - before;
        parts[door]->ret_renewed = renewal->outcomes + before;
    }
    dispatcher->stats.renewals += renewal->count > 0;
    db->leases.renew_us = next_renewal(db);
    ph__unlock(dispatcher);
    return 0;
}

void ph__renewal_end(struct ph__db *db, struct ph__renewal *renewal, int r, int64_t asked_us)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    if (!renewal)
        return;
    /* All at once: the handler that is told first may return, and the next of its run must not begin. */
    ph__lock(dispatcher);
    for (size_t i = 0; i < renewal->count; i++)
        renewal->kept[i] = apply(renewal->works[i], r, renewal->outcomes[i], asked_us);
    ph__unlock(dispatcher);
    for (size_t i = 0; i < renewal->count; i++) {
        struct ph_work *work = renewal->works[i];
        bool is_free;

        if (!renewal->kept[i])
            ph__say(db, PH_LOG_WARN, "the lease was lost; the handler is asked to stop", work, NULL,
                    NULL);
        ph__lock(dispatcher);
        is_free = ph__work_unref(work);
        dispatcher->refs -= is_free;
        ph__unlock(dispatcher);
    }
    ph__lock(dispatcher);
    db->leases.renew_us = next_renewal(db);
    if (r < 0 && db->leases.renew_us < ph__boot_us() + AGAIN_US)
        db->leases.renew_us = ph__boot_us() + AGAIN_US;
    ph__unlock(dispatcher);
    ph__dealloc(renewal);
}
