/* dispatcher.c - making, starting and freeing a dispatcher; its handlers and its numbers. */
#include "dispatch/dispatch.h"

#include "core/claim.h"
#include "core/error.h"
#include "core/message.h"
#include "core/options.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define DEFAULT_THREADS 4
#define DEFAULT_POLL_MS 500
#define DEFAULT_DEFER_MS 60000
#define DEFAULT_RETENTION_MS 60000
#define DEFAULT_KEPT 1000
#define THREADS_MAX 1024
#define IN_FLIGHT_MAX 1000000
#define CALL_TIMEOUT_MIN_MS 1000

/* ------------------------------------------------------------------- options */

static int check_range(int64_t value, int64_t from, int64_t to, const char *what, ph_error *err)
{
    if (value >= from && value <= to)
        return 0;
    return ph__fail(err, PH_EINVAL, "%s is %lld; allowed are %lld to %lld, or 0 for the default",
                    what, (long long)value, (long long)from, (long long)to);
}

static void fill_defaults(ph_dispatcher_opts *opts)
{
    if (!opts->ns)
        opts->ns = "";
    if (!opts->threads)
        opts->threads = DEFAULT_THREADS;
    if (!opts->batch_size)
        opts->batch_size = PH__BATCH_SIZE;
    if (!opts->prefetch)
        opts->prefetch = opts->batch_size <= PH_BATCH_MAX / 2 ? 2 * opts->batch_size : PH_BATCH_MAX;
    if (!opts->lease_s)
        opts->lease_s = PH__LEASE_S;
    if (!opts->defer_ms)
        opts->defer_ms = DEFAULT_DEFER_MS;
    if (!opts->retention_ms)
        opts->retention_ms = DEFAULT_RETENTION_MS;
    if (!opts->in_flight_max)
        opts->in_flight_max =
            (opts->prefetch > 0 ? opts->prefetch : 0) + opts->threads + DEFAULT_KEPT;
}

static int check_options(ph_dispatcher_opts *opts, ph_error *err)
{
    int third_ms, r = ph__name_check(opts->ns, "namespace", true, err);

    if (r == 0)
        r = check_range(opts->threads, 1, THREADS_MAX, "threads", err);
    if (r == 0)
        r = check_range(opts->batch_size, 1, PH_BATCH_MAX, "batch_size", err);
    if (r == 0)
        r = check_range(opts->prefetch, -1, PH_BATCH_MAX, "prefetch", err);
    if (r == 0)
        r = check_range(opts->in_flight_max, 1, IN_FLIGHT_MAX, "in_flight_max", err);
    if (r == 0)
        r = check_range(opts->lease_s, 1, PH_LEASE_MAX_S, "lease_s", err);
    if (r == 0)
        r = check_range(opts->defer_ms, 1, INT32_MAX, "defer_ms", err);
    if (r == 0)
        r = check_range(opts->message_limit, 0, INT64_MAX, "message_limit", err);
    if (r == 0)
        r = check_range(opts->retention_ms, -1, INT32_MAX, "retention_ms", err);
    if (r == 0 && opts->doorbell != PH_DOORBELL_AUTO && opts->doorbell != PH_DOORBELL_OFF)
        r = ph__fail(err, PH_EINVAL,
                     "doorbell %d is not a ph_doorbell; give PH_DOORBELL_AUTO or PH_DOORBELL_OFF",
                     (int)opts->doorbell);
    if (r < 0)
        return r;
    third_ms = opts->lease_s * 1000 / 3;
    if (opts->poll_ms < 0 || opts->poll_ms > third_ms)
        return ph__fail(err, PH_EINVAL,
                        "poll_ms is %d; with a lease of %d s at most %d is allowed (a third of the "
                        "lease): poll more often or lease for longer",
                        opts->poll_ms, opts->lease_s, third_ms);
    if (!opts->poll_ms)
        opts->poll_ms = DEFAULT_POLL_MS < third_ms ? DEFAULT_POLL_MS : third_ms;
    return ph__instance_options(opts, err);
}

/* ----------------------------------------------------------------- new, free */

static int init_sync(ph_dispatcher *dispatcher, ph_error *err)
{
    dispatcher->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (dispatcher->wake_fd < 0)
        return ph__fail(err, PH_ENOMEM, "no file descriptor for the dispatcher: %s",
                        strerror(errno));
    if (pthread_mutex_init(&dispatcher->lock, NULL) == 0) {
        if (pthread_mutex_init(&dispatcher->log_lock, NULL) == 0) {
            if (ph__cond_init(&dispatcher->work_ready) == 0) {
                if (ph__cond_init(&dispatcher->changed) == 0)
                    return 0;
                pthread_cond_destroy(&dispatcher->work_ready);
            }
            pthread_mutex_destroy(&dispatcher->log_lock);
        }
        pthread_mutex_destroy(&dispatcher->lock);
    }
    close(dispatcher->wake_fd);
    return ph__fail_memory(err);
}

/* From now on the store's callbacks are called one at a time, from whichever thread. */
static void take_callbacks(ph_dispatcher *dispatcher)
{
    ph_store_opts *opts = &dispatcher->store->opts;

    if (opts->join_ended) {
        dispatcher->join_ended = opts->join_ended;
        dispatcher->join_context = opts->join_context;
        opts->join_ended = ph__join_serially;
        opts->join_context = dispatcher;
    }
    if (!opts->log)
        return;
    dispatcher->log = opts->log;
    dispatcher->log_context = opts->log_context;
    opts->log = ph__log_serially;
    opts->log_context = dispatcher;
    dispatcher->voice.opts = *opts;
}

static void give_callbacks_back(ph_dispatcher *dispatcher)
{
    ph_store_opts *opts = &dispatcher->store->opts;

    pthread_mutex_lock(&dispatcher->log_lock);
    dispatcher->silent = true;
    pthread_mutex_unlock(&dispatcher->log_lock);
    if (dispatcher->log) {
        opts->log = dispatcher->log;
        opts->log_context = dispatcher->log_context;
    }
    if (dispatcher->join_ended) {
        opts->join_ended = dispatcher->join_ended;
        opts->join_context = dispatcher->join_context;
    }
}

static void free_options(ph_dispatcher *dispatcher)
{
    ph_scheduler_free(dispatcher->scheduler);
    ph__instance_free(dispatcher);
    ph__dealloc((char *)(uintptr_t)dispatcher->opts.ns);
    ph__dealloc(dispatcher->voice.id);
}

static void set_times(ph_dispatcher *dispatcher)
{
    int third_ms = dispatcher->opts.lease_s * 1000 / 3, timeout_ms = dispatcher->store->timeout_ms;

    dispatcher->call_timeout_ms = timeout_ms < third_ms ? timeout_ms : third_ms;
    if (dispatcher->call_timeout_ms < CALL_TIMEOUT_MIN_MS)
        dispatcher->call_timeout_ms = CALL_TIMEOUT_MIN_MS;
    dispatcher->lease_us = (int64_t)dispatcher->opts.lease_s * 1000000;
    dispatcher->fence_margin_us =
        dispatcher->lease_us < 10000000 ? dispatcher->lease_us / 10 : 1000000;
    dispatcher->limit_us = dispatcher->renew_us = INT64_MAX;
}

/* On failure what it has copied is freed by free_options(). */
static int init(ph_dispatcher *dispatcher, ph_error *err)
{
    int r = ph__instance_init(dispatcher, err);

    dispatcher->opts.ns = ph__strdup(dispatcher->opts.ns);
    dispatcher->voice.id = ph__strdup(dispatcher->store->id);
    if (r == 0 && !(dispatcher->opts.ns && dispatcher->voice.id))
        r = ph__fail_memory(err);
    if (r == 0 && dispatcher->opts.schedule)
        r = ph_scheduler_new(dispatcher->store, NULL, &dispatcher->scheduler, err);
    if (r == 0)
        r = init_sync(dispatcher, err);
    if (r < 0)
        return r;
    set_times(dispatcher);
    dispatcher->waiting.last = &dispatcher->waiting.first;
    dispatcher->decided.last = &dispatcher->decided.first;
    dispatcher->refs = 1;
    return 0;
}

int ph_dispatcher_new(ph_store *store, const ph_dispatcher_opts *opts,
                      ph_dispatcher **ret_dispatcher, ph_error *reterr)
{
    ph_dispatcher_opts loaded = PH_DISPATCHER_OPTS_INIT;
    ph_dispatcher *dispatcher;
    int r;

    ph__ok(reterr);
    if (!store || !ret_dispatcher)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", store ? "ret_dispatcher" : "store");
    r = ph__options_load(&loaded, sizeof(loaded), opts, "ph_dispatcher_opts", reterr);
    if (r < 0)
        return r;
    fill_defaults(&loaded);
    r = check_options(&loaded, reterr);
    if (r < 0)
        return r;
    dispatcher = ph__alloc_zero(1, sizeof(*dispatcher));
    if (!dispatcher)
        return ph__fail_memory(reterr);
    dispatcher->store = store;
    dispatcher->opts = loaded;
    r = init(dispatcher, reterr);
    if (r < 0) {
        free_options(dispatcher);
        ph__dealloc(dispatcher);
        return r;
    }
    take_callbacks(dispatcher);
    *ret_dispatcher = dispatcher;
    return 0;
}

static void destroy(ph_dispatcher *dispatcher)
{
    for (size_t i = 0; i < dispatcher->warned_count; i++)
        ph__dealloc(dispatcher->warned_topics[i]);
    ph__handlers_free(dispatcher);
    free_options(dispatcher);
    close(dispatcher->wake_fd);
    pthread_cond_destroy(&dispatcher->changed);
    pthread_cond_destroy(&dispatcher->work_ready);
    pthread_mutex_destroy(&dispatcher->log_lock);
    pthread_mutex_destroy(&dispatcher->lock);
    ph__dealloc(dispatcher);
}

void ph__dispatcher_drop(ph_dispatcher *dispatcher)
{
    size_t refs;

    pthread_mutex_lock(&dispatcher->lock);
    refs = --dispatcher->refs;
    pthread_mutex_unlock(&dispatcher->lock);
    if (refs == 0)
        destroy(dispatcher);
}

void ph_dispatcher_free(ph_dispatcher *dispatcher)
{
    ph_error ignored;

    if (!dispatcher)
        return;
    (void)!ph_dispatcher_stop(dispatcher, 0, &ignored);
    give_callbacks_back(dispatcher);
    ph__dispatcher_drop(dispatcher);
}

/* -------------------------------------------------------------- start, stats */

static int prepare_start(ph_dispatcher *dispatcher, ph_error *err)
{
    if (dispatcher->started || dispatcher->stopping)
        return ph__fail(err, PH_EINVAL,
                        "a dispatcher is started once; make a new one with ph_dispatcher_new()");
    if (dispatcher->handler_count == 0)
        return ph__fail(err, PH_EINVAL,
                        "there is no handler; register one with ph_dispatcher_handle()");
    return ph__handlers_prepare(dispatcher, err);
}

int ph_dispatcher_start(ph_dispatcher *dispatcher, ph_error *reterr)
{
    int r;

    ph__ok(reterr);
    if (!dispatcher)
        return ph__fail(reterr, PH_EINVAL, "dispatcher is NULL");
    pthread_mutex_lock(&dispatcher->lock);
    r = prepare_start(dispatcher, reterr);
    if (r == 0) {
        dispatcher->started = dispatcher->starting = true;
        dispatcher->refs++; /* the coordinator's */
    }
    pthread_mutex_unlock(&dispatcher->lock);
    if (r < 0)
        return r;
    r = ph__threads_start(dispatcher, reterr);
    pthread_mutex_lock(&dispatcher->lock);
    dispatcher->starting = false;
    pthread_cond_broadcast(&dispatcher->changed);
    pthread_mutex_unlock(&dispatcher->lock);
    if (r < 0)
        ph__dispatcher_drop(dispatcher);
    return r;
}

int ph_dispatcher_stats_get(ph_dispatcher *dispatcher, ph_dispatcher_stats *ret_stats,
                            ph_error *reterr)
{
    ph_dispatcher_stats stats;
    int r;

    ph__ok(reterr);
    if (!dispatcher || !ret_stats)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", dispatcher ? "ret_stats" : "dispatcher");
    r = ph__options_check(ret_stats->size, "ph_dispatcher_stats", reterr);
    if (r < 0)
        return r;
    pthread_mutex_lock(&dispatcher->lock);
    stats = dispatcher->stats;
    stats.waiting = (int)(dispatcher->waiting.count + dispatcher->behind);
    stats.running = (int)dispatcher->running;
    stats.kept = (int)dispatcher->kept;
    pthread_mutex_unlock(&dispatcher->lock);
    ph__options_store(ret_stats, &stats, sizeof(stats));
    return 0;
}
