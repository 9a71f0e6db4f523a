/* database.c - one store as the dispatcher serves it: made, disconnected, left and freed. */
#include "dispatch/poll/poll.h"

#include "core/error.h"
#include "util/alloc.h"
#include "util/random.h"

#include <string.h>

#define SET_CALL_MS 2000 /* at first; more where that is not enough */

int ph__db_limit_ms(const struct ph__db *db)
{
    int most_ms = db->dispatcher->times.call_timeout_ms;

    return db->entry && most_ms > SET_CALL_MS ? SET_CALL_MS : most_ms;
}

void ph__db_extend(const struct ph__db *db, const ph_error *err, int *limit_ms)
{
    int most_ms = db->dispatcher->times.call_timeout_ms;

    if (err->code == PH_ETIMEOUT || err->code == PH_EBUSY || err->code == PH_EUNKNOWN)
        *limit_ms = *limit_ms < most_ms / 2 ? *limit_ms * 2 : most_ms;
}

/* From now on the store's callbacks are called one at a time, from whichever thread. */
static void take_callbacks(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    ph_store_opts *opts = &db->store->opts;

    pthread_mutex_lock(&dispatcher->logging.lock); /* others have the same, and may be using them */
    if (opts->join_ended) {
        dispatcher->logging.join_ended = opts->join_ended;
        dispatcher->logging.join_context = opts->join_context;
        opts->join_ended = ph__join_serially;
        opts->join_context = dispatcher;
    }
    if (opts->log) {
        dispatcher->logging.log = opts->log;
        dispatcher->logging.log_context = opts->log_context;
        opts->log = ph__log_serially;
        opts->log_context = dispatcher;
        db->log = ph__log_source_of(db->id, opts);
    }
    pthread_mutex_unlock(&dispatcher->logging.lock);
}

void ph__db_give_callbacks_back(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    ph_store_opts *opts = &db->store->opts;

    if (dispatcher->logging.log) {
        opts->log = dispatcher->logging.log;
        opts->log_context = dispatcher->logging.log_context;
    }
    if (dispatcher->logging.join_ended) {
        opts->join_ended = dispatcher->logging.join_ended;
        opts->join_context = dispatcher->logging.join_context;
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

int ph__db_new(ph_dispatcher *dispatcher, struct ph__entry *entry, ph_store *store,
               struct ph__db **ret_db, ph_error *err)
{
    struct ph__db *db = ph__alloc_zero(1, sizeof(*db));
    int r = 0;

    if (!db)
        return ph__fail_memory(err);
    db->dispatcher = dispatcher;
    db->store = store;
    db->entry = entry;
    db->id = ph__strdup(store->id);
    db->server = entry ? server_of(store) : NULL;
    if (!db->id)
        r = ph__fail_memory(err);
    if (r == 0 && dispatcher->opts.schedule)
        r = ph_scheduler_new(store, NULL, &db->schedule.scheduler, err);
    if (r < 0) {
        db->entry = NULL;
        db->store = NULL;
        ph__db_free(db);
        return r;
    }
    db->health.limit_ms = db->health.chore_ms = ph__db_limit_ms(db);
    db->health.state = entry && store->deploy ? PH__DOUBTFUL : PH__NEW;
    db->doorbell.fd = -1;
    db->claim.max = PH__CLAIM_MAX;
    db->claim.last_count = -1;
    db->claim.through = true;
    db->retention_us = first_retention_us(dispatcher);
    db->heart.owner = ph_owner_new();
    db->settle.decided.last = &db->settle.decided.first;
    db->leases.renew_us = INT64_MAX;
    take_callbacks(db);
    *ret_db = db;
    return 0;
}

void ph__db_free(struct ph__db *db)
{
    ph_scheduler_free(db->schedule.scheduler);
    if (db->entry) {
        ph_close(db->store);
        ph__entry_unref(db->dispatcher->set, db->entry);
    }
    ph__dealloc(db->server);
    ph__dealloc(db->watch.name);
    ph__dealloc(db->id);
    ph__dealloc(db);
}

void ph__db_disconnect(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    if (db->store->own)
        db->store->backend->disconnect(db->store);
    db->doorbell.fd = -1;
    ph__lock(dispatcher);
    db->doorbell.armed = false;
    ph__connection_end(db);
    ph__unlock(dispatcher);
}

void ph__db_leave(struct ph__db *db)
{
    if (!db->health.retry_us) /* otherwise no poller would hear it */
        ph__instance_leave(db);
    ph__db_disconnect(db);
    ph__say(db, PH_LOG_INFO, "left: the set has this database no more", NULL, NULL, NULL);
}

/* All is settled, and nothing more is to be said. */
static int64_t leave_us(const struct ph__chore_look *look)
{
    return look->db->leaving && look->db->works.in_flight == 0 ? 0 : INT64_MAX;
}

const struct ph__chore ph__chore_leave = { .apart = true, .in_outage = true, .due_us = leave_us };
