#include "fleet.h"

#include <stdlib.h>
#include <unistd.h>

/* -------------------------------------------------------------------- databases */

static struct base bases[BASES_MAX];

static struct base *name(int n)
{
    struct base *base = &bases[n];

    CHECK(n >= 0 && n < BASES_MAX);
    if (*base->id)
        return base;
    snprintf(base->id, sizeof(base->id), "s%03d", n);
    snprintf(base->schema, sizeof(base->schema), "%s_%03d", t_schema(), n);
    return base;
}

struct base *base_lite(int n)
{
    struct base *base = name(n);

    base->is_pg = false;
    snprintf(base->url, sizeof(base->url), "sqlite:%s/%s.db", t_dir(), base->id);
    return base;
}

struct base *base_on(int n, const char *pg_url)
{
    struct base *base = name(n);

    base->is_pg = true;
    snprintf(base->url, sizeof(base->url), "%s", pg_url);
    return base;
}

struct base *base_named(int n)
{
    struct base *base = name(n);

    if (*base->url)
        return base;
    return t_is_pg() ? base_on(n, t_url()) : base_lite(n);
}

static ph_store *open_with_schema(const char *url, const char *schema)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    opts.deploy_schema = true;
    opts.schema = schema;
    OK(ph_open(url, &opts, &store, &t_err));
    return store;
}

/* The schema of a file is made once and then copied, as those do who have many tenants. A file is
 * there when it is whole. */
static void copy_schema(const char *path)
{
    char first[600], url[620], command[3000];

    snprintf(first, sizeof(first), "%s/first", t_dir());
    snprintf(url, sizeof(url), "sqlite:%s", first);
    if (access(first, F_OK) != 0)
        ph_close(open_with_schema(url, NULL));
    snprintf(command, sizeof(command), "cp '%s' '%s-' && mv '%s-' '%s'", first, path, path, path);
    CHECK_INT(system(command), 0);
}

static ph_store *side_of(struct base *base)
{
    const char *path = base->url + strlen("sqlite:");

    if (base->side)
        return base->side;
    if (!base->is_pg && access(path, F_OK) != 0)
        copy_schema(path);
    base->side = open_with_schema(base->url, base->schema);
    return base->side;
}

struct base *base_at(int n)
{
    struct base *base = base_named(n);
    bool before = links_uncounted;

    links_uncounted = true;
    (void)side_of(base);
    links_uncounted = before;
    return base;
}

void base_leave(struct base *base)
{
    ph_close(base->side);
    if (base->conn)
        t_disconnect(base->conn);
    if (base->locker)
        t_disconnect(base->locker);
    base->side = NULL;
    base->conn = base->locker = NULL;
}

void bases_leave(void)
{
    for (int i = 0; i < BASES_MAX; i++) {
        base_leave(&bases[i]);
        bases[i] = (struct base){ 0 };
    }
}

ph_database base_database(const struct base *base)
{
    ph_database database = PH_DATABASE_INIT;

    database.id = base->id;
    database.url = base->url;
    database.schema = base->is_pg ? base->schema : NULL;
    return database;
}

static void put_all(struct base *base, const char *topic, const char *stream, int count)
{
    ph_message *messages = calloc((size_t)count + 1, sizeof(*messages));
    bool before = links_uncounted;

    CHECK(messages != NULL);
    for (int i = 0; i < count; i++) {
        messages[i] = a_message(topic, "x");
        messages[i].stream = stream;
    }
    links_uncounted = true;
    if (count > 0)
        OK(ph_enqueue_many(side_of(base), PH_OWN_TX, messages, (size_t)count, 0, NULL, &t_err));
    links_uncounted = before;
    free(messages);
}

void base_put(struct base *base, const char *topic, int count)
{
    put_all(base, topic, NULL, count);
}

void base_put_stream(struct base *base, const char *topic, const char *stream, int count)
{
    put_all(base, topic, stream, count);
}

static struct t_conn *connect_to(const struct base *base)
{
    struct t_conn *conn = t_connect_to(base->url);

    if (base->is_pg)
        t_conn_schema(conn, base->schema);
    return conn;
}

struct t_conn *base_conn(struct base *base)
{
    if (!base->conn)
        base->conn = connect_to(base);
    return base->conn;
}

long long base_number(struct base *base, const char *sql)
{
    return t_number(base_conn(base), sql);
}

void base_sql(struct base *base, const char *sql)
{
    t_sql(base_conn(base), sql);
}

long long base_open(struct base *base)
{
    return base_number(base, "SELECT count(*) FROM {t}outbox WHERE status_code IN (0, 1, 4, 5)");
}

long long base_leases(struct base *base)
{
    return base_number(base, "SELECT count(*) FROM {t}lease");
}

long long base_done(struct base *base)
{
    return base_number(base, "SELECT count(*) FROM {t}outbox WHERE status_code = 2");
}

long long base_instances(struct base *base)
{
    return base_number(base, "SELECT count(*) FROM {t}instance WHERE state = 1");
}

void base_check(struct base *base)
{
    CHECK_INT(base_leases(base), 0);
    CHECK_INT(base_instances(base), 0);
    t_check_places(base_conn(base));
}

void base_lock(struct base *base)
{
    if (!base->locker)
        base->locker = connect_to(base);
    t_sql(base->locker, base->is_pg
                            ? "BEGIN; LOCK TABLE {t}lease, {t}pending IN ACCESS EXCLUSIVE MODE"
                            : "BEGIN IMMEDIATE");
}

void base_unlock(struct base *base)
{
    t_rollback(base->locker);
}

/* ---------------------------------------------------------------------- the set */

void fleet_init(struct fleet *fleet, int connections)
{
    *fleet = (struct fleet){ .stores = PH_STORE_OPTS_INIT,
                             .set_opts = PH_SET_OPTS_INIT,
                             .opts = PH_DISPATCHER_OPTS_INIT };
    log_into(&fleet->stores);
    fleet->set_opts.connections = connections;
    fleet->set_opts.refresh_ms = PH_SET_NO_REFRESH;
    fleet->opts.poll_ms = 100;
}

void fleet_set(struct fleet *fleet)
{
    fleet->set_opts.stores = &fleet->stores;
    OK(ph_set_new(&fleet->set_opts, &fleet->set, &t_err));
}

void fleet_join(struct fleet *fleet, const struct base *base)
{
    ph_database database = base_database(base);

    OK(ph_set_add(fleet->set, &database, &t_err));
}

void fleet_add(struct fleet *fleet, int first, int count)
{
    if (!fleet->set)
        fleet_set(fleet);
    for (int n = first; n < first + count; n++)
        fleet_join(fleet, base_at(n));
}

void fleet_put(struct fleet *fleet, int n, const char *topic, int count)
{
    base_put(base_at(n), topic, count);
    AWAIT(ph_dispatcher_wake(fleet->dispatcher, base_at(n)->id, &t_err) == 0); /* it may be new */
}

void fleet_remove(struct fleet *fleet, const char *id)
{
    OK(ph_set_remove(fleet->set, id, &t_err));
}

void fleet_new(struct fleet *fleet)
{
    OK(ph_dispatcher_new_set(fleet->set, &fleet->opts, &fleet->dispatcher, &t_err));
}

static void handle(struct fleet *fleet, const char *topic, ph_handler_fn function, void *context,
                   bool in_transaction)
{
    ph_handler handler = PH_HANDLER_INIT;

    handler.topic = topic;
    handler.handle = function;
    handler.context = context;
    handler.in_transaction = in_transaction;
    OK(ph_dispatcher_handle(fleet->dispatcher, &handler, &t_err));
}

void fleet_handle(struct fleet *fleet, const char *topic, ph_handler_fn function, void *context)
{
    handle(fleet, topic, function, context, false);
}

void fleet_handle_in_tx(struct fleet *fleet, const char *topic, ph_handler_fn function,
                        void *context)
{
    handle(fleet, topic, function, context, true);
}

void fleet_start(struct fleet *fleet)
{
    OK(ph_dispatcher_start(fleet->dispatcher, &t_err));
}

void fleet_run(struct fleet *fleet, ph_handler_fn function, void *context)
{
    fleet_new(fleet);
    fleet_handle(fleet, NULL, function, context);
    fleet_start(fleet);
}

void fleet_drain(struct fleet *fleet)
{
    OK(ph_dispatcher_drain(fleet->dispatcher, AWAIT_LIMIT_S * 1000, &t_err));
}

void fleet_stop(struct fleet *fleet)
{
    OK(ph_dispatcher_stop(fleet->dispatcher, AWAIT_LIMIT_S * 1000, &t_err));
}

void fleet_free(struct fleet *fleet)
{
    ph_dispatcher_free(fleet->dispatcher);
    ph_set_free(fleet->set);
    fleet->dispatcher = NULL;
    fleet->set = NULL;
    CHECK_INT(links_now(), 0);
}

void fleet_end(struct fleet *fleet)
{
    fleet_stop(fleet);
    fleet_free(fleet);
}

ph_dispatcher_stats fleet_stats(struct fleet *fleet)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;

    OK(ph_dispatcher_stats_get(fleet->dispatcher, &stats, &t_err));
    return stats;
}

struct standing standing(struct fleet *fleet, const char *id)
{
    struct standing found = { 0 };
    ph_served_stores *list = NULL;
    const ph_served_store *s;

    CHECK_INT(ph_served_store_list(fleet->dispatcher, T_OPTS(ph_served_store_list_opts, .id = id),
                                   &list, NULL),
              0); /* handlers ask, too */
    s = ph_served_stores_at(list, 0);
    if (s)
        found = (struct standing){ true,         s->connected,       s->serving,
                                   s->in_flight, s->last_error.code, s->claimed,
                                   s->done,      s->exchanges,       s->outages,
                                   s->owner };
    ph_served_stores_free(list);
    return found;
}

const char *standings(struct fleet *fleet)
{
    static char text[8000];
    ph_served_stores *list = NULL;
    size_t length = 0;

    text[0] = '\0';
    OK(ph_served_store_list(fleet->dispatcher, NULL, &list, &t_err));
    for (size_t i = 0; i < ph_served_stores_count(list); i++) {
        const ph_served_store *s = ph_served_stores_at(list, i);

        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s:%s", i ? " " : "",
                                   s->id, ph_serving_text(s->serving));
        CHECK(length < sizeof(text));
    }
    CHECK(ph_served_stores_at(list, ph_served_stores_count(list)) == NULL);
    ph_served_stores_free(list);
    return text;
}

/* -------------------------------------------------------------------- handlers */

/* With the tally's lock. */
static int *counter(struct tally *tally, const char *id)
{
    size_t i = 0;

    while (i < tally->store_count && strcmp(tally->stores[i].id, id) != 0)
        i++;
    if (i == tally->store_count) {
        CHECK(i < sizeof(tally->stores) / sizeof(tally->stores[0]));
        snprintf(tally->stores[i].id, sizeof(tally->stores[i].id), "%s", id);
        tally->store_count++;
    }
    return &tally->stores[i].count;
}

ph_verdict count_up(void *context, ph_work *work)
{
    struct tally *tally = context;

    pthread_mutex_lock(&tally->mutex);
    ++*counter(tally, ph_work_store_id(work));
    tally->total++;
    pthread_mutex_unlock(&tally->mutex);
    return PH_VERDICT_DONE;
}

int counted(struct tally *tally, const char *id)
{
    int count;

    pthread_mutex_lock(&tally->mutex);
    count = id ? *counter(tally, id) : tally->total;
    pthread_mutex_unlock(&tally->mutex);
    return count;
}
