/* drain_test.c - waiting until all is done in every store, and limits that hold for all together. */
#include "fleet.h"

#include <stdlib.h>

static struct tally tally = TALLY_INIT;

/* --------------------------------------------------------------------------- chains */

#define HOPS 17

/* A store for each database, for handlers; one at a time. */
static pthread_mutex_t stores_lock = PTHREAD_MUTEX_INITIALIZER;
static ph_store *stores[5];
static _Atomic int hops;

static void open_stores(void)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    links_uncounted = true;
    for (int n = 0; n < 5; n++) {
        opts.schema = base_at(n)->is_pg ? base_at(n)->schema : NULL;
        OK(t_try_open(base_at(n)->url, &opts, &stores[n]));
    }
    links_uncounted = false;
}

/* Each message brings forth another, in another store, until there were enough of them. */
static ph_verdict hop(void *context, ph_work *work)
{
    int at = atoi(ph_work_store_id(work) + 1), number = ++hops;
    ph_message next = a_message("t", "x");
    ph_error err;

    (void)context;
    if (number % HOPS == 0)
        return PH_VERDICT_DONE;
    pthread_mutex_lock(&stores_lock);
    CHECK(ph_enqueue(stores[(at + 2) % 5], PH_OWN_TX, &next, 0, NULL, &err) == 0);
    pthread_mutex_unlock(&stores_lock);
    return PH_VERDICT_DONE;
}

static void run_chains(int connections, ph_selection selection)
{
    int rounds = UNDER_TSAN ? 1 : t_soak() ? 4 : 2;
    struct fleet fleet;

    fleet_init(&fleet, connections);
    fleet.opts.selection = selection;
    fleet.opts.doorbell = PH_DOORBELL_OFF; /* nobody but the one who drains looks again soon */
    fleet.opts.lease_s = 3600;
    fleet.opts.poll_ms = 1000000;
    fleet_add(&fleet, 0, 5);
    open_stores();
    fleet_run(&fleet, hop, NULL);
    for (int round = 1; round <= rounds; round++) {
        base_put(base_at(round), "t", 1);
        fleet_drain(&fleet);
        CHECK_INT(hops, HOPS * round);
        for (int n = 0; n < 5; n++) {
            CHECK_INT(base_open(base_at(n)), 0);
            CHECK_INT(standing(&fleet, base_at(n)->id).in_flight, 0);
        }
    }
    fleet_end(&fleet);
}

TEST(a_chain_through_several_stores_is_drained_to_its_end)
{
    run_chains(3, PH_SELECT_ROUND_ROBIN);
}

TEST(a_chain_is_drained_with_one_connection)
{
    run_chains(1, PH_SELECT_ROUND_ROBIN);
}

TEST(a_chain_is_drained_by_drain_first)
{
    run_chains(2, PH_SELECT_DRAIN_FIRST);
}

/* ------------------------------------------------------------------------- what counts */

struct waiter {
    struct fleet *fleet;
    _Atomic int result;
};

static void *drain(void *context)
{
    struct waiter *waiter = context;
    ph_error err;

    waiter->result = ph_dispatcher_drain(waiter->fleet->dispatcher, AWAIT_LIMIT_S * 1000, &err);
    return NULL;
}

static struct gate gate = GATE_INIT;

static int name_two(void *context, ph_found *found, ph_error *reterr)
{
    (void)context;
    gate_pass(&gate);
    for (int n = 0; n < 2; n++) {
        ph_database database = base_database(base_named(n));

        CHECK(ph_found_add(found, &database, reterr) == 0);
    }
    return 0;
}

/* What the sources will name belongs to it. */
TEST(a_drain_waits_for_the_first_answer_of_the_sources)
{
    struct waiter waiter = { .result = 1 };
    struct fleet fleet;
    pthread_t thread;

    fleet_init(&fleet, 2);
    fleet.set_opts.refresh_ms = 0;
    fleet_set(&fleet);
    OK(ph_set_add_discovery(fleet.set, name_two, NULL, &t_err));
    for (int n = 0; n < 2; n++)
        base_put(base_at(n), "t", 5);
    fleet_run(&fleet, count_up, &tally);
    waiter.fleet = &fleet;
    CHECK(pthread_create(&thread, NULL, drain, &waiter) == 0);
    gate_await(&gate, 1);
    for (int i = 0; i < 50; i++)
        nap();
    CHECK_INT(waiter.result, 1);
    gate_open(&gate);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_INT(waiter.result, 0);
    CHECK_INT(counted(&tally, NULL), 10);
    fleet_end(&fleet);
}

/* Of one that is locked it cannot be said that nothing is due. */
TEST(a_drain_waits_for_a_store_that_cannot_be_used)
{
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct fleet fleet;
    int r;

    fleet_init(&fleet, 2);
    fleet.stores.timeout_ms = 1000;
    fleet_add(&fleet, 0, 3);
    base_put(base_at(1), "t", 1);
    fleet_run(&fleet, play, &part);
    gate_await(&gate, 1);
    base_lock(base_at(1));
    gate_open(&gate);
    AWAIT(standing(&fleet, "s001").error != 0);
    r = ph_dispatcher_drain(fleet.dispatcher, 300, &t_err);
    CHECK(r == PH_EBUSY || r == PH_ETIMEOUT);
    CHECK_INT(r, standing(&fleet, "s001").error);
    base_unlock(base_at(1));
    fleet_drain(&fleet);
    CHECK_INT(base_done(base_at(1)), 1);
    fleet_end(&fleet);
}

/* ----------------------------------------------------------------------------- limits */

TEST(the_limit_of_messages_counts_all_stores_together)
{
    struct fleet fleet;
    int open = 0;

    fleet_init(&fleet, 4);
    fleet.opts.message_limit = 17;
    fleet.opts.batch_size = 3;
    fleet_add(&fleet, 0, 4);
    for (int n = 0; n < 4; n++)
        base_put(base_at(n), "t", 10);
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    CHECK_INT(counted(&tally, NULL), 17);
    CHECK_INT(fleet_stats(&fleet).claimed, 17);
    fleet_end(&fleet);
    for (int n = 0; n < 4; n++)
        open += (int)base_open(base_at(n));
    CHECK_INT(open, 23);
}

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static ph_work *kept[40];
static int kept_count;

static ph_verdict keep(void *context, ph_work *work)
{
    (void)context;
    pthread_mutex_lock(&kept_lock);
    kept[kept_count++] = work;
    pthread_mutex_unlock(&kept_lock);
    return PH_VERDICT_KEEP;
}

static int keeping(void)
{
    int count;

    pthread_mutex_lock(&kept_lock);
    count = kept_count;
    pthread_mutex_unlock(&kept_lock);
    return count;
}

TEST(no_more_are_in_flight_than_allowed_in_all_stores_together)
{
    struct fleet fleet;
    int settled = 0;

    fleet_init(&fleet, 4);
    fleet.opts.in_flight_max = 7;
    fleet.opts.batch_size = 3;
    fleet_add(&fleet, 0, 4);
    for (int n = 0; n < 4; n++)
        base_put(base_at(n), "t", 10);
    fleet_run(&fleet, keep, NULL);
    while (settled < 40) {
        int in_flight = 0, want = settled + 7 < 40 ? settled + 7 : 40;

        AWAIT(keeping() == want);
        for (int n = 0; n < 4; n++)
            in_flight += standing(&fleet, base_at(n)->id).in_flight;
        CHECK(in_flight <= 7);
        CHECK(fleet_stats(&fleet).kept <= 7);
        for (; settled < want; settled++)
            OK(ph_work_settle(kept[settled], PH_VERDICT_DONE, &t_err));
    }
    fleet_drain(&fleet);
    fleet_end(&fleet);
    for (int n = 0; n < 4; n++)
        base_check(base_at(n));
}

/* ----------------------------------------------------------------------------- timers */

static void put_timer(struct base *base, int in_ms)
{
    ph_timer timer = PH_TIMER_INIT;

    timer.topic = "later";
    timer.payload = "x";
    timer.due_at = t_clock(base->side) + in_ms * INT64_C(1000);
    OK(ph_timer_schedule(base->side, PH_OWN_TX, &timer, 0, NULL, &t_err));
}

static void put_job(struct base *base)
{
    ph_job job = PH_JOB_INIT;

    job.name = "tick";
    job.topic = "tick";
    job.cron = "* * * * * *";
    OK(ph_job_set(base->side, PH_OWN_TX, &job, 0, NULL, &t_err));
}

TEST(timers_and_jobs_become_messages_in_their_own_store)
{
    static struct tally later = TALLY_INIT, ticks = TALLY_INIT;
    struct fleet fleet;

    fleet_init(&fleet, t_is_pg() ? 4 : 2);
    fleet.opts.schedule = true;
    fleet_add(&fleet, 0, 4);
    for (int n = 0; n < 3; n++) {
        put_timer(base_at(n), 1);
        put_timer(base_at(n), 200 * n);
    }
    put_job(base_at(1));
    put_job(base_at(3));
    fleet_new(&fleet);
    fleet_handle(&fleet, "later", count_up, &later);
    fleet_handle(&fleet, "tick", count_up, &ticks);
    fleet_start(&fleet);
    for (int n = 0; n < 3; n++)
        AWAIT(counted(&later, base_at(n)->id) == 2);
    AWAIT(counted(&ticks, "s001") >= 2 && counted(&ticks, "s003") >= 2);
    CHECK_INT(counted(&ticks, NULL), counted(&ticks, "s001") + counted(&ticks, "s003"));
    CHECK_INT(counted(&later, NULL), 6);
    for (int i = 0; i < 3; i++) { /* one that comes while all is quiet */
        put_timer(base_at(2), 30);
        AWAIT(counted(&later, "s002") == 3 + i);
    }
    fleet_end(&fleet);
}

/* A scheduler for several stores with one connection, and nothing else that makes it look. */
static void init_cold_schedule(struct fleet *fleet, int poll_ms)
{
    fleet_init(fleet, 1);
    fleet->opts.schedule = true;
    fleet->opts.lease_s = 3600;
    fleet->opts.stale_threshold_s = 36000;
    fleet->opts.poll_ms = poll_ms;
    fleet->opts.retention_ms = -1;
}

/* Without a connection they are looked at once a minute, but it is known when something is planned. */
TEST(timers_of_cold_stores_are_in_time)
{
    static struct tally later = TALLY_INIT;
    struct fleet fleet;
    double began;

    init_cold_schedule(&fleet, 1000000);
    fleet_add(&fleet, 0, 3);
    for (int n = 0; n < 3; n++)
        put_timer(base_at(n), 3000);
    fleet_new(&fleet);
    fleet_handle(&fleet, "later", count_up, &later);
    fleet_start(&fleet);
    began = t_now_s();
    for (int n = 0; n < 3; n++)
        AWAIT(counted(&later, base_at(n)->id) == 1);
    CHECK(t_now_s() - began < AWAIT_LIMIT_S / 2);
    fleet_end(&fleet);
}

/* The doorbell rings when the log is written; the timer can be seen when that is on the disk. Somebody who
 * came in between found nothing, and then another store has taken the connection. */
TEST(a_timer_whose_commit_takes_its_time_is_in_time)
{
    static struct tally later = TALLY_INIT;
    struct fleet fleet;
    double began;

    init_cold_schedule(&fleet, 3000);
    for (int n = 0; n < 2; n++)
        (void)base_lite(n);
    fleet_add(&fleet, 0, 2);
    fleet_run(&fleet, count_up, &later);
    fleet_drain(&fleet);
    began = t_now_s();
    sync_takes_ms = 300;
    put_timer(base_at(0), 30);
    sync_takes_ms = 0;
    base_put(base_at(1), "t", 1);
    AWAIT(counted(&later, "s001") == 1);
    AWAIT(counted(&later, "s000") == 1);
    CHECK(t_now_s() - began < AWAIT_LIMIT_S / 2);
    fleet_end(&fleet);
}

/* Its calls are quick, but to plan takes longer than a call may at first. */
TEST(a_scheduler_that_needs_longer_gets_longer)
{
    static struct tally later = TALLY_INIT;
    struct fleet fleet;

    if (!t_is_pg())
        t_not_here("nothing can be put in the way of an insert");
    fleet_init(&fleet, 2);
    fleet.opts.schedule = true;
    fleet_add(&fleet, 0, 1);
    for (int i = 0; i < 30; i++)
        put_timer(base_at(0), 1);
    base_sql(base_at(0), "CREATE FUNCTION {t}tarry() RETURNS trigger LANGUAGE plpgsql AS "
                         "$$BEGIN PERFORM pg_sleep(0.1); RETURN new; END$$;"
                         "CREATE TRIGGER tarry BEFORE INSERT ON {t}message FOR EACH ROW "
                         "EXECUTE FUNCTION {t}tarry()");
    fleet_new(&fleet);
    fleet_handle(&fleet, "later", count_up, &later);
    fleet_start(&fleet);
    AWAIT(counted(&later, "s000") == 30);
    fleet_end(&fleet);
}

TEST(a_dispatcher_without_handlers_only_schedules)
{
    struct fleet fleet;

    fleet_init(&fleet, t_is_pg() ? 3 : 1);
    fleet.opts.schedule = true;
    fleet_add(&fleet, 0, 3);
    base_put(base_at(0), "t", 2);
    fleet_new(&fleet);
    fleet_start(&fleet);
    for (int n = 0; n < 3; n++)
        put_timer(base_at(n), 1);
    for (int n = 0; n < 3; n++)
        AWAIT(base_number(base_at(n), "SELECT count(*) FROM {t}outbox WHERE topic = 'later'") == 1);
    CHECK_INT(base_open(base_at(0)), 3);
    CHECK_INT(fleet_stats(&fleet).claimed, 0);
    fleet_end(&fleet);
}
