/* set.c - making and freeing a set; its connections, its log, and its observers. */
#include "core/error.h"
#include "core/options.h"
#include "set/inner.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "util/condition.h"

#include <string.h>

#define LOG_ID "(set)"

/* ----------------------------------------------------------------- options */

static int load_options(const ph_set_opts *from, ph_set_opts *to, ph_error *err)
{
    int r = ph__options_load(to, sizeof(*to), from, "ph_set_opts", err);

    if (r < 0)
        return r;
    if (to->connections < 0 || to->connections > PH_SET_CONNECTIONS_MAX)
        return ph__fail(err, PH_EINVAL, "connections is %d; give 1 to %d, or 0 for the default",
                        to->connections, PH_SET_CONNECTIONS_MAX);
    if (to->refresh_ms < 0 && to->refresh_ms != PH_SET_NO_REFRESH)
        return ph__fail(err, PH_EINVAL,
                        "refresh_ms is %d; give PH_SET_NO_REFRESH, 0 for the default, or more",
                        to->refresh_ms);
    return 0;
}

/* Options that a store would refuse are refused now: any URL will do. */
static int check_stores(const ph_store_opts *opts, ph_error *err)
{
    const char *url = strstr(ph_backends(), "sqlite") ? "sqlite:x" : "postgresql:";
    ph_store *store = NULL;
    int r = ph_open_lazy(url, opts, &store, err);

    ph_close(store);
    return r;
}

static int copy_text(const char **text, ph_error *err)
{
    if (*text)
        *text = ph__strdup(*text);
    else
        return 0;
    return *text ? 0 : ph__fail_memory(err);
}

/* One at a time, whichever store, router or dispatcher it is about. */
static void log_serially(void *context, const ph_log_event *event)
{
    ph_set *set = context;

    pthread_mutex_lock(&set->log_lock);
    if (!set->silent)
        set->log(set->log_context, event);
    pthread_mutex_unlock(&set->log_lock);
}

static void join_serially(void *context, const ph_join_end *join)
{
    ph_set *set = context;

    pthread_mutex_lock(&set->log_lock);
    if (!set->silent)
        set->join_ended(set->join_context, join);
    pthread_mutex_unlock(&set->log_lock);
}

static void take_callbacks(ph_set *set)
{
    ph_store_opts *opts = &set->stores;

    set->log = opts->log;
    set->log_context = opts->log_context;
    set->join_ended = opts->join_ended;
    set->join_context = opts->join_context;
    if (opts->log)
        opts->log = log_serially;
    if (opts->join_ended)
        opts->join_ended = join_serially;
    opts->log_context = opts->join_context = set;
}

static int copy_stores(ph_set *set, const ph_store_opts *from, ph_error *err)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    int r = check_stores(from, err);

    if (r == 0)
        r = ph__options_load(&opts, sizeof(opts), from, "ph_store_opts", err);
    if (r < 0)
        return r;
    opts.size = sizeof(opts);
    opts.store_id = NULL;
    if (!opts.timeout_ms)
        opts.timeout_ms = PH__TIMEOUT_MS;
    if (!opts.log_level)
        opts.log_level = PH_LOG_INFO;
    r = copy_text(&opts.schema, err);
    if (r < 0)
        return r;
    r = copy_text(&opts.table_prefix, err);
    if (r < 0) {
        ph__dealloc((char *)(uintptr_t)opts.schema);
        return r;
    }
    set->stores = opts;
    take_callbacks(set);
    return 0;
}

/* --------------------------------------------------------------- new, free */

static int init_sync(ph_set *set, ph_error *err)
{
    pthread_mutex_t *locks[] = { &set->lock, &set->observers_lock, &set->log_lock };
    size_t made = 0;

    while (made < sizeof(locks) / sizeof(*locks) && pthread_mutex_init(locks[made], NULL) == 0)
        made++;
    if (made == sizeof(locks) / sizeof(*locks) && ph__cond_init(&set->looked) == 0)
        return 0;
    while (made-- > 0)
        pthread_mutex_destroy(locks[made]);
    return ph__fail_memory(err);
}

static void free_contents(ph_set *set)
{
    ph__roster_free(set->added);
    ph__roster_drop(set->known);
    ph__complaints_free(&set->conflicts);
    ph_set_report_free(set->report);
    ph__dealloc((char *)(uintptr_t)set->stores.schema);
    ph__dealloc((char *)(uintptr_t)set->stores.table_prefix);
}

static int init(ph_set *set, const ph_set_opts *opts, ph_error *err)
{
    int r = copy_stores(set, opts->stores, err);

    if (r < 0)
        return r;
    set->connections = opts->connections ? opts->connections : PH_SET_CONNECTIONS;
    set->left = set->connections;
    set->refresh_ms = opts->refresh_ms ? opts->refresh_ms : PH_SET_REFRESH_MS;
    set->last_source = &set->sources;
    set->refs = 1;
    set->voice = ph__log_source_of(LOG_ID, &set->stores);
    set->added = ph__roster_new();
    set->known = ph__roster_new();
    r = set->added && set->known ? init_sync(set, err) : ph__fail_memory(err);
    if (r < 0)
        free_contents(set);
    return r;
}

int ph_set_new(const ph_set_opts *opts, ph_set **ret_set, ph_error *reterr)
{
    ph_set_opts loaded = PH_SET_OPTS_INIT;
    ph_set *set;
    int r;

    ph__ok(reterr);
    if (!ret_set)
        return ph__fail(reterr, PH_EINVAL, "ret_set is NULL");
    r = load_options(opts, &loaded, reterr);
    if (r < 0)
        return r;
    set = ph__alloc_zero(1, sizeof(*set));
    if (!set)
        return ph__fail_memory(reterr);
    r = init(set, &loaded, reterr);
    if (r < 0) {
        ph__dealloc(set);
        return r;
    }
    *ret_set = set;
    return 0;
}

static void destroy(ph_set *set)
{
    while (set->sources) {
        struct ph__source *source = set->sources;

        set->sources = source->next;
        ph__source_free(source);
    }
    free_contents(set);
    pthread_cond_destroy(&set->looked);
    pthread_mutex_destroy(&set->log_lock);
    pthread_mutex_destroy(&set->observers_lock);
    pthread_mutex_destroy(&set->lock);
    ph__dealloc(set);
}

void ph__set_ref(ph_set *set)
{
    pthread_mutex_lock(&set->lock);
    set->refs++;
    pthread_mutex_unlock(&set->lock);
}

void ph__set_unref(ph_set *set)
{
    size_t refs;

    pthread_mutex_lock(&set->lock);
    PH__ASSERT(set->refs > 0);
    refs = --set->refs;
    pthread_mutex_unlock(&set->lock);
    if (refs == 0)
        destroy(set);
}

bool ph__set_is_freed(ph_set *set)
{
    bool freed;

    pthread_mutex_lock(&set->log_lock);
    freed = set->silent;
    pthread_mutex_unlock(&set->log_lock);
    return freed;
}

void ph_set_free(ph_set *set)
{
    if (!set)
        return;
    pthread_mutex_lock(&set->log_lock);
    set->silent = true;
    pthread_mutex_unlock(&set->log_lock);
    ph__set_unref(set);
}

const ph_store_opts *ph__set_store_opts(const ph_set *set)
{
    return &set->stores;
}

void ph__set_say(const ph_set *set, ph_log_level level, const char *what,
                 const ph_log_field *fields, size_t count)
{
    ph__log_from(&set->voice, level, "set", what, fields, count);
}

/* ------------------------------------------------------------- connections */

int ph__set_connections(const ph_set *set)
{
    return set->connections;
}

int ph__set_take(ph_set *set, int most)
{
    int got;

    pthread_mutex_lock(&set->lock);
    got = most < set->left ? most : set->left;
    set->left -= got;
    pthread_mutex_unlock(&set->lock);
    return got;
}

void ph__set_give(ph_set *set, int count)
{
    pthread_mutex_lock(&set->lock);
    set->left += count;
    pthread_mutex_unlock(&set->lock);
}

int ph__set_reserve_reader(ph_set *set, ph_error *err)
{
    bool has_reader;

    pthread_mutex_lock(&set->lock);
    if (!set->has_reader && set->left > 0) {
        set->left--;
        set->has_reader = true;
    }
    has_reader = set->has_reader;
    pthread_mutex_unlock(&set->lock);
    if (has_reader)
        return 0;
    return ph__fail(err, PH_ESTATE,
                    "no connection of the set is left for queries of its sources; allow more "
                    "connections, or add the query before you make routers and the dispatcher");
}

/* --------------------------------------------------------------- observers */

void ph__set_observe(ph_set *set, struct ph__set_observer *observer)
{
    pthread_mutex_lock(&set->observers_lock);
    observer->next = set->observers;
    set->observers = observer;
    pthread_mutex_lock(&set->lock);
    set->observer_count++;
    pthread_mutex_unlock(&set->lock);
    pthread_mutex_unlock(&set->observers_lock);
}

void ph__set_observe_end(ph_set *set, struct ph__set_observer *observer)
{
    struct ph__set_observer **at;

    pthread_mutex_lock(&set->observers_lock);
    for (at = &set->observers; *at && *at != observer; at = &(*at)->next)
        ;
    if (*at) {
        *at = observer->next;
        pthread_mutex_lock(&set->lock);
        set->observer_count--;
        pthread_mutex_unlock(&set->lock);
    }
    pthread_mutex_unlock(&set->observers_lock);
}

void ph__set_tell(ph_set *set)
{
    pthread_mutex_lock(&set->observers_lock);
    for (struct ph__set_observer *observer = set->observers; observer; observer = observer->next)
        observer->changed(observer->context);
    pthread_mutex_unlock(&set->observers_lock);
}
