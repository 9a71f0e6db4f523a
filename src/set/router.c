/* router.c - the store of a key, and which of them may be connected.
 *
 * The stores are found by the database that they are for, so one that leaves the
 * set and comes back gets the store that it had. Those that are connected stand
 * in a list, the one that was used last in front. Only the thread that uses the
 * router's connections touches another store than that of its call; threads
 * with transactions of their own read the stores, and take the lock only to find
 * them. */
#include "core/error.h"
#include "core/message.h"
#include "core/options.h"
#include "set/inner.h"
#include "util/alloc.h"

struct handle {
    ph_router *router;
    ph_store *store;
    struct handle *next;          /* of all */
    struct handle *same_id;       /* the same id, another place */
    struct handle *newer, *older; /* in the list of connected ones */
    bool connected;               /* in that list */
};

struct ph_router {
    ph_set *set;
    int share; /* of the set's connections */
    pthread_mutex_t lock;
    struct handle *handles;
    struct ph__map by_id;
    struct handle *newest, *oldest;
    int connected;
    _Atomic unsigned use; /* of all its stores: one call could close the connection of another */
};

/* --------------------------------------------------------------- new, free */

static int load_options(const ph_router_opts *from, int *ret_share, ph_error *err)
{
    ph_router_opts opts = PH_ROUTER_OPTS_INIT;
    int r = ph__options_load(&opts, sizeof(opts), from, "ph_router_opts", err);

    if (r < 0)
        return r;
    if (opts.connections == PH_ROUTER_NO_CONNECTIONS) {
        *ret_share = 0;
        return 0;
    }
    if (opts.connections < 0 || opts.connections > PH_SET_CONNECTIONS_MAX)
        return ph__fail(err, PH_EINVAL,
                        "connections is %d; give 1 to %d, 0 for one, or "
                        "PH_ROUTER_NO_CONNECTIONS",
                        opts.connections, PH_SET_CONNECTIONS_MAX);
    *ret_share = opts.connections ? opts.connections : 1;
    return 0;
}

static int take_share(ph_set *set, int share, ph_error *err)
{
    int got = ph__set_take(set, share);

    if (got == share)
        return 0;
    ph__set_give(set, got);
    return ph__fail(err, PH_ESTATE,
                    "the router wants %d connections of the set, and %d are left; allow the set "
                    "more, or give routers and the dispatcher fewer",
                    share, got);
}

int ph_router_new(ph_set *set, const ph_router_opts *opts, ph_router **ret_router, ph_error *reterr)
{
    ph_router *router;
    int share = 0, r;

    ph__ok(reterr);
    if (!set || !ret_router)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", set ? "ret_router" : "set");
    r = load_options(opts, &share, reterr);
    if (r < 0)
        return r;
    router = ph__alloc_zero(1, sizeof(*router));
    if (!router || pthread_mutex_init(&router->lock, NULL) != 0) {
        ph__dealloc(router);
        return ph__fail_memory(reterr);
    }
    router->set = set;
    router->share = share;
    r = take_share(set, share, reterr);
    if (r < 0) {
        pthread_mutex_destroy(&router->lock);
        ph__dealloc(router);
        return r;
    }
    *ret_router = router;
    return 0;
}

void ph_router_free(ph_router *router)
{
    if (!router)
        return;
    while (router->handles) {
        struct handle *handle = router->handles;

        router->handles = handle->next;
        ph_close(handle->store);
        ph__dealloc(handle);
    }
    ph__set_give(router->set, router->share);
    ph__map_free(&router->by_id);
    pthread_mutex_destroy(&router->lock);
    ph__dealloc(router);
}

/* ------------------------------------------------------------ connections */

static void take_out(ph_router *router, struct handle *handle)
{
    *(handle->newer ? &handle->newer->older : &router->newest) = handle->older;
    *(handle->older ? &handle->older->newer : &router->oldest) = handle->newer;
    handle->connected = false;
    router->connected--;
}

static void put_in_front(ph_router *router, struct handle *handle)
{
    handle->newer = NULL;
    handle->older = router->newest;
    *(router->newest ? &router->newest->newer : &router->oldest) = handle;
    router->newest = handle;
    handle->connected = true;
    router->connected++;
}

/* Before a call on the store's own connection: if the router has as many as it may have, the one
 * that was not used for longest is closed. */
static int admit(void *context, ph_error *err)
{
    struct handle *handle = context, *last = NULL;
    ph_router *router = handle->router;

    if (router->share == 0)
        return ph__fail(err, PH_EINVAL,
                        "the router has no connections, so the call needs a transaction of yours; "
                        "give one, or allow the router connections (ph_router_opts)");
    pthread_mutex_lock(&router->lock);
    if (handle->connected) {
        take_out(router, handle);
    } else if (router->connected == router->share) {
        last = router->oldest;
        take_out(router, last);
    }
    put_in_front(router, handle);
    pthread_mutex_unlock(&router->lock);
    if (last && last->store->own)
        last->store->backend->disconnect(last->store);
    return 0;
}

/* ---------------------------------------------------------------- the store */

static bool is_for(const struct handle *handle, const struct ph__place *place)
{
    struct ph__place own = { handle->store->id, handle->store->url, handle->store->schema,
                             handle->store->prefix };

    return ph__place_same(&own, place);
}

static struct handle *handle_new(ph_router *router, const struct ph__entry *entry, ph_error *err)
{
    struct handle *handle = ph__alloc_zero(1, sizeof(*handle));

    if (!handle || !ph__map_reserve(&router->by_id)) {
        ph__dealloc(handle);
        ph__fail_memory(err);
        return NULL;
    }
    if (ph__entry_open(router->set, entry, &handle->store, err) < 0) {
        ph__dealloc(handle);
        return NULL;
    }
    handle->router = router;
    handle->store->admit = admit;
    handle->store->admit_context = handle;
    handle->store->use = &router->use;
    return handle;
}

/* With the router's lock. */
static int store_of(ph_router *router, const struct ph__entry *entry, ph_store **ret_store,
                    ph_error *err)
{
    struct handle *first = ph__map_get(&router->by_id, ph__entry_id(entry)), *handle = first;

    while (handle && !is_for(handle, &entry->place))
        handle = handle->same_id;
    if (!handle) {
        handle = handle_new(router, entry, err);
        if (!handle)
            return err->code;
        handle->next = router->handles;
        router->handles = handle;
        if (first) {
            handle->same_id = first->same_id;
            first->same_id = handle;
        } else {
            ph__map_put(&router->by_id, handle->store->id, handle);
        }
    }
    *ret_store = handle->store;
    return 0;
}

/* The outcome of asking the sources for a key. */
struct look {
    ph_error err; /* code 0: none */
    bool later;   /* it was too soon for it */
};

/* The entry of a key; asks the sources before, where that is due or may help. */
static struct ph__entry *find(ph_set *set, const char *key, int timeout_ms, struct look *look)
{
    struct ph__entry *entry = ph__set_find(set, key);

    if (entry && ph__set_is_due(set)) {
        (void)ph__set_refresh(set, timeout_ms, PH__LOOK_ALONE, NULL, &look->err);
        ph__entry_unref(set, entry);
        entry = ph__set_find(set, key); /* it may have left */
    } else if (!entry && ph__set_may_learn(set, &look->later)) {
        (void)ph__set_refresh(set, timeout_ms, PH__LOOK_JOIN, NULL, &look->err);
        entry = ph__set_find(set, key);
    }
    return entry;
}

static int fail_not_found(const char *key, const struct look *look, ph_error *err)
{
    if (look->err.code == PH_ETIMEOUT || look->err.code == PH_ENOMEM) {
        *err = look->err;
        return err->code;
    }
    if (!look->err.code) {
        ph__fail(err, PH_ENOTFOUND, "no database of the set has this key: %s", key);
        return ph__fail_flags(err, PH_ENOTFOUND, look->later ? PH_RETRY : 0);
    }
    *err = look->err;
    err->code = PH_ENOTFOUND;
    ph__prefix(err, PH_ENOTFOUND,
               "no database that the set knows has this key, and a source failed: ");
    return ph__fail_flags(err, PH_ENOTFOUND, PH_RETRY);
}

static int get(ph_router *router, const char *key, int timeout_ms, ph_store **ret_store,
               ph_error *err)
{
    char space[PH_ID_TEXT_SIZE];
    struct look look = { 0 };
    struct ph__entry *entry = find(router->set, ph__key_canonical(key, space), timeout_ms, &look);
    int r;

    if (!entry)
        return fail_not_found(key, &look, err);
    pthread_mutex_lock(&router->lock);
    r = store_of(router, entry, ret_store, err);
    pthread_mutex_unlock(&router->lock);
    ph__entry_unref(router->set, entry);
    return r;
}

int ph_router_get(ph_router *router, const char *key, int timeout_ms, ph_store **ret_store,
                  ph_error *reterr)
{
    ph_error spare, *err = reterr ? reterr : &spare;
    int r;

    ph__ok(err);
    if (!router || !ret_store)
        return ph__fail(err, PH_EINVAL, "%s is NULL", router ? "ret_store" : "router");
    if (timeout_ms < 0)
        return ph__fail(err, PH_EINVAL, "timeout_ms is %d; give 0 for the default, or more",
                        timeout_ms);
    r = ph__name_check(key, "key", false, err);
    return r < 0 ? r : get(router, key, timeout_ms, ret_store, err);
}

int ph_router_get_uuid(ph_router *router, const uint8_t key[16], int timeout_ms,
                       ph_store **ret_store, ph_error *reterr)
{
    char text[PH_ID_TEXT_SIZE];

    if (!key)
        return ph__fail(reterr, PH_EINVAL, "key is NULL");
    return ph_router_get(router, ph_id_text(key, text), timeout_ms, ret_store, reterr);
}
