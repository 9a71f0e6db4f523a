/* use_test.c - a store's own connection is used by one call at a time; a second use is refused. */
#include "sets.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define ENOUGH 20 /* refusals, before the threads stop */

/* ---------------------------------------------------------- many threads on one store */

static struct {
    ph_store *store;
    pthread_barrier_t barrier;
    _Atomic long stored, refused, others;
} crowd;

/* Until there were refusals, or all have tried for long. */
static void *enqueue_on_and_on(void *context)
{
    ph_message message = a_message("crowd", "x");
    ph_error err;

    (void)context;
    pthread_barrier_wait(&crowd.barrier);
    for (int i = 0; i < 2000 && crowd.refused < ENOUGH; i++) {
        int r = ph_enqueue(crowd.store, PH_OWN_TX, &message, 0, NULL, &err);

        if (r == 0)
            crowd.stored++;
        else if (r == PH_ESTATE &&
                 strstr(err.message, "open a store (or make a router) for each thread"))
            crowd.refused++;
        else
            crowd.others++;
    }
    return NULL;
}

TEST(a_second_use_at_the_same_time_is_refused_and_harms_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    pthread_t threads[THREADS];

    crowd.store = store;
    CHECK_INT(pthread_barrier_init(&crowd.barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, enqueue_on_and_on, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(crowd.refused > 0);
    CHECK(crowd.stored > 0);
    CHECK_INT(crowd.others, 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), crowd.stored);
    if (!t_is_pg())
        CHECK_STR(t_value(conn, "PRAGMA integrity_check"), "ok");
    t_check_places(conn);
    t_enqueue(store, "crowd", "one at a time"); /* it is free again */
}

/* --------------------------------------------------------- in transactions of their own */

struct producer {
    struct t_conn *conn;
    int stored;
    ph_error err;
};

static void *enqueue_in_transactions(void *context)
{
    struct producer *producer = context;
    ph_message message = a_message("crowd", "x");

    pthread_barrier_wait(&crowd.barrier);
    for (int i = 0; i < 10; i++) {
        t_begin(producer->conn);
        if (ph_enqueue(crowd.store, t_tx(producer->conn), &message, 0, NULL, &producer->err) == 0)
            producer->stored++;
        t_commit(producer->conn);
    }
    return NULL;
}

/* While one thread uses the store's own connection. */
TEST(calls_in_transactions_of_their_own_share_a_store)
{
    ph_store *store = t_open(NULL);
    struct producer producers[4] = { { 0 } };
    pthread_t threads[4];

    crowd.store = store;
    CHECK_INT(pthread_barrier_init(&crowd.barrier, NULL, 5), 0);
    for (int i = 0; i < 4; i++) {
        producers[i].conn = t_connect();
        CHECK_INT(pthread_create(&threads[i], NULL, enqueue_in_transactions, &producers[i]), 0);
    }
    pthread_barrier_wait(&crowd.barrier);
    for (int i = 0; i < 10; i++)
        t_enqueue(store, "crowd", "x");
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_STR(producers[i].err.message, "");
        CHECK_INT(producers[i].stored, 10);
    }
    CHECK_INT(t_number(producers[0].conn, "SELECT count(*) FROM {t}outbox"), 50);
}

/* ------------------------------------------------------------------------ callbacks */

/* What a call into a store answers while another call logs. */
struct nested {
    ph_store *store;
    int answer;
    ph_error err;
};

static void call_again(void *context, const ph_log_event *event)
{
    struct nested *nested = context;
    int64_t time;

    if (nested->store && strcmp(event->event, "enqueue") == 0)
        nested->answer = ph_clock(nested->store, PH_OWN_TX, 0, &time, &nested->err);
}

TEST(a_callback_that_calls_its_own_store_is_refused)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct nested nested = { 0 };

    opts.log = call_again;
    opts.log_context = &nested;
    nested.store = t_open(&opts);
    t_enqueue(nested.store, "topic", "x");
    CHECK_INT(nested.answer, PH_ESTATE);
    CHECK(strstr(nested.err.message, "in use by a call of") != NULL);
}

/* Each call of a router may close the connection of any of its stores. */
TEST(the_stores_of_a_router_are_used_one_at_a_time)
{
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_store_opts stores = PH_STORE_OPTS_INIT;
    struct nested nested = { 0 };
    ph_set *set = NULL;
    ph_router *router;

    stores.deploy_schema = true;
    stores.log = call_again;
    stores.log_context = &nested;
    opts.stores = &stores;
    OK(ph_set_new(&opts, &set, &t_err));
    for (int i = 0; i < 2; i++) {
        ph_database each = database(i);

        add(set, &each);
    }
    router = make_router(set, 1);
    t_enqueue(route(router, "d0"), "topic", "x");
    nested.store = route(router, "d1");
    t_enqueue(route(router, "d0"), "topic", "x");
    CHECK_INT(nested.answer, PH_ESTATE);
    nested.store = NULL;
    t_enqueue(route(router, "d1"), "topic", "x");
    ph_router_free(router);
    ph_set_free(set);
}

/* ------------------------------------------------------------------- after a failure */

TEST(a_store_is_free_again_after_a_call_that_failed)
{
    ph_store *store = t_open(NULL);
    ph_message message = a_message("", "x");
    ph_message_info *info = NULL;
    ph_batch *batch = NULL;
    ph_owner nobody = { { 0 } };
    int64_t time;

    CHECK_INT(ph_enqueue(store, PH_OWN_TX, &message, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_find(store, PH_OWN_TX, (ph_work_id){ { 7 } }, 0, &info, &t_err),
              PH_ENOTFOUND);
    CHECK_INT(ph_outbox_claim(store, PH_OWN_TX, nobody, NULL, 0, &batch, &t_err), PH_EINVAL);
    CHECK_INT(ph_clock(store, PH_OWN_TX, -1, &time, &t_err), PH_EINVAL);
    CHECK_INT(ph_dispatcher_new(store, NULL, NULL, &t_err), PH_EINVAL);
    t_enqueue(store, "topic", "x");
}
