/* threads.c - the pool of handler threads: each takes a waiting work, runs its handler, and
 * decides. */
#include "dispatch/dispatch.h"

#include "core/error.h"
#include "util/alloc.h"

#include <stdint.h>
#include <stdio.h>

#define SLOW_HANDLER_US 200 /* from here on, each message gets a thread at once */
#define ALONE_US 1000       /* so long one thread may be alone with a batch of quick ones */

static const char *verdict_problem(ph_verdict verdict, char *text, size_t size)
{
    if (verdict >= PH_VERDICT_DONE && verdict <= PH_VERDICT_KEEP)
        return NULL;
    snprintf(text, size, "the handler returned %d, which is not a verdict", (int)verdict);
    return text;
}

ph_verdict ph__call_handler(struct ph_work *work)
{
    ph__say(work->batch->db, PH_LOG_INFO, "handler called", work, NULL, NULL);
    return work->handler->handle(work->handler->context, work);
}

/* Runs the handler; no lock. */
static ph_verdict run(struct ph__thread *thread, struct ph_work *work, ph_outcome *ret_outcome)
{
    char text[64];
    const char *problem;
    ph_verdict verdict;

    *ret_outcome = PH_OUTCOME_UNKNOWN;
    thread->maybe_settled = false;
    if (work->handler->in_transaction)
        verdict = ph__run_in_transaction(thread, work, ret_outcome);
    else
        verdict = ph__call_handler(work);
    problem = verdict_problem(verdict, text, sizeof(text));
    if (problem) {
        ph_work_error(work, problem);
        verdict = PH_VERDICT_RETRY;
    }
    ph__say_verdict(work, verdict, *ret_outcome);
    return verdict;
}

/* A work that its handler's transaction has settled needs no exchange. */
static bool settled_in_transaction(struct ph__thread *thread, struct ph_work *work,
                                   ph_outcome outcome)
{
    if (thread->maybe_settled || outcome == PH_OUTCOME_ACKED)
        work->maybe_settled = true;
    if (outcome == PH_OUTCOME_UNKNOWN || work->state != PH__RUNNING)
        return false;
    work->decision.verdict = PH_VERDICT_DONE;
    if (work->delivery->stream && !work->behind) { /* there may be more of its stream */
        ph__db_wake(work->batch->db);
        ph__wake_for(work->batch->db);
    }
    return ph__work_settled(work, outcome);
}

/* Handlers that take microseconds are done sooner by one thread than by several that fight for the
 * lock and for the database's processors: then one is called, and it calls another to stand by. */
void ph__threads_call(ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    if (dispatcher->room.usual_run_us >= SLOW_HANDLER_US && dispatcher->works.waiting.count > 1)
        pthread_cond_broadcast(&dispatcher->wait.work_ready);
    else if (dispatcher->works.waiting.count > 0)
        pthread_cond_signal(&dispatcher->wait.work_ready);
}

/* A thread that takes a message makes sure that another one looks after the rest, in case its own
 * handler takes long. */
static void call_helper(ph_dispatcher *dispatcher)
{
    if (dispatcher->works.waiting.count == 0 || dispatcher->pool.idle == 0 ||
        dispatcher->pool.helper_called)
        return;
    dispatcher->pool.helper_called = true;
    pthread_cond_signal(&dispatcher->wait.work_ready);
}

/* How long the helper leaves them to those that run. */
static int64_t stand_by_us(const ph_dispatcher *dispatcher)
{
    const struct ph_work *first = dispatcher->works.waiting.first;

    if (!first || first->reserved || dispatcher->works.running == 0 ||
        dispatcher->room.usual_run_us >= SLOW_HANDLER_US)
        return 0;
    return first->batch->claimed_us + ALONE_US - ph__boot_us();
}

static void wait_for_work(ph_dispatcher *dispatcher)
{
    dispatcher->pool.idle++;
    if (dispatcher->works.waiting.count > 0 && ph__threads_are_reserved(dispatcher))
        ph__wait_us(dispatcher, &dispatcher->wait.work_ready, PH__RESERVED_US);
    else
        ph__wait(dispatcher, &dispatcher->wait.work_ready);
    dispatcher->pool.idle--;
    for (int64_t us = stand_by_us(dispatcher); us > 0; us = stand_by_us(dispatcher))
        ph__wait_us(dispatcher, &dispatcher->wait.work_ready, us);
    dispatcher->pool.helper_called = false;
}

/* Its database has left the set; with the lock held. */
static void leave_store(struct ph__thread *thread)
{
    ph_store *store = thread->store;

    PH__NEEDS_LOCK(thread->dispatcher);
    thread->leave_store = false;
    thread->store = NULL;
    ph__unlock(thread->dispatcher);
    ph__handler_store_close(thread->dispatcher, store);
    ph__lock(thread->dispatcher);
}

/* The next message, or NULL when the thread shall end; with the lock held. */
static struct ph_work *next_work(struct ph__thread *thread)
{
    ph_dispatcher *dispatcher = thread->dispatcher;

    PH__NEEDS_LOCK(thread->dispatcher);
    for (;;) {
        struct ph_work *work;
        int64_t delay_ms;

        if (thread->given_up)
            return NULL;
        if (thread->leave_store)
            leave_store(thread);
        ph__reserve_lapse_all(dispatcher);
        ph__reserve_turn(dispatcher);
        work = ph__waiting_pop(dispatcher);
        if (work && (delay_ms = ph__transaction_delay_ms(work)) > 0) {
            ph__work_release(work, delay_ms);
            continue;
        }
        /* With a transaction the handler is called when that has begun. */
        if (work &&
            (work->handler->in_transaction ? !ph_work_cancelled(work) : ph__work_call(work))) {
            ph__work_start(work);
            thread->work = work;
            if (work->handler->in_transaction) {
                thread->uses = work->batch->db->serial;
                ph__transaction_waits(work->batch->db);
            }
            call_helper(dispatcher);
            return work;
        }
        if (work) /* another worker may have the lease by now */
            ph__work_release(work, 0);
        else if (dispatcher->phase.stopping)
            return NULL;
        else
            wait_for_work(dispatcher);
    }
}

/* A poller fetches more when there is room for a batch. */
static void wake_for_more(ph_dispatcher *dispatcher)
{
    if (dispatcher->room.wake_at >= 0 &&
        (dispatcher->works.waiting.count == 0 ||
         (long)(dispatcher->works.waiting.count + dispatcher->works.behind) <=
             dispatcher->room.wake_at))
        ph__wake_asleep(dispatcher);
}

/* No thread will join it; with the lock held. */
static void detach(struct ph__thread *thread)
{
    struct ph__thread **at = &thread->dispatcher->pool.threads;

    PH__NEEDS_LOCK(thread->dispatcher);
    while (*at && *at != thread)
        at = &(*at)->next;
    if (!*at)
        return; /* it is being joined */
    *at = thread->next;
    thread->detached = true;
    pthread_detach(thread->id);
}

/* The handler has returned, or ended its thread; with the lock held. True: the batch is gone. */
static bool returned(struct ph__thread *thread, struct ph_work *work, ph_verdict verdict)
{
    ph_dispatcher *dispatcher = thread->dispatcher;

    PH__NEEDS_LOCK(dispatcher);
    if (thread->given_up) {
        dispatcher->pool.hung--;
        ph__wake(dispatcher); /* it may have been one too many */
    }
    return ph__work_returned(work, verdict);
}

/* The end of every thread; with a work in hand it was the handler that ended it. */
static void ended(void *context)
{
    struct ph__thread *thread = context;
    ph_dispatcher *dispatcher = thread->dispatcher;
    bool batch_gone = false, detached;
    ph_store *store;

    ph__lock(dispatcher);
    store = thread->store;
    thread->store = NULL;
    ph__unlock(dispatcher);
    ph__handler_store_close(dispatcher, store); /* rolls back what a handler has left open */
    if (thread->work) {
        ph_work_error(thread->work, "the handler ended its thread");
        ph__say_verdict(thread->work, PH_VERDICT_RETRY, PH_OUTCOME_UNKNOWN);
    }
    ph__lock(dispatcher);
    if (thread->work)
        batch_gone = returned(thread, thread->work, PH_VERDICT_RETRY);
    if (thread->work && !thread->given_up) {
        detach(thread);
        dispatcher->pool.missing++;
        ph__wake(dispatcher);
    }
    detached = thread->detached;
    pthread_cond_broadcast(&dispatcher->wait.changed);
    ph__unlock(dispatcher);
    if (batch_gone)
        ph__dispatcher_drop(dispatcher);
    if (detached)
        ph__dealloc(thread);
    ph__dispatcher_drop(dispatcher);
}

static void *work_loop(void *context)
{
    struct ph__thread *thread = context;
    ph_dispatcher *dispatcher = thread->dispatcher;

    ph__thread_begin(dispatcher);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* only the handler may end it */
    pthread_cleanup_push(ended, thread);
    ph__lock(dispatcher);
    for (struct ph_work *work = next_work(thread); work; work = next_work(thread)) {
        ph_outcome outcome;
        ph_verdict verdict;

        wake_for_more(dispatcher);
        ph__unlock(dispatcher);
        verdict = run(thread, work, &outcome);
        ph__lock(dispatcher);
        thread->work = NULL;
        (void)settled_in_transaction(thread, work, outcome); /* the batch stays: we hold it */
        if (returned(thread, work, verdict))
            dispatcher->refs--; /* never the last one: the thread has one too */
    }
    ph__unlock(dispatcher);
    pthread_cleanup_pop(1);
    return NULL;
}

bool ph__thread_start(ph_dispatcher *dispatcher, bool replaces)
{
    struct ph__thread *thread = ph__alloc_zero(1, sizeof(*thread));
    bool started;

    if (!thread)
        return false;
    thread->dispatcher = dispatcher;
    ph__lock(dispatcher); /* the thread waits until it is on the list */
    started = pthread_create(&thread->id, NULL, work_loop, thread) == 0;
    if (started) {
        dispatcher->refs++;
        thread->next = dispatcher->pool.threads;
        dispatcher->pool.threads = thread;
        dispatcher->pool.missing -= replaces;
        dispatcher->stats.replaced_threads += replaces;
    }
    ph__unlock(dispatcher);
    if (!started)
        ph__dealloc(thread);
    return started;
}

void ph__threads_replace(ph_dispatcher *dispatcher)
{
    int missing;

    ph__lock(dispatcher);
    missing = dispatcher->pool.missing;
    /* So many hanging handlers eat memory, not messages: at some point an operator must look. */
    if (dispatcher->phase.stopping || dispatcher->pool.hung > dispatcher->opts.threads)
        missing = 0;
    ph__unlock(dispatcher);
    while (missing > 0 && ph__thread_start(dispatcher, true))
        missing--;
}

bool ph__thread_give_up(struct ph_work *work)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;
    struct ph__thread *thread = dispatcher->pool.threads;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    while (thread && thread->work != work)
        thread = thread->next;
    if (!thread)
        return false;
    detach(thread);
    thread->given_up = work->hold.given_up = true;
    dispatcher->pool.hung++;
    return true;
}

void ph__threads_join(ph_dispatcher *dispatcher)
{
    for (;;) {
        struct ph__thread *thread;

        ph__lock(dispatcher);
        thread = dispatcher->pool.threads;
        if (thread)
            dispatcher->pool.threads = thread->next;
        ph__unlock(dispatcher);
        if (!thread)
            return;
        pthread_join(thread->id, NULL);
        ph__dealloc(thread);
    }
}
