/* service.c - the frame of a worker: open, start, wait for a signal, stop without losing anything. */
#include "service.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#define STOP_LIMIT_MS 10000 /* how long running handlers may take to finish */

/* Warnings and errors, such as a database that went away, and that it is back. */
static void log_line(void *context, const ph_log_event *event)
{
    (void)context;
    fprintf(stderr, "%s\n", event->text);
}

static void print_stats(ph_dispatcher *dispatcher)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;

    if (ph_dispatcher_stats_get(dispatcher, &stats, NULL) == 0)
        printf("stopped: %lld done, %lld failed attempts, %lld given back\n", (long long)stats.done,
               (long long)stats.retried, (long long)stats.released);
}

int serve(const char *file, const ph_dispatcher_opts *opts, const ph_handler *handlers,
          size_t count)
{
    ph_store_opts store_opts = PH_STORE_OPTS_INIT;
    ph_dispatcher *dispatcher = NULL;
    ph_store *store = NULL;
    ph_error err = { 0 };
    sigset_t signals;
    char url[4096];
    int caught, r;

    /* Before the first thread starts, so that only sigwait() below gets them. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    setvbuf(stdout, NULL, _IOLBF, 0); /* whole lines at once, since handlers run in parallel */
    snprintf(url, sizeof(url), "sqlite:%s", file);
    store_opts.log = log_line;
    store_opts.log_level = PH_LOG_WARN;
    r = ph_open(url, &store_opts, &store, &err);
    if (r == 0)
        r = ph_dispatcher_new(store, opts, &dispatcher, &err);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = ph_dispatcher_handle(dispatcher, &handlers[i], &err);
    if (r == 0)
        r = ph_dispatcher_start(dispatcher, &err);
    if (r == 0) {
        sigwait(&signals, &caught);
        r = ph_dispatcher_stop(dispatcher, STOP_LIMIT_MS, &err);
        print_stats(dispatcher);
    }
    if (r < 0)
        fprintf(stderr, "%s: %s\n", url, err.message);
    ph_dispatcher_free(dispatcher);
    ph_close(store);
    return r < 0;
}
