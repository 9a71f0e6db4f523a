/* station.c - one store as the dispatcher serves it: made, disconnected, left and freed. */
#include "dispatch/dispatch.h"

#include "core/error.h"
#include "util/alloc.h"
#include "util/random.h"

#include <string.h>

#define SET_CALL_MS 2000 /* at first; more where that is not enough */

int ph__station_limit_ms(const struct ph__station *station)
{
    int most_ms = station->dispatcher->call_timeout_ms;

    return station->entry && most_ms > SET_CALL_MS ? SET_CALL_MS : most_ms;
}

void ph__station_extend(const struct ph__station *station, const ph_error *err, int *limit_ms)
{
    int most_ms = station->dispatcher->call_timeout_ms;

    if (err->code == PH_ETIMEOUT || err->code == PH_EBUSY || err->code == PH_EUNKNOWN)
        *limit_ms = *limit_ms < most_ms / 2 ? *limit_ms * 2 : most_ms;
}

/* From now on the store's callbacks are called one at a time, from whichever thread. */
static void take_callbacks(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;
    ph_store_opts *opts = &station->store->opts;

    pthread_mutex_lock(&dispatcher->log_lock); /* others have the same, and may be using them */
    if (opts->join_ended) {
        dispatcher->join_ended = opts->join_ended;
        dispatcher->join_context = opts->join_context;
        opts->join_ended = ph__join_serially;
        opts->join_context = dispatcher;
    }
    if (opts->log) {
        dispatcher->log = opts->log;
        dispatcher->log_context = opts->log_context;
        opts->log = ph__log_serially;
        opts->log_context = dispatcher;
        station->log = ph__log_source_of(station->id, opts);
    }
    pthread_mutex_unlock(&dispatcher->log_lock);
}

void ph__station_give_callbacks_back(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;
    ph_store_opts *opts = &station->store->opts;

    if (dispatcher->log) {
        opts->log = dispatcher->log;
        opts->log_context = dispatcher->log_context;
    }
    if (dispatcher->join_ended) {
        opts->join_ended = dispatcher->join_ended;
        opts->join_context = dispatcher->join_context;
    }
}

/* The part of the store's description that databases on the same server have in common. */
static char *server_of(const ph_store *store)
{
    char *described, *slash;

    if (store->backend->file) /* a file is alone */
        return NULL;
    described = store->backend->describe(store->url);
    slash = described ? strrchr(described, '/') : NULL;
    if (slash)
        *slash = '\0';
    return described;
}

/* Not all of them at the same moment. */
static int64_t first_retention_us(const ph_dispatcher *dispatcher)
{
    int64_t every_us = (int64_t)dispatcher->opts.retention_ms * 1000;

    if (every_us <= 0)
        return 0;
    if (dispatcher->set)
        every_us = every_us / 2 + (int64_t)(ph__random_u64() % (uint64_t)every_us);
    return ph__boot_us() + every_us;
}

int ph__station_new(ph_dispatcher *dispatcher, struct ph__entry *entry, ph_store *store,
                    struct ph__station **ret_station, ph_error *err)
{
    struct ph__station *s = ph__alloc_zero(1, sizeof(*s));
    int r = 0;

    if (!s)
        return ph__fail_memory(err);
    s->dispatcher = dispatcher;
    s->store = store;
    s->entry = entry;
    s->id = ph__strdup(store->id);
    s->server = entry ? server_of(store) : NULL;
    if (!s->id)
        r = ph__fail_memory(err);
    if (r == 0 && dispatcher->opts.schedule)
        r = ph_scheduler_new(store, NULL, &s->scheduler, err);
    if (r < 0) {
        s->entry = NULL;
        s->store = NULL;
        ph__station_free(s);
        return r;
    }
    s->limit_ms = s->chore_ms = ph__station_limit_ms(s);
    s->deploys = store->deploy;
    s->doorbell_fd = -1;
    s->claim_max = PH__CLAIM_MAX;
    s->last_claimed = -1;
    s->through = true;
    s->retention_us = first_retention_us(dispatcher);
    s->owner = ph_owner_new();
    s->decided.last = &s->decided.first;
    s->renew_us = INT64_MAX;
    take_callbacks(s);
    *ret_station = s;
    return 0;
}

void ph__station_free(struct ph__station *station)
{
    ph_scheduler_free(station->scheduler);
    if (station->entry) {
        ph_close(station->store);
        ph__entry_unref(station->dispatcher->set, station->entry);
    }
    ph__dealloc(station->server);
    ph__dealloc(station->bell_name);
    ph__dealloc(station->id);
    ph__dealloc(station);
}

void ph__station_disconnect(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;

    if (station->store->own)
        station->store->backend->disconnect(station->store);
    station->doorbell_fd = -1;
    ph__lock(dispatcher);
    station->armed = false;
    ph__station_unlinked(station);
    ph__unlock(dispatcher);
}

void ph__station_leave(struct ph__station *station)
{
    if (!station->retry_us) /* otherwise nobody would hear it */
        ph__instance_leave(station);
    ph__station_disconnect(station);
    ph__say(station, PH_LOG_INFO, "left: the set has this database no more", NULL, NULL, NULL);
}
