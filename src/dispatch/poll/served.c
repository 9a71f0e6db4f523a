/* served.c - the numbers of a dispatcher, and how it stands with each of its stores. */
#include "dispatch/poll/poll.h"

#include "core/error.h"
#include "core/list.h"
#include "core/options.h"
#include "util/alloc.h"

#include <string.h>

struct ph_served_stores {
    struct ph__arena arena;
    ph_served_store *items; /* from the arena */
    size_t count;
};

const char *ph_serving_text(ph_serving serving)
{
    switch (serving) {
#define PH_SERVING_CASE(name, value, text)                                                         \
    case PH_SERVING_##name:                                                                        \
        return text;
        PH_SERVING_MAP(PH_SERVING_CASE)
#undef PH_SERVING_CASE
    case PH_SERVING_FORCE_INT:
    default:
        return "unknown";
    }
}

static ph_serving serving_of(const struct ph__db *db)
{
    if (db->leaving)
        return PH_SERVING_DRAINING;
    if (db->health.state == PH__REFUSED)
        return PH_SERVING_ASIDE;
    if (db->health.last_error.code)
        return PH_SERVING_TRYING;
    return db->health.connected ? PH_SERVING_SERVED : PH_SERVING_NEW;
}

/* id: only this store, or NULL. */
static int fill(ph_served_stores *list, const ph_dispatcher *dispatcher, const char *id,
                ph_error *err)
{
    size_t count = dispatcher->dbs.count;

    PH__NEEDS_LOCK(dispatcher);
    list->items = ph__arena_alloc(&list->arena, count * sizeof(*list->items));
    if (!list->items)
        return ph__fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct ph__db *db = dispatcher->dbs.items[i];
        const char *name;

        if (id && strcmp(db->id, id) != 0)
            continue;
        name = ph__arena_copy(&list->arena, db->id, strlen(db->id));
        if (!name)
            return ph__fail_memory(err);
        list->items[list->count++] = (ph_served_store){
            .id = name,
            .serving = serving_of(db),
            .connected = db->has_connection,
            .in_flight = (int)db->works.in_flight,
            .claimed = db->claim.total,
            .done = db->works.done,
            .exchanges = db->works.exchanges,
            .outages = db->health.outages,
            .owner = db->heart.owner,
            .last_error = db->health.last_error,
        };
    }
    return 0;
}

int ph_served_store_list(ph_dispatcher *dispatcher, const ph_served_store_list_opts *opts,
                         ph_served_stores **ret_list, ph_error *reterr)
{
    ph_served_store_list_opts wanted = PH_SERVED_STORE_LIST_OPTS_INIT;
    ph_served_stores *list;
    int r;

    ph__ok(reterr);
    if (!dispatcher || !ret_list)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", dispatcher ? "ret_list" : "dispatcher");
    r = ph__options_load(&wanted, sizeof(wanted), opts, "ph_served_store_list_opts", reterr);
    if (r < 0)
        return r;
    list = ph__alloc_zero(1, sizeof(*list));
    if (!list)
        return ph__fail_memory(reterr);
    ph__lock(dispatcher);
    r = fill(list, dispatcher, wanted.id, reterr);
    ph__unlock(dispatcher);
    if (r < 0)
        ph_served_stores_free(list);
    else
        *ret_list = list;
    return r;
}

PH__LIST_FUNCTIONS(served_stores, ph_served_store)

int ph_dispatcher_wake(ph_dispatcher *dispatcher, const char *store_id, ph_error *reterr)
{
    int r = PH_ENOTFOUND;

    ph__ok(reterr);
    if (!dispatcher || !store_id)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", dispatcher ? "store_id" : "dispatcher");
    ph__lock(dispatcher);
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        struct ph__db *db = dispatcher->dbs.items[i];

        if (strcmp(db->id, store_id) != 0)
            continue;
        ph__db_wake(db);
        ph__wake_for(db);
        r = 0;
    }
    ph__unlock(dispatcher);
    return r == 0 ? 0 : ph__fail(reterr, PH_ENOTFOUND, "no store of the dispatcher has this id");
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
    ph__lock(dispatcher);
    stats = dispatcher->stats;
    stats.connected = true;
    for (size_t i = 0; i < dispatcher->dbs.count; i++)
        stats.connected &= dispatcher->dbs.items[i]->health.connected;
    stats.waiting = (int)(dispatcher->works.waiting.count + dispatcher->works.behind);
    stats.running = (int)dispatcher->works.running;
    stats.kept = (int)dispatcher->works.kept;
    ph__unlock(dispatcher);
    ph__options_store(ret_stats, &stats, sizeof(stats));
    return 0;
}
