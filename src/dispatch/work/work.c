/* work.c - the life of one work, from the moment a handler begins until it is settled. */
#include "dispatch/dispatch.h"

#include "util/alloc.h"
#include "util/buffer.h"
#include "util/text.h"

static int bucket_of(int64_t us)
{
    int bucket = us > 1 ? 63 - __builtin_clzll((unsigned long long)us) : 0;

    return bucket < PH_HISTOGRAM_SIZE ? bucket : PH_HISTOGRAM_SIZE - 1;
}

void ph__work_start(struct ph_work *work)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    work->state = PH__RUNNING;
    work->refs++;
    work->hold.newer = NULL;
    work->hold.older = dispatcher->works.active;
    if (work->hold.older)
        work->hold.older->hold.newer = work;
    dispatcher->works.active = work;
    work->hold.active = true;
    dispatcher->works.running++;
    work->batch->db->works.running++;
}

bool ph__work_call(struct ph_work *work)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;
    int limit_ms = work->handler->time_limit_ms;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    if (ph_work_cancelled(work))
        return false;
    work->hold.started_us = ph__boot_us();
    if (limit_ms > 0)
        work->hold.limit_us = work->hold.started_us + (int64_t)limit_ms * 1000;
    if (work->hold.limit_us < dispatcher->times.limit_us) {
        dispatcher->times.limit_us = work->hold.limit_us;
        ph__wake_asleep(dispatcher);
    }
    dispatcher->stats.started++;
    dispatcher->stats.wait_us[bucket_of(work->hold.started_us - work->batch->claimed_us)]++;
    return true;
}

/* The handler holds it no longer. */
bool ph__work_let_go(struct ph_work *work)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;

    PH__NEEDS_LOCK(dispatcher);
    if (work->hold.newer)
        work->hold.newer->hold.older = work->hold.older;
    else
        dispatcher->works.active = work->hold.older;
    if (work->hold.older)
        work->hold.older->hold.newer = work->hold.newer;
    work->hold.active = false;
    pthread_cond_broadcast(&dispatcher->wait.changed);
    return ph__work_unref(work);
}

static void put_on_decided(struct ph_work *work, ph_settle_verb verb)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;
    struct ph__db *db = work->batch->db;
    bool unblocks = db->settle.blocked && !work->batch->settled_by;
    bool first = db->settle.decided.count == 0; /* a run that is cut adds more of them below */

    PH__NEEDS_LOCK(work->batch->dispatcher);
    if (work->state == PH__BEHIND) {
        dispatcher->works.behind--;
        db->works.behind--;
    }
    work->state = PH__DECIDED;
    work->decision.verb = verb;
    if (first)
        db->settle.since_us = ph__boot_us();
    ph__work_push(&db->settle.decided, work);
    db->settle.blocked &= !unblocks;
    dispatcher->works.decided++;
    if (work->delivery->stream && (verb != PH_ACK || !work->behind))
        db->claim.stream_free = true;
    if (verb == PH_ACK)
        ph__run_go_on(work);
    else if (!work->given_back)
        ph__run_cut(work);
    /* A poller wakes up for the first one that it may settle (its timer), for a full load, and when
     * there is nothing more to wait for. */
    if (first || unblocks || db->settle.decided.count >= PH__SETTLE_MAX ||
        db->works.waiting + db->works.running == 0)
        ph__wake_to_settle(db);
}

void ph__work_decide(struct ph_work *work, ph_verdict verdict)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    if (work->state == PH__DECIDED || work->state == PH__SETTLED)
        return;
    if (verdict == PH_VERDICT_RETRY && work->stop_cancelled)
        verdict = PH_VERDICT_DEFER, work->decision.delay_ms = 0;
    work->decision.verdict = verdict;
    switch (verdict) {
    case PH_VERDICT_DONE:
        put_on_decided(work, PH_ACK);
        break;
    case PH_VERDICT_FAIL:
        put_on_decided(work, PH_FAIL);
        break;
    case PH_VERDICT_DEFER:
        if (work->decision.delay_ms < 0)
            work->decision.delay_ms = dispatcher->opts.defer_ms;
        put_on_decided(work, PH_RELEASE);
        break;
    case PH_VERDICT_RETRY:
    case PH_VERDICT_KEEP:
    default:
        put_on_decided(work, PH_ABANDON);
        break;
    }
}

void ph__work_release(struct ph_work *work, int64_t delay_ms)
{
    PH__NEEDS_LOCK(work->batch->dispatcher);
    if (work->state == PH__DECIDED || work->state == PH__SETTLED)
        return;
    work->decision.verdict = 0; /* not decided */
    work->decision.delay_ms = delay_ms;
    put_on_decided(work, PH_RELEASE);
}

static void count_outcome(ph_dispatcher_stats *stats, const struct ph_work *work,
                          ph_outcome outcome)
{
    bool lost = outcome == PH_OUTCOME_STALE || outcome == PH_OUTCOME_UNKNOWN;

    if (work->given_back)
        stats->released++;
    else if (lost && !work->maybe_settled)
        stats->stale++;
    else if (work->no_handler)
        stats->no_handler++;
    else if (work->decision.verdict == PH_VERDICT_DONE)
        stats->done++;
    else if (work->decision.verdict == PH_VERDICT_RETRY)
        stats->retried++;
    else if (work->decision.verdict == PH_VERDICT_FAIL)
        stats->failed++;
    else if (work->decision.verdict == PH_VERDICT_DEFER)
        stats->deferred++;
    else
        stats->released++;
    if (outcome == PH_OUTCOME_DEAD)
        stats->dead++;
}

bool ph__work_settled(struct ph_work *work, ph_outcome outcome)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;
    struct ph__db *db = work->batch->db;
    int64_t done = dispatcher->stats.done;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    count_outcome(&dispatcher->stats, work, outcome);
    db->works.done += dispatcher->stats.done - done;
    work->state = PH__SETTLED;
    work->batch->unsettled--;
    dispatcher->works.in_flight--;
    db->works.in_flight--;
    if (work->behind && work->decision.verdict == PH_VERDICT_DONE && !work->evicted) {
        if (outcome == PH_OUTCOME_ACKED || work->maybe_settled)
            ph__run_go_on(work);
        else
            ph__run_lost(work);
    }
    ph__drain_look(dispatcher); /* was it the last one? */
    if (db->leaving && db->works.in_flight == 0)
        ph__wake_for(db);
    return ph__work_unref(work);
}

bool ph__work_returned(struct ph_work *work, ph_verdict verdict)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;
    bool is_free = false;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    if (ph_work_cancelled(work)) /* perhaps by the fence alone, while the pollers were busy */
        ph__work_cancel(work);
    work->hold.returned = true;
    dispatcher->works.running--;
    work->batch->db->works.running--;
    if (work->hold.started_us) {
        int64_t run_us = ph__boot_us() - work->hold.started_us;

        dispatcher->stats.run_us[bucket_of(run_us)]++;
        dispatcher->room.usual_run_us += (run_us - dispatcher->room.usual_run_us) / 8;
    }
    if (verdict == PH_VERDICT_KEEP) {
        work->hold.kept = true;
        if (!work->hold.user_settled)
            dispatcher->works.kept++;
    } else {
        ph__work_decide(work, verdict);
    }
    if (dispatcher->room
            .short_of_it) /* a work kept, or settled in a transaction, wakes no other thread */
        ph__wake_asleep(dispatcher);
    if (!work->hold.kept || work->hold.user_settled)
        is_free = ph__work_let_go(work);
    return is_free;
}

void ph__work_cancel(struct ph_work *work)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    if (atomic_exchange(&work->cancelled, true))
        return;
    if (work->state > PH__WAITING)
        dispatcher->stats.cancelled++;
    pthread_cond_broadcast(&dispatcher->wait.changed);
}

void ph__work_set_error(struct ph_work *work, const char *text)
{
    struct ph__buffer mended = { 0 };

    PH__NEEDS_LOCK(work->batch->dispatcher);
    if (work->state == PH__DECIDED || work->state == PH__SETTLED)
        return; /* a poller may be reading it */
    ph__dealloc(work->decision.error);
    work->decision.error = NULL;
    if (!text)
        return;
    ph__buffer_text(&mended, "");
    ph__text_mend(&mended, text, PH_ERROR_TEXT_MAX);
    work->decision.error =
        mended.failed ? NULL : mended.data; /* without memory: no text, but a verdict */
    if (mended.failed)
        ph__buffer_free(&mended);
}
