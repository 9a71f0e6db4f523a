/* limits.c - handlers whose time is over: first they are told, then they are given up. */
#include "dispatch/dispatch.h"

#include <stdio.h>

#define NEVER INT64_MAX

/* It did not listen to the cancelling. */
static void give_up(struct ph_work *work)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;
    char text[80];

    snprintf(text, sizeof(text), "the time limit of %d ms is over", work->handler->time_limit_ms);
    ph__work_set_error(work, text);
    ph__work_decide(work, PH_VERDICT_RETRY);
    if (!work->hold.returned && ph__thread_give_up(work))
        dispatcher->pool.missing++;
}

/* Is its handler, or the program that keeps it, to be told when the time is over? A handler also if
 * the work was settled, or forgotten, before it has returned. */
static bool has_limit(const struct ph_work *work)
{
    return work->hold.limit_us != NEVER && !work->hold.given_up &&
           (work->state == PH__RUNNING || !work->hold.returned);
}

/* Finds one work whose time is over, tells it or gives it up, and says which line to log. */
static struct ph_work *over_time(ph_dispatcher *dispatcher, int64_t now_us, const char **ret_what)
{
    for (struct ph_work *work = dispatcher->works.active; work; work = work->hold.older) {
        int64_t limit = work->hold.limit_us;

        if (!has_limit(work) || now_us < limit)
            continue;
        if (!atomic_load(&work->cancelled)) {
            ph__work_cancel(work);
            *ret_what = "the handler's time limit is over; it is asked to stop";
            return work;
        }
        if (now_us - limit >= (int64_t)PH__CANCEL_GRACE_MS * 1000) {
            give_up(work);
            *ret_what = dispatcher->pool.hung <= dispatcher->opts.threads
                            ? "the handler does not stop; its message is abandoned"
                            : "too many handlers hang; nothing is claimed until one returns";
            return work;
        }
    }
    return NULL;
}

/* When to look again. */
static int64_t next_limit(const ph_dispatcher *dispatcher, int64_t now_us)
{
    int64_t next = NEVER;

    PH__NEEDS_LOCK(dispatcher);
    for (const struct ph_work *work = dispatcher->works.active; work; work = work->hold.older) {
        int64_t limit = work->hold.limit_us;

        if (!has_limit(work))
            continue;
        if (limit <= now_us)
            limit += (int64_t)PH__CANCEL_GRACE_MS * 1000;
        if (limit < next)
            next = limit;
    }
    return next;
}

void ph__limits_enforce(ph_dispatcher *dispatcher)
{
    int64_t now_us = ph__boot_us();

    for (;;) {
        const char *what = NULL;
        struct ph_work *work;
        bool is_free;

        ph__lock(dispatcher);
        work = over_time(dispatcher, now_us, &what);
        if (work)
            work->refs++;
        else
            dispatcher->times.limit_us = next_limit(dispatcher, now_us);
        ph__unlock(dispatcher);
        if (!work)
            return;
        ph__say(work->batch->db, PH_LOG_ERROR, what, work, NULL, NULL);
        ph__lock(dispatcher);
        is_free = ph__work_unref(work);
        dispatcher->refs -= is_free; /* never the last: a poller has one */
        ph__unlock(dispatcher);
    }
}
