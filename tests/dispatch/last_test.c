/* last_test.c - messages whose attempt is their last: a dispatcher that is killed buries none that no
 * handler has seen. */
#include "rig.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGES 60
#define DIES_AFTER 8 /* handlers; then as soon as all threads are in one */

static _Atomic int *seen; /* of each message: how many handlers; shared by the processes */
static int threads;

static ph_verdict see_and_die(void *context, ph_work *work)
{
    _Atomic int *started = context;

    seen[atoi(ph_work_delivery(work)->payload)]++;
    if (++*started <= DIES_AFTER)
        return PH_VERDICT_DONE;
    if (*started == DIES_AFTER + threads)
        kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Works until it dies, or until there is nothing left. */
static void live(void)
{
    _Atomic int started = 0;
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = threads;
    rig.opts.batch_size = 50;
    rig.opts.prefetch = 100;
    rig_run(&rig, "t", see_and_die, &started);
    rig_drain(&rig);
    rig_end(&rig);
}

static bool live_and_die(void)
{
    int status = 0;
    pid_t pid;

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

/* What the killed one asked of the server last may still be under way there, and hold a lease. */
static long long dead_after_reap(ph_store *store, struct t_conn *conn)
{
    reap(store);
    return t_number(conn, "SELECT count(*) FROM {t}dead");
}

static void each_is_seen(int count)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    int deaths = 0, done;

    if (UNDER_TSAN)
        t_not_here("processes that are killed have no time to report a race");
    threads = count;
    seen = mmap(NULL, MESSAGES * sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    CHECK(seen != MAP_FAILED);
    t_clock_set(store, T_EPOCH);
    settings.max_attempts = 1;
    set_queue(store, &settings);
    put_many(store, "t", MESSAGES, NULL);
    while (live_and_die()) {
        deaths++;
        t_clock_advance(store, 31 * T_SECOND);
        AWAIT(dead_after_reap(store, conn) == deaths * threads);
    }
    CHECK(deaths >= 3);
    done = MESSAGES - deaths * threads;
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2"), done);
    for (int i = 0; i < MESSAGES; i++)
        CHECK_INT(seen[i], 1); /* at least once, and not once more than it may be */
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_dispatcher_that_is_killed_buries_nothing_that_no_handler_has_seen)
{
    each_is_seen(1);
}

TEST(nor_does_one_with_several_threads)
{
    each_is_seen(3);
}

/* Others do not wait for a thread: they are claimed ahead as ever. */
TEST(last_attempts_are_claimed_when_a_thread_is_free_and_others_ahead)
{
    struct gate gate = GATE_INIT;
    struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    ph_message m = a_message("t", "once");
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 1;
    rig.opts.prefetch = 10;
    put_many(rig.side, "t", 3, NULL);
    m.max_attempts = 1;
    put(rig.side, &m);
    put(rig.side, &m);
    put_many(rig.side, "t", 1, NULL);
    rig_run(&rig, "t", play, &part);
    gate_await(&gate, 1);
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 1") == 3);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 0"), 3);
    gate_open(&gate);
    AWAIT(part.calls == 6);
    rig_end(&rig);
}
