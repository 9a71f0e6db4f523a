/* dispatcher.c - making, starting and freeing a dispatcher. */
#include "dispatch/poll/poll.h"

#include "core/claim.h"
#include "core/error.h"
#include "core/message.h"
#include "core/options.h"
#include "core/use.h"
#include "util/alloc.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define CALL_TIMEOUT_MIN_MS 1000

/* ----------------------------------------------------------------- new, free */

/* All or none. */
static int init_conditions(ph_dispatcher *dispatcher)
{
    pthread_cond_t *conditions[] = { &dispatcher->wait.work_ready, &dispatcher->wait.pollers_ready,
                                     &dispatcher->wait.second_ready, &dispatcher->wait.discover,
                                     &dispatcher->wait.changed };

    for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
        if (ph__cond_init(conditions[i]) == 0)
            continue;
        while (i-- > 0)
            pthread_cond_destroy(conditions[i]);
        return -1;
    }
    return 0;
}

static int init_sync(ph_dispatcher *dispatcher, ph_error *err)
{
    if (ph__wakeups_open(dispatcher) < 0)
        return ph__fail(err, PH_ENOMEM, "no file descriptor for the dispatcher: %s",
                        strerror(errno));
    if (ph__lock_init(&dispatcher->lock) == 0) {
        if (pthread_mutex_init(&dispatcher->logging.lock, NULL) == 0) {
            if (init_conditions(dispatcher) == 0)
                return 0;
            pthread_mutex_destroy(&dispatcher->logging.lock);
        }
        ph__lock_destroy(&dispatcher->lock);
    }
    ph__wakeups_close(dispatcher);
    return ph__fail_memory(err);
}

static void destroy_sync(ph_dispatcher *dispatcher)
{
    ph__wakeups_close(dispatcher);
    pthread_cond_destroy(&dispatcher->wait.changed);
    pthread_cond_destroy(&dispatcher->wait.discover);
    pthread_cond_destroy(&dispatcher->wait.second_ready);
    pthread_cond_destroy(&dispatcher->wait.pollers_ready);
    pthread_cond_destroy(&dispatcher->wait.work_ready);
    pthread_mutex_destroy(&dispatcher->logging.lock);
    ph__lock_destroy(&dispatcher->lock);
}

static void free_options(ph_dispatcher *dispatcher)
{
    ph__instance_free(dispatcher);
    ph__dealloc((char *)(uintptr_t)dispatcher->opts.ns);
}

static void set_times(ph_dispatcher *dispatcher, int timeout_ms)
{
    int third_ms = dispatcher->opts.lease_s * 1000 / 3;

    dispatcher->times.call_timeout_ms = timeout_ms < third_ms ? timeout_ms : third_ms;
    if (dispatcher->times.call_timeout_ms < CALL_TIMEOUT_MIN_MS)
        dispatcher->times.call_timeout_ms = CALL_TIMEOUT_MIN_MS;
    dispatcher->times.lease_us = (int64_t)dispatcher->opts.lease_s * 1000000;
    dispatcher->times.fence_margin_us =
        dispatcher->times.lease_us < 10000000 ? dispatcher->times.lease_us / 10 : 1000000;
    dispatcher->times.limit_us = INT64_MAX;
}

/* On failure free_options() frees the copies. */
static int init(ph_dispatcher *dispatcher, int timeout_ms, ph_error *err)
{
    int r = ph__instance_init(dispatcher, err);

    dispatcher->opts.ns = ph__strdup(dispatcher->opts.ns);
    if (r == 0 && !dispatcher->opts.ns)
        r = ph__fail_memory(err);
    if (r == 0)
        r = init_sync(dispatcher, err);
    if (r < 0)
        return r;
    set_times(dispatcher, timeout_ms);
    dispatcher->works.waiting.last = &dispatcher->works.waiting.first;
    dispatcher->connections.max = INT_MAX;
    dispatcher->observer =
        (struct ph__set_observer){ .changed = ph__databases_changed, .context = dispatcher };
    dispatcher->refs = 1;
    return 0;
}

/* The parts that both kinds have in common. */
static int new_dispatcher(ph_set *set, const ph_dispatcher_opts *opts, int batches, int timeout_ms,
                          ph_dispatcher **ret_dispatcher, ph_error *err)
{
    ph_dispatcher_opts loaded = PH_DISPATCHER_OPTS_INIT;
    ph_dispatcher *dispatcher;
    int r = ph__options_load(&loaded, sizeof(loaded), opts, "ph_dispatcher_opts", err);

    if (r < 0)
        return r;
    ph__opts_fill(&loaded, batches);
    r = ph__opts_check(&loaded, err);
    if (r < 0)
        return r;
    dispatcher = ph__alloc_zero(1, sizeof(*dispatcher));
    if (!dispatcher)
        return ph__fail_memory(err);
    dispatcher->set = set;
    dispatcher->opts = loaded;
    r = init(dispatcher, timeout_ms, err);
    if (r < 0) {
        free_options(dispatcher);
        ph__dealloc(dispatcher);
        return r;
    }
    if (set)
        ph__set_ref(set);
    *ret_dispatcher = dispatcher;
    return 0;
}

static void destroy(ph_dispatcher *dispatcher)
{
    for (size_t i = 0; i < dispatcher->logging.warned_count; i++)
        ph__dealloc(dispatcher->logging.warned_topics[i]);
    ph__unclaimed_free(dispatcher);
    ph__databases_free(dispatcher);
    ph__handlers_free(dispatcher);
    free_options(dispatcher);
    destroy_sync(dispatcher);
    if (dispatcher->set)
        ph__set_unref(dispatcher->set);
    ph__dealloc(dispatcher);
}

/* The user's store becomes the dispatcher's only database. */
static int take_store(ph_dispatcher *dispatcher, ph_store *store, ph_error *err)
{
    struct ph__db *db;
    int r = ph__use_keep(store, dispatcher, err);

    if (r < 0)
        return r;
    r = ph__db_new(dispatcher, NULL, store, &db, err);
    if (r == 0 && ph__databases_add(db) < 0) {
        ph__db_give_callbacks_back(db);
        ph__db_free(db);
        r = ph__fail_memory(err);
    }
    if (r < 0)
        ph__use_keep_end(store);
    return r;
}

int ph_dispatcher_new(ph_store *store, const ph_dispatcher_opts *opts,
                      ph_dispatcher **ret_dispatcher, ph_error *reterr)
{
    ph_dispatcher *dispatcher = NULL;
    int r;

    ph__ok(reterr);
    if (!store || !ret_dispatcher)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", store ? "ret_dispatcher" : "store");
    if (store->admit)
        return ph__fail(reterr, PH_EINVAL,
                        "the store belongs to a router; a set is served with "
                        "ph_dispatcher_new_set()");
    r = new_dispatcher(NULL, opts, 2, store->timeout_ms, &dispatcher, reterr);
    if (r < 0)
        return r;
    r = take_store(dispatcher, store, reterr);
    if (r < 0) {
        destroy(dispatcher);
        return r;
    }
    *ret_dispatcher = dispatcher;
    return 0;
}

int ph_dispatcher_new_set(ph_set *set, const ph_dispatcher_opts *opts,
                          ph_dispatcher **ret_dispatcher, ph_error *reterr)
{
    int timeout_ms;

    ph__ok(reterr);
    if (!set || !ret_dispatcher)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", set ? "ret_dispatcher" : "set");
    timeout_ms = ph__set_store_opts(set)->timeout_ms;
    return new_dispatcher(set, opts, 1 + ph__set_connections(set),
                          timeout_ms ? timeout_ms : PH__TIMEOUT_MS, ret_dispatcher, reterr);
}

void ph__dispatcher_drop(ph_dispatcher *dispatcher)
{
    size_t refs;

    ph__lock(dispatcher);
    refs = --dispatcher->refs;
    ph__unlock(dispatcher);
    if (refs == 0)
        destroy(dispatcher);
}

void ph_dispatcher_free(ph_dispatcher *dispatcher)
{
    ph_error ignored;

    if (!dispatcher)
        return;
    (void)!ph_dispatcher_stop(dispatcher, 0, &ignored);
    pthread_mutex_lock(&dispatcher->logging.lock);
    dispatcher->logging.silent = true;
    pthread_mutex_unlock(&dispatcher->logging.lock);
    if (!dispatcher->set) {
        ph__db_give_callbacks_back(dispatcher->dbs.items[0]);
        ph__use_keep_end(dispatcher->dbs.items[0]->store);
    }
    ph__dispatcher_drop(dispatcher);
}

/* --------------------------------------------------------------------- start */

static int prepare_start(ph_dispatcher *dispatcher, ph_error *err)
{
    PH__NEEDS_LOCK(dispatcher);
    if (dispatcher->phase.started || dispatcher->phase.stopping)
        return ph__fail(err, PH_EINVAL,
                        "a dispatcher is started once; make a new one with ph_dispatcher_new()");
    if (dispatcher->handlers.count == 0 && !dispatcher->opts.schedule)
        return ph__fail(err, PH_EINVAL,
                        "there is no handler; register one with ph_dispatcher_handle()");
    return ph__handlers_prepare(dispatcher, err);
}

static bool needs_transactions(const ph_dispatcher *dispatcher)
{
    bool any = false;

    for (size_t i = 0; i < dispatcher->handlers.count; i++)
        any |= dispatcher->handlers.items[i].in_transaction;
    return any;
}

/* Shares out the set's remaining connections: one per thread for transactions of handlers, the
 * others for talking to the stores. */
static int take_connections(ph_dispatcher *dispatcher, ph_error *err)
{
    int for_handlers = needs_transactions(dispatcher) ? dispatcher->opts.threads : 0;
    int taken = ph__set_take(dispatcher->set, INT_MAX);

    if (taken > for_handlers) {
        dispatcher->connections.taken = taken;
        dispatcher->connections.max = taken - for_handlers;
        return 0;
    }
    ph__set_give(dispatcher->set, taken);
    return ph__fail(err, PH_ESTATE,
                    "%d of the set's connections are left, and %d are needed (%d for handlers with "
                    "transactions); raise ph_set_opts.connections, or use fewer threads",
                    taken, for_handlers + 1, for_handlers);
}

void ph__dispatcher_leave_set(ph_dispatcher *dispatcher)
{
    int given;

    if (!dispatcher->set || dispatcher->connections.taken == 0)
        return;
    ph__set_observe_end(dispatcher->set, &dispatcher->observer);
    ph__lock(dispatcher);
    dispatcher->connections.left_set =
        true; /* handlers that hang give theirs back when they close it */
    given = dispatcher->connections.taken - dispatcher->connections.handlers;
    dispatcher->connections.taken = 0;
    ph__unlock(dispatcher);
    ph__set_give(dispatcher->set, given);
}

int ph_dispatcher_start(ph_dispatcher *dispatcher, ph_error *reterr)
{
    int r;

    ph__ok(reterr);
    if (!dispatcher)
        return ph__fail(reterr, PH_EINVAL, "dispatcher is NULL");
    ph__lock(dispatcher);
    r = prepare_start(dispatcher, reterr);
    if (r == 0 && dispatcher->set)
        r = take_connections(dispatcher, reterr);
    if (r == 0) {
        dispatcher->phase.started = dispatcher->phase.starting = true;
        dispatcher->dbs.changed = dispatcher->set != NULL;
    }
    ph__unlock(dispatcher);
    if (r < 0)
        return r;
    if (dispatcher->set)
        ph__set_observe(dispatcher->set, &dispatcher->observer);
    r = ph__threads_start(dispatcher, reterr);
    if (r < 0)
        ph__dispatcher_leave_set(dispatcher);
    ph__lock(dispatcher);
    dispatcher->phase.starting = false;
    pthread_cond_broadcast(&dispatcher->wait.changed);
    ph__unlock(dispatcher);
    return r;
}
