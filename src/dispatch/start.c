/* start.c - the threads of a dispatcher: started, joined, and told apart from the host's. With
 * work/threads.c the only place where the library starts any. */
#include "dispatch/poll/poll.h"

#include "core/error.h"
#include "core/open.h"
#include "util/alloc.h"

#include <signal.h>

/* Signals are the host's affair, except those that a thread causes itself. */
static void block_signals(sigset_t *ret_before)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    sigset_t all;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, ret_before);
}

/* store: of its own, which it closes; NULL: none. */
static bool start_poller(ph_dispatcher *dispatcher, ph_store *store)
{
    struct ph__poller *poller = ph__alloc_zero(1, sizeof(*poller));
    bool started;

    if (!poller)
        return false;
    poller->dispatcher = dispatcher;
    poller->store = store;
    ph__lock(dispatcher);
    started = pthread_create(&poller->id, NULL, store ? ph__second_poll : ph__poll, poller) == 0;
    if (started) {
        dispatcher->second.running |= store != NULL;
        dispatcher->refs++;
        dispatcher->pollers.items[dispatcher->pollers.count++] = poller;
    }
    ph__unlock(dispatcher);
    if (!started)
        ph__dealloc(poller);
    return started;
}

/* Only where the database serves several connections at once, and if nothing is counted across
 * calls and no callback is asked before each claim. */
static bool wants_second(const ph_dispatcher *dispatcher)
{
    return !dispatcher->set && dispatcher->handlers.count > 0 &&
           dispatcher->opts.max_partitions == 0 && !dispatcher->opts.select &&
           dispatcher->opts.connections != 1 && !dispatcher->dbs.items[0]->store->backend->file;
}

static bool start_second(ph_dispatcher *dispatcher, ph_error *err)
{
    ph_store *store = NULL;

    if (ph__store_clone(dispatcher->dbs.items[0]->store, &store, err) < 0)
        return false;
    if (start_poller(dispatcher, store))
        return true;
    ph_close(store);
    return false;
}

static bool start_discovery(ph_dispatcher *dispatcher)
{
    bool started;

    ph__lock(dispatcher);
    dispatcher->discovery.running =
        pthread_create(&dispatcher->discovery.thread, NULL, ph__discover, dispatcher) == 0;
    started = dispatcher->discovery.has_thread = dispatcher->discovery.running;
    dispatcher->refs += started;
    ph__unlock(dispatcher);
    return started;
}

int ph__threads_start(ph_dispatcher *dispatcher, ph_error *err)
{
    int pollers = dispatcher->connections.max < PH__POLLERS_MAX ? dispatcher->connections.max
                                                                : PH__POLLERS_MAX;
    sigset_t before;
    bool ok = true;

    if (!dispatcher->set)
        pollers = 1;

    block_signals(&before);
    for (int i = 0; dispatcher->handlers.count > 0 && i < dispatcher->opts.threads && ok; i++)
        ok = ph__thread_start(dispatcher, false);
    if (ok && wants_second(dispatcher)) /* first: nothing is claimed yet if it fails */
        ok = start_second(dispatcher, err);
    for (int i = 0; i < pollers && ok; i++)
        ok = start_poller(dispatcher, NULL);
    ok = ok && (!dispatcher->set || start_discovery(dispatcher));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (ok)
        return 0;
    ph__lock(dispatcher);
    dispatcher->phase.stopping = dispatcher->phase.ending = dispatcher->phase.stopped = true;
    pthread_cond_broadcast(&dispatcher->wait.work_ready);
    pthread_cond_broadcast(&dispatcher->wait.pollers_ready);
    pthread_cond_broadcast(&dispatcher->wait.second_ready);
    ph__wake(dispatcher);
    ph__unlock(dispatcher);
    ph__pollers_join(dispatcher);
    ph__threads_join(dispatcher);
    return ph__fail(err, PH_ENOMEM, "the system refuses to start %d threads; use fewer",
                    dispatcher->opts.threads + pollers + (dispatcher->set != NULL));
}

/* A list would lack handler threads that were given up. */
static _Thread_local const ph_dispatcher *ours;

void ph__thread_begin(const ph_dispatcher *dispatcher)
{
    ours = dispatcher;
}

bool ph__thread_is_ours(const ph_dispatcher *dispatcher)
{
    return ours == dispatcher;
}

void ph__pollers_join(ph_dispatcher *dispatcher)
{
    int count = dispatcher->pollers.count; /* no thread is added any more */

    for (int i = 0; i < count; i++)
        pthread_join(dispatcher->pollers.items[i]->id, NULL);
    ph__lock(dispatcher);
    dispatcher->pollers.count = 0;
    for (int i = 0; i < count; i++)
        ph__dealloc(dispatcher->pollers.items[i]);
    ph__unlock(dispatcher);
}

bool ph__discovery_end(ph_dispatcher *dispatcher)
{
    int64_t until_us = ph__boot_us() + (int64_t)PH__STOP_GRACE_MS * 1000;

    PH__NEEDS_LOCK(dispatcher);
    if (!dispatcher->discovery.has_thread)
        return true;
    dispatcher->discovery.has_thread = false;
    while (dispatcher->discovery.running && ph__boot_us() < until_us)
        ph__wait_us(dispatcher, &dispatcher->wait.changed, until_us - ph__boot_us());
    if (dispatcher->discovery.running) {
        pthread_detach(dispatcher->discovery.thread);
        return false;
    }
    ph__unlock(dispatcher);
    pthread_join(dispatcher->discovery.thread, NULL);
    ph__lock(dispatcher);
    return true;
}
