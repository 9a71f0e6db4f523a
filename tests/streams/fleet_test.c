/* fleet_test.c - the one who starts instances, lets them go and kills them. PH_STREAMS_SEED repeats
 * a run as far as processes can be repeated. */
#include "fleet.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define REST_MS 60000 /* until everything that was stored must have been handled */

struct captain {
    struct fleet *fleet;
    uint64_t seed;
    int log, started, killed, left;
    pid_t producers[PRODUCERS];
    pid_t instances[INSTANCES_MAX]; /* 0: there is none */
};

/* ----------------------------------------------------------------- processes */

/* producer -1: an instance. SIGTERM waits until the child is ready to take it. */
static pid_t spawn(struct captain *captain, int producer)
{
    sigset_t terms, before;
    pid_t pid;

    sigemptyset(&terms);
    sigaddset(&terms, SIGTERM);
    sigprocmask(SIG_BLOCK, &terms, &before);
    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid > 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    t_dice_seed(captain->seed + (uint64_t)(producer >= 0 ? 1 + producer : 100 + captain->started));
    if (producer >= 0)
        produce(captain->fleet, producer);
    else
        work(captain->fleet);
    fflush(NULL);
    _exit(0);
}

static void start(struct captain *captain, int slot)
{
    captain->instances[slot] = spawn(captain, -1);
    captain->started++;
}

static void expect_end(pid_t pid)
{
    int status = -1;

    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
}

static void let_go(struct captain *captain, int slot)
{
    CHECK(kill(captain->instances[slot], SIGTERM) == 0);
    expect_end(captain->instances[slot]);
    captain->instances[slot] = 0;
    captain->left++;
}

/* Nothing that the process has written comes after the record of its death. */
static void kill_one(struct captain *captain, int slot)
{
    struct record record = { .kind = RECORD_KILLED, .pid = captain->instances[slot] };
    int status;

    CHECK(kill(record.pid, SIGKILL) == 0);
    CHECK(waitpid(record.pid, &status, 0) == record.pid);
    CHECK(WIFSIGNALED(status));
    log_write(captain->log, record);
    captain->instances[slot] = 0;
    captain->killed++;
}

/* None may end by itself. */
static int alive(const struct captain *captain)
{
    int count = 0, status;

    for (int i = 0; i < captain->fleet->plan.instances; i++) {
        if (captain->instances[i] == 0)
            continue;
        count++;
        if (waitpid(captain->instances[i], &status, WNOHANG) != 0) {
            printf("an instance ended by itself: %d\n", status);
            CHECK(false);
        }
    }
    return count;
}

/* -------------------------------------------------------------------- a run */

/* One comes, or one goes. */
static void change(struct captain *captain)
{
    int slot = (int)t_dice((unsigned)captain->fleet->plan.instances);

    if (captain->instances[slot] == 0)
        start(captain, slot);
    else if (alive(captain) < 3)
        return;
    else if (t_dice(2))
        let_go(captain, slot);
    else
        kill_one(captain, slot);
}

static bool producing(struct captain *captain)
{
    bool any = false;

    for (int i = 0; i < PRODUCERS; i++) {
        int status;

        if (captain->producers[i] == 0)
            continue;
        if (waitpid(captain->producers[i], &status, WNOHANG) == captain->producers[i]) {
            CHECK_INT(status, 0);
            captain->producers[i] = 0;
        }
        any = any || captain->producers[i] != 0;
    }
    return any;
}

static void prepare(struct fleet *fleet)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_store *store = t_open(NULL);

    settings.max_attempts = PH_ATTEMPTS_MAX; /* so that none dies of those who were killed */
    settings.affinity_grace_ms = fleet->plan.kills ? 200 : 1000;
    set_queue(store, &settings);
    ph_close(store);
    snprintf(fleet->log, sizeof(fleet->log), "%s/log", t_dir());
}

/* What the database has still to hand out, or does not know the outcome of. */
static int64_t open_messages(ph_store *store)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;

    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    return counts.ready + counts.scheduled + counts.in_progress + counts.parked;
}

/* All come to help, so that it does not take too long. The database has the last word: what was done
 * by one that was killed comes again, and may then have to be retried. */
static void wait_for_the_rest(struct captain *captain)
{
    struct fleet *fleet = captain->fleet;
    ph_store *store;

    for (int i = 0; i < fleet->plan.instances; i++) {
        if (captain->instances[i] == 0)
            start(captain, i);
    }
    store = t_open(NULL); /* after the last fork: a child must not inherit it */
    for (int i = 0;
         atomic_load(&fleet->settled) < atomic_load(&fleet->made) || open_messages(store) > 0;
         i++) {
        if (i > REST_MS / 20)
            printf("%d of %d messages, %lld open\n", fleet->settled, fleet->made,
                   (long long)open_messages(store));
        CHECK(i <= REST_MS / 20);
        t_nap_ms(20);
        (void)alive(captain);
    }
    ph_close(store);
}

static void sail(const struct plan *plan)
{
    struct captain captain = { .fleet = shared_memory(sizeof(struct fleet)),
                               .seed = t_seed("PH_STREAMS_SEED") };

    captain.fleet->plan = *plan;
    prepare(captain.fleet);
    captain.log = log_open(captain.fleet);
    t_dice_seed(captain.seed);
    for (int i = 0; i < PRODUCERS; i++)
        captain.producers[i] = spawn(&captain, i);
    for (int i = 0; i < (plan->kills ? 3 : plan->instances); i++)
        start(&captain, i);
    while (producing(&captain)) {
        t_nap_ms(plan->kills ? 200 + t_dice(600) : 50);
        if (plan->kills)
            change(&captain);
    }
    wait_for_the_rest(&captain);
    for (int i = 0; i < plan->instances; i++) {
        if (captain.instances[i])
            let_go(&captain, i);
    }
    close(captain.log);
    printf("%d instances, %d killed, %d left\n", captain.started, captain.killed, captain.left);
    REQ_STR("STR-001 STR-002 STR-003 STR-004 STR-009 OBX-101", log_problem(captain.fleet), NULL);
}

TEST(every_stream_comes_in_order_and_whole_whoever_comes_and_goes)
{
    struct plan plan = { .streams = 1000,
                         .messages = t_soak() ? 40000 : 4000,
                         .duration_ms = t_soak() ? 120000 : 9000,
                         .instances = t_soak() ? 8 : 5,
                         .lease_s = 2,
                         .kills = true,
                         .in_transactions = true };

    t_limit(t_soak() ? 900 : 120);
    sail(&plan);
}

/* None is killed, so that there is no reason for a message to come twice. */
TEST(fifty_dispatchers_share_one_database_and_no_message_comes_twice)
{
    struct plan plan = { .streams = 2000,
                         .messages = 8000,
                         .duration_ms = 60000,
                         .instances = INSTANCES_MAX,
                         .lease_s = 60 };

    if (!t_soak() || !t_is_pg())
        t_not_here("a long run on a server");
    t_limit(900);
    sail(&plan);
}
