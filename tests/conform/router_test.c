/* router_test.c - the store of a key: found, kept, connected within its share of the budget. */
#include "journal.h"
#include "sets.h"

#include "set/set.h"
#include "store/store.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define UUID "5e1f1e55-0000-4000-8000-00000000abcd"

static void add_with(ph_set *set, int n, const char *key)
{
    ph_database named = database(n);

    named.key = key;
    add(set, &named);
}

static ph_set *set_of(int databases, int connections)
{
    ph_set *set = make_set(connections, 0);

    for (int i = 0; i < databases; i++)
        add_with(set, i, NULL);
    return set;
}

static int get(ph_router *router, const char *key)
{
    ph_store *store = (void *)&store, *untouched = store;
    int r = ph_router_get(router, key, 0, &store, &t_err);

    CHECK((r < 0) == (store == untouched));
    return r;
}

/* ------------------------------------------------------------------ the store */

TEST(a_key_leads_to_its_store)
{
    ph_set *set = set_of(3, 0);
    ph_router *router = make_router(set, 2);
    char payload[] = "0";

    add_with(set, 1, "one");
    for (int i = 0; i < 3; i++) {
        char key[] = { 'd', (char)('0' + i), '\0' };

        payload[0] = (char)('0' + i);
        REQ_STR("OBX-070 OBX-072", ph_store_id(route(router, key)), key);
        t_enqueue(route(router, key), "topic", payload);
    }
    REQ("OBX-072", route(router, "one") == route(router, "d1"));
    REQ_STR("OBX-066", claimed_payloads(route(router, "d0"), ph_owner_new(), 10), "0");
    REQ_STR("OBX-066", claimed_payloads(route(router, "one"), ph_owner_new(), 10), "1");
    REQ_STR("OBX-066", claimed_payloads(route(router, "d2"), ph_owner_new(), 10), "2");
    ph_router_free(router);
    ph_set_free(set);
}

TEST(a_key_may_be_a_uuid)
{
    ph_set *set = make_set(0, 0);
    ph_router *router = make_router(set, 1);
    uint8_t uuid[16];
    ph_store *store, *by_bytes = NULL;

    OK(ph_id_parse(UUID, uuid));
    add_with(set, 0, "5E1F1E55-0000-4000-8000-00000000ABCD");
    add_with(set, 1, "plain");
    store = route(router, UUID);
    REQ_STR("OBX-074", ph_store_id(store), "d0");
    REQ("OBX-074", route(router, "5E1F1E5500004000800000000000abCD") == store);
    OK(ph_router_get_uuid(router, uuid, 0, &by_bytes, &t_err));
    REQ("OBX-074", by_bytes == store);
    REQ("OBX-074", route(router, "plain") != store);
    uuid[0] ^= 1;
    REQ_INT("OBX-073", ph_router_get_uuid(router, uuid, 0, &by_bytes, &t_err), PH_ENOTFOUND);
    CHECK(by_bytes == store);
    CHECK_INT(ph_router_get_uuid(router, NULL, 0, &by_bytes, &t_err), PH_EINVAL);
    CHECK_INT(get(router, "5e1f1e55-0000-4000-8000-00000000abc"), PH_ENOTFOUND); /* no UUID */
    ph_router_free(router);
    ph_set_free(set);
}

TEST(an_unknown_key_is_an_error)
{
    ph_set *set = set_of(2, 0);
    ph_router *router = make_router(set, 1);

    REQ_INT("OBX-073", get(router, "d2"), PH_ENOTFOUND);
    CHECK_STR(t_err.message, "no database of the set has this key: d2");
    CHECK_INT(t_err.flags, 0);
    REQ_INT("OBX-073", get(router, "D1"), PH_ENOTFOUND);
    CHECK_INT(get(router, ""), PH_EINVAL);
    CHECK_INT(get(router, NULL), PH_EINVAL);
    CHECK_INT(get(router, "\xff"), PH_EINVAL);
    CHECK_INT(get(router, repeated("x", PH_NAME_MAX + 1)), PH_EINVAL);
    CHECK_INT(get(NULL, "d1"), PH_EINVAL);
    CHECK_INT(ph_router_get(router, "d1", 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_router_get(router, "d1", -1, &(ph_store *){ 0 }, &t_err), PH_EINVAL);
    CHECK_INT(ph_router_get(router, "nobody", 0, &(ph_store *){ 0 }, NULL), PH_ENOTFOUND);
    ph_router_free(router);
    ph_set_free(set);
}

TEST(the_same_store_is_handed_out_again)
{
    ph_set *set = set_of(20, 0);
    ph_router *router = make_router(set, 1), *other = make_router(set, 1);
    ph_store *stores[20];
    char key[16];

    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "d%d", i);
        stores[i] = route(router, key);
        CHECK(route(other, key) != stores[i]);
    }
    for (int i = 19; i >= 0; i--) {
        snprintf(key, sizeof(key), "d%d", i);
        REQ("OBX-121", route(router, key) == stores[i]);
    }
    ph_router_free(other);
    ph_router_free(router);
    ph_set_free(set);
}

TEST(a_store_stays_valid_when_its_database_leaves)
{
    ph_set *set = set_of(2, 0);
    ph_router *router = make_router(set, 1);
    ph_store *store = route(router, "d0"), *elsewhere;
    ph_database moved = database_as("d0", 5);

    t_enqueue(store, "topic", "before");
    OK(ph_set_remove(set, "d0", &t_err));
    REQ_INT("OBX-078", get(router, "d0"), PH_ENOTFOUND);
    t_enqueue(store, "topic", "after");
    add(set, &moved); /* the same id, but another database */
    elsewhere = route(router, "d0");
    CHECK(elsewhere != store);
    t_enqueue(elsewhere, "topic", "elsewhere");
    CHECK_STR(claimed_payloads(elsewhere, ph_owner_new(), 10), "elsewhere");
    OK(ph_set_remove(set, "d0", &t_err));
    add_with(set, 0, NULL);
    REQ("OBX-079 OBX-121", route(router, "d0") == store); /* as it was */
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 10), "before after");
    ph_router_free(router);
    ph_set_free(set);
}

/* ---------------------------------------------------------------- connections */

TEST(a_router_has_no_more_connections_than_its_share)
{
    ph_set *set = set_of(12, 0);
    ph_router *router = make_router(set, 3);
    char key[16];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 12; i++) {
            int wanted = round || i >= 3 ? 3 : i + 1;

            journal.count = 0;
            snprintf(key, sizeof(key), "d%d", i);
            t_enqueue(route(router, key), "topic", "x");
            CHECK_INT(connected(wanted), wanted);
        }
    }
    for (int i = 0; i < 12; i++) {
        ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;

        journal.count = 0;
        snprintf(key, sizeof(key), "d%d", i);
        OK(ph_outbox_count(route(router, key), PH_OWN_TX, NULL, 0, &counts, &t_err));
        CHECK_INT(counts.ready, 2);
    }
    CHECK_INT(connected(3), 3);
    ph_router_free(router);
    CHECK_INT(connected(0), 0);
    ph_set_free(set);
}

TEST(the_store_that_was_not_used_for_longest_is_disconnected)
{
    ph_set *set = set_of(3, 0);
    ph_router *router = make_router(set, 2);
    ph_store *a = route(router, "d0"), *b = route(router, "d1"), *c = route(router, "d2");

    CHECK(!a->own && !b->own && !c->own); /* being handed out is no use */
    t_enqueue(a, "topic", "x");
    t_enqueue(b, "topic", "x");
    CHECK(a->own && b->own);
    t_clock(a);
    t_enqueue(c, "topic", "x");
    CHECK(a->own && !b->own && c->own);
    t_enqueue(b, "topic", "y");
    CHECK(!a->own && b->own && c->own);
    CHECK_STR(claimed_payloads(a, ph_owner_new(), 10), "x");
    CHECK_STR(claimed_payloads(b, ph_owner_new(), 10), "x y");
    ph_router_free(router);
    ph_set_free(set);
}

/* Whatever connects: migrations, a look at the schema, the doctor. */
TEST(every_call_keeps_to_the_share)
{
    ph_set *set = set_of(4, 0);
    ph_router *router = make_router(set, 1);
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    ph_report *report = NULL;

    OK(ph_migrate(route(router, "d0"), 0, NULL, &t_err));
    CHECK_INT(connected(1), 1);
    OK(ph_schema_inspect(route(router, "d1"), 0, &status, &t_err));
    CHECK_INT(status.installed, 0); /* who only looks changes nothing */
    CHECK(route(router, "d0")->own == NULL);
    OK(ph_doctor(route(router, "d2"), NULL, 0, &report, &t_err));
    ph_report_free(report);
    CHECK(route(router, "d1")->own == NULL);
    OK(ph_doorbell_ring(route(router, "d3"), NULL, 0, &t_err));
    CHECK_INT(connected(1), 1);
    ph_router_free(router);
    ph_set_free(set);
}

TEST(a_store_that_cannot_connect_gives_its_place_up_like_any_other)
{
    ph_set *set = set_of(2, 0);
    ph_router *router = make_router(set, 1);
    ph_database down = PH_DATABASE_INIT;
    ph_message message = a_message("topic", "x");

    down.id = "down";
    down.url = t_is_pg() ? "postgresql://localhost:1/x" : "sqlite:not/there/x.db";
    add(set, &down);
    t_enqueue(route(router, "d0"), "topic", "x");
    CHECK_INT(try_put(route(router, "down"), PH_OWN_TX, &message), PH_ECONNECT);
    CHECK(route(router, "d0")->own == NULL);
    t_enqueue(route(router, "d1"), "topic", "x");
    CHECK(route(router, "down")->own == NULL);
    CHECK_INT(connected(1), 1);
    ph_router_free(router);
    ph_set_free(set);
}

TEST(routers_share_the_connections_of_the_set)
{
    ph_set *set = make_set(5, 0);
    ph_router *first = make_router(set, 3), *second = NULL, *third = NULL;
    ph_router_opts opts = PH_ROUTER_OPTS_INIT;

    opts.connections = 3;
    CHECK_INT(ph_router_new(set, &opts, &second, &t_err), PH_ESTATE);
    CHECK(strstr(t_err.message, "wants 3 connections of the set, and 2 are left") != NULL);
    CHECK(second == NULL);
    opts.connections = 2;
    OK(ph_router_new(set, &opts, &second, &t_err));
    CHECK_INT(ph_router_new(set, NULL, &third, &t_err), PH_ESTATE);
    ph_router_free(first);
    OK(ph_router_new(set, NULL, &third, &t_err)); /* one */
    CHECK_INT(ph__set_take(set, 9), 2);
    opts.connections = PH_ROUTER_NO_CONNECTIONS;
    OK(ph_router_new(set, &opts, &first, &t_err)); /* that costs nothing */
    ph_router_free(first);
    opts.connections = -2;
    CHECK_INT(ph_router_new(set, &opts, &first, &t_err), PH_EINVAL);
    opts.connections = PH_SET_CONNECTIONS_MAX + 1;
    CHECK_INT(ph_router_new(set, &opts, &first, &t_err), PH_EINVAL);
    opts.size = 0;
    CHECK_INT(ph_router_new(set, &opts, &first, &t_err), PH_EINVAL);
    CHECK_INT(ph_router_new(set, NULL, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_router_new(NULL, NULL, &first, &t_err), PH_EINVAL);
    ph_router_free(second);
    ph_router_free(third);
    ph_router_free(NULL);
    ph_set_free(set);
}

/* A set and a router without connections, beside which the schemas were made. */
static ph_router *without_connections(ph_set *set, int databases)
{
    ph_router *deploying = make_router(set, 1);
    char key[16];

    for (int i = 0; i < databases; i++) {
        snprintf(key, sizeof(key), "d%d", i);
        OK(ph_migrate(route(deploying, key), 0, NULL, &t_err));
    }
    ph_router_free(deploying);
    return make_router(set, PH_ROUTER_NO_CONNECTIONS);
}

TEST(a_router_without_connections_works_inside_transactions)
{
    ph_set *set = set_of(1, 0);
    ph_router *router = without_connections(set, 1);
    ph_store *store = route(router, "d0");
    ph_message message = a_message("topic", "inside");
    struct t_conn *conn = t_connect_to(database(0).url);

    CHECK_INT(try_put(store, PH_OWN_TX, &message), PH_EINVAL);
    CHECK(strstr(t_err.message, "the call needs a transaction of yours") != NULL);
    CHECK_INT(ph_migrate(store, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_doctor(store, NULL, 0, &(ph_report *){ 0 }, &t_err), PH_EINVAL);
    CHECK(store->own == NULL);
    t_begin(conn);
    CHECK_INT(try_put(store, t_tx(conn), &message), 0);
    t_commit(conn);
    CHECK(store->own == NULL);
    ph_router_free(router);
    router = make_router(set, 1);
    CHECK_STR(claimed_payloads(route(router, "d0"), ph_owner_new(), 10), "inside");
    ph_router_free(router);
    ph_set_free(set);
}

#define THREADS 4
#define ROUNDS 30

struct producer {
    pthread_t thread;
    ph_router *router;
    struct t_conn *conn;
    int number, failed;
};

static void *produce(void *context)
{
    struct producer *producer = context;
    ph_message message = a_message("topic", "x");

    for (int i = 0; i < ROUNDS; i++) {
        ph_store *store = NULL;
        ph_error err;

        t_begin(producer->conn);
        if (ph_router_get(producer->router, producer->number % 2 ? "d1" : "d0", 0, &store, &err) ||
            ph_enqueue(store, t_tx(producer->conn), &message, 0, NULL, &err))
            producer->failed++;
        t_commit(producer->conn);
    }
    return NULL;
}

TEST(threads_with_transactions_of_their_own_share_a_router)
{
    ph_store_opts stores = PH_STORE_OPTS_INIT; /* silent: the journal is for one thread */
    ph_set_opts opts = PH_SET_OPTS_INIT;
    struct producer producers[THREADS] = { 0 };
    ph_database databases[] = { database(0), database(1) };
    ph_router *router;
    ph_set *set = NULL;

    stores.deploy_schema = true;
    opts.stores = &stores;
    OK(ph_set_new(&opts, &set, &t_err));
    add(set, &databases[0]);
    add(set, &databases[1]);
    router = without_connections(set, 2);
    for (int i = 0; i < THREADS; i++) {
        producers[i].router = router;
        producers[i].number = i;
        producers[i].conn = t_connect_to(databases[i % 2].url);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&producers[i].thread, NULL, produce, &producers[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(producers[i].thread, NULL);
        CHECK_INT(producers[i].failed, 0);
    }
    ph_router_free(router);
    router = make_router(set, 1);
    CHECK_INT(claimable(route(router, "d0"), 1000), ROUNDS * THREADS / 2);
    ph_router_free(router);
    ph_set_free(set);
}

/* --------------------------------------------------------------------- schema */

TEST(without_deployment_the_schema_must_be_there)
{
    ph_database named = database(0);
    ph_message message = a_message("topic", "x");
    ph_router *router;
    ph_set *set = NULL;

    OK(ph_set_new(NULL, &set, &t_err));
    add(set, &named);
    router = make_router(set, 1);
    CHECK_INT(try_put(route(router, "d0"), PH_OWN_TX, &message), PH_ENOSCHEMA);
    OK(ph_migrate(route(router, "d0"), 0, NULL, &t_err));
    CHECK_INT(try_put(route(router, "d0"), PH_OWN_TX, &message), 0);
    ph_router_free(router);
    ph_set_free(set);
}

static size_t migrations(void)
{
    size_t count = 0;

    for (size_t i = 0; i < journal.count; i++)
        count += strcmp(journal.lines[i].event, "migrate") == 0;
    return count;
}

TEST(a_schema_is_deployed_when_its_store_is_first_used)
{
    ph_set *set = set_of(2, 0);
    ph_router *router = make_router(set, 1);

    route(router, "d0");
    route(router, "d1");
    CHECK_INT(migrations(), 0);
    t_enqueue(route(router, "d0"), "topic", "x");
    CHECK_INT(migrations(), 1);
    CHECK_STR(newest("migrate")->store, "d0");
    t_enqueue(route(router, "d1"), "topic", "x");
    t_enqueue(route(router, "d0"), "topic", "x"); /* connected again, but not deployed again */
    CHECK_INT(migrations(), 2);
    ph_router_free(router);
    ph_set_free(set);
}

/* The database is there, or it is not. */
static void appear(const char *url, bool there)
{
    struct t_conn *conn;
    const char *name = strstr(url, "postgresql:///");
    char sql[400], folder[600];

    if (!t_is_pg()) {
        snprintf(folder, sizeof(folder), "%s/later", t_dir());
        CHECK(!there || mkdir(folder, 0700) == 0);
        return;
    }
    CHECK(name != NULL);
    name += strlen("postgresql:///");
    snprintf(sql, sizeof(sql), "ALTER DATABASE %.*s%s RENAME TO %.*s%s", (int)strcspn(name, "?"),
             name, there ? "_away" : "", (int)strcspn(name, "?"), name, there ? "" : "_away");
    conn = t_connect();
    t_sql(conn, sql);
    t_disconnect(conn);
}

TEST(a_deployment_that_fails_is_tried_again_by_the_next_call)
{
    ph_set *set = make_set(0, 0);
    ph_router *router = make_router(set, 1);
    ph_database later = PH_DATABASE_INIT;
    ph_message message = a_message("topic", "x");
    char url[1200];

    if (t_is_pg())
        snprintf(url, sizeof(url), "%s", t_fresh_database());
    else
        snprintf(url, sizeof(url), "sqlite:%s/later/x.db", t_dir());
    later.id = "later";
    later.url = url;
    add(set, &later);
    appear(url, false);
    CHECK_INT(try_put(route(router, "later"), PH_OWN_TX, &message), PH_ECONNECT);
    CHECK_INT(try_put(route(router, "later"), PH_OWN_TX, &message), PH_ECONNECT);
    appear(url, true);
    CHECK_INT(try_put(route(router, "later"), PH_OWN_TX, &message), 0);
    CHECK_INT(migrations(), 1);
    ph_router_free(router);
    ph_set_free(set);
}

/* -------------------------------------------------------------------- refresh */

static struct discovery found;

static ph_set *discovering(int refresh_ms)
{
    ph_set *set = make_set(0, refresh_ms);

    found.databases[0] = database(0);
    found.count = 1;
    OK(ph_set_add_discovery(set, discover, &found, &t_err));
    return set;
}

TEST(a_router_asks_the_sources_when_it_is_time)
{
    ph_set *set = discovering(300000);
    ph_router *router = make_router(set, 1);
    ph_store *store = route(router, "d0"); /* the first look */

    REQ_INT("OBX-075 OBX-077", found.asked, 1);
    CHECK(route(router, "d0") == store);
    CHECK_INT(found.asked, 1);
    ph_router_free(router);
    ph_set_free(set);
    found.asked = 0;
    set = discovering(1);
    router = make_router(set, 1);
    store = route(router, "d0");
    t_nap_ms(5);
    found.databases[1] = database(1);
    found.count = 2;
    REQ("OBX-079", route(router, "d0") == store);
    REQ_INT("OBX-075", found.asked, 2);
    REQ_STR("OBX-077", ids(set), "d0 d1");
    t_nap_ms(5);
    found.count = 0;
    REQ_INT("OBX-078", get(router, "d0"), PH_ENOTFOUND);
    ph_router_free(router);
    ph_set_free(set);
}

TEST(a_failed_look_does_not_concern_keys_that_are_known)
{
    ph_set *set = discovering(1);
    ph_router *router = make_router(set, 1);
    ph_store *store = route(router, "d0");

    t_nap_ms(5);
    found.status = PH_EBUSY;
    CHECK(route(router, "d0") == store);
    CHECK_INT(found.asked, 2);
    CHECK_INT(get(router, "d1"), PH_ENOTFOUND); /* looked less than a second ago */
    ph_router_free(router);
    ph_set_free(set);
    set = discovering(0);
    router = make_router(set, 1);
    CHECK_INT(get(router, "d1"), PH_ENOTFOUND);
    CHECK(strstr(t_err.message, "a source failed: no answer today") != NULL);
    CHECK_INT(t_err.flags, PH_RETRY);
    ph_router_free(router);
    ph_set_free(set);
}

TEST(an_unknown_key_is_looked_for_once_a_second)
{
    ph_set *set = discovering(300000);
    ph_router *router = make_router(set, 1);

    REQ_INT("OBX-073", get(router, "d1"), PH_ENOTFOUND);
    CHECK_INT(found.asked, 1);
    CHECK_INT(t_err.flags, 0);
    found.databases[1] = database(1);
    found.count = 2;
    CHECK_INT(get(router, "d1"), PH_ENOTFOUND);
    CHECK_INT(found.asked, 1);
    CHECK_INT(t_err.flags, PH_RETRY);
    t_nap_ms(1050);
    REQ_STR("OBX-077", ph_store_id(route(router, "d1")), "d1");
    CHECK_INT(found.asked, 2);
    ph_router_free(router);
    ph_set_free(set);
}

static void ignore(void *context)
{
    (void)context;
}

TEST(a_router_leaves_the_refresh_to_others_who_do_it)
{
    struct ph__set_observer observer = { NULL, ignore, NULL };
    ph_set *set = discovering(1);
    ph_router *router = make_router(set, 1);

    route(router, "d0");
    CHECK_INT(found.asked, 1);
    ph__set_observe(set, &observer);
    t_nap_ms(5);
    route(router, "d0");
    CHECK_INT(found.asked, 1);
    ph__set_observe_end(set, &observer);
    route(router, "d0");
    CHECK_INT(found.asked, 2);
    ph_router_free(router);
    ph_set_free(set);
}

TEST(without_refresh_only_a_call_for_it_asks)
{
    ph_set *set = discovering(PH_SET_NO_REFRESH);
    ph_router *router = make_router(set, 1);

    CHECK_INT(get(router, "d0"), PH_ENOTFOUND);
    CHECK_INT(t_err.flags, 0);
    CHECK_INT(found.asked, 0);
    OK(ph_set_refresh(set, 0, NULL, &t_err));
    route(router, "d0");
    CHECK_INT(found.asked, 1);
    ph_router_free(router);
    ph_set_free(set);
}
