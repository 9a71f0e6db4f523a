/* stop.c - ending well: drain, stop, and giving works back. */
#include "dispatch/dispatch.h"

#include "core/error.h"

#include <inttypes.h>

#define WAIT_SLICE_US 1000000
#define LEAVE_US 3000000 /* so long stores are told good-bye: some may not answer */

static bool limit_reached(const ph_dispatcher *dispatcher)
{
    return dispatcher->opts.message_limit > 0 &&
           dispatcher->stats.claimed >= dispatcher->opts.message_limit;
}

static int drain_failed(ph_dispatcher *dispatcher, const ph_error *last, ph_error *reterr)
{
    size_t left = dispatcher->works.in_flight;

    if (last && last->code) {
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
    ph__lock(dispatcher);
    if (ph__thread_is_ours(dispatcher)) {
        ph__unlock(dispatcher);
        return ph__fail(reterr, PH_EINVAL,
                        "a handler or log callback cannot wait for its own dispatcher: it would "
                        "wait for itself");
    }
    before = dispatcher->works.claims;
    dispatcher->stop.drain_waiters++;
    ph__databases_each(dispatcher, ph__db_wake);
    ph__wake_asleep(dispatcher);
    for (;;) {
        int64_t left_us = until_us - ph__boot_us();

        if (!dispatcher->phase.started || dispatcher->phase.stopping) {
            r = ph__fail(reterr, PH_EINVAL,
                         "the dispatcher is not running; call ph_dispatcher_start() before");
            break;
        }
        if (dispatcher->works.in_flight == 0 &&
            (ph__databases_are_drained(dispatcher, before) || limit_reached(dispatcher)))
            break;
        if (left_us <= 0) {
            r = drain_failed(dispatcher, ph__drain_error(dispatcher), reterr);
            break;
        }
        ph__wait_us(dispatcher, &dispatcher->wait.changed,
                    left_us < WAIT_SLICE_US ? left_us : WAIT_SLICE_US);
    }
    dispatcher->stop.drain_waiters--;
    ph__unlock(dispatcher);
    return r;
}

/* How many works wait for a verdict, or have a handler that still runs. */
static size_t unfinished(const ph_dispatcher *dispatcher)
{
    size_t count = 0;

    for (const struct ph_work *work = dispatcher->works.active; work; work = work->hold.older)
        count += work->state == PH__RUNNING || !work->hold.returned;
    return count;
}

/* Until stop_us, which another call may bring forward. */
static void wait_for_handlers(ph_dispatcher *dispatcher)
{
    while (unfinished(dispatcher) > 0) {
        int64_t left_us = dispatcher->stop.until_us - ph__boot_us();

        if (left_us <= 0)
            return;
        ph__wait_us(dispatcher, &dispatcher->wait.changed,
                    left_us < WAIT_SLICE_US ? left_us : WAIT_SLICE_US);
    }
}

static void cancel_all(ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    for (struct ph_work *work = dispatcher->works.active; work; work = work->hold.older) {
        work->stop_cancelled = true;
        ph__work_cancel(work);
    }
}

/* Gives unfinished works back; returns how many handlers still run. */
static size_t give_back(ph_dispatcher *dispatcher)
{
    size_t running = 0;

    PH__NEEDS_LOCK(dispatcher);
    for (struct ph_work *work = dispatcher->works.active; work; work = work->hold.older) {
        ph__work_release(work, 0);
        running += !work->hold.returned;
        if (!work->hold.returned)
            (void)ph__thread_give_up(work);
    }
    return running;
}

/* Works that could not be settled: the first of them say why. */
static void forget(struct ph__db *db)
{
    struct ph__stop *stop = &db->dispatcher->stop;

    if (db->settle.decided.count > 0 && stop->result == 0) {
        stop->error = db->health.last_error;
        stop->result = stop->error.code;
    }
    (void)ph__works_forget(db);
}

static void give_runs_back(struct ph__db *db)
{
    ph__runs_give_back(db, INT64_MAX);
}

/* How long the last settlements are tried: for the time of one call, and as long as the caller of
 * the stop is willing to wait; but of many stores, one that does not answer must not hold up the
 * end. */
static void limit_finish(ph_dispatcher *dispatcher)
{
    int64_t began_us = dispatcher->stop.leave_us - LEAVE_US;

    dispatcher->stop.finish_us = began_us + (int64_t)dispatcher->times.call_timeout_ms * 1000;
    if (!dispatcher->set && dispatcher->stop.finish_us < dispatcher->stop.asked_us)
        dispatcher->stop.finish_us = dispatcher->stop.asked_us;
    if (dispatcher->stop.finish_us < dispatcher->stop.finish_least_us)
        dispatcher->stop.finish_us = dispatcher->stop.finish_least_us;
}

/* This caller of several may be in a hurry. */
static void hurry(ph_dispatcher *dispatcher, int64_t until_us)
{
    PH__NEEDS_LOCK(dispatcher);
    if (until_us < dispatcher->stop.asked_us) {
        dispatcher->stop.asked_us = until_us;
        if (dispatcher->phase.ending)
            limit_finish(dispatcher);
    }
    if (until_us < dispatcher->stop.until_us && !dispatcher->stop.in_grace) {
        dispatcher->stop.until_us = until_us;
        pthread_cond_broadcast(&dispatcher->wait.changed);
    }
}

/* With the lock held, and by one caller only. */
static void stop(ph_dispatcher *dispatcher)
{
    ph_error *err = &dispatcher->stop.error;
    size_t running;

    PH__NEEDS_LOCK(dispatcher);
    for (struct ph_work *work; (work = ph__waiting_pop(dispatcher));)
        ph__work_release(work, 0);
    ph__databases_each(dispatcher, give_runs_back);
    pthread_cond_broadcast(&dispatcher->wait.work_ready);
    pthread_cond_broadcast(&dispatcher->wait.discover);
    pthread_cond_broadcast(&dispatcher->wait.changed);
    ph__wake(dispatcher);
    wait_for_handlers(dispatcher);
    if (unfinished(dispatcher) > 0) {
        cancel_all(dispatcher);
        dispatcher->stop.in_grace = true;
        dispatcher->stop.until_us = ph__boot_us() + (int64_t)PH__STOP_GRACE_MS * 1000;
        wait_for_handlers(dispatcher);
    }
    running = give_back(dispatcher);
    dispatcher->phase.ending = true;
    dispatcher->stop.leave_us = ph__boot_us() + LEAVE_US;
    limit_finish(dispatcher);
    pthread_cond_signal(&dispatcher->wait.second_ready);
    ph__wake(dispatcher);
    pthread_cond_broadcast(&dispatcher->wait.pollers_ready);
    ph__unlock(dispatcher);
    ph__pollers_join(dispatcher);
    ph__threads_join(dispatcher);
    ph__dispatcher_leave_set(dispatcher);
    ph__lock(dispatcher);
    ph__databases_each(dispatcher, forget);
    if (dispatcher->stop.result == 0 && running > 0)
        dispatcher->stop.result = ph__fail(
            err, PH_ETIMEOUT, "%zu handlers did not end; their messages were released", running);
    if (!ph__discovery_end(dispatcher) && dispatcher->stop.result == 0)
        dispatcher->stop.result =
            ph__fail(err, PH_ETIMEOUT,
                     "a source of the set did not return; the thread that asks it is left behind");
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
    ph__lock(dispatcher);
    if (ph__thread_is_ours(dispatcher)) {
        ph__unlock(dispatcher);
        return ph__fail(reterr, PH_EINVAL,
                        "a handler or log callback cannot stop its own dispatcher; let another "
                        "thread do it");
    }
    while (dispatcher->phase.starting) /* by another thread */
        ph__wait(dispatcher, &dispatcher->wait.changed);
    if (dispatcher->phase.started && !dispatcher->phase.stopping) {
        dispatcher->phase.stopping = true;
        dispatcher->stop.until_us = dispatcher->stop.asked_us = until_us;
        stop(dispatcher);
        dispatcher->phase.stopped = true;
        pthread_cond_broadcast(&dispatcher->wait.changed);
    }
    dispatcher->phase.stopping = true; /* before the start: it cannot be started any more */
    hurry(dispatcher, until_us);
    while (dispatcher->phase.started && !dispatcher->phase.stopped)
        ph__wait(dispatcher, &dispatcher->wait.changed);
    r = dispatcher->stop.result;
    if (r < 0 && reterr)
        *reterr = dispatcher->stop.error;
    ph__unlock(dispatcher);
    return r;
}
