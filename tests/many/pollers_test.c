/* pollers_test.c - the threads that talk to the stores: none runs in circles, none sleeps while there is
 * something to do, and what hangs holds up nothing but itself. */
#include "fleet.h"

#include <poll.h>
#include <time.h>

static struct tally tally = TALLY_INIT;
static struct gate handler_gate = GATE_INIT;
static struct part at_gate = { .verdict = PH_VERDICT_DONE, .gate = &handler_gate };

/* There is nothing to wait for: it must go on not to happen. */
static void let_pass(int ms)
{
    (void)poll(NULL, 0, ms);
}

/* Waits for what a mistake only delays: by a minute. */
#define SOON(cond)                                                                                 \
    for (double soon_end = t_now_s() + 30; !(cond); nap())                                         \
    t_check(__FILE__, __LINE__, NULL, "soon: " #cond, t_now_s() < soon_end)

/* Nothing happens but for doorbells, and in a minute. */
static void init_patient(struct fleet *fleet, int connections)
{
    fleet_init(fleet, connections);
    fleet->opts.lease_s = 3600;
    fleet->opts.poll_ms = 1000000;
    fleet->opts.stale_threshold_s = 36000;
    fleet->opts.retention_ms = -1;
}

/* -------------------------------------------------------------------- running in circles */

static double cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A twentieth is many times what it takes; in circles it would be all that there is. */
static void check_rests(int ms)
{
    double before = cpu_s(), used;

    let_pass(ms);
    used = cpu_s() - before;
    if (used * 20 > ms / 1e3)
        printf("%.2f s of the processor in %d ms\n", used, ms);
    CHECK(used * 20 <= ms / 1e3);
}

static void leave_with_chores(bool schedule, int retention_ms)
{
    struct fleet fleet;

    fleet_init(&fleet, 3);
    fleet.opts.poll_ms = 300;
    fleet.opts.schedule = schedule;
    fleet.opts.retention_ms = retention_ms;
    fleet_add(&fleet, 0, 2);
    base_put(base_at(0), "t", 1);
    fleet_run(&fleet, play, &at_gate);
    gate_await(&handler_gate, 1);
    fleet_remove(&fleet, "s000");
    AWAIT(standing(&fleet, "s000").serving == PH_SERVING_DRAINING);
    let_pass(700); /* by then something would be due there */
    check_rests(1000);
    CHECK_INT(standing(&fleet, "s000").in_flight, 1);
    gate_open(&handler_gate);
    AWAIT(!standing(&fleet, "s000").there);
    fleet_end(&fleet);
    base_check(base_at(0));
}

TEST(a_store_that_leaves_with_work_in_flight_and_retention_due_keeps_nobody_busy)
{
    leave_with_chores(false, 300);
}

TEST(a_store_that_leaves_with_work_in_flight_and_jobs_due_keeps_nobody_busy)
{
    leave_with_chores(true, -1);
}

/* ------------------------------------------------------------------------ no room for claims */

static void start_scarce(struct fleet *fleet, int timeout_ms, ph_handler_fn function, void *context)
{
    fleet_init(fleet, 4);
    fleet->stores.timeout_ms = timeout_ms;
    fleet->opts.threads = 1;
    fleet->opts.prefetch = -1;
    fleet->opts.retention_ms = -1;
    fleet_add(fleet, 0, 2);
    fleet_run(fleet, function, context);
    AWAIT(standing(fleet, "s000").exchanges > 0 && standing(fleet, "s001").exchanges > 0);
    base_lock(base_at(0));
    AWAIT(standing(fleet, "s000").serving == PH_SERVING_TRYING);
}

/* The only thread has something to do, so nothing is claimed from anywhere. */
TEST(a_store_comes_back_after_an_outage_while_there_is_no_room)
{
    struct fleet fleet;

    if (!t_is_pg())
        t_not_here("a store that has nothing is not held up by a lock");
    start_scarce(&fleet, 300, play, &at_gate);
    fleet_put(&fleet, 1, "t", 1);
    gate_await(&handler_gate, 1);
    let_pass(700); /* a claim that began before has ended */
    base_unlock(base_at(0));
    SOON(standing(&fleet, "s000").serving == PH_SERVING_SERVED);
    CHECK_INT(standing(&fleet, "s001").in_flight, 1);
    check_rests(500);
    gate_open(&handler_gate);
    fleet_end(&fleet);
}

/* The connection of the dispatcher that waits for the lock; 0: none. */
static long long waiting_connection(struct base *base)
{
    return base_number(base, "SELECT coalesce(max(pid), 0) FROM pg_locks WHERE NOT granted AND "
                             "relation IN ('{t}lease'::regclass, '{t}pending'::regclass)");
}

/* Is a message of the healthy one handled while a single claim of the locked one lasts? */
static bool is_handled_meanwhile(struct fleet *fleet)
{
    int before = counted(&tally, "s001");
    long long pid;

    AWAIT((pid = waiting_connection(base_at(0))) != 0);
    fleet_put(fleet, 1, "t", 1);
    AWAIT(counted(&tally, "s001") == before + 1);
    return waiting_connection(base_at(0)) == pid;
}

TEST(a_locked_store_does_not_take_the_room_of_the_others)
{
    double end = t_now_s() + 30;
    struct fleet fleet;

    if (!t_is_pg())
        t_not_here("who waits for a lock cannot be seen");
    start_scarce(&fleet, 1000, count_up, &tally);
    while (!is_handled_meanwhile(&fleet))
        CHECK(t_now_s() < end);
    base_unlock(base_at(0));
    fleet_end(&fleet);
}

/* ---------------------------------------------------------------------------------- slow */

/* Every commit takes more than half a second, everywhere: that is no reason to wait for each other. */
TEST(stores_that_are_all_slow_are_served_at_the_same_time)
{
    enum { STORES = 6 };
    struct fleet fleet;
    int before;

    fleet_init(&fleet, STORES);
    fleet.opts.batch_size = 1;
    fleet.opts.prefetch = STORES;
    for (int n = 0; n < STORES; n++)
        (void)base_lite(n);
    fleet_add(&fleet, 0, STORES);
    for (int n = 0; n < STORES; n++)
        base_put(base_at(n), "t", 100);
    disk_takes_ms = 600;
    fleet_run(&fleet, count_up, &tally);
    AWAIT(counted(&tally, NULL) >= 3 * STORES); /* by now it is known of each */
    before = counted(&tally, NULL);
    let_pass(6000);
    printf("%d messages in 6 s\n", counted(&tally, NULL) - before);
    CHECK(counted(&tally, NULL) - before > 2 * 10); /* one after the other it is 10 at most */
    disk_takes_ms = 0;
    fleet_end(&fleet);
}

/* ------------------------------------------------------------------------- always at work */

/* The first has messages for as long as we look, and handlers are quicker than the disk: so nobody
 * ever rests. */
TEST(a_doorbell_is_heard_though_the_pollers_are_always_at_work)
{
    struct fleet fleet;
    int messages = 400 * 25;

    init_patient(&fleet, 1);
    fleet.stores.log_level = PH_LOG_WARN;
    fleet.opts.batch_size = 25;
    fleet.opts.prefetch = 1000;
    for (int n = 0; n < 2; n++)
        (void)base_lite(n);
    fleet_add(&fleet, 0, 2);
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    disk_takes_ms = 5;
    base_put(base_at(0), "t", messages);
    AWAIT(counted(&tally, "s000") >= 1000);
    base_put(base_at(1), "t", 1);
    AWAIT(counted(&tally, "s001") == 1);
    CHECK(counted(&tally, "s000") < messages);
    disk_takes_ms = 0;
    fleet_end(&fleet);
}

/* ------------------------------------------------------------------------------ the callback */

/* When it is held up, it chooses the second one after it was let go; otherwise the first that is
 * ready. */
static struct {
    struct gate gate;
    _Atomic bool held;
    _Atomic int asked;
} caller = { .gate = GATE_INIT };

static int first_ready(void *context, const ph_candidate *stores, size_t count, size_t last)
{
    (void)context;
    (void)last;
    if (caller.held && count > 1 && stores[1].ready) {
        gate_pass(&caller.gate);
        caller.held = false;
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        if (stores[i].ready)
            return (int)i;
    }
    return -1;
}

/* There is one connection, which the first has when a message comes for it and the second needs it. */
TEST(a_doorbell_that_rings_while_the_connection_is_given_up_is_heard)
{
    struct fleet fleet;
    int want = 0;

    if (!t_is_pg())
        t_not_here("the doorbell does not need the connection");
    init_patient(&fleet, 1);
    fleet.opts.select = first_ready;
    fleet_add(&fleet, 0, 2);
    fleet_run(&fleet, count_up, &tally);
    AWAIT(standing(&fleet, "s000").exchanges > 0 && standing(&fleet, "s001").exchanges > 0);
    do { /* until the second was not looked at meanwhile, which takes the connection away */
        fleet_put(&fleet, 0, "t", 1);
        want++;
        AWAIT(counted(&tally, "s000") == want && base_done(base_at(0)) == want);
        let_pass(1600); /* it looks again, ever more rarely */
    } while (!standing(&fleet, "s000").connected);
    caller.held = true;
    OK(ph_dispatcher_wake(fleet.dispatcher, "s001", &t_err));
    gate_await(&caller.gate, 1);
    base_put(base_at(0), "t", 1);
    let_pass(300); /* its notification is on its way */
    gate_open(&caller.gate);
    SOON(counted(&tally, "s000") == want + 1);
    fleet_end(&fleet);
}

TEST(while_the_callback_hangs_results_are_settled)
{
    struct fleet fleet;

    fleet_init(&fleet, 4);
    fleet.opts.select = first_ready;
    fleet_add(&fleet, 0, 2);
    base_put(base_at(0), "t", 1);
    fleet_run(&fleet, play, &at_gate);
    gate_await(&handler_gate, 1);
    caller.held = true;
    gate_await(&caller.gate, 1);
    gate_open(&handler_gate);
    SOON(base_done(base_at(0)) == 1);
    check_rests(500);
    CHECK(caller.held);
    gate_open(&caller.gate);
    fleet_end(&fleet);
}

static int none_ever(void *context, const ph_candidate *stores, size_t count, size_t last)
{
    (void)context;
    (void)stores;
    (void)count;
    (void)last;
    gate_pass(&caller.gate);
    caller.asked++;
    return -1;
}

TEST(minus_one_is_none_also_if_a_store_is_added_meanwhile)
{
    struct fleet fleet;

    fleet_init(&fleet, 4);
    fleet.opts.select = none_ever;
    base_put(base_at(0), "t", 1);
    base_put(base_at(1), "t", 3);
    fleet_add(&fleet, 0, 1);
    fleet_run(&fleet, count_up, &tally);
    gate_await(&caller.gate, 1);
    fleet_add(&fleet, 1, 1);
    AWAIT(standing(&fleet, "s001").serving == PH_SERVING_SERVED);
    gate_open(&caller.gate);
    AWAIT(caller.asked > 4);
    CHECK_INT(fleet_stats(&fleet).claimed, 0);
    CHECK_INT(counted(&tally, NULL), 0);
    fleet_end(&fleet);
}

/* By what has come, not by how often it answered: somebody may have begun to talk to the store it
 * chose, and then it is asked again. */
static int first_until_claimed(void *context, const ph_candidate *stores, size_t count, size_t last)
{
    (void)context;
    (void)last;
    let_pass(50); /* others go to it meanwhile */
    return count > 1 && stores[0].ready && stores[0].last_claimed < 1 ? 0 : -1;
}

TEST(a_store_that_is_ready_and_not_chosen_is_settled_all_the_same)
{
    struct fleet fleet;

    init_patient(&fleet, 4);
    fleet.opts.batch_size = 1;
    fleet.opts.select = first_until_claimed;
    fleet_add(&fleet, 0, 2);
    base_put(base_at(0), "t", 5);
    fleet_run(&fleet, count_up, &tally);
    AWAIT(counted(&tally, "s000") == 1);
    SOON(base_done(base_at(0)) == 1);
    CHECK_INT(counted(&tally, NULL), 1);
    fleet_end(&fleet);
}

/* ------------------------------------------------------------------------------- the sources */

static _Atomic int second_asked;

static int hang_at_gate(void *context, ph_found *found, ph_error *reterr)
{
    (void)found;
    (void)reterr;
    watch_thread();
    gate_pass(context);
    return 0;
}

static int count_asked(void *context, ph_found *found, ph_error *reterr)
{
    (void)context;
    (void)found;
    (void)reterr;
    second_asked++;
    return 0;
}

TEST(no_source_is_asked_after_the_set_is_gone)
{
    static struct gate gate = GATE_INIT;
    struct fleet fleet;

    fleet_init(&fleet, 3);
    fleet.set_opts.refresh_ms = 1000000;
    fleet_add(&fleet, 0, 1);
    OK(ph_set_add_discovery(fleet.set, hang_at_gate, &gate, &t_err));
    OK(ph_set_add_discovery(fleet.set, count_asked, NULL, &t_err));
    fleet_run(&fleet, count_up, &tally);
    gate_await(&gate, 1);
    CHECK_INT(ph_dispatcher_stop(fleet.dispatcher, 0, &t_err), PH_ETIMEOUT);
    fleet_free(&fleet);
    gate_open(&gate);
    AWAIT(ended_threads() == 1);
    CHECK_INT(second_asked, 0);
}

/* ------------------------------------------------------------------------------- the budget */

static void handle_briefly(struct fleet *fleet)
{
    ph_handler handler = PH_HANDLER_INIT;

    handler.handle = play;
    handler.context = &at_gate;
    handler.in_transaction = true;
    handler.time_limit_ms = 100;
    OK(ph_dispatcher_handle(fleet->dispatcher, &handler, &t_err));
}

/* Each thread has a connection. Threads that hang are replaced, and keep theirs. */
TEST(handlers_that_hang_keep_to_the_budget)
{
    struct fleet fleet;

    fleet_init(&fleet, 5);
    fleet.opts.threads = 3;
    fleet_add(&fleet, 0, 6);
    for (int n = 0; n < 6; n++)
        base_put(base_at(n), "t", 2);
    fleet_new(&fleet);
    handle_briefly(&fleet);
    fleet_start(&fleet);
    gate_await(&handler_gate, 2);
    AWAIT(links_most() > 5 || said(NULL, 0, NULL, "no transaction for the handler") > 0);
    let_pass(500);
    CHECK(links_most() <= 5);
    gate_open(&handler_gate);
    fleet_end(&fleet);
}

/* ---------------------------------------------------------------------------------- the end */

TEST(a_dispatcher_that_only_schedules_is_drained_at_once)
{
    struct fleet fleet;

    fleet_init(&fleet, 3);
    fleet.opts.schedule = true;
    fleet_add(&fleet, 0, 2);
    fleet_new(&fleet);
    fleet_start(&fleet);
    fleet_drain(&fleet);
    fleet_end(&fleet);
}
