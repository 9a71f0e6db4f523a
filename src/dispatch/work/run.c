/* run.c - messages of one stream in one batch: each gets its turn when the one before it is done.
 *
 * Settlements leave in the order in which they were decided, so the database sees a run settled
 * from its front. Any settlement but an ack ends the run there, on both sides: the database gives
 * the rest back by itself, and answers settlements of the rest with "released" or, in a later call,
 * with "stale". */
#include "dispatch/dispatch.h"

#include <string.h>

static bool follows(const ph_delivery *first, const ph_delivery *second)
{
    return first->stream && second->stream && second->seq > first->seq &&
           strcmp(first->stream, second->stream) == 0;
}

void ph__runs_find(struct ph__batch *batch)
{
    for (size_t i = 1; i < batch->count; i++) {
        struct ph_work *before = &batch->works[i - 1], *work = &batch->works[i];

        if (follows(before->delivery, work->delivery))
            before->behind = work;
    }
}

void ph__run_turn(struct ph_work *work)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;
    int64_t delay_ms;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    dispatcher->works.behind--;
    work->batch->db->works.behind--;
    work->state = PH__WAITING;
    if (work->no_handler) {
        ph__work_decide(work, PH_VERDICT_DEFER);
    } else if (dispatcher->phase.stopping || work->batch->db->leaving || ph_work_cancelled(work)) {
        ph__work_release(work, 0);
        work->given_back = true;
    } else if ((delay_ms = ph__put_off_ms(work)) > 0) {
        ph__work_release(work, delay_ms);
    } else {
        ph__waiting_push(work);
    }
}

/* A handler in a transaction acknowledges its message there, but not those whose settlements are
 * yet to be sent. */
static bool needs_settled(const struct ph_work *work)
{
    return work->handler && work->handler->in_transaction;
}

void ph__run_go_on(struct ph_work *work)
{
    struct ph_work *next = work->behind;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    if (!next || next->state != PH__BEHIND)
        return;
    if (work->state == PH__SETTLED || !needs_settled(next)) {
        ph__run_turn(next);
        return;
    }
    work->batch->db->settle.since_us = 0; /* it is waited for: now */
    ph__wake_to_settle(work->batch->db);
}

void ph__run_cut(struct ph_work *work)
{
    PH__NEEDS_LOCK(work->batch->dispatcher);
    for (struct ph_work *next = work->behind; next && next->state == PH__BEHIND;
         next = next->behind) {
        next->given_back = true;
        ph__work_release(next, 0);
    }
}

void ph__run_lost(struct ph_work *work)
{
    PH__NEEDS_LOCK(work->batch->dispatcher);
    for (struct ph_work *next = work->behind; next && next->state != PH__BEHIND;
         next = next->behind) {
        work = next;
        if (work->state == PH__WAITING || work->state == PH__RUNNING)
            ph__work_cancel(work);
    }
    ph__run_cut(work);
}

void ph__runs_give_back(struct ph__db *db, int64_t claimed_us)
{
    PH__NEEDS_LOCK(db->dispatcher);
    if (db->works.behind == 0)
        return;
    for (struct ph__batch *batch = db->leases.batches; batch; batch = batch->next) {
        for (size_t i = 1; batch->claimed_us <= claimed_us && i < batch->count; i++) {
            if (batch->works[i - 1].behind == &batch->works[i] &&
                batch->works[i].state == PH__BEHIND)
                ph__run_cut(&batch->works[i - 1]);
        }
    }
}
