/* stop.c - ending well: drain, stop, and what is given back. */
#include "dispatch/dispatch.h"

#include "core/error.h"

#include <inttypes.h>

#define WAIT_SLICE_US 1000000

static bool limit_reached(const ph_dispatcher *dispatcher)
{
    return dispatcher->opts.message_limit > 0 &&
           dispatcher->stats.claimed >= dispatcher->opts.message_limit;
}

static int drain_failed(ph_dispatcher *dispatcher, const ph_error *last, ph_error *reterr)
{
    size_t left = dispatcher->in_flight;

    if (last->code) {
        if (reterr)
            *reterr = *last;
        return last->code;
    }
    return ph__fail(reterr, PH_ETIMEOUT, "the time limit was reached with %zu messages in flight",
                    left);
}

int ph_dispatcher_drain(ph_dispatcher *dispatcher, int timeout_ms, ph_error *reterr)
{
    int64_t until_us;
    uint64_t before;
    int r = 0;

    ph__ok(reterr);
    if (!dispatcher)
        return ph__fail(reterr, PH_EINVAL, "dispatcher is NULL");
    if (timeout_ms < 0)
        return ph__fail(reterr, PH_EINVAL, "timeout_ms is %d; give 0 for no limit, or more",
                        timeout_ms);
    until_us = timeout_ms ? ph__boot_us() + (int64_t)timeout_ms * 1000 : INT64_MAX;
    pthread_mutex_lock(&dispatcher->lock);
    if (ph__thread_is_ours(dispatcher)) {
        pthread_mutex_unlock(&dispatcher->lock);
        return ph__fail(reterr, PH_EINVAL,
                        "a handler or log callback cannot wait for its own dispatcher: it would "
                        "wait for itself");
    }
    before = dispatcher->claims;
    dispatcher->drain_waiters++;
    dispatcher->next_claim_us = 0;
    ph__wake_asleep(dispatcher);
    for (;;) {
        int64_t left_us = until_us - ph__boot_us();

        if (!dispatcher->started || dispatcher->stopping) {
            r = ph__fail(reterr, PH_EINVAL,
                         "the dispatcher is not running; call ph_dispatcher_start() before");
            break;
        }
        if (dispatcher->in_flight == 0 &&
            (dispatcher->drained > before || limit_reached(dispatcher)))
            break;
        if (left_us <= 0) {
            r = drain_failed(dispatcher, &dispatcher->last_error, reterr);
            break;
        }
        ph__cond_wait_us(&dispatcher->changed, &dispatcher->lock,
                         left_us < WAIT_SLICE_US ? left_us : WAIT_SLICE_US);
    }
    dispatcher->drain_waiters--;
    pthread_mutex_unlock(&dispatcher->lock);
    return r;
}

/* How many works wait for a verdict, or have a handler that still runs. */
static size_t unfinished(const ph_dispatcher *dispatcher)
{
    size_t count = 0;

    for (const struct ph_work *work = dispatcher->active; work; work = work->older)
        count += work->state == PH__RUNNING || !work->returned;
    return count;
}

/* Until stop_us, which another call may bring forward. */
static void wait_for_handlers(ph_dispatcher *dispatcher)
{
    while (unfinished(dispatcher) > 0) {
        int64_t left_us = dispatcher->stop_us - ph__boot_us();

        if (left_us <= 0)
            return;
        ph__cond_wait_us(&dispatcher->changed, &dispatcher->lock,
                         left_us < WAIT_SLICE_US ? left_us : WAIT_SLICE_US);
    }
}

static void cancel_all(ph_dispatcher *dispatcher)
{
    for (struct ph_work *work = dispatcher->active; work; work = work->older) {
        work->stop_cancelled = true;
        ph__work_cancel(work);
    }
}

/* What has not come to an end is given back; returns how many handlers still run. */
static size_t give_back(ph_dispatcher *dispatcher)
{
    size_t running = 0;

    for (struct ph_work *work = dispatcher->active; work; work = work->older) {
        ph__work_release(work, 0);
        running += !work->returned;
        if (!work->returned)
            (void)ph__thread_give_up(work);
    }
    return running;
}

/* With the lock held, and by one caller only. */
static void stop(ph_dispatcher *dispatcher)
{
    ph_error *err = &dispatcher->stop_error;
    size_t running;

    for (struct ph_work *work; (work = ph__work_pop(&dispatcher->waiting));)
        ph__work_release(work, 0);
    ph__runs_give_back(dispatcher, INT64_MAX);
    pthread_cond_broadcast(&dispatcher->work_ready);
    pthread_cond_broadcast(&dispatcher->changed);
    ph__wake(dispatcher);
    wait_for_handlers(dispatcher);
    if (unfinished(dispatcher) > 0) {
        cancel_all(dispatcher);
        dispatcher->in_grace = true;
        dispatcher->stop_us = ph__boot_us() + (int64_t)PH__STOP_GRACE_MS * 1000;
        wait_for_handlers(dispatcher);
    }
    running = give_back(dispatcher);
    dispatcher->ending = true;
    ph__wake(dispatcher);
    pthread_mutex_unlock(&dispatcher->lock);
    pthread_join(dispatcher->coordinator, NULL);
    ph__threads_join(dispatcher);
    pthread_mutex_lock(&dispatcher->lock);
    if (dispatcher->decided.count > 0) {
        *err = dispatcher->last_error;
        dispatcher->stop_result = err->code;
        ph__works_forget(dispatcher);
    } else if (running > 0) {
        dispatcher->stop_result = ph__fail(
            err, PH_ETIMEOUT, "%zu handlers did not end; their messages were released", running);
    }
}

int ph_dispatcher_stop(ph_dispatcher *dispatcher, int limit_ms, ph_error *reterr)
{
    int64_t until_us = ph__boot_us() + (int64_t)limit_ms * 1000;
    int r;

    ph__ok(reterr);
    if (!dispatcher)
        return ph__fail(reterr, PH_EINVAL, "dispatcher is NULL");
    if (limit_ms < 0)
        return ph__fail(reterr, PH_EINVAL, "limit_ms is %d; give 0 for at once, or more", limit_ms);
    pthread_mutex_lock(&dispatcher->lock);
    if (ph__thread_is_ours(dispatcher)) {
        pthread_mutex_unlock(&dispatcher->lock);
        return ph__fail(reterr, PH_EINVAL,
                        "a handler or log callback cannot stop its own dispatcher; let another "
                        "thread do it");
    }
    while (dispatcher->starting) /* by another thread */
        pthread_cond_wait(&dispatcher->changed, &dispatcher->lock);
    if (dispatcher->started && !dispatcher->stopping) {
        dispatcher->stopping = true;
        dispatcher->stop_us = until_us;
        stop(dispatcher);
        dispatcher->stopped = true;
        pthread_cond_broadcast(&dispatcher->changed);
    }
    dispatcher->stopping = true; /* before the start: it cannot be started any more */
    if (until_us < dispatcher->stop_us && !dispatcher->in_grace) { /* this caller is in a hurry */
        dispatcher->stop_us = until_us;
        pthread_cond_broadcast(&dispatcher->changed);
    }
    while (dispatcher->started && !dispatcher->stopped)
        pthread_cond_wait(&dispatcher->changed, &dispatcher->lock);
    r = dispatcher->stop_result;
    if (r < 0 && reterr)
        *reterr = dispatcher->stop_error;
    pthread_mutex_unlock(&dispatcher->lock);
    return r;
}
