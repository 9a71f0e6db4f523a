/* set_test.c - a set of databases: what is added, what is refused, what is listed. */
#include "journal.h"
#include "sets.h"

#include "set/set.h"

#include <pthread.h>
#include <stdatomic.h>

static void add_as(ph_set *set, const char *id, int n, const char *key)
{
    ph_database named = database_as(id, n);

    named.key = key;
    add(set, &named);
}

static void refused(ph_set *set, const ph_database *database, const char *part)
{
    uint64_t version = ph__set_version(set);

    CHECK_INT(ph_set_add(set, database, &t_err), PH_EINVAL);
    if (!strstr(t_err.message, part))
        printf("\"%s\" is not in \"%s\"\n", part, t_err.message);
    CHECK(strstr(t_err.message, part) != NULL);
    CHECK_INT(ph__set_version(set), version);
}

TEST(databases_are_listed_by_id)
{
    ph_set *set = make_set(0, 0);

    CHECK_STR(ids(set), "");
    add_as(set, "b", 1, NULL);
    add_as(set, "c", 2, "third");
    add_as(set, "a", 0, NULL);
    REQ_STR("OBX-066", ids(set), "a b c");
    CHECK_STR(ids_and_keys(set), "a=a b=b c=third");
    ph_set_free(set);
}

TEST(a_list_has_everything_and_outlives_the_set)
{
    ph_set *set = make_set(0, 0);
    ph_database named = database(0);
    ph_databases *list = NULL;

    named.table_prefix = "mine_";
    add(set, &named);
    OK(ph_database_list(set, NULL, &list, &t_err));
    ph_set_free(set);
    CHECK_INT(ph_databases_count(list), 1);
    CHECK_STR(ph_databases_at(list, 0)->id, "d0");
    CHECK_STR(ph_databases_at(list, 0)->url, named.url);
    CHECK_STR(ph_databases_at(list, 0)->key, "d0");
    CHECK_STR(ph_databases_at(list, 0)->schema, named.schema);
    CHECK_STR(ph_databases_at(list, 0)->table_prefix, "mine_");
    CHECK(ph_databases_at(list, 1) == NULL);
    ph_databases_free(list);
    ph_databases_free(NULL);
    CHECK_INT(ph_databases_count(NULL), 0);
    CHECK(ph_databases_at(NULL, 0) == NULL);
}

TEST(a_list_can_be_of_one_database)
{
    ph_set *set = make_set(0, 0);
    ph_database_list_opts opts = PH_DATABASE_LIST_OPTS_INIT;
    ph_databases *list = NULL;

    add_as(set, "a", 0, NULL);
    add_as(set, "b", 1, NULL);
    opts.id = "b";
    OK(ph_database_list(set, &opts, &list, &t_err));
    CHECK_INT(ph_databases_count(list), 1);
    CHECK_STR(ph_databases_at(list, 0)->id, "b");
    ph_databases_free(list);
    opts.id = "B";
    OK(ph_database_list(set, &opts, &list, &t_err));
    CHECK_INT(ph_databases_count(list), 0);
    ph_databases_free(list);
    opts.size = 0;
    list = NULL;
    CHECK_INT(ph_database_list(set, &opts, &list, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "ph_database_list_opts: the member size is not set") != NULL);
    CHECK(list == NULL);
    ph_set_free(set);
}

TEST(the_same_again_changes_nothing)
{
    ph_set *set = make_set(0, 0);
    uint64_t version;

    add_as(set, "a", 0, NULL);
    version = ph__set_version(set);
    add_as(set, "a", 0, NULL);
    add_as(set, "a", 0, "a");
    CHECK_INT(ph__set_version(set), version);
    add_as(set, "a", 0, "more");
    CHECK(ph__set_version(set) > version);
    CHECK_STR(ids_and_keys(set), "a=a");
    ph_set_free(set);
}

TEST(defaults_and_their_values_are_the_same_database)
{
    ph_store_opts stores = PH_STORE_OPTS_INIT;
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_database named = database(0);
    ph_set *set = NULL;
    uint64_t version;

    stores.schema = named.schema;
    opts.stores = &stores;
    OK(ph_set_new(&opts, &set, &t_err));
    named.schema = NULL;
    add(set, &named);
    version = ph__set_version(set);
    add(set, &(ph_database){ sizeof(named), "d0", named.url, NULL, stores.schema,
                             t_is_pg() ? "" : "posthorn_" });
    CHECK_INT(ph__set_version(set), version);
    ph_set_free(set);
}

TEST(an_id_has_one_place)
{
    ph_set *set = make_set(0, 0);
    ph_database other = database_as("d0", 1);

    add(set,
        &(ph_database){ sizeof(other), "d0", database(0).url, NULL, database(0).schema, NULL });
    refused(set, &other, "this id is that of another database");
    other = database(0);
    other.table_prefix = "other_";
    refused(set, &other, "this id is that of another database");
    CHECK_STR(ids(set), "d0");
    ph_set_free(set);
}

TEST(a_key_has_one_id)
{
    ph_set *set = make_set(0, 0);
    ph_database other = database_as("b", 1);

    add_as(set, "a", 0, "key");
    other.key = "key";
    refused(set, &other, "this key belongs to another id");
    CHECK_STR(ids(set), "a");
    other.key = "a"; /* the id of a is not a key of it */
    add(set, &other);
    CHECK_STR(ids_and_keys(set), "a=key b=a");
    ph_set_free(set);
}

TEST(a_uuid_is_the_same_key_in_any_spelling)
{
    ph_set *set = make_set(0, 0);
    ph_database other = database_as("b", 1);
    uint64_t version;

    add_as(set, "a", 0, "5E1F1E5500004000800000000000ABCD");
    version = ph__set_version(set);
    add_as(set, "a", 0, "5e1f1e55-0000-4000-8000-00000000abcd");
    CHECK_INT(ph__set_version(set), version);
    other.key = "5e1f1e5500004000800000000000abcd";
    refused(set, &other, "this key belongs to another id");
    ph_set_free(set);
}

TEST(what_makes_no_database_is_refused)
{
    ph_set *set = make_set(0, 0);
    ph_database named = database(0);

    refused(set, NULL, "database is NULL");
    CHECK_INT(ph_set_add(NULL, &named, &t_err), PH_EINVAL);
    named.id = NULL;
    refused(set, &named, "id is NULL");
    named.id = "";
    refused(set, &named, "id is empty");
    named.id = "\xff";
    refused(set, &named, "id is not valid UTF-8");
    named.id = repeated("x", PH_NAME_MAX + 1);
    refused(set, &named, "id has 256 characters");
    named.id = repeated("\xc3\xa4", PH_NAME_MAX);
    add(set, &named);
    named = database(0);
    named.key = "";
    refused(set, &named, "key is empty");
    named.key = NULL;
    named.url = NULL;
    refused(set, &named, "url is NULL");
    named.url = "http://localhost/";
    refused(set, &named, "sqlite:orders.db or postgresql://localhost/orders");
    named = database(0);
    named.schema = "a b";
    refused(set, &named, "schema");
    named = database(0);
    named.table_prefix = "1";
    refused(set, &named, "table_prefix");
    named = database(0);
    named.size = 0;
    refused(set, &named, "_INIT");
    CHECK_INT(ph_set_add(set, &named, NULL), PH_EINVAL);
    ph_set_free(set);
}

TEST(options_of_a_set_are_checked)
{
    ph_store_opts stores = PH_STORE_OPTS_INIT;
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_set *set = (void *)&opts, *untouched = set;

    CHECK_INT(ph_set_new(&opts, NULL, &t_err), PH_EINVAL);
    opts.connections = -1;
    CHECK_INT(ph_set_new(&opts, &set, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "connections is -1") != NULL);
    opts.connections = PH_SET_CONNECTIONS_MAX + 1;
    CHECK_INT(ph_set_new(&opts, &set, &t_err), PH_EINVAL);
    opts.connections = PH_SET_CONNECTIONS_MAX;
    opts.refresh_ms = -2;
    CHECK_INT(ph_set_new(&opts, &set, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "refresh_ms is -2") != NULL);
    opts.refresh_ms = PH_SET_NO_REFRESH;
    stores.timeout_ms = -5;
    opts.stores = &stores;
    CHECK_INT(ph_set_new(&opts, &set, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "timeout_ms is -5") != NULL);
    stores.timeout_ms = 0;
    stores.schema = "pg_no";
    CHECK_INT(ph_set_new(&opts, &set, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "schema") != NULL);
    opts.size = 1;
    CHECK_INT(ph_set_new(&opts, &set, &t_err), PH_EINVAL);
    CHECK(set == untouched);
    OK(ph_set_new(NULL, &set, &t_err));
    ph_set_free(set);
    ph_set_free(NULL);
}

TEST(texts_of_the_options_are_copied)
{
    char schema[] = "mine", prefix[] = "my_";
    ph_store_opts stores = PH_STORE_OPTS_INIT;
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_database named = database(0);
    ph_databases *list = NULL;
    ph_set *set = NULL;

    stores.schema = schema;
    stores.table_prefix = prefix;
    opts.stores = &stores;
    OK(ph_set_new(&opts, &set, &t_err));
    memset(schema, 'x', sizeof(schema) - 1);
    memset(prefix, 'x', sizeof(prefix) - 1);
    memset(&stores, 0, sizeof(stores));
    named.schema = NULL;
    add(set, &named);
    OK(ph_database_list(set, NULL, &list, &t_err));
    CHECK_STR(ph_databases_at(list, 0)->schema, "mine");
    CHECK_STR(ph_databases_at(list, 0)->table_prefix, "my_");
    ph_databases_free(list);
    ph_set_free(set);
}

TEST(what_was_added_can_be_removed)
{
    ph_set *set = make_set(0, 0);
    uint64_t version;

    add_as(set, "a", 0, NULL);
    add_as(set, "b", 1, "one");
    add_as(set, "b", 1, "two");
    version = ph__set_version(set);
    CHECK_INT(ph_set_remove(set, "one", &t_err), PH_ENOTFOUND);
    CHECK_INT(ph_set_remove(set, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_set_remove(NULL, "a", &t_err), PH_EINVAL);
    CHECK_INT(ph__set_version(set), version);
    OK(ph_set_remove(set, "b", &t_err));
    CHECK(ph__set_version(set) > version);
    CHECK_STR(ids(set), "a");
    add_as(set, "c", 2, "two"); /* its keys are free again */
    add_as(set, "b", 3, NULL);  /* and so is its id */
    CHECK_STR(ids_and_keys(set), "a=a b=b c=two");
    ph_set_free(set);
}

/* ------------------------------------------------- what a dispatcher needs */

static void count_changes(void *context)
{
    (*(int *)context)++;
}

TEST(observers_are_told_of_changes)
{
    ph_set *set = make_set(0, 0);
    int one = 0, other = 0;
    struct ph__set_observer first = { NULL, count_changes, &one };
    struct ph__set_observer second = { NULL, count_changes, &other };

    ph__set_observe(set, &first);
    ph__set_observe(set, &second);
    add_as(set, "a", 0, NULL);
    CHECK_INT(one, 1);
    add_as(set, "a", 0, NULL);
    CHECK_INT(one, 1);
    ph__set_observe_end(set, &first);
    OK(ph_set_remove(set, "a", &t_err));
    CHECK_INT(one, 1);
    CHECK_INT(other, 2);
    ph__set_observe_end(set, &second);
    ph__set_observe_end(set, &second);
    add_as(set, "a", 0, NULL);
    CHECK_INT(other, 2);
    ph_set_free(set);
}

TEST(an_entry_lives_until_it_is_let_go)
{
    ph_set *set = make_set(0, 0);
    struct ph__entry **entries = NULL;
    ph_store *store = NULL;
    uint64_t version = 0;
    size_t count = 0;

    add_as(set, "b", 1, NULL);
    add_as(set, "a", 0, NULL);
    OK(ph__set_entries(set, &entries, &count, &version, &t_err));
    CHECK_INT(count, 2);
    CHECK_INT(version, ph__set_version(set));
    OK(ph_set_remove(set, "a", &t_err));
    OK(ph_set_remove(set, "b", &t_err));
    REQ_STR("OBX-070", ph__entry_id(entries[0]), "a");
    CHECK_STR(ph__entry_id(entries[1]), "b");
    OK(ph__entry_open(set, entries[1], &store, &t_err));
    REQ_STR("OBX-070", ph_store_id(store), "b");
    t_enqueue(store, "topic", "x"); /* its schema is made on the way */
    ph_close(store);
    for (size_t i = 0; i < count; i++)
        ph__entry_unref(set, entries[i]);
    ph_free(entries);
    ph_set_free(set);
}

TEST(connections_are_taken_and_given_back)
{
    ph_set *set = make_set(3, 0);

    CHECK_INT(ph__set_take(set, 2), 2);
    CHECK_INT(ph__set_take(set, 2), 1);
    CHECK_INT(ph__set_take(set, 2), 0);
    ph__set_give(set, 2);
    CHECK_INT(ph__set_take(set, 9), 2);
    ph_set_free(set);
    set = make_set(0, 0);
    CHECK_INT(ph__set_take(set, 100), PH_SET_CONNECTIONS);
    ph_set_free(set);
}

/* --------------------------------------------------------------------- threads */

#define ROUNDS 200

static atomic_int changes;

static void count_atomically(void *context)
{
    (void)context;
    atomic_fetch_add(&changes, 1);
}

/* Every other time there is one more. */
static int name_one_or_two(void *context, ph_found *found, ph_error *reterr)
{
    static atomic_int asked;
    ph_database *databases = context;
    int r = ph_found_add(found, &databases[0], reterr);

    if (r == 0 && atomic_fetch_add(&asked, 1) % 2)
        r = ph_found_add(found, &databases[1], reterr);
    return r;
}

static void *refresh_often(void *context)
{
    ph_error err;

    for (int i = 0; i < ROUNDS; i++)
        CHECK_INT(ph_set_refresh(context, 0, NULL, &err), 0);
    return NULL;
}

static void *add_and_remove(void *context)
{
    ph_database named = PH_DATABASE_INIT;
    ph_error err;

    named.id = "mine";
    named.url = t_url();
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_INT(ph_set_add(context, &named, &err), 0);
        CHECK_INT(ph_set_remove(context, "mine", &err), 0);
    }
    return NULL;
}

static void *look_often(void *context)
{
    struct ph__set_observer observer = { NULL, count_atomically, NULL };

    for (int i = 0; i < ROUNDS; i++) {
        struct ph__entry **entries = NULL;
        ph_databases *list = NULL;
        uint64_t version = 0;
        size_t count = 0;
        ph_error err;

        ph__set_observe(context, &observer);
        CHECK_INT(ph__set_entries(context, &entries, &count, &version, &err), 0);
        CHECK_INT(ph_database_list(context, NULL, &list, &err), 0);
        ph__set_observe_end(context, &observer);
        for (size_t j = 0; j < count; j++) {
            CHECK(strlen(ph__entry_id(entries[j])) > 0);
            ph__entry_unref(context, entries[j]);
        }
        ph_free(entries);
        ph_databases_free(list);
    }
    return NULL;
}

static void *route_often(void *context)
{
    ph_router_opts opts = PH_ROUTER_OPTS_INIT;
    ph_router *router = NULL;
    ph_store *store = NULL, *first = NULL;
    ph_error err;

    CHECK_INT(ph_router_new(context, &opts, &router, &err), 0);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_INT(ph_router_get(router, "always", 0, &store, &err), 0);
        CHECK(!first || store == first);
        first = store;
        (void)!ph_router_get(router, "mine", 0, &store, &err);
    }
    ph_router_free(router);
    return NULL;
}

TEST(a_set_may_be_used_by_any_number_of_threads)
{
    static void *(*const users[])(void *) = { refresh_often, refresh_often, add_and_remove,
                                              look_often,    look_often,    route_often,
                                              route_often };
    ph_database databases[] = { database_as("always", 0), database_as("sometimes", 1) };
    pthread_t threads[sizeof(users) / sizeof(*users)];
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_set *set = NULL;

    opts.refresh_ms = 1;
    OK(ph_set_new(&opts, &set, &t_err)); /* silent: the journal is for one thread */
    OK(ph_set_add_discovery(set, name_one_or_two, databases, &t_err));
    OK(ph_set_refresh(set, 0, NULL, &t_err));
    for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++)
        CHECK(pthread_create(&threads[i], NULL, users[i], set) == 0);
    for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(ph__set_take(set, 100), PH_SET_CONNECTIONS);
    OK(ph_set_refresh(set, 0, NULL, &t_err));
    CHECK(strncmp(ids(set), "always", 6) == 0);
    ph_set_free(set);
}
