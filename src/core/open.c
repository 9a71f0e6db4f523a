/* open.c - opening and closing a store: URL, names, options. */
#include "core/open.h"

#include "core/call.h"
#include "core/error.h"
#include "core/log.h"
#include "core/options.h"
#include "util/alloc.h"

#include <string.h>
#include <strings.h>

#define IDENTIFIER_MAX 40

const char *ph_version(void)
{
    return PH_VERSION;
}

static const struct ph__backend *const backends[] = {
#ifdef PH_WITH_SQLITE
    &ph__sqlite_backend,
#endif
#ifdef PH_WITH_POSTGRESQL
    &ph__postgres_backend,
#endif
    NULL,
};

const char *ph_backends(void)
{
#if defined(PH_WITH_SQLITE) && defined(PH_WITH_POSTGRESQL)
    return "sqlite postgresql";
#elif defined(PH_WITH_SQLITE)
    return "sqlite";
#else
    return "postgresql";
#endif
}

/* Names that become part of SQL: allow-listed here, quoted where they are used. */
static int identifier_check(const char *name, const char *what, ph_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    if (!*name || strlen(name) > IDENTIFIER_MAX || strspn(name, allowed) != strlen(name) ||
        !strchr(letters, name[0]))
        return ph__fail(err, PH_EINVAL,
                        "%s is not acceptable; use letters, digits and underscores, not beginning "
                        "with a digit, at most %d",
                        what, IDENTIFIER_MAX);
    if (strncasecmp(name, "pg_", 3) == 0 || strcasecmp(name, "information_schema") == 0 ||
        strncasecmp(name, "sqlite_", 7) == 0)
        return ph__fail(err, PH_EINVAL, "%s \"%s\" is reserved by the database", what, name);
    return 0;
}

static int backend_of(const char *url, const struct ph__backend **ret_backend, ph_error *err)
{
    const char *colon = strchr(url, ':');

    for (size_t i = 0; backends[i]; i++) {
        if (backends[i]->matches(url)) {
            *ret_backend = backends[i];
            return backends[i]->check_url ? backends[i]->check_url(url, err) : 0;
        }
    }
    /* The error shows the text before the colon, so only if it is one of these words. */
    if (strncmp(url, "sqlite:", 7) == 0 || strncmp(url, "postgres:", 9) == 0 ||
        strncmp(url, "postgresql:", 11) == 0)
        return ph__fail(err, PH_EUNSUPPORTED, "this build has no backend for %.*s; it has: %s",
                        (int)(colon ? colon - url : 8), url, ph_backends());
    return ph__fail(err, PH_EINVAL,
                    "the URL begins with neither sqlite: nor postgresql:// ; for example "
                    "sqlite:orders.db or postgresql://localhost/orders");
}

static int options_of(const ph_store_opts *from, const struct ph__backend *backend,
                      ph_store_opts *to, ph_error *err)
{
    int r = ph__options_load(to, sizeof(*to), from, "ph_store_opts", err);

    if (r < 0)
        return r;
    if (!to->schema)
        to->schema = "posthorn";
    if (!to->table_prefix)
        to->table_prefix = backend->default_prefix;
    if (!to->log_level)
        to->log_level = PH_LOG_INFO;
    if (to->timeout_ms < 0)
        return ph__fail(err, PH_EINVAL, "timeout_ms is %d; give 0 for the default, or more",
                        to->timeout_ms);
    if (to->log_level < PH_LOG_ERROR || to->log_level > PH_LOG_DEBUG)
        return ph__fail(err, PH_EINVAL, "log_level %d is not a ph_log_level", (int)to->log_level);
    if (to->prepared != PH_PREPARED_AUTO && to->prepared != PH_PREPARED_OFF)
        return ph__fail(err, PH_EINVAL, "prepared %d is not a ph_prepared", (int)to->prepared);
    r = identifier_check(to->schema, "schema", err);
    if (r == 0 && *to->table_prefix)
        r = identifier_check(to->table_prefix, "table_prefix", err);
    return r;
}

static ph_store *store_new(const char *url, const struct ph__backend *backend,
                           const ph_store_opts *opts)
{
    ph_store *store = ph__alloc_zero(1, sizeof(*store));

    if (!store)
        return NULL;
    store->backend = backend;
    store->use = &store->own_use;
    store->opts = *opts;
    store->timeout_ms = opts->timeout_ms ? opts->timeout_ms : PH__TIMEOUT_MS;
    store->url = ph__strdup(url);
    store->schema = ph__strdup(opts->schema);
    store->prefix = ph__strdup(opts->table_prefix);
    store->id = opts->store_id ? ph__strdup(opts->store_id) : backend->describe(url);
    if (store->url && store->schema && store->prefix && store->id)
        return store;
    ph_close(store);
    return NULL;
}

int ph_open_lazy(const char *url, const ph_store_opts *opts, ph_store **ret_store, ph_error *reterr)
{
    ph_store_opts loaded = PH_STORE_OPTS_INIT;
    const struct ph__backend *backend = NULL;
    ph_store *store;
    int r;

    ph__ok(reterr);
    if (!url || !ret_store)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", url ? "ret_store" : "url");
    r = backend_of(url, &backend, reterr);
    if (r == 0)
        r = options_of(opts, backend, &loaded, reterr);
    if (r < 0)
        return r;
    store = store_new(url, backend, &loaded);
    if (!store)
        return ph__fail_memory(reterr);
    *ret_store = store;
    return 0;
}

int ph__store_clone(const ph_store *store, ph_store **ret_store, ph_error *err)
{
    ph_store_opts opts = store->opts;
    ph_store *clone;

    opts.schema = store->schema;
    opts.table_prefix = store->prefix;
    opts.store_id = store->id;
    clone = store_new(store->url, store->backend, &opts);
    if (!clone)
        return ph__fail_memory(err);
    clone->lends = true;
    *ret_store = clone;
    return 0;
}

int ph_open(const char *url, const ph_store_opts *opts, ph_store **ret_store, ph_error *reterr)
{
    PH__CALL(call);
    ph_store *store = NULL;
    int r = ph_open_lazy(url, opts, ret_store ? &store : NULL, reterr);

    if (r < 0)
        return r;
    if (store->opts.deploy_schema)
        r = ph_migrate(store, 0, NULL, reterr);
    if (r == 0)
        r = ph__call_own(&call, store, 0, reterr);
    if (r < 0) {
        ph_close(store);
        return r;
    }
    ph__log(store, PH_LOG_DEBUG, "connect", "opened", NULL, 0);
    *ret_store = store;
    return 0;
}

void ph_close(ph_store *store)
{
    if (!store)
        return;
    if (store->own)
        store->backend->disconnect(store);
    ph__dealloc(store->url);
    ph__dealloc(store->schema);
    ph__dealloc(store->prefix);
    ph__dealloc(store->id);
    ph__dealloc(store);
}

const char *ph_store_id(const ph_store *store)
{
    return store ? store->id : "";
}

void ph_free(void *memory)
{
    ph__dealloc(memory);
}
