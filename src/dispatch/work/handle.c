/* handle.c - the functions that handlers call: for their message, whether to give up, and a later
 * verdict. */
#include "dispatch/dispatch.h"

#include "core/error.h"

const ph_delivery *ph_work_delivery(const ph_work *work)
{
    return work ? work->delivery : NULL;
}

/* When its time is over, whether or not a poller gets round to saying so. */
static int64_t end_us(const ph_work *work)
{
    int64_t fenced_us = atomic_load(&work->batch->fenced_us);

    return work->hold.limit_us < fenced_us ? work->hold.limit_us : fenced_us;
}

bool ph_work_cancelled(const ph_work *work)
{
    return work && (atomic_load(&work->cancelled) || ph__boot_us() >= end_us(work));
}

bool ph_work_wait(ph_work *work, int timeout_ms)
{
    ph_dispatcher *dispatcher;
    int64_t until;

    if (!work)
        return false;
    dispatcher = work->batch->dispatcher;
    until = ph__boot_us() + (int64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000;
    ph__lock(dispatcher);
    while (!ph_work_cancelled(work)) {
        int64_t left = until - ph__boot_us(), end = end_us(work) - ph__boot_us();

        if (left <= 0)
            break;
        if (left > end)
            left = end;
        /* A suspended machine stops the condition's clock: look once in a while. */
        ph__wait_us(dispatcher, &dispatcher->wait.changed, left < 1000000 ? left : 1000000);
    }
    ph__unlock(dispatcher);
    return ph_work_cancelled(work);
}

void ph_work_error(ph_work *work, const char *text)
{
    if (!work)
        return;
    ph__lock(work->batch->dispatcher);
    ph__work_set_error(work, text);
    ph__unlock(work->batch->dispatcher);
}

void ph_work_delay(ph_work *work, int64_t delay_ms)
{
    if (!work || delay_ms < 0)
        return;
    ph__lock(work->batch->dispatcher);
    if (work->state == PH__RUNNING)
        work->decision.delay_ms = delay_ms;
    ph__unlock(work->batch->dispatcher);
}

ph_tx ph_work_tx(const ph_work *work)
{
    return work ? work->tx : PH_OWN_TX;
}

ph_store *ph_work_store(const ph_work *work)
{
    return work ? work->store : NULL;
}

const char *ph_work_store_id(const ph_work *work)
{
    return work ? work->batch->db->id : "";
}

int ph_work_settle(ph_work *work, ph_verdict verdict, ph_error *reterr)
{
    ph_dispatcher *dispatcher;
    bool is_free = false;

    ph__ok(reterr);
    if (!work)
        return ph__fail(reterr, PH_EINVAL, "work is NULL");
    if (verdict < PH_VERDICT_DONE || verdict > PH_VERDICT_DEFER)
        return ph__fail(reterr, PH_EINVAL,
                        "%d is not a verdict to settle with; give done, retry, fail or defer",
                        (int)verdict);
    if (work->handler->in_transaction)
        return ph__fail(reterr, PH_EINVAL,
                        "the work has a transaction and ends with it; return the verdict from the "
                        "handler");
    dispatcher = work->batch->dispatcher;
    ph__say_verdict(work, verdict, PH_OUTCOME_UNKNOWN);
    ph__lock(dispatcher);
    work->hold.user_settled = true;
    ph__work_decide(work, verdict);
    if (work->behind) /* it may have been waiting for this */
        ph__threads_call(dispatcher);
    if (work->hold.returned) {
        dispatcher->works.kept--;
        is_free = ph__work_let_go(work);
    }
    ph__unlock(dispatcher);
    if (is_free)
        ph__dispatcher_drop(dispatcher);
    return 0;
}
