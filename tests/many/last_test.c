/* last_test.c - last attempts in a set, where other stores want the same handler threads: none is claimed
 * before a thread is kept for it, and none waits for the backlog of another store. */
#include "fleet.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The store with a backlog, and the one whose messages have one attempt. */
#define DEEP 0
#define ONCE 1

static void put_once(int count)
{
    ph_message m = a_message("t", "x");
    char payload[12];

    m.max_attempts = 1;
    for (int i = 0; i < count; i++) {
        snprintf(payload, sizeof(payload), "%d", i);
        m.payload = payload;
        put(base_at(ONCE)->side, &m);
    }
}

static void two_stores(struct fleet *fleet, int threads)
{
    fleet_init(fleet, 4);
    fleet_add(fleet, 0, 2);
    fleet->opts.threads = threads;
    fleet->opts.batch_size = 50;
    fleet->opts.prefetch = 100;
}

static void look_on(double seconds)
{
    for (double end = t_now_s() + seconds; t_now_s() < end;)
        nap();
}

/* Its claim begins while the thread is free, and ends when another store's work has it. */
TEST(a_last_attempt_is_not_claimed_for_a_thread_that_another_store_may_take)
{
    struct gate gate = GATE_INIT;
    struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    ph_message m = a_message("t", "x");
    struct fleet fleet;

    two_stores(&fleet, 1);
    fleet_run(&fleet, play, &part);
    AWAIT(standing(&fleet, "s000").exchanges > 1 && standing(&fleet, "s001").exchanges > 1);
    m.max_attempts = 1;
    m.due_at = ((int64_t)time(NULL) + 1) * 1000000;
    put(base_at(ONCE)->side, &m);
    base_lock(base_at(ONCE));
    look_on(1.3); /* it is due: who comes to claim it waits for the lock */
    fleet_put(&fleet, DEEP, "t", 1);
    gate_await(&gate, 1);
    base_unlock(base_at(ONCE));
    for (double end = t_now_s() + 0.5; t_now_s() < end; nap())
        CHECK_INT(base_leases(base_at(ONCE)), 0);
    gate_open(&gate);
    AWAIT(part.calls == 2);
    fleet_end(&fleet);
    bases_leave();
}

/* The thread that becomes free is kept for it, although another store's work waits in memory. */
TEST(a_thread_is_kept_for_a_last_attempt_while_it_is_claimed)
{
    struct gate gate = GATE_INIT;
    struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct fleet fleet;
    int64_t before;

    two_stores(&fleet, 1);
    fleet_run(&fleet, play, &part);
    AWAIT(standing(&fleet, "s000").exchanges > 1 && standing(&fleet, "s001").exchanges > 1);
    fleet_put(&fleet, DEEP, "t", 1);
    gate_await(&gate, 1);
    before = standing(&fleet, "s001").exchanges;
    put_once(1);
    OK(ph_dispatcher_wake(fleet.dispatcher, "s001", &t_err));
    AWAIT(standing(&fleet, "s001").exchanges > before);
    look_on(0.2); /* it knows by now that a last attempt stands first */
    fleet_put(&fleet, DEEP, "t", 1);
    AWAIT(base_leases(base_at(DEEP)) == 2);
    base_lock(base_at(ONCE));
    gate_open(&gate);
    look_on(0.1);
    CHECK_INT(part.calls, 1);
    base_unlock(base_at(ONCE));
    AWAIT(part.calls == 3);
    CHECK_STR(calls_said(), "s000 s001 s000 ");
    fleet_end(&fleet);
    bases_leave();
}

/* ------------------------------------------------------------------- starvation */

#define BACKLOG 3000
#define FEW 20

static struct tally tally = TALLY_INIT;
static _Atomic int
    deep_before_last; /* how many of the backlog were done before the last of the few */

static ph_verdict take_a_moment(void *context, ph_work *work)
{
    (void)count_up(context, work);
    if (counted(context, "s001") == FEW && deep_before_last < 0)
        deep_before_last = counted(context, "s000");
    usleep(300);
    return PH_VERDICT_DONE;
}

static void no_starvation(int threads)
{
    struct fleet fleet;

    deep_before_last = -1;
    two_stores(&fleet, threads);
    base_put(base_at(DEEP), "t", BACKLOG);
    put_once(FEW);
    fleet_run(&fleet, take_a_moment, &tally);
    fleet_drain(&fleet);
    CHECK_INT(counted(&tally, "s000"), BACKLOG);
    CHECK_INT(counted(&tally, "s001"), FEW);
    CHECK(deep_before_last < BACKLOG / 2);
    fleet_end(&fleet);
    bases_leave();
}

TEST(last_attempts_do_not_wait_for_the_backlog_of_another_store)
{
    no_starvation(1);
}

TEST(nor_with_several_threads)
{
    no_starvation(2);
}

/* A callback need not choose the store for which a thread is kept: then that one is not kept for long. */
static int choose_the_deep_one(void *context, const ph_candidate *stores, size_t count, size_t last)
{
    (void)context;
    (void)last;
    if (count > ONCE && stores[ONCE].ready && stores[ONCE].last_claimed < 0)
        return ONCE; /* once, so that it has shown what it has */
    if (count > DEEP && stores[DEEP].ready)
        return DEEP;
    return counted(&tally, "s000") < BACKLOG ? -1 : ONCE;
}

TEST(a_thread_is_not_kept_for_a_store_that_nobody_chooses)
{
    double began = t_now_s();
    struct fleet fleet;

    deep_before_last = -1;
    two_stores(&fleet, 1);
    fleet.opts.select = choose_the_deep_one;
    base_put(base_at(DEEP), "t", BACKLOG);
    put_once(FEW);
    fleet_run(&fleet, take_a_moment, &tally);
    AWAIT(counted(&tally, "s001") == FEW);
    CHECK_INT(deep_before_last, BACKLOG);
    CHECK(t_now_s() - began < AWAIT_LIMIT_S / 2);
    fleet_end(&fleet);
    bases_leave();
}

/* ----------------------------------------------------------------------- deaths */

#define MESSAGES 40
#define DIES_AFTER 12 /* handlers; then as soon as all threads are in one */

static _Atomic int *seen; /* of each message with one attempt; shared by the processes */
static int thread_count;

static ph_verdict see_and_die(void *context, ph_work *work)
{
    _Atomic int *started = context;
    int number;

    if (strcmp(ph_work_store_id(work), "s001") == 0)
        seen[atoi(ph_work_delivery(work)->payload)]++;
    number = ++*started;
    if (number <= DIES_AFTER)
        return PH_VERDICT_DONE;
    if (number == DIES_AFTER + thread_count) {
        look_on(0.05); /* claims under way come to their end */
        kill(getpid(), SIGKILL);
    }
    look_on(2); /* for the others, unless there are not so many left */
    return PH_VERDICT_DONE;
}

/* Works until it dies, or until there is nothing left. */
static void live(void)
{
    _Atomic int started = 0;
    struct fleet fleet;

    two_stores(&fleet, thread_count);
    fleet_run(&fleet, see_and_die, &started);
    fleet_drain(&fleet);
    fleet_end(&fleet);
}

static bool live_and_die(void)
{
    int status = 0;
    pid_t pid;

    bases_leave(); /* connections do not survive a fork */
    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        live();
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

/* A lease of the dead ends now. */
static void reap_now(int n)
{
    t_clock_advance(base_at(n)->side, 31 * T_SECOND);
    reap(base_at(n)->side);
}

static void each_is_seen(int threads)
{
    int deaths = 0, buried;

    if (UNDER_TSAN)
        t_not_here("processes that are killed have no time to report a race");
    thread_count = threads;
    seen = mmap(NULL, MESSAGES * sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    CHECK(seen != MAP_FAILED);
    t_clock_set(base_at(DEEP)->side, T_EPOCH);
    t_clock_set(base_at(ONCE)->side, T_EPOCH);
    base_put(base_at(DEEP), "t", 150);
    put_once(MESSAGES);
    while (live_and_die()) {
        deaths++;
        reap_now(DEEP);
        reap_now(ONCE);
    }
    CHECK(deaths >= 3);
    for (int i = 0; i < MESSAGES; i++)
        CHECK_INT(seen[i], 1); /* at least once, and not once more than it may be */
    buried = (int)base_number(base_at(ONCE), "SELECT count(*) FROM {t}dead");
    CHECK(buried <= deaths * threads);
    CHECK_INT(base_done(base_at(ONCE)), MESSAGES - buried);
    bases_leave();
}

TEST(a_dispatcher_of_a_set_that_is_killed_buries_nothing_that_no_handler_has_seen)
{
    each_is_seen(1);
}

TEST(nor_does_a_killed_one_with_several_threads)
{
    each_is_seen(3);
}
