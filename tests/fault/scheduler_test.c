/* scheduler_test.c - schedulers are killed between their steps and in the midst of them, while
 * others go on: each instant of a job makes one run, each run and each timer one message. */
#include "common.h"

#include "core/call.h"
#include "schedule/fire.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SCHEDULERS 3
#define JOBS 5
#define STEP (10 * T_SECOND)

static void nap(int ms)
{
    struct timespec rest = { ms / 1000, ms % 1000 * 1000000L };

    nanosleep(&rest, NULL);
}

/* One of its own for each; nobody has a store open while forking. */
static pid_t start(void (*body)(void))
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        body();
        fflush(NULL);
        _exit(0);
    }
    return pid;
}

static void put_jobs(ph_store *store, int count)
{
    for (int i = 0; i < count; i++) {
        ph_job job = PH_JOB_INIT;
        char name[16];

        snprintf(name, sizeof(name), "job %d", i);
        job.name = name;
        job.topic = "work";
        job.cron = "*/10 * * * * *";
        job.misfire = PH_MISFIRE_ALL;
        job.misfire_limit = PH_MISFIRE_LIMIT_MAX;
        OK(ph_job_set(store, PH_OWN_TX, &job, 0, NULL, &t_err));
    }
}

static ph_schedule run_once(ph_store *store)
{
    ph_schedule done = PH_SCHEDULE_INIT;
    ph_scheduler *scheduler = NULL;

    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, 0, &done, &t_err));
    ph_scheduler_free(scheduler);
    return done;
}

/* ------------------------------------------------- killed at any moment */

static void schedule_for_ever(void)
{
    ph_store *store = t_open(NULL);
    ph_scheduler *scheduler = NULL;

    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    for (;;)
        OK(ph_scheduler_run(scheduler, 0, NULL, &t_err));
}

/* Time goes on, and there is a timer in each step of it. */
static void let_time_pass(void)
{
    ph_store *store = t_open(NULL);
    int64_t now = T_EPOCH;

    for (int i = 0; i < (t_soak() ? 1500 : 100); i++) {
        ph_timer timer = PH_TIMER_INIT;

        timer.topic = "timer";
        timer.payload = "x";
        timer.due_at = now + STEP / 2;
        OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err));
        now += STEP;
        t_clock_set(store, now);
        nap(20);
    }
}

static void kill_some(pid_t *schedulers, pid_t time, unsigned seed)
{
    int status, killed = 0;

    while (waitpid(time, &status, WNOHANG) == 0) {
        int which = (int)(rand_r(&seed) % SCHEDULERS);

        nap(20 + (int)(rand_r(&seed) % 60));
        kill(schedulers[which], SIGKILL);
        CHECK(waitpid(schedulers[which], &status, 0) == schedulers[which]);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* it was alive and well */
        schedulers[which] = start(schedule_for_ever);
        killed++;
    }
    CHECK_INT(status, 0);
    printf("%d were killed\n", killed);
    CHECK(killed > 5);
    for (int i = 0; i < SCHEDULERS; i++) {
        kill(schedulers[i], SIGKILL);
        CHECK(waitpid(schedulers[i], &status, 0) == schedulers[i]);
    }
}

/* How many instants of a job lie between the beginning and now, both included. */
static long long instants_until(int64_t now)
{
    return now / STEP - T_EPOCH / STEP;
}

static void check_all(ph_store *store, struct t_conn *conn)
{
    long long instants = instants_until(t_clock(store)), timers;

    for (ph_schedule s = run_once(store); s.runs + s.job_runs + s.timers > 0;)
        s = run_once(store);
    timers = t_number(conn, "SELECT count(*) FROM {t}message m JOIN {t}queue q ON q.id = m.queue "
                            "WHERE q.door = 2");
    CHECK(timers >= 100 && instants >= 100);
    REQ_INT("JOB-004", t_number(conn, "SELECT count(*) FROM {t}job_run"), JOBS * instants);
    REQ_INT("JOB-004",
            t_number(conn, "SELECT count(*) FROM (SELECT DISTINCT job, scheduled_at FROM "
                           "{t}job_run) x"),
            JOBS * instants);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending p JOIN {t}message m ON m.id = p.id "
                             "JOIN {t}queue q ON q.id = m.queue WHERE q.door <> 0"),
              0);
    REQ_INT("TIM-006", t_number(conn, "SELECT count(*) FROM {t}outbox"), JOBS * instants + timers);
    CHECK_INT(t_number(conn, "SELECT count(DISTINCT message_id) FROM {t}outbox"),
              JOBS * instants + timers);
    t_check_places(conn);
}

TEST(killed_schedulers_neither_lose_nor_double_anything)
{
    unsigned seed = (unsigned)time(NULL);
    pid_t schedulers[SCHEDULERS];
    ph_store *store = t_open(NULL);

    printf("seed %u\n", seed);
    t_limit(t_soak() ? 600 : 120);
    t_clock_set(store, T_EPOCH);
    put_jobs(store, JOBS);
    ph_close(store);
    for (int i = 0; i < SCHEDULERS; i++)
        schedulers[i] = start(schedule_for_ever);
    kill_some(schedulers, start(let_time_pass), seed);
    store = t_open(NULL);
    check_all(store, t_connect());
}

/* ------------------------------------------- stopped between the steps */

/* Looks what is due, stops, and when it is woken makes the runs it had in mind. */
static void stop_before_making_runs(void)
{
    ph_store *store = t_open(NULL);
    struct ph__tick wanted = { .owner = ph_owner_new(), .limit = 10 };
    struct ph__ticked ticked = { 0 };
    struct ph__job_step step = { 0 };
    int64_t runs = -1, instant;
    PH__CALL(call);

    OK(ph__call_own(&call, store, 0, &t_err));
    OK(store->backend->tick(&call, &wanted, &ticked));
    CHECK_INT(ticked.job_count, 1);
    instant = ticked.jobs[0].next_at;
    step.name = ticked.jobs[0].name;
    step.generation = ticked.jobs[0].generation;
    step.old_next_at = instant;
    step.next_at = instant + STEP;
    step.instants = &instant;
    step.instant_count = 1;
    raise(SIGSTOP);
    OK(store->backend->advance(&call, &step, 1, &runs));
    CHECK_INT(runs, 0); /* it was too late */
    ph__arena_free(&ticked.arena);
}

/* Makes the run, and stops before it becomes a message. */
static void stop_before_turning_runs(void)
{
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_schedule done = PH_SCHEDULE_INIT;
    ph_scheduler *scheduler = NULL;
    ph_store *store = t_open(NULL);

    opts.keep_job_runs = true;
    OK(ph_scheduler_new(store, &opts, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, 0, &done, &t_err));
    CHECK_INT(done.runs, 1);
    raise(SIGSTOP);
    ph_scheduler_free(scheduler);
    CHECK_INT(run_once(store).job_runs, 0); /* somebody else did it */
}

/* While one scheduler stands still, others go on; then it is killed, or goes on itself. */
static void stopped(void (*body)(void), int next, int64_t runs_of_others)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn;
    int64_t runs = 0;
    int status;
    pid_t pid;

    t_clock_set(store, T_EPOCH);
    put_jobs(store, 1);
    run_once(store);
    t_clock_set(store, T_EPOCH + STEP);
    ph_close(store);
    pid = start(body);
    CHECK(waitpid(pid, &status, WUNTRACED) == pid);
    CHECK(WIFSTOPPED(status));
    store = t_open(NULL);
    for (int i = 0; i < 2; i++)
        runs += run_once(store).runs;
    CHECK_INT(runs, runs_of_others);
    kill(pid, next);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(next == SIGKILL ? WIFSIGNALED(status) : status == 0);
    run_once(store);
    conn = t_connect();
    REQ_INT("JOB-004", t_number(conn, "SELECT count(*) FROM {t}job_run"), 1);
    REQ_INT("JOB-004", t_number(conn, "SELECT count(*) FROM {t}outbox"), 1);
    t_clock_set(store, T_EPOCH + 2 * STEP); /* and on it goes */
    CHECK_INT(run_once(store).runs, 1);
    t_check_places(conn);
}

TEST(a_scheduler_is_killed_before_it_makes_a_run)
{
    stopped(stop_before_making_runs, SIGKILL, 1);
}

TEST(a_scheduler_that_is_too_late_makes_no_second_run)
{
    stopped(stop_before_making_runs, SIGCONT, 1);
}

TEST(a_scheduler_is_killed_before_its_run_becomes_a_message)
{
    stopped(stop_before_turning_runs, SIGKILL, 0);
}

TEST(a_scheduler_that_is_too_late_makes_no_second_message)
{
    stopped(stop_before_turning_runs, SIGCONT, 0);
}
