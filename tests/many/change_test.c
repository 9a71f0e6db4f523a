/* change_test.c - databases come into the set and leave it while the dispatcher runs. */
#include "fleet.h"

#include <stdlib.h>
#include <unistd.h>

static struct tally tally = TALLY_INIT;

static bool is_gone(struct fleet *fleet, const char *id)
{
    return !standing(fleet, id).there;
}

/* ------------------------------------------------------------------ add and remove */

TEST(a_store_that_is_added_is_served_and_one_that_is_removed_is_left)
{
    struct fleet fleet;

    fleet_init(&fleet, 3);
    fleet_add(&fleet, 0, 1);
    fleet_run(&fleet, count_up, &tally);
    for (int n = 1; n < 4; n++) {
        base_put(base_at(n), "t", 5);
        fleet_add(&fleet, n, 1);
        AWAIT(counted(&tally, base_at(n)->id) == 5);
        AWAIT(standing(&fleet, base_at(n)->id).serving == PH_SERVING_SERVED);
        REQ_INT("OBX-077", standing(&fleet, base_at(n)->id).claimed, 5);
    }
    fleet_drain(&fleet);
    fleet_remove(&fleet, "s001");
    AWAIT(is_gone(&fleet, "s001"));
    REQ_INT("OBX-078", said("s001", PH_LOG_INFO, "instance", "left"), 1);
    CHECK_INT(said("s001", PH_LOG_INFO, "dispatcher", "left"), 1);
    CHECK_INT(ph_dispatcher_wake(fleet.dispatcher, "s001", &t_err), PH_ENOTFOUND);
    base_check(base_at(1));
    base_put(base_at(1), "t", 2); /* for somebody else */
    for (int n = 0; n < 4; n++) {
        if (n != 1)
            base_put(base_at(n), "t", 3);
    }
    fleet_drain(&fleet);
    CHECK_INT(counted(&tally, "s000"), 3);
    CHECK_INT(counted(&tally, "s001"), 5);
    CHECK_INT(counted(&tally, "s002"), 8);
    CHECK_INT(base_open(base_at(1)), 2);
    fleet_end(&fleet);
}

TEST(a_set_may_be_empty_at_first_and_become_so_again)
{
    struct fleet fleet;

    fleet_init(&fleet, 2);
    fleet_set(&fleet);
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    CHECK_STR(standings(&fleet), "");
    for (int i = 1; i <= 3; i++) {
        base_put(base_at(0), "t", 2);
        fleet_add(&fleet, 0, 1);
        AWAIT(counted(&tally, "s000") == 2 * i);
        fleet_remove(&fleet, "s000");
        AWAIT(is_gone(&fleet, "s000"));
        fleet_drain(&fleet);
        CHECK_INT(links_now(), 0);
    }
    fleet_end(&fleet);
    base_check(base_at(0));
}

/* --------------------------------------------------------------- work in flight */

static struct gate gate = GATE_INIT;
static struct part at_gate = { .verdict = PH_VERDICT_DONE, .gate = &gate };
static ph_work *_Atomic kept[4];
static _Atomic int kept_count;

static ph_verdict keep(void *context, ph_work *work)
{
    (void)context;
    kept[kept_count++] = work;
    return PH_VERDICT_KEEP;
}

static long long ready(struct base *base)
{
    return base_number(base, "SELECT count(*) FROM {t}outbox WHERE status_code = 0");
}

/* Two run, two are kept, ten wait, five more are of a stream of which one runs. */
static void fill(struct fleet *fleet)
{
    fleet_init(fleet, 4);
    fleet->opts.threads = 3;
    fleet->opts.prefetch = 100;
    fleet_add(fleet, 0, 2);
    base_put(base_at(0), "keep", 2);
    fleet_new(fleet);
    fleet_handle(fleet, "keep", keep, NULL);
    fleet_handle(fleet, "gate", play, &at_gate);
    fleet_handle(fleet, "t", count_up, &tally);
    fleet_start(fleet);
    AWAIT(kept_count == 2);
    base_put(base_at(0), "gate", 2);
    gate_await(&gate, 2);
    base_put_stream(base_at(0), "gate", "one", 6);
    gate_await(&gate, 3);
    base_put(base_at(0), "t", 10);
    AWAIT(fleet_stats(fleet).waiting == 15);
}

TEST(a_store_that_leaves_with_work_in_flight_is_drained)
{
    struct fleet fleet;

    fill(&fleet);
    fleet_remove(&fleet, "s000");
    AWAIT(standing(&fleet, "s000").serving == PH_SERVING_DRAINING);
    /* What waits is given back at once, for others; what runs or is kept stays in hand. */
    AWAIT(ready(base_at(0)) == 10);
    AWAIT(standing(&fleet, "s000").in_flight == 5);
    REQ_INT("OBX-078", standing(&fleet, "s000").claimed, 20);
    base_put(base_at(0), "t", 3);
    base_put(base_at(1), "gate", 1); /* the other store waits for a thread, not for this one */
    gate_open(&gate);
    AWAIT(at_gate.calls == 4);
    AWAIT(standing(&fleet, "s000").in_flight == 2);
    CHECK_INT(standing(&fleet, "s000").serving, PH_SERVING_DRAINING);
    CHECK_INT(base_done(base_at(0)), 3);
    CHECK(!ph_work_cancelled(kept[0]) && !ph_work_cancelled(kept[1]));
    OK(ph_work_settle(kept[0], PH_VERDICT_DONE, &t_err));
    AWAIT(base_done(base_at(0)) == 4);
    CHECK(!is_gone(&fleet, "s000"));
    OK(ph_work_settle(kept[1], PH_VERDICT_FAIL, &t_err));
    AWAIT(is_gone(&fleet, "s000"));
    base_check(base_at(0));
    CHECK_INT(counted(&tally, NULL), 0);
    CHECK_INT(base_number(base_at(0), "SELECT count(*) FROM {t}outbox WHERE status_code = 3"), 1);
    CHECK_INT(base_open(base_at(0)), 18);
    CHECK_INT(base_number(base_at(0), "SELECT max(attempts) FROM {t}outbox WHERE status_code = 0"),
              0);
    fleet_end(&fleet);
}

TEST(a_stop_while_a_store_is_draining_settles_it_too)
{
    struct fleet fleet;

    fill(&fleet);
    fleet_remove(&fleet, "s000");
    AWAIT(standing(&fleet, "s000").serving == PH_SERVING_DRAINING);
    AWAIT(ready(base_at(0)) == 10);
    gate_open(&gate);
    OK(ph_dispatcher_stop(fleet.dispatcher, 100, &t_err));
    fleet_free(&fleet);
    CHECK_INT(base_done(base_at(0)), 3);
    base_check(base_at(0));
    for (int i = 0; i < 2; i++)
        OK(ph_work_settle(kept[i], PH_VERDICT_DONE, &t_err));
}

/* What comes back is not confused with what is still in hand. */
TEST(a_store_that_leaves_and_returns_with_work_in_flight)
{
    struct fleet fleet;

    fill(&fleet);
    fleet_remove(&fleet, "s000");
    AWAIT(standing(&fleet, "s000").serving == PH_SERVING_DRAINING);
    fleet_add(&fleet, 0, 1);
    AWAIT(strcmp(standings(&fleet), "s000:draining s000:served s001:served") == 0 ||
          strcmp(standings(&fleet), "s000:served s000:draining s001:served") == 0);
    gate_open(&gate);
    AWAIT(counted(&tally, "s000") == 10);
    for (int i = 0; i < 2; i++)
        OK(ph_work_settle(kept[i], PH_VERDICT_DONE, &t_err));
    AWAIT(base_open(base_at(0)) == 0);
    CHECK_INT(at_gate.calls, 8);
    AWAIT(strcmp(standings(&fleet), "s000:served s001:served") == 0);
    fleet_end(&fleet);
    CHECK_INT(base_done(base_at(0)), 20);
    base_check(base_at(0));
}

/* ---------------------------------------------------------------- quick changes */

static pthread_mutex_t hands = PTHREAD_MUTEX_INITIALIZER;
static ph_work_id in_hand[8];
static int twice;

/* Puts an id into the place of another: an empty one, to take it up. With the lock of the hands. */
static void swap(ph_work_id from, ph_work_id to)
{
    int at = 0;

    while (!same_id(in_hand[at].b, from.b))
        CHECK(++at < 8);
    in_hand[at] = to;
}

/* No message is in two hands at once. */
static ph_verdict count_alone(void *context, ph_work *work)
{
    ph_work_id id = ph_work_delivery(work)->work_id, none = { { 0 } };

    pthread_mutex_lock(&hands);
    for (int i = 0; i < 8; i++)
        twice += same_id(in_hand[i].b, id.b);
    swap(none, id);
    pthread_mutex_unlock(&hands);
    t_nap_ms(1);
    pthread_mutex_lock(&hands);
    swap(id, none);
    pthread_mutex_unlock(&hands);
    return count_up(context, work);
}

TEST(stores_that_leave_and_return_all_the_time_lose_nothing)
{
    int rounds = t_soak() ? 300 : 30;
    struct fleet fleet;

    fleet_init(&fleet, 3);
    fleet.opts.batch_size = 4;
    fleet_add(&fleet, 0, 4);
    fleet_run(&fleet, count_alone, &tally);
    for (int i = 0; i < rounds; i++) {
        int n = i % 4;

        base_put(base_at(n), "t", 3);
        fleet_remove(&fleet, base_at(n)->id);
        if (i % 3 == 0)
            AWAIT(is_gone(&fleet, base_at(n)->id));
        fleet_add(&fleet, n, 1);
        base_put(base_at((n + 2) % 4), "t", 2);
    }
    fleet_drain(&fleet);
    fleet_end(&fleet);
    for (int n = 0; n < 4; n++) {
        CHECK_INT(base_open(base_at(n)), 0);
        base_check(base_at(n));
    }
    CHECK_INT(counted(&tally, NULL), rounds * 5);
    CHECK_INT(twice, 0);
    CHECK(links_most() <= 3);
}

TEST(the_same_id_with_another_database)
{
    ph_database database;
    struct fleet fleet;
    ph_owner before;

    fleet_init(&fleet, 2);
    fleet_add(&fleet, 0, 1);
    base_put(base_at(0), "t", 2);
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    before = standing(&fleet, "s000").owner;
    fleet_remove(&fleet, "s000");
    database = base_database(base_at(1));
    database.id = "s000";
    OK(ph_set_add(fleet.set, &database, &t_err));
    base_put(base_at(1), "t", 5);
    AWAIT(counted(&tally, "s000") == 7);
    AWAIT(strcmp(standings(&fleet), "s000:served") == 0);
    CHECK(!same_id(standing(&fleet, "s000").owner.b, before.b));
    AWAIT(base_done(base_at(1)) == 5);
    base_check(base_at(0));
    fleet_end(&fleet);
    base_check(base_at(1));
}

/* Its handler hangs, was given up, and its store has gone and come back: the message waits. */
TEST(a_store_that_comes_back_does_not_disturb_a_handler_that_hangs)
{
    static struct gate hanging = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &hanging };
    ph_handler handler = PH_HANDLER_INIT;
    struct fleet fleet;

    handler.handle = play;
    handler.context = &part;
    handler.time_limit_ms = 100;
    fleet_init(&fleet, 2);
    fleet.opts.defer_ms = 1000;
    fleet_add(&fleet, 0, 1);
    base_put(base_at(0), "t", 1);
    fleet_new(&fleet);
    OK(ph_dispatcher_handle(fleet.dispatcher, &handler, &t_err));
    fleet_start(&fleet);
    gate_await(&hanging, 1);
    AWAIT(base_leases(base_at(0)) == 0); /* it was abandoned */
    fleet_remove(&fleet, "s000");
    AWAIT(!standing(&fleet, "s000").there);
    fleet_join(&fleet, base_at(0));
    AWAIT(standing(&fleet, "s000").claimed >= 2); /* and deferred */
    CHECK_INT(part.calls, 1);
    gate_open(&hanging);
    AWAIT(part.calls == 2 && base_done(base_at(0)) == 1);
    fleet_end(&fleet);
}

/* Any thread may change the set, and does. */
static void *come_and_go(void *context)
{
    struct fleet *fleet = context;
    static _Atomic int next = 4;
    int n = next++;
    ph_database database = base_database(base_named(n));
    ph_error err;

    for (int i = 0; i < (t_soak() ? 200 : 25); i++) {
        CHECK(ph_set_add(fleet->set, &database, &err) == 0);
        t_nap_ms((unsigned)(i % 7));
        CHECK(ph_set_remove(fleet->set, database.id, &err) == 0);
    }
    CHECK(ph_set_add(fleet->set, &database, &err) == 0);
    return NULL;
}

TEST(several_threads_change_the_set)
{
    pthread_t threads[4];
    struct fleet fleet;

    fleet_init(&fleet, 3);
    fleet_add(&fleet, 0, 4);
    for (int n = 0; n < 8; n++)
        base_put(base_at(n), "t", 20);
    fleet_run(&fleet, count_up, &tally);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, come_and_go, &fleet) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    fleet_drain(&fleet);
    CHECK_INT(counted(&tally, NULL), 160);
    CHECK(links_most() <= 3);
    fleet_end(&fleet);
    for (int n = 0; n < 8; n++)
        base_check(base_at(n));
}

/* ------------------------------------------------------------- nothing is left open */

/* Drops the database of a base, which works only if nobody is connected to it. */
static bool can_drop(struct base *base)
{
    struct t_conn *conn = t_connect();
    char sql[300], name[100];
    bool ok;

    snprintf(name, sizeof(name), "%s", strstr(base->url, ":///") + 4);
    *strchr(name, '?') = '\0';
    snprintf(sql, sizeof(sql), "DROP DATABASE %s", name);
    ok = t_try_sql(conn, sql);
    t_disconnect(conn);
    return ok;
}

/* A thread has a connection there for its transactions, and is now busy with another store. */
TEST(a_database_that_has_left_can_be_dropped)
{
    struct fleet fleet;

    fleet_init(&fleet, 4);
    fleet.opts.threads = 1;
    if (t_is_pg())
        base_on(0, t_fresh_database());
    fleet_add(&fleet, 0, 2);
    base_put(base_at(0), "t", 3);
    fleet_new(&fleet);
    fleet_handle(&fleet, "gate", play, &at_gate);
    fleet_handle_in_tx(&fleet, "t", count_up, &tally);
    fleet_start(&fleet);
    AWAIT(counted(&tally, NULL) == 3);
    base_put(base_at(1), "gate", 1);
    gate_await(&gate, 1);
    fleet_remove(&fleet, "s000");
    AWAIT(is_gone(&fleet, "s000"));
    base_leave(base_at(0));
    if (t_is_pg())
        AWAIT(can_drop(base_named(0)));
    else
        AWAIT(links_now() <= 1);
    gate_open(&gate);
    fleet_end(&fleet);
}
