/* tenants.c - an order service with a database per tenant.
 *
 *     registry ── discover ──▶ set ──▶ router:     the outbox of a tenant, by name or UUID
 *                               └────▶ dispatcher: one, for the messages of all tenants
 *
 * An order and its message are one transaction in the database of the tenant whom the order belongs
 * to. One dispatcher works for all of them; its handler is told whose message it has. A tenant moves
 * in while everything runs, and one whom nobody knows is refused.
 *
 * usage: tenants URL      where {} stands for the name of a tenant: sqlite:FOLDER/{}.db with an empty
 *                         folder, or postgresql:///shop_{} with empty databases for acme, bolt and
 *                         cyan */
#include "tenant_db.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define URL_SIZE 4096
#define LIMIT_MS 60000

struct tenant {
    const char *name;
    const char *number; /* a UUID, which other services know it by */
    int orders;         /* that it will have placed at the end */
};

static const struct tenant acme = { "acme", "7a1e0000-0000-4000-8000-00000000000a", 2 };
static const struct tenant bolt = { "bolt", "7a1e0000-0000-4000-8000-00000000000b", 1 };
static const struct tenant cyan = { "cyan", "7a1e0000-0000-4000-8000-00000000000c", 1 };

/* Who is a tenant now: what a table in a control database would say. */
struct registry {
    const char *url_pattern;
    const struct tenant *tenants[3];
    atomic_int count;
};

struct service {
    struct registry registry;
    ph_set *set;
    ph_router *router;
    ph_dispatcher *dispatcher;
    atomic_int misdirected;
};

static bool fail(const char *what, const ph_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    return false;
}

/* ---------------------------------------------------------------------- tenants */

static void url_of(const struct registry *registry, const char *tenant, char url[URL_SIZE])
{
    const char *pattern = registry->url_pattern, *gap = strstr(pattern, "{}");

    snprintf(url, URL_SIZE, "%.*s%s%s", (int)(gap - pattern), pattern, tenant, gap + 2);
}

/* Called every five minutes, when an unknown tenant is asked for, and by ph_set_refresh(). Tenants
 * who are there already keep their connections, new ones are served from now on. */
static int discover(void *context, ph_found *found, ph_error *reterr)
{
    const struct registry *registry = context;
    int r = 0;

    for (int i = 0; r == 0 && i < registry->count; i++) {
        ph_database database = PH_DATABASE_INIT;
        char url[URL_SIZE];

        url_of(registry, registry->tenants[i]->name, url);
        database.id = registry->tenants[i]->name; /* also the key, if no other is given */
        database.url = url;
        r = ph_found_add(found, &database, reterr);
        database.key = registry->tenants[i]->number;
        if (r == 0)
            r = ph_found_add(found, &database, reterr);
    }
    return r;
}

/* Makes the tables of the shop and of Posthorn, and only then tells the others. */
static bool move_in(struct registry *registry, const struct tenant *tenant)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    struct tenant_db *db;
    char url[URL_SIZE];
    ph_error err;
    bool ok;

    url_of(registry, tenant->name, url);
    opts.deploy_schema = true;
    if (ph_open(url, &opts, &store, &err) < 0)
        return fail(url, &err);
    ph_close(store);
    db = tenant_db_open(url);
    ok = db && tenant_db_run(db, "CREATE TABLE orders (id INTEGER PRIMARY KEY, cents INTEGER)");
    tenant_db_close(db);
    if (ok) {
        registry->tenants[registry->count] = tenant;
        registry->count++;
        printf("%s has moved in\n", tenant->name);
    }
    return ok;
}

/* ----------------------------------------------------------------------- orders */

struct order {
    int id, cents;
    bool card_refused;
};

static bool store_order(struct tenant_db *db, ph_store *outbox, const struct order *order)
{
    ph_message message = PH_MESSAGE_INIT;
    char sql[100], payload[100], id[20];
    ph_error err;

    snprintf(sql, sizeof(sql), "INSERT INTO orders VALUES (%d, %d)", order->id, order->cents);
    snprintf(payload, sizeof(payload), "{\"tenant\":\"%s\",\"order\":%d}", ph_store_id(outbox),
             order->id);
    snprintf(id, sizeof(id), "%d", order->id);
    message.topic = "order.created";
    message.payload = payload;
    message.correlation_id = id;
    if (!tenant_db_begin(db) || !tenant_db_run(db, sql))
        return false;
    if (ph_enqueue(outbox, tenant_db_tx(db), &message, 0, NULL, &err) < 0)
        return fail("enqueue", &err);
    return tenant_db_run(db, order->card_refused ? "ROLLBACK" : "COMMIT");
}

/* Row and message in one transaction of the tenant's database. */
static bool create_order(struct service *service, ph_store *outbox, const struct order *order)
{
    const char *tenant = ph_store_id(outbox);
    struct tenant_db *db;
    char url[URL_SIZE];
    bool ok;

    url_of(&service->registry, tenant, url);
    db = tenant_db_open(url); /* a service would have a pool of them */
    ok = db && store_order(db, outbox, order);
    tenant_db_close(db);
    if (!ok)
        return false;
    printf("%s: order %d %s\n", tenant, order->id,
           order->card_refused ? "rolled back, and its message with it"
                               : "stored with its message");
    /* Nobody needs to hear the doorbell of this database. One that is new to the dispatcher is looked at
     * in any case. */
    (void)!ph_dispatcher_wake(service->dispatcher, tenant, NULL);
    return true;
}

static bool order_by_name(struct service *service, const char *tenant, const struct order *order)
{
    ph_store *outbox;
    ph_error err;

    if (ph_router_get(service->router, tenant, 0, &outbox, &err) < 0)
        return fail(tenant, &err);
    return create_order(service, outbox, order);
}

static bool order_by_number(struct service *service, const char *number, const struct order *order)
{
    ph_error err = { 0 };
    ph_tenant_id tenant;
    ph_store *outbox;

    if (ph_id_parse(number, tenant.b) < 0 ||
        ph_router_get_uuid(service->router, tenant.b, 0, &outbox, &err) < 0)
        return fail(number, &err);
    return create_order(service, outbox, order);
}

static bool is_refused(struct service *service, const char *tenant)
{
    ph_store *outbox;
    ph_error err;

    if (ph_router_get(service->router, tenant, 0, &outbox, &err) != PH_ENOTFOUND)
        return false;
    printf("%s: refused: %s\n", tenant, err.message);
    return true;
}

/* --------------------------------------------------------------------- messages */

static ph_verdict on_order_created(void *context, ph_work *work)
{
    const char *payload = ph_work_delivery(work)->payload, *tenant = ph_work_store_id(work);
    struct service *service = context;
    char wanted[100];

    snprintf(wanted, sizeof(wanted), "{\"tenant\":\"%s\",", tenant);
    if (strncmp(payload, wanted, strlen(wanted)) != 0) {
        service->misdirected++;
        ph_work_error(work, "the order is another tenant's");
        return PH_VERDICT_FAIL;
    }
    printf("%s: shipping %s\n", tenant, payload);
    return PH_VERDICT_DONE;
}

/* Warnings and errors; each line says which database it is about. */
static void log_line(void *context, const ph_log_event *event)
{
    (void)context;
    fprintf(stderr, "%s\n", event->text);
}

/* ---------------------------------------------------------------------- service */

static int start(struct service *service, ph_error *err)
{
    ph_store_opts stores = PH_STORE_OPTS_INIT;
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_router_opts router_opts = PH_ROUTER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    int r;

    stores.log = log_line;
    stores.log_level = PH_LOG_WARN;
    opts.stores = &stores;
    router_opts.connections = PH_ROUTER_NO_CONNECTIONS; /* orders have a connection already */
    handler.topic = "order.created";
    handler.handle = on_order_created;
    handler.context = service;
    r = ph_set_new(&opts, &service->set, err);
    if (r == 0)
        r = ph_set_add_discovery(service->set, discover, &service->registry, err);
    if (r == 0)
        r = ph_router_new(service->set, &router_opts, &service->router, err);
    if (r == 0)
        r = ph_dispatcher_new_set(service->set, NULL, &service->dispatcher, err);
    if (r == 0)
        r = ph_dispatcher_handle(service->dispatcher, &handler, err);
    if (r == 0)
        r = ph_dispatcher_start(service->dispatcher, err);
    return r;
}

/* A day of the service. */
static bool work(struct service *service)
{
    const struct order first = { 1, 1999, false }, second = { 2, 500, false };
    const struct order refused = { 2, 9900, true };
    ph_error err;

    if (!order_by_name(service, acme.name, &first) || !order_by_name(service, acme.name, &second) ||
        !order_by_number(service, bolt.number, &first) ||
        !order_by_number(service, bolt.number, &refused) || !is_refused(service, "zork") ||
        !move_in(&service->registry, &cyan))
        return false;
    if (ph_set_refresh(service->set, 0, NULL, &err) < 0) /* or it is found within five minutes */
        return fail("refresh", &err);
    return order_by_name(service, cyan.name, &first);
}

/* How many messages of each tenant were handled. */
static bool is_as_expected(const struct service *service)
{
    const struct registry *registry = &service->registry;
    ph_served_stores *list = NULL;
    ph_error err;
    bool ok;

    if (ph_served_store_list(service->dispatcher, NULL, &list, &err) < 0)
        return fail("stores", &err);
    ok = ph_served_stores_count(list) == (size_t)registry->count && service->misdirected == 0;
    for (size_t i = 0; ok && i < ph_served_stores_count(list);
         i++) { /* by name, as they moved in */
        const ph_served_store *served = ph_served_stores_at(list, i);

        printf("%s: %lld shipped\n", served->id, (long long)served->done);
        ok = strcmp(served->id, registry->tenants[i]->name) == 0 &&
             served->done == registry->tenants[i]->orders;
    }
    ph_served_stores_free(list);
    return ok;
}

int main(int argc, char **argv)
{
    struct service service = { 0 };
    ph_error err = { 0 };
    bool ok;

    if (argc != 2 || !strstr(argv[1], "{}")) {
        fprintf(stderr, "usage: %s URL, with {} for the name of a tenant\n", argv[0]);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* whole lines at once, since handlers run in parallel */
    service.registry.url_pattern = argv[1];
    ok = move_in(&service.registry, &acme) && move_in(&service.registry, &bolt) &&
         (start(&service, &err) == 0 || fail("start", &err)) && work(&service) &&
         /* A service would wait for a signal here. */
         (ph_dispatcher_drain(service.dispatcher, LIMIT_MS, &err) == 0 || fail("drain", &err)) &&
         is_as_expected(&service);
    ph_dispatcher_free(service.dispatcher); /* in this order: the set last */
    ph_router_free(service.router);
    ph_set_free(service.set);
    printf("%s\n", ok ? "every order went to its own tenant" : "something went wrong");
    return ok ? 0 : 1;
}
