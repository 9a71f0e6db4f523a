/* idle_test.c - a dispatcher with nothing to do: it looks ever less often, is woken by the doorbell,
 * and costs next to nothing. */
#include "rig.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void rest(int ms)
{
    for (double end = t_now_s() + ms / 1e3; t_now_s() < end;)
        nap();
}

static void open_idle(struct rig *rig, struct part *part, int poll_ms, ph_doorbell doorbell)
{
    rig_open(rig);
    rig->opts.poll_ms = poll_ms;
    rig->opts.doorbell = doorbell;
    rig_run(rig, NULL, play, part);
}

TEST(an_idle_dispatcher_polls_ever_more_slowly)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    int64_t at_first, later;
    struct rig rig;

    if (UNDER_TSAN)
        t_not_here("a matter of time, not of threads");
    open_idle(&rig, &part, 2000, PH_DOORBELL_OFF);
    AWAIT(rig_stats(&rig).empty_claims > 0);
    rest(1000);
    at_first = rig_stats(&rig).empty_claims;
    rest(3000);
    later = rig_stats(&rig).empty_claims - at_first;
    REQ("OBX-122", at_first >= 3);    /* it begins well below the interval */
    REQ("OBX-122", at_first < 50);    /* and soon slows down */
    REQ("OBX-122", later < at_first); /* three seconds now have fewer looks than the first one */
    REQ("OBX-122", later <= 4);       /* about one per two seconds */
    CHECK_INT(rig_stats(&rig).claimed, 0);
    rig_put(&rig, "t");
    AWAIT(part.calls == 1); /* it still looks */
    rig_end(&rig);
}

TEST(after_work_it_looks_often_again)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    int64_t before;
    struct rig rig;

    if (UNDER_TSAN)
        t_not_here("a matter of time, not of threads");
    open_idle(&rig, &part, 2000, PH_DOORBELL_OFF);
    rest(2500);
    rig_put(&rig, "t");
    AWAIT(rig_stats(&rig).done == 1);
    before = rig_stats(&rig).empty_claims;
    rest(700);
    REQ("OBX-122", rig_stats(&rig).empty_claims - before >= 3);
    rig_end(&rig);
}

TEST(looking_at_an_empty_queue_changes_nothing)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "other");
    rig_run(&rig, "t", play, &part);
    AWAIT(rig_stats(&rig).empty_claims > 5);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}lease"), 0);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}pending"), 1);
    rig_end(&rig);
}

/* ---------------------------------------------------------------- the doorbell */

/* Waits to be told, then enqueues: by itself or in a transaction with a ring after it. */
static pid_t start_producer(int *ret_tell, bool in_transaction)
{
    int ends[2];
    pid_t pid;

    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        ph_store *store = t_open(NULL);
        char byte;

        close(ends[1]);
        CHECK(read(ends[0], &byte, 1) == 1);
        if (in_transaction) {
            struct t_conn *conn = t_connect();
            ph_message message = a_message("t", "x");

            t_begin(conn);
            OK(ph_enqueue(store, t_tx(conn), &message, 0, NULL, &t_err));
            t_commit(conn);
            OK(ph_doorbell_ring(store, NULL, 0, &t_err));
            t_disconnect(conn);
        } else {
            t_enqueue(store, "t", "x");
        }
        ph_close(store);
        _exit(0);
    }
    close(ends[0]);
    *ret_tell = ends[1];
    return pid;
}

/* Until it has not looked for so long: so the next look is not sooner, as the pauses grow. */
static void await_quiet(struct rig *rig, double seconds)
{
    int64_t looks = -1;
    double since = t_now_s(), end = since + AWAIT_LIMIT_S;

    while (t_now_s() - since < seconds) {
        int64_t now = rig_stats(rig).exchanges;

        CHECK(t_now_s() < end);
        if (now != looks)
            since = t_now_s();
        looks = now;
        nap();
    }
}

static void check_woken(bool in_transaction)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    int status, tell;
    pid_t producer = start_producer(&tell, in_transaction);
    int64_t rung;
    double asked;
    struct rig rig;

    open_idle(&rig, &part, 9000, PH_DOORBELL_AUTO);
    await_quiet(&rig, 2);
    rung = rig_stats(&rig).doorbells;
    CHECK(write(tell, "!", 1) == 1);
    asked = t_now_s();
    AWAIT(part.calls == 1);
    CHECK(t_now_s() - asked < 3); /* a third of the polling interval */
    CHECK(rig_stats(&rig).doorbells > rung);
    CHECK(waitpid(producer, &status, 0) == producer);
    CHECK_INT(status, 0);
    rig_end(&rig);
}

TEST(another_process_wakes_it)
{
    check_woken(false);
}

TEST(a_ring_after_the_producers_own_commit_wakes_it)
{
    check_woken(true);
}

struct emitter {
    _Atomic int followed;
    double emitted_s, followed_s;
};

static ph_verdict emit(void *context, ph_work *work)
{
    struct emitter *emitter = context;
    ph_message message = a_message("next", "x");
    ph_error err;

    (void)ph_work_wait(work, 5500); /* by now the dispatcher looks only every few seconds */
    if (ph_enqueue(ph_work_store(work), ph_work_tx(work), &message, 0, NULL, &err) < 0)
        return PH_VERDICT_RETRY;
    emitter->emitted_s = t_now_s();
    return PH_VERDICT_DONE;
}

static ph_verdict follow(void *context, ph_work *work)
{
    struct emitter *emitter = context;

    (void)work;
    emitter->followed_s = t_now_s();
    emitter->followed++;
    return PH_VERDICT_DONE;
}

TEST(what_a_handler_enqueues_in_its_transaction_is_found_at_once)
{
    static struct emitter emitter;
    struct rig rig;

    rig_open(&rig);
    rig.opts.poll_ms = 9000;
    rig_new(&rig);
    rig_handle_in_tx(&rig, "t", emit, &emitter);
    rig_handle(&rig, "next", follow, &emitter);
    rig_put(&rig, "t");
    rig_start(&rig);
    AWAIT(emitter.followed == 1);
    CHECK(emitter.followed_s - emitter.emitted_s < 2.5);
    rig_end(&rig);
}

TEST(without_doorbell_it_only_polls)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    open_idle(&rig, &part, 300, PH_DOORBELL_OFF);
    for (int i = 1; i <= 5; i++) {
        rest(100);
        rig_put(&rig, "t");
        AWAIT(part.calls == i);
    }
    CHECK_INT(rig_stats(&rig).doorbells, 0);
    rig_end(&rig);
}

/* A deploy of another application in the same database must not keep ours awake. */
TEST(another_namespace_does_not_claim_for_us)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_message message = a_message("t", "x");
    struct rig rig;

    open_idle(&rig, &part, 9000, PH_DOORBELL_AUTO);
    message.ns = "elsewhere";
    for (int i = 0; i < 10; i++)
        put(rig.side, &message);
    rig_drain(&rig);
    CHECK_INT(part.calls, 0);
    rig_end(&rig);
}

/* -------------------------------------------------------------------- the cost */

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The number itself is the benchmark's affair; this one only finds a loop that does not rest. */
TEST(an_idle_dispatcher_does_not_spin)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct timespec two_seconds = { 2, 0 };
    double before, spent;
    struct rig rig;

    rig_open(&rig);
    rig.opts.poll_ms = 0; /* as by default */
    put_many(rig.side, "t", 20, NULL);
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    rest(1000);
    before = cpu_s();
    nanosleep(&two_seconds, NULL);
    spent = cpu_s() - before;
    printf("%.1f %% of a core\n", spent / 2 * 100);
    CHECK(spent < 0.1);
    rig_end(&rig);
}

/* Deleting what is old is due now and then, and waits for a quiet moment. */
TEST(a_busy_dispatcher_does_not_spin_when_old_messages_are_to_be_deleted)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct timespec two_seconds = { 2, 0 };
    double before;
    struct rig rig;

    rig_open(&rig);
    rig.opts.retention_ms = 1000;
    rig.opts.threads = 1;
    rig.opts.prefetch = -1;
    put_many(rig.side, "t", 2, NULL);
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    nanosleep(&two_seconds, NULL);
    before = cpu_s();
    nanosleep(&two_seconds, NULL);
    CHECK(cpu_s() - before < 0.1);
    gate_open(&gate);
    rig_drain(&rig);
    rig_end(&rig);
}
