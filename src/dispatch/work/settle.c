/* settle.c - sends the decided works to the database, and takes the outcomes.
 *
 * Two calls may be under way at the same time, but never about the same batch: works of one stream
 * are in one batch, and their settlements arrive in the order of the decisions. */
#include "dispatch/dispatch.h"

/* No other call is about its batch, nor about an earlier delivery of it or of one that stands before
 * it in its batch. */
static bool may_take(const struct ph__settle_call *call, struct ph_work *work, uint64_t round)
{
    struct ph__batch *batch = work->batch;

    if (ph__settles_other(work))
        batch->passed = round;
    return batch->passed != round && (!batch->settled_by || batch->settled_by == call);
}

/* Takes the next of which that holds; NULL: there is none. */
static struct ph_work *take_next(const struct ph__settle_call *call,
                                 struct ph__settle_state *settle, struct ph_work ***at)
{
    struct ph__work_list *decided = &settle->decided;

    for (struct ph_work *work = **at; work; work = **at) {
        if (may_take(call, work, settle->round)) {
            **at = work->next;
            if (decided->last == &work->next)
                decided->last = *at;
            decided->count--;
            return work;
        }
        *at = &work->next;
    }
    return NULL;
}

void ph__settle_begin(struct ph__settle_call *call, struct ph__db *db, struct ph__work_batch *batch)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__work_part *parts[PH__SIDES] = { &batch->outbox, &batch->inbox };
    struct ph_work **at = &db->settle.decided.first, *work;

    call->count = 0;
    for (int door = 0; door < PH__SIDES; door++) {
        parts[door]->settle = call->settlements[door];
        parts[door]->ret_settled = call->outcomes[door];
    }
    PH__NEEDS_LOCK(dispatcher);
    db->settle.round++;
    while (call->count < PH__SETTLE_MAX && (work = take_next(call, &db->settle, &at))) {
        ph_door door = work->batch->door;
        const struct ph__decision *decision = &work->decision;

        dispatcher->works.decided--;
        work->settling = true;
        work->refs++; /* it may be forgotten meanwhile */
        work->batch->settled_by = call;
        call->works[call->count++] = work;
        call->settlements[door][parts[door]->settle_count++] =
            (ph_settlement){ work->lease, decision->verb, decision->error, decision->delay_ms };
    }
    db->settle.blocked = call->count == 0 && db->settle.decided.count > 0;
    if (call->count > 0 && db->settle.since_us == 0)
        db->settle.since_us = ph__boot_us(); /* what was waited for goes with this call */
}

/* The works that had to wait for the end of this call need not any longer; with the lock held. */
static void unblock(struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    db->settle.blocked = false;
    if (db->settle.decided.count > 0)
        ph__wake_to_settle(db);
}

/* The call about it is over; with the lock held. */
static void let_go(struct ph_work *work)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    work->settling = false;
    dispatcher->refs -= ph__work_unref(work); /* never the last: the pollers have one */
}

/* They stay decided, in their order, before those that came since. */
static void decide_again(struct ph__settle_call *call, struct ph__db *db, bool unknown)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__work_list *decided = &db->settle.decided;

    ph__lock(dispatcher);
    for (size_t i = 0; i < call->count; i++)
        call->works[i]->batch->settled_by = NULL;
    for (size_t left = call->count; left > 0;) {
        struct ph_work *work = call->works[--left];

        if (unknown)
            atomic_store(&work->maybe_settled, true);
        if (work->state == PH__DECIDED) {
            work->next = decided->first;
            if (!work->next)
                decided->last = &work->next;
            decided->first = work;
            decided->count++;
            dispatcher->works.decided++;
        }
        let_go(work);
    }
    unblock(db);
    ph__unlock(dispatcher);
}

static void say_stale(const struct ph_work *work, ph_outcome outcome)
{
    const struct ph__db *db = work->batch->db;

    if ((outcome == PH_OUTCOME_STALE || outcome == PH_OUTCOME_UNKNOWN) && !work->maybe_settled &&
        work->decision.verdict)
        ph__say(db, PH_LOG_WARN,
                "settled too late: the lease was lost, and the message may be another worker's",
                work, NULL, NULL);
    else if (outcome == PH_OUTCOME_DEAD)
        ph__say(db, PH_LOG_ERROR, "dead: its attempts are spent", work, NULL, NULL);
}

/* There may be more of its stream. */
static bool ends_run(const struct ph_work *work)
{
    return work->delivery->stream && (work->decision.verb != PH_ACK || !work->behind);
}

static void settled(const struct ph__settle_call *call, struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    size_t at[PH__SIDES] = { 0 }, waiting;
    bool freed = false;
    ph_outcome outcomes[PH__SETTLE_MAX]; /* in the order of the works */

    for (size_t i = 0; i < call->count; i++) {
        ph_door door = call->works[i]->batch->door;

        outcomes[i] = call->outcomes[door][at[door]++];
        say_stale(call->works[i], outcomes[i]);
    }
    ph__lock(dispatcher);
    waiting = db->works.waiting;
    for (size_t i = 0; i < call->count; i++)
        call->works[i]->batch->settled_by = NULL;
    for (size_t i = 0; i < call->count; i++) {
        struct ph_work *work = call->works[i];

        freed |= ends_run(work);
        if (work->state == PH__DECIDED)                /* otherwise it was forgotten */
            (void)ph__work_settled(work, outcomes[i]); /* the batch stays: we hold it */
        let_go(work);
    }
    if (db->settle.decided.count > 0 && db->settle.since_us > 0)
        db->settle.since_us = ph__boot_us();
    if (db->works.waiting > waiting) /* the works behind these in their stream */
        ph__threads_call(dispatcher);
    if (freed && !call->claims) { /* a claim before this could not find it */
        db->claim.stream_free = true;
        ph__wake_for(db);
    }
    unblock(db);
    pthread_cond_broadcast(&dispatcher->wait.changed);
    ph__unlock(dispatcher);
}

void ph__settle_end(struct ph__settle_call *call, struct ph__db *db, int r, const ph_error *err)
{
    if (call->count == 0)
        return;
    if (r == 0)
        settled(call, db);
    else
        decide_again(call, db, err->flags & PH_UNKNOWN);
    call->count = 0;
}
