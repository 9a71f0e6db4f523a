/* stop.c - ending well: drain, stop, and what is given back. */
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
    size_t left = dispatcher->in_flight;

    if (last && last->code) {
        if (reterr)
            *reterr = *last;
        return last->code;
    }
    return ph__fail(reterr, PH_ETIMEOUT, "the time limit was reached with %zu messages in flight",
                    left);
}

static bool is_waited_for(const struct ph__station *station)
{
    return !station->aside && !station->draining && station->dispatcher->handler_count > 0;
}

/* Has nothing been there, and has nothing come from anywhere since, whose handler may have stored
 * something? */
static bool is_dry(const struct ph__station *station)
{
    return station->drained > 0 && station->drained_landings == station->dispatcher->landings;
}

void ph__drain_look(ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    if (dispatcher->drain_waiters == 0 || dispatcher->in_flight > 0)
        return;
    for (size_t i = 0; i < dispatcher->station_count; i++) {
        if (!dispatcher->stations[i]->through && is_waited_for(dispatcher->stations[i]))
            return; /* there is more to come first */
    }
    for (size_t i = 0; i < dispatcher->station_count; i++) {
        if (!is_dry(dispatcher->stations[i]))
            ph__station_call(dispatcher->stations[i]);
    }
    ph__wake_asleep(dispatcher);
}

/* Has every store been looked at since that claim, and nothing been there? One that was set aside is
 * not waited for; nor is one that has left. */
static bool is_drained(const ph_dispatcher *dispatcher, uint64_t before)
{
    for (size_t i = 0; i < dispatcher->station_count; i++) {
        const struct ph__station *station = dispatcher->stations[i];

        if (is_waited_for(station) && (station->drained <= before || !is_dry(station)))
            return false;
    }
    return !dispatcher->set ||
           (dispatcher->discovered && !dispatcher->stations_changed && !dispatcher->tending);
}

/* Of a store that is waited for and cannot be used; NULL: all can. */
static const ph_error *last_error(const ph_dispatcher *dispatcher)
{
    for (size_t i = 0; i < dispatcher->station_count; i++) {
        const struct ph__station *station = dispatcher->stations[i];

        if (is_waited_for(station) && station->last_error.code)
            return &station->last_error;
    }
    return NULL;
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
    before = dispatcher->claims;
    dispatcher->drain_waiters++;
    for (size_t i = 0; i < dispatcher->station_count; i++)
        ph__station_call(dispatcher->stations[i]);
    ph__wake_asleep(dispatcher);
    for (;;) {
        int64_t left_us = until_us - ph__boot_us();

        if (!dispatcher->started || dispatcher->stopping) {
            r = ph__fail(reterr, PH_EINVAL,
                         "the dispatcher is not running; call ph_dispatcher_start() before");
            break;
        }
        if (dispatcher->in_flight == 0 &&
            (is_drained(dispatcher, before) || limit_reached(dispatcher)))
            break;
        if (left_us <= 0) {
            r = drain_failed(dispatcher, last_error(dispatcher), reterr);
            break;
        }
        ph__wait_us(dispatcher, &dispatcher->changed,
                    left_us < WAIT_SLICE_US ? left_us : WAIT_SLICE_US);
    }
    dispatcher->drain_waiters--;
    ph__unlock(dispatcher);
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
        ph__wait_us(dispatcher, &dispatcher->changed,
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

/* What could not be settled; true: there was some, and err says why. */
static bool forget_all(ph_dispatcher *dispatcher, ph_error *err)
{
    bool any = false;

    for (size_t i = 0; i < dispatcher->station_count; i++) {
        struct ph__station *station = dispatcher->stations[i];

        if (station->decided.count > 0 && !any)
            *err = station->last_error;
        any |= ph__works_forget(station) > 0;
    }
    return any;
}

/* With the lock held, and by one caller only. */
static void stop(ph_dispatcher *dispatcher)
{
    ph_error *err = &dispatcher->stop_error;
    size_t running;

    for (struct ph_work *work; (work = ph__waiting_pop(dispatcher));)
        ph__work_release(work, 0);
    for (size_t i = 0; i < dispatcher->station_count; i++)
        ph__runs_give_back(dispatcher->stations[i], INT64_MAX);
    pthread_cond_broadcast(&dispatcher->work_ready);
    pthread_cond_broadcast(&dispatcher->discover);
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
    dispatcher->finish_us = ph__boot_us() + (int64_t)dispatcher->call_timeout_ms * 1000;
    dispatcher->leave_us = ph__boot_us() + LEAVE_US;
    ph__wake(dispatcher);
    pthread_cond_broadcast(&dispatcher->crew_ready);
    ph__unlock(dispatcher);
    ph__crew_join(dispatcher);
    ph__threads_join(dispatcher);
    ph__dispatcher_leave_set(dispatcher);
    ph__lock(dispatcher);
    if (forget_all(dispatcher, err))
        dispatcher->stop_result = err->code;
    else if (running > 0)
        dispatcher->stop_result = ph__fail(
            err, PH_ETIMEOUT, "%zu handlers did not end; their messages were released", running);
    if (!ph__discovery_end(dispatcher) && dispatcher->stop_result == 0)
        dispatcher->stop_result =
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
    while (dispatcher->starting) /* by another thread */
        ph__wait(dispatcher, &dispatcher->changed);
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
        ph__wait(dispatcher, &dispatcher->changed);
    r = dispatcher->stop_result;
    if (r < 0 && reterr)
        *reterr = dispatcher->stop_error;
    ph__unlock(dispatcher);
    return r;
}
