/* crowd_test.c - the crowd: producers, workers, one who turns the clock, and the one who kills
 * workers. PH_JOINS_SEED repeats a run as far as processes can be repeated. */
#include "crowd.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time passes: leases of those who were killed run out. */
static void turn_the_clock(struct crowd *crowd)
{
    ph_store *store = t_open(NULL);

    while (!atomic_load(&crowd->over)) {
        t_nap_ms(50);
        t_clock_advance(store, T_SECOND);
    }
    ph_close(store);
}

/* A process that does this, with a sequence of its own. */
static pid_t spawn(struct crowd *crowd, uint64_t seed, int producer, bool clock)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid > 0)
        return pid;
    t_dice_seed(seed);
    if (clock)
        turn_the_clock(crowd);
    else if (producer >= 0)
        produce(crowd, producer);
    else
        work(crowd);
    fflush(NULL);
    _exit(0);
}

static void ended_well(pid_t pid)
{
    int status = -1;

    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
}

/* Kills a worker now and then until the producers are done; returns how many. */
static int kill_workers(struct crowd *crowd, pid_t *workers, const pid_t *producers, uint64_t seed)
{
    int killed = 0, left = PRODUCERS, status;

    while (left > 0) {
        int victim = (int)t_dice(WORKERS);

        t_nap_ms(50 + t_dice(250));
        for (int i = 0; i < PRODUCERS; i++) {
            if (waitpid(producers[i], &status, WNOHANG) == producers[i]) {
                CHECK_INT(status, 0);
                left--;
            }
        }
        if (waitpid(workers[victim], &status, WNOHANG) != 0) {
            printf("a worker ended by itself: %d\n", status);
            CHECK(false);
        }
        kill(workers[victim], SIGKILL);
        CHECK(waitpid(workers[victim], &status, 0) == workers[victim]);
        CHECK(WIFSIGNALED(status));
        workers[victim] = spawn(crowd, seed + 1000 + (uint64_t)++killed, -1, false);
    }
    return killed;
}

static void run_crowd(struct crowd *crowd, uint64_t seed)
{
    pid_t workers[WORKERS], producers[PRODUCERS], clock;
    int killed;

    t_dice_seed(seed);
    clock = spawn(crowd, seed, -1, true);
    for (int i = 0; i < WORKERS; i++)
        workers[i] = spawn(crowd, seed + 100 + (uint64_t)i, -1, false);
    for (int i = 0; i < PRODUCERS; i++)
        producers[i] = spawn(crowd, seed + 200 + (uint64_t)i, i, false);
    killed = kill_workers(crowd, workers, producers, seed);
    atomic_store(&crowd->produced, true);
    for (int i = 0; i < WORKERS; i++)
        ended_well(workers[i]);
    atomic_store(&crowd->over, true);
    ended_well(clock);
    printf("%d workers killed\n", killed);
}

TEST(whatever_happens_to_workers_every_join_is_counted_to_the_last_step)
{
    struct crowd *crowd = shared_memory(sizeof(*crowd));
    uint64_t seed = t_seed("PH_JOINS_SEED");
    struct t_conn *conn;
    ph_store *store;

    t_limit(t_soak() ? 900 : 120);
    crowd->joins = t_soak() ? JOINS_MAX : 1000;
    store = t_open(NULL);
    t_clock_set(store, T_EPOCH);
    ph_close(store);
    run_crowd(crowd, seed);
    store = t_open(NULL);
    conn = t_connect();
    drain(store);
    check_all(store, conn, crowd);
    t_disconnect(conn);
}
