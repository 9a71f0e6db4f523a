/* freeze_test.c - a process that stands still for longer than its lease, or a machine that sleeps:
 * somebody else gets its message, and its handler knows at once when it goes on. */
#include "rig.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long the machine has slept: only the boot-time clock goes on meanwhile. */
static _Atomic int64_t slept_s;

_Atomic int boot_clock_stall_ms;
_Thread_local bool boot_clock_is_quick;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    int r = __real_clock_gettime(clock, time);

    if (clock == CLOCK_BOOTTIME && boot_clock_stall_ms > 0 && !boot_clock_is_quick)
        usleep((useconds_t)boot_clock_stall_ms * 1000);
    if (r == 0 && clock == CLOCK_BOOTTIME)
        time->tv_sec += slept_s;
    return r;
}

struct sleeper {
    int began, go_on; /* pipes to and from the test */
    _Atomic bool was_told;
};

static ph_verdict stand_still(void *context, ph_work *work)
{
    struct sleeper *sleeper = context;
    char byte = 0;

    CHECK(!ph_work_cancelled(work));
    CHECK(write(sleeper->began, &byte, 1) == 1);
    CHECK(read(sleeper->go_on, &byte, 1) == 1); /* comes when the lease is long over */
    sleeper->was_told = ph_work_cancelled(work);
    return PH_VERDICT_DONE;
}

/* The process that is frozen; returns its exit code. */
static int be_frozen(int began, int go_on)
{
    struct sleeper sleeper = { .began = began, .go_on = go_on };
    ph_dispatcher_stats stats;
    struct rig rig;

    rig_open(&rig);
    rig.opts.lease_s = 1;
    rig.opts.threads = 1;
    rig.opts.prefetch =
        -1; /* so that it is not frozen while it looks, with SQLite's lock in hand */
    rig_run(&rig, NULL, stand_still, &sleeper);
    AWAIT(rig_stats(&rig).started == 1 && rig_stats(&rig).running == 0);
    rig_drain(&rig);
    stats = rig_stats(&rig);
    rig_end(&rig);
    return sleeper.was_told && stats.cancelled == 1 && stats.stale == 1 && stats.done == 0 ? 0 : 1;
}

static pid_t start_frozen(int *ret_began, int *ret_go_on)
{
    int began[2], go_on[2];
    pid_t pid;

    CHECK(pipe(began) == 0 && pipe(go_on) == 0);
    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(be_frozen(began[1], go_on[0]));
    *ret_began = began[0];
    *ret_go_on = go_on[1];
    return pid;
}

TEST(a_process_that_stood_still_lets_go_of_its_message)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_store *store = t_open(NULL);
    int began, go_on, status = -1;
    char byte = 0;
    struct rig rig;
    ph_work_id id;
    pid_t pid;

    id = t_enqueue(store, "t", "x").work_id;
    ph_close(store);
    pid = start_frozen(&began, &go_on);
    CHECK(read(began, &byte, 1) == 1);
    CHECK(kill(pid, SIGSTOP) == 0);
    rig_open(&rig);
    rig_run(&rig, NULL, play, &part);
    AWAIT(part.calls == 1); /* once the lease is over */
    rig_drain(&rig);
    CHECK(write(go_on, &byte, 1) == 1);
    CHECK(kill(pid, SIGCONT) == 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    REQ_INT("OBX-058", see(rig.side, id).status, PH_DONE);
    CHECK_INT(see(rig.side, id).attempts, 2);
    CHECK_INT(rig_stats(&rig).done, 1);
    rig_end(&rig);
}

static ph_verdict sleep_through_the_lease(void *context, ph_work *work)
{
    struct sleeper *sleeper = context;

    CHECK(!ph_work_cancelled(work));
    slept_s += 29; /* of 30, less a margin of a second */
    sleeper->was_told = ph_work_cancelled(work);
    return PH_VERDICT_DONE;
}

TEST(a_lease_runs_out_while_the_machine_sleeps)
{
    static struct sleeper sleeper;
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, sleep_through_the_lease, &sleeper);
    AWAIT(rig_stats(&rig).started == 1 && rig_stats(&rig).running == 0);
    REQ("OBX-058", sleeper.was_told);
    CHECK_INT(rig_stats(&rig).cancelled, 1);
    rig_end(&rig);
}
