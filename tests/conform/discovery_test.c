/* discovery_test.c - callbacks that name the databases of a set: changes, rubbish, failures, and
 * those that never answer. */
#include "journal.h"
#include "sets.h"

#include "set/set.h"

#include "util/boot.h"

#include <pthread.h>
#include <semaphore.h>

static struct discovery found;

static void finds(ph_set *set, struct discovery *what)
{
    OK(ph_set_add_discovery(set, discover, what, &t_err));
}

static void name(struct discovery *what, const char *id, int n, const char *key)
{
    ph_database named = database_as(id, n);

    CHECK(what->count < sizeof(what->databases) / sizeof(*what->databases));
    named.key = key;
    what->databases[what->count++] = named;
}

/* ------------------------------------------------------------------ changes */

TEST(a_callback_is_asked_at_each_refresh)
{
    ph_set *set = make_set(0, 0);

    name(&found, "a", 0, NULL);
    finds(set, &found);
    CHECK_INT(found.asked, 0);
    CHECK_STR(ids(set), "");
    refresh(set);
    CHECK_STR(ids(set), "a");
    refresh(set);
    REQ_INT("OBX-075", found.asked, 2);
    ph_set_free(set);
}

TEST(sources_are_asked_every_five_minutes)
{
    ph_set *set = make_set(0, 0);
    int64_t in_us;

    CHECK(ph__set_refresh_in_us(set) == INT64_MAX); /* there is nobody to ask */
    finds(set, &found);
    REQ_INT("OBX-075", ph__set_refresh_in_us(set), 0);
    refresh(set);
    in_us = ph__set_refresh_in_us(set);
    REQ("OBX-076", in_us > 290 * T_SECOND && in_us <= 300 * T_SECOND);
    finds(set, &found);
    CHECK_INT(ph__set_refresh_in_us(set), 0); /* that one was not asked yet */
    ph_set_free(set);
}

TEST(how_often_sources_are_asked_can_be_set)
{
    ph_set *set = make_set(0, 20000);
    int64_t in_us;

    finds(set, &found);
    refresh(set);
    in_us = ph__set_refresh_in_us(set);
    CHECK(in_us > 15 * T_SECOND && in_us <= 20 * T_SECOND);
    found.status = PH_ECONNECT;
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_ECONNECT);
    in_us = ph__set_refresh_in_us(set); /* a thread of its own may try again sooner */
    CHECK(in_us > 5 * T_SECOND && in_us <= 10 * T_SECOND);
    ph_set_free(set);
    found.status = 0;
    set = make_set(0, PH_SET_NO_REFRESH);
    finds(set, &found);
    CHECK(ph__set_refresh_in_us(set) == INT64_MAX);
    ph_set_free(set);
}

TEST(databases_come_and_go)
{
    ph_set *set = make_set(0, 0);
    ph_router *router = make_router(set, 2);
    ph_store *a, *b;
    uint64_t version;

    name(&found, "a", 0, NULL);
    name(&found, "b", 1, NULL);
    finds(set, &found);
    a = route(router, "a");
    b = route(router, "b");
    REQ("OBX-066", a != b);
    version = ph__set_version(set);
    refresh(set);
    CHECK_INT(ph__set_version(set), version);
    REQ("OBX-079", route(router, "a") == a && route(router, "b") == b);
    name(&found, "c", 2, NULL);
    refresh(set);
    CHECK(ph__set_version(set) > version);
    REQ_STR("OBX-077", ids(set), "a b c");
    REQ_STR("OBX-077", ph_store_id(route(router, "c")), "c");
    REQ("OBX-079", route(router, "a") == a && route(router, "b") == b);
    found.databases[1] = found.databases[2];
    found.count = 2;
    refresh(set);
    REQ_STR("OBX-078", ids(set), "a c");
    REQ_INT("OBX-078", ph_router_get(router, "b", 0, &b, &t_err), PH_ENOTFOUND);
    REQ("OBX-079", route(router, "a") == a);
    ph_router_free(router);
    ph_set_free(set);
}

TEST(an_entry_stays_the_same_while_its_database_does)
{
    ph_set *set = make_set(0, 0);
    struct ph__entry **before = NULL, **after = NULL;
    size_t count = 0;
    uint64_t version = 0, later = 0;

    name(&found, "a", 0, "one");
    name(&found, "b", 1, NULL);
    finds(set, &found);
    refresh(set);
    OK(ph__set_entries(set, &before, &count, &version, &t_err));
    CHECK_INT(count, 2);
    found.databases[0].key = "two";           /* another key */
    found.databases[1] = database_as("b", 2); /* another place */
    refresh(set);
    OK(ph__set_entries(set, &after, &count, &later, &t_err));
    CHECK_INT(count, 2);
    CHECK(later > version);
    REQ("OBX-079", after[0] == before[0]);
    CHECK(after[1] != before[1]);
    CHECK_STR(ids_and_keys(set), "a=two b=b");
    for (size_t i = 0; i < count; i++) {
        ph__entry_unref(set, before[i]);
        ph__entry_unref(set, after[i]);
    }
    ph_free(before);
    ph_free(after);
    ph_set_free(set);
}

TEST(a_change_of_keys_is_a_change)
{
    ph_set *set = make_set(0, 0);
    uint64_t version;

    name(&found, "a", 0, "one");
    name(&found, "b", 1, "two");
    finds(set, &found);
    refresh(set);
    version = ph__set_version(set);
    found.databases[0].key = "two"; /* they change places */
    found.databases[1].key = "one";
    refresh(set);
    CHECK(ph__set_version(set) > version);
    CHECK_STR(ids_and_keys(set), "a=two b=one");
    version = ph__set_version(set);
    found.databases[0].key = "three";
    refresh(set);
    CHECK(ph__set_version(set) > version);
    ph_set_free(set);
}

TEST(what_is_added_stays_when_a_source_does_not_name_it)
{
    ph_set *set = make_set(0, 0);
    ph_router *router = make_router(set, 1);
    ph_database named = database_as("a", 0);
    ph_store *store;

    add(set, &named);
    name(&found, "a", 0, "more");
    name(&found, "b", 1, NULL);
    finds(set, &found);
    refresh(set);
    CHECK_STR(ids_and_keys(set), "a=a b=b");
    store = route(router, "a");
    CHECK(route(router, "more") == store);
    OK(ph_set_remove(set, "a", &t_err)); /* the source still names it */
    CHECK_STR(ids_and_keys(set), "a=more b=b");
    REQ("OBX-079", route(router, "more") == store);
    CHECK_INT(ph_set_remove(set, "a", &t_err), PH_ENOTFOUND);
    add(set, &named);
    found.count = 0;
    refresh(set);
    CHECK_STR(ids_and_keys(set), "a=a");
    CHECK(route(router, "a") == store);
    ph_router_free(router);
    ph_set_free(set);
}

/* ----------------------------------------------------- duplicates, rubbish */

TEST(a_database_that_is_named_twice_is_one)
{
    ph_set *set = make_set(0, 0);

    name(&found, "a", 0, "one");
    name(&found, "a", 0, "two");
    name(&found, "a", 0, "one");
    finds(set, &found);
    refresh(set);
    CHECK_INT(found.refused, 0);
    CHECK_STR(ids_and_keys(set), "a=one");
    ph_set_free(set);
}

TEST(of_contradictions_in_an_answer_the_first_counts)
{
    ph_set *set = make_set(0, 0);
    const struct line *line;

    name(&found, "a", 0, "one");
    name(&found, "a", 1, "two"); /* another place */
    name(&found, "b", 2, "one"); /* a's key */
    name(&found, "c", 3, NULL);
    finds(set, &found);
    refresh(set);
    CHECK_INT(found.refused, 2);
    CHECK_STR(ids_and_keys(set), "a=one c=c");
    line = newest_with("set", "another database");
    CHECK(line && line->level == PH_LOG_WARN);
    CHECK_STR(field(line, "id"), "a");
    CHECK_STR(field(line, "source"), "callback");
    line = newest_with("set", "belongs to another id");
    CHECK(line && line->level == PH_LOG_WARN);
    CHECK_STR(field(line, "id"), "b");
    ph_set_free(set);
}

TEST(of_contradicting_sources_the_first_counts)
{
    static struct discovery second;
    ph_set *set = make_set(0, 0);
    ph_database named = database_as("s", 0);

    named.key = "mine";
    add(set, &named);
    name(&found, "a", 1, NULL);
    name(&found, "s", 2, NULL); /* what was added counts more */
    name(&found, "x", 6, NULL);
    name(&second, "a", 3, NULL);
    name(&second, "b", 4, "mine");
    name(&second, "b", 4, "other");
    name(&second, "c", 5, "x"); /* a database without keys remains one */
    finds(set, &found);
    finds(set, &second);
    refresh(set);
    CHECK_STR(ids_and_keys(set), "a=a b=other c=(none) s=mine x=x");
    CHECK_INT(lines_with("left out"), 4);
    refresh(set);
    CHECK_INT(lines_with("left out"), 4); /* that is known */
    found.count = 0;
    refresh(set);
    CHECK_STR(ids_and_keys(set), "a=a b=other c=x s=mine");
    CHECK_INT(lines_with("left out"), 4);
    ph_set_free(set);
}

TEST(a_conflict_with_a_source_is_an_error_of_those_who_add)
{
    ph_set *set = make_set(0, 0);
    ph_database named = database_as("a", 1);

    name(&found, "a", 0, NULL);
    finds(set, &found);
    refresh(set);
    CHECK_INT(ph_set_add(set, &named, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "another database") != NULL);
    CHECK_STR(ids(set), "a");
    ph_set_free(set);
}

TEST(rubbish_is_left_out_and_the_rest_counts)
{
    ph_set *set = make_set(0, 0);

    name(&found, "a", 0, NULL);
    name(&found, NULL, 1, NULL);
    name(&found, "", 1, NULL);
    name(&found, "\xff\xfe", 1, NULL);
    name(&found, "no-url", 1, NULL);
    found.databases[4].url = NULL;
    name(&found, "strange", 1, NULL);
    found.databases[5].url = "carrier-pigeon://loft";
    name(&found, "schema", 1, NULL);
    found.databases[6].schema = "no;schema";
    name(&found, "size", 1, NULL);
    found.databases[7].size = 0;
    name(&found, "z", 2, NULL);
    finds(set, &found);
    refresh(set);
    CHECK_INT(found.refused, 7);
    CHECK_STR(ids(set), "a z");
    CHECK_INT(lines_with("left out"), 7);
    for (size_t i = 0; i < journal.count; i++) {
        if (strstr(journal.lines[i].text, "left out"))
            CHECK_INT(journal.lines[i].level, PH_LOG_WARN);
        REQ_STR("OBX-107", journal.lines[i].store, "(set)");
    }
    refresh(set);
    CHECK_INT(lines_with("left out"), 7); /* the same rubbish is said once */
    found.databases[5].url = "smoke://signal";
    found.databases[5].id = "stranger";
    refresh(set);
    CHECK_INT(lines_with("left out"), 8);
    ph_set_free(set);
}

static int name_rubbish(void *context, ph_found *list, ph_error *reterr)
{
    ph_database rubbish = PH_DATABASE_INIT;
    char id[16];

    for (int i = 0; i < *(int *)context; i++) {
        snprintf(id, sizeof(id), "r%d", i);
        rubbish.id = id;
        CHECK_INT(ph_found_add(list, &rubbish, reterr), PH_EINVAL);
    }
    return 0;
}

TEST(much_rubbish_is_counted)
{
    ph_set *set = make_set(0, 0);
    int count = 150;

    OK(ph_set_add_discovery(set, name_rubbish, &count, &t_err));
    refresh(set);
    CHECK_INT(lines_with("left out"), 101);
    CHECK_STR(field(newest_with("set", "more are left out"), "count"), "50");
    refresh(set);
    CHECK_INT(lines_with("left out"), 101);
    ph_set_free(set);
}

TEST(a_password_is_never_shown)
{
    ph_database one = PH_DATABASE_INIT, other = PH_DATABASE_INIT;
    ph_set *set = make_set(0, 0);

    if (!strstr(ph_backends(), "postgresql"))
        t_skip("no PostgreSQL in this build");
    one.id = other.id = "a";
    one.url = "postgresql://ada:s3cret@db.example.org/shop";
    other.url = "postgresql://ada:s3cret2@db.example.org/shop";
    found.databases[0] = one;
    found.databases[1] = other;
    found.count = 2;
    finds(set, &found);
    refresh(set);
    CHECK_INT(lines_with("db.example.org"), 1);
    CHECK_INT(lines_with("s3cret"), 0);
    CHECK_INT(ph_set_add(set, &other, &t_err), PH_EINVAL);
    CHECK(!strstr(t_err.message, "s3cret"));
    ph_set_free(set);
}

TEST(the_callback_and_its_answers_are_checked)
{
    ph_set *set = make_set(0, 0);
    ph_database named = database(0);

    CHECK_INT(ph_set_add_discovery(set, NULL, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_discovery(NULL, discover, &found, &t_err), PH_EINVAL);
    CHECK_INT(ph_found_add(NULL, &named, &t_err), PH_EINVAL);
    CHECK_INT(ph_set_refresh(NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_set_refresh(set, -1, NULL, &t_err), PH_EINVAL);
    OK(ph_set_refresh(set, 0, NULL, NULL));
    CHECK_INT(ph_database_list(NULL, NULL, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_database_list(set, NULL, NULL, &t_err), PH_EINVAL);
    ph_set_free(set);
}

/* -------------------------------------------------------- nothing, failures */

TEST(an_answer_without_databases_counts)
{
    ph_set *set = make_set(0, 0);

    finds(set, &found);
    refresh(set);
    CHECK_INT(journal.count, 0); /* there was nothing before, either */
    name(&found, "a", 0, NULL);
    refresh(set);
    CHECK_STR(ids(set), "a");
    found.count = 0;
    refresh(set);
    REQ_STR("OBX-078", ids(set), "");
    CHECK_INT(lines_with("names no database any more"), 1);
    CHECK_INT(newest_with("set", "names no database")->level, PH_LOG_WARN);
    refresh(set);
    CHECK_INT(lines_with("names no database any more"), 1);
    ph_set_free(set);
}

TEST(a_source_that_fails_keeps_its_list)
{
    static struct discovery second;
    ph_set *set = make_set(0, 0);
    const struct line *line;

    name(&found, "a", 0, NULL);
    name(&second, "b", 1, NULL);
    finds(set, &found);
    finds(set, &second);
    refresh(set);
    found.status = PH_EAUTH;
    found.count = 0;
    name(&found, "half", 2, NULL); /* half an answer is none */
    name(&second, "c", 3, NULL);
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_EAUTH);
    CHECK_STR(t_err.message, "no answer today");
    CHECK_INT(t_err.code, PH_EAUTH);
    CHECK_STR(ids(set), "a b c");
    line = newest_with("set", "a source fails");
    CHECK(line && line->level == PH_LOG_WARN);
    CHECK_STR(field(line, "error"), "no answer today");
    CHECK_STR(field(line, "source"), "callback");
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_EAUTH);
    CHECK_INT(lines_with("a source fails"), 1); /* said once */
    second.status = PH_EBUSY;
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_EAUTH); /* that of the first */
    CHECK_INT(lines_with("a source fails"), 2);
    found.status = second.status = 0;
    refresh(set);
    CHECK_STR(ids(set), "b c half");
    CHECK_INT(lines_with("works again"), 2);
    CHECK_INT(newest_with("set", "works again")->level, PH_LOG_INFO);
    ph_set_free(set);
}

static int fail_silently(void *context, ph_found *list, ph_error *reterr)
{
    (void)context;
    (void)list;
    (void)reterr;
    return PH_EPERM;
}

TEST(a_failure_without_words_gets_some)
{
    ph_set *set = make_set(0, 0);

    OK(ph_set_add_discovery(set, fail_silently, NULL, &t_err));
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_EPERM);
    CHECK(strstr(t_err.message, ph_status_text(PH_EPERM)) != NULL);
    CHECK_INT(ph_set_refresh(set, 0, NULL, NULL), PH_EPERM);
    ph_set_free(set);
}

/* ---------------------------------------------------------------- for ever */

static struct hanging {
    sem_t entered, leave;
    int status;
    ph_database database;
    ph_set *set;
    ph_error err;
    int result;
} hanging;

static int hang(void *context, ph_found *list, ph_error *reterr)
{
    struct hanging *h = context;

    sem_post(&h->entered);
    while (sem_wait(&h->leave) != 0)
        ;
    if (h->status < 0) {
        reterr->code = h->status;
        snprintf(reterr->message, sizeof(reterr->message), "gave up");
        return h->status;
    }
    return ph_found_add(list, &h->database, reterr);
}

static void *refresh_in_thread(void *context)
{
    struct hanging *h = context;

    h->result = ph_set_refresh(h->set, 0, NULL, &h->err);
    return NULL;
}

static void hang_in(ph_set *set, pthread_t *ret_thread)
{
    CHECK(sem_init(&hanging.entered, 0, 0) == 0 && sem_init(&hanging.leave, 0, 0) == 0);
    hanging.set = set;
    hanging.database = database_as("late", 9);
    OK(ph_set_add_discovery(set, hang, &hanging, &t_err));
    CHECK(pthread_create(ret_thread, NULL, refresh_in_thread, &hanging) == 0);
    while (sem_wait(&hanging.entered) != 0)
        ;
}

/* Not the journal: two threads write. */
static ph_set *silent_set(int refresh_ms)
{
    ph_store_opts stores = PH_STORE_OPTS_INIT;
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_set *set = NULL;

    stores.deploy_schema = true;
    opts.stores = &stores;
    opts.refresh_ms = refresh_ms;
    OK(ph_set_new(&opts, &set, &t_err));
    return set;
}

TEST(a_callback_that_hangs_holds_up_only_those_who_wait_for_it)
{
    ph_set *set = silent_set(1); /* always due */
    ph_router *router = make_router(set, 1);
    ph_database named = database_as("a", 0);
    struct ph__entry **entries = NULL;
    ph_store *store = NULL, *other = NULL;
    uint64_t version = 0;
    int64_t began_us;
    size_t count = 0;
    pthread_t thread;

    t_limit(60);
    add(set, &named);
    store = route(router, "a");
    hang_in(set, &thread);
    began_us = ph__boot_us();
    CHECK_STR(ids(set), "a");
    CHECK(route(router, "a") == store);
    named = database_as("b", 1);
    add(set, &named);
    t_enqueue(route(router, "b"), "topic", "x");
    OK(ph__set_entries(set, &entries, &count, &version, &t_err));
    CHECK_INT(count, 2);
    for (size_t i = 0; i < count; i++)
        ph__entry_unref(set, entries[i]);
    ph_free(entries);
    OK(ph_set_remove(set, "b", &t_err));
    (void)ph__set_refresh_in_us(set);
    CHECK(ph__boot_us() - began_us < 15 * T_SECOND); /* who waits for the other waits for 30 s */
    CHECK_INT(ph_set_refresh(set, 50, NULL, &t_err), PH_ETIMEOUT);
    CHECK(t_err.flags & PH_RETRY);
    CHECK_INT(ph_router_get(router, "late", 50, &other, &t_err), PH_ETIMEOUT);
    CHECK(other == NULL);
    sem_post(&hanging.leave);
    pthread_join(thread, NULL);
    CHECK_INT(hanging.result, 0);
    CHECK_STR(ids(set), "a late");
    sem_post(&hanging.leave); /* the next look is due, and is the router's */
    CHECK(route(router, "a") == store);
    ph_router_free(router);
    ph_set_free(set);
}

struct second {
    ph_set *set;
    int result;
    ph_error err;
};

static void *refresh_as_second(void *context)
{
    struct second *second = context;

    second->result = ph_set_refresh(second->set, 0, NULL, &second->err);
    return NULL;
}

TEST(who_comes_second_waits_for_a_look_that_began_after_its_call)
{
    ph_set *set = silent_set(0);
    struct second seconds[3] = { { .set = set }, { .set = set }, { .set = set } };
    pthread_t first, others[3];

    hang_in(set, &first);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&others[i], NULL, refresh_as_second, &seconds[i]) == 0);
    t_nap_ms(100); /* they are waiting */
    sem_post(&hanging.leave);
    pthread_join(first, NULL);
    CHECK_INT(hanging.result, 0);
    while (sem_wait(&hanging.entered) != 0) /* by one of them */
        ;
    hanging.status = PH_EAUTH;
    t_nap_ms(50);
    CHECK(sem_trywait(&hanging.entered) != 0);
    sem_post(&hanging.leave);
    for (int i = 0; i < 3; i++) {
        pthread_join(others[i], NULL);
        CHECK_INT(seconds[i].result, PH_EAUTH);
        CHECK_STR(seconds[i].err.message, "gave up");
    }
    CHECK(sem_trywait(&hanging.entered) != 0); /* one look for all of them */
    ph_set_free(set);
}

TEST(a_source_that_comes_while_others_are_asked_is_due)
{
    ph_set *set = silent_set(0);
    pthread_t thread;

    hang_in(set, &thread);
    name(&found, "a", 0, NULL);
    finds(set, &found);
    sem_post(&hanging.leave);
    pthread_join(thread, NULL);
    /* It may have been asked with the others, or not: it is asked in any case. */
    CHECK_INT(ph__set_refresh_in_us(set), 0);
    sem_post(&hanging.leave);
    refresh(set);
    CHECK_STR(ids(set), "a late");
    CHECK(ph__set_refresh_in_us(set) > 0);
    ph_set_free(set);
}

/* -------------------------------------------------------------- unknown keys */

/* Takes a while, and names nothing. */
static int dawdle(void *context, ph_found *ret_found, ph_error *reterr)
{
    (void)ret_found;
    (void)reterr;
    ++*(_Atomic int *)context;
    t_nap_ms(100);
    return 0;
}

/* Asks for a key that nobody has, for two seconds. */
static void *ask_in_vain(void *router)
{
    for (int64_t end_us = ph__boot_us() + 2000000; ph__boot_us() < end_us; t_nap_ms(1)) {
        ph_store *store = NULL;
        ph_error err;

        CHECK_INT(ph_router_get(router, "nobody", 0, &store, &err), PH_ENOTFOUND);
    }
    return NULL;
}

TEST(those_who_ask_for_unknown_keys_do_not_keep_the_sources_busy)
{
    static _Atomic int asked;
    ph_set *set = make_set(2, 0);
    pthread_t threads[2];
    ph_router *routers[2];

    OK(ph_set_add_discovery(set, dawdle, &asked, &t_err));
    for (int i = 0; i < 2; i++) {
        routers[i] = make_router(set, PH_ROUTER_NO_CONNECTIONS);
        CHECK(pthread_create(&threads[i], NULL, ask_in_vain, routers[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        ph_router_free(routers[i]);
    }
    if (asked > 6)
        printf("asked %d times\n", asked);
    CHECK(asked >= 1 && asked <= 6); /* at most once a second, and at the start */
    ph_set_free(set);
}
