/* stop_test.c - an orderly end: nothing is claimed any more, what runs may finish, what does not is
 * given back, and no attempt is lost. */
#include "rig.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static long long with_status(struct rig *rig, int status)
{
    char sql[80];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM {t}outbox WHERE status_code = %d", status);
    return t_number(rig->conn, sql);
}

static void check_given_back(struct rig *rig, ph_work_id id)
{
    struct seen seen = see(rig->side, id);

    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 0);
    CHECK_INT(seen.retry_count, 0);
    CHECK(seen.next_attempt_at <= t_clock(rig->side));
}

TEST(nothing_is_claimed_after_a_stop)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_dispatcher_stats stats;
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    rig_stop(&rig);
    put_many(rig.side, "t", 5, NULL);
    stats = rig_stats(&rig);
    for (int i = 0; i < 150; i++)
        nap();
    CHECK_INT(part.calls, 1);
    CHECK_INT(rig_stats(&rig).exchanges, stats.exchanges);
    CHECK_INT(with_status(&rig, 0), 5);
    CHECK_INT(claimable(rig.side, 10), 5);
    rig_end(&rig);
}

static void *stop_it(void *context)
{
    struct rig *rig = context;
    ph_error err;

    CHECK(ph_dispatcher_stop(rig->dispatcher, AWAIT_LIMIT_S * 1000, &err) == 0);
    return NULL;
}

/* What waits is released while a handler still runs; that one finishes. */
TEST(what_waits_is_released_at_once_and_what_runs_may_finish)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    ph_enqueued messages[10];
    pthread_t stopper;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 10, messages);
    rig.opts.threads = 2;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 2);
    AWAIT(rig_stats(&rig).claimed == 10);
    CHECK(pthread_create(&stopper, NULL, stop_it, &rig) == 0);
    AWAIT(with_status(&rig, 0) == 8);
    CHECK_INT(with_status(&rig, 1), 2); /* the handlers have not even been cancelled */
    CHECK_INT(part.calls, 2);
    gate_open(&gate);
    pthread_join(stopper, NULL);
    CHECK_INT(part.calls, 2);
    CHECK_INT(part.cancelled, 0);
    CHECK_INT(with_status(&rig, 2), 2);
    CHECK_INT(rig_stats(&rig).released, 8);
    CHECK_INT(rig_stats(&rig).done, 2);
    for (int i = 2; i < 10; i++)
        check_given_back(&rig, messages[i].work_id);
    CHECK_INT(claimable(rig.side, 20), 8);
    rig_end(&rig);
}

/* A deploy costs no attempt, however often. */
TEST(a_message_survives_any_number_of_restarts)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .heeds = true, .error = "cancelled" };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    set_max_attempts(rig.side, 2);
    id = rig_put(&rig, "t");
    for (int i = 1; i <= 4; i++) {
        rig_run(&rig, NULL, play, &part);
        AWAIT(part.calls == i);
        OK(ph_dispatcher_stop(rig.dispatcher, 1, &t_err));
        CHECK_INT(part.cancelled, i);
        check_given_back(&rig, id);
        CHECK_INT(rig_stats(&rig).cancelled, 1);
        CHECK_INT(rig_stats(&rig).retried, 0);
        rig_end(&rig);
    }
}

TEST(a_handler_that_finishes_when_cancelled_by_a_stop_is_done)
{
    static struct part part = { .verdict = PH_VERDICT_DONE, .heeds = true };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_run(&rig, NULL, play, &part);
    AWAIT(part.calls == 1);
    OK(ph_dispatcher_stop(rig.dispatcher, 1, &t_err));
    CHECK_INT(see(rig.side, id).status, PH_DONE);
    rig_end(&rig);
}

TEST(a_handler_that_fails_when_cancelled_by_a_stop_has_failed)
{
    static struct part part = { .verdict = PH_VERDICT_FAIL, .heeds = true };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_run(&rig, NULL, play, &part);
    AWAIT(part.calls == 1);
    OK(ph_dispatcher_stop(rig.dispatcher, 1, &t_err));
    CHECK_INT(see(rig.side, id).status, PH_FAILED);
    rig_end(&rig);
}

/* ------------------------------------------------------------- hung handlers */

static ph_verdict hang_on(void *context, ph_work *work)
{
    struct part *part = context;
    ph_verdict verdict;

    watch_thread();
    verdict = play(part, work);
    ph_work_error(work, "long after the end");
    part->cancelled += 10 * (ph_work_delivery(work)->topic[0] == 't' && ph_work_cancelled(work));
    return verdict;
}

TEST(a_stop_leaves_hung_handlers_behind_and_gives_their_messages_back)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_FAIL, .gate = &gate };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_run(&rig, NULL, hang_on, &part);
    gate_await(&gate, 1);
    CHECK_INT(ph_dispatcher_stop(rig.dispatcher, 1, &t_err), PH_ETIMEOUT);
    CHECK_INT(t_err.code, PH_ETIMEOUT);
    CHECK(strstr(t_err.message, "handler") != NULL);
    check_given_back(&rig, id);
    CHECK_INT(rig_stats(&rig).running, 1);
    gate_open(&gate);
    AWAIT(ended_threads() == 1);
    check_given_back(&rig, id); /* what it returned is ignored */
    CHECK_INT(ph_dispatcher_stop(rig.dispatcher, 1, &t_err), PH_ETIMEOUT); /* as it was */
    ph_dispatcher_free(rig.dispatcher);
    check_given_back(&rig, id);
    t_check_places(rig.conn);
}

/* The work stays usable for the hung handler although everything else is gone. */
TEST(a_dispatcher_can_be_freed_while_a_handler_hangs)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_RETRY, .gate = &gate };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_run(&rig, NULL, hang_on, &part);
    gate_await(&gate, 1);
    ph_dispatcher_free(rig.dispatcher);
    ph_close(rig.store);
    check_given_back(&rig, id);
    gate_open(&gate);
    AWAIT(ended_threads() == 1);
    CHECK_INT(part.cancelled,
              11); /* it could still read its work, and learn that it was cancelled */
    check_given_back(&rig, id);
    t_check_places(rig.conn);
}

TEST(a_hung_transaction_is_left_behind_too)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig.opts.lease_s = 3; /* so long does it try to give the message back */
    rig_new(&rig);
    rig_handle_in_tx(&rig, "t", hang_on, &part);
    rig_start(&rig);
    gate_await(&gate, 1);
    CHECK(ph_dispatcher_stop(rig.dispatcher, 1, &t_err) < 0); /* SQLite: the lock may come first */
    ph_dispatcher_free(rig.dispatcher);
    gate_open(&gate);
    AWAIT(ended_threads() == 1);
    CHECK(see(rig.side, id).status != PH_DONE);
    t_check_places(rig.conn);
}

/* ----------------------------------------------------------- again and at once */

TEST(stopping_twice_is_harmless)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 5, NULL);
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    OK(ph_dispatcher_stop(rig.dispatcher, 0, &t_err));
    OK(ph_dispatcher_stop(rig.dispatcher, 0, &t_err));
    OK(ph_dispatcher_stop(rig.dispatcher, 1000, NULL));
    CHECK_INT(rig_stats(&rig).done, 5);
    rig_end(&rig);
}

TEST(several_threads_may_stop_it)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    pthread_t stoppers[4];
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 20, NULL);
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 4);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&stoppers[i], NULL, stop_it, &rig) == 0);
    AWAIT(with_status(&rig, 0) == 16);
    gate_open(&gate);
    for (int i = 0; i < 4; i++)
        pthread_join(stoppers[i], NULL);
    CHECK_INT(with_status(&rig, 2), 4);
    CHECK_INT(with_status(&rig, 1), 0);
    rig_end(&rig);
}

/* The second signal: the first stop waits long, the next is in a hurry. */
TEST(a_second_stop_may_be_in_a_hurry)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .heeds = true };
    pthread_t stopper;
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig.opts.threads = 1;
    rig_run(&rig, NULL, play, &part);
    AWAIT(part.calls == 1);
    rig_put(&rig, "t");
    AWAIT(rig_stats(&rig).waiting == 1);
    CHECK(pthread_create(&stopper, NULL, stop_it, &rig) == 0);
    AWAIT(rig_stats(&rig).released == 1); /* so the first stop is under way */
    OK(ph_dispatcher_stop(rig.dispatcher, 1, &t_err));
    pthread_join(stopper, NULL);
    check_given_back(&rig, id);
    rig_end(&rig);
}

TEST(free_stops_at_once)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .heeds = true };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_run(&rig, NULL, play, &part);
    AWAIT(part.calls == 1);
    ph_dispatcher_free(rig.dispatcher);
    CHECK_INT(part.cancelled, 1);
    check_given_back(&rig, id);
    t_enqueue(rig.store, "t", "the store is ours again");
    CHECK_INT(claimable(rig.store, 10), 2);
}

static ph_verdict stop_from_inside(void *context, ph_work *work)
{
    struct rig *rig = context;
    ph_error err;

    (void)work;
    CHECK_INT(ph_dispatcher_stop(rig->dispatcher, 1000, &err), PH_EINVAL);
    CHECK(strstr(err.message, "handler") != NULL);
    return PH_VERDICT_DONE;
}

TEST(a_handler_cannot_stop_its_own_dispatcher)
{
    static struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 3, NULL);
    rig_run(&rig, NULL, stop_from_inside, &rig);
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, 3);
    rig_end(&rig);
}

struct caller {
    ph_dispatcher *_Atomic dispatcher;
    _Atomic int stop_result, drain_result;
};

static void stop_in_log(void *context, const ph_log_event *event)
{
    struct caller *caller = context;
    ph_dispatcher *dispatcher = atomic_exchange(&caller->dispatcher, NULL);

    (void)event;
    if (!dispatcher)
        return;
    caller->drain_result = ph_dispatcher_drain(dispatcher, 10, NULL);
    caller->stop_result = ph_dispatcher_stop(dispatcher, 0, NULL);
}

TEST(a_log_callback_cannot_stop_the_dispatcher_it_is_called_by)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    static struct caller caller;
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct rig rig;

    rig_open(&rig);
    opts.log = stop_in_log;
    opts.log_context = &caller;
    opts.log_level = PH_LOG_DEBUG;
    rig.store = t_open(&opts);
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    caller.dispatcher = rig.dispatcher; /* the next line is the poller's: a claim */
    AWAIT(caller.stop_result != 0);
    CHECK_INT(caller.stop_result, PH_EINVAL);
    CHECK_INT(caller.drain_result, PH_EINVAL);
    rig_end(&rig);
}

TEST(it_can_be_stopped_right_after_the_start)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 50, NULL);
    for (int i = 0; i < 20; i++) {
        rig_run(&rig, NULL, play, &part);
        OK(ph_dispatcher_stop(rig.dispatcher, 5000, &t_err));
        CHECK_INT(with_status(&rig, 1), 0);
        CHECK_INT(with_status(&rig, 2), part.calls);
        rig_end(&rig);
    }
}

static void *start_it(void *context)
{
    struct rig *rig = context;
    int r = ph_dispatcher_start(rig->dispatcher, NULL);

    CHECK(r == 0 || r == PH_EINVAL); /* it came too late */
    return NULL;
}

TEST(it_can_be_stopped_while_another_thread_starts_it)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    for (int i = 0; i < 50; i++) {
        pthread_t starter;

        rig_new(&rig);
        rig_handle(&rig, NULL, play, &part);
        CHECK_INT(pthread_create(&starter, NULL, start_it, &rig), 0);
        for (int spin = 0; spin < i * 40; spin++)
            (void)rig_stats(&rig);
        OK(ph_dispatcher_stop(rig.dispatcher, 0, &t_err));
        pthread_join(starter, NULL);
        ph_dispatcher_free(rig.dispatcher);
    }
}

TEST(results_are_stored_when_the_stop_returns)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 500, NULL);
    rig_run(&rig, NULL, play, &part);
    AWAIT(part.calls > 20);
    rig_stop(&rig);
    CHECK_INT(with_status(&rig, 2), part.calls);
    CHECK_INT(with_status(&rig, 1), 0);
    CHECK_INT(with_status(&rig, 0) + part.calls, 500);
    rig_end(&rig);
}

/* -------------------------------------------------------------------- signals */

static ph_verdict check_mask(void *context, ph_work *work)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM };
    _Atomic int *blocked = context;
    sigset_t mask;

    (void)work;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        CHECK(sigismember(&mask, signals[i]) == 1);
    (*blocked)++;
    return PH_VERDICT_DONE;
}

TEST(its_threads_take_no_signals)
{
    static _Atomic int blocked;
    sigset_t before, after;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 5, NULL);
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &before) == 0);
    rig_run(&rig, NULL, check_mask, &blocked);
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &after) == 0);
    for (int s = 1; s < 32; s++) /* the caller's own mask is as it was */
        CHECK_INT(sigismember(&before, s), sigismember(&after, s));
    rig_drain(&rig);
    CHECK_INT(blocked, 5);
    rig_end(&rig);
}

/* In a child: a worker as a service has it, stopped by SIGTERM in the middle of its work. */
static void __attribute__((noreturn)) serve_until_signalled(int ready)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    sigset_t signals;
    struct rig rig;
    int got;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    rig_open(&rig);
    rig_run(&rig, NULL, play, &part);
    AWAIT(part.calls > 5);
    CHECK(write(ready, "!", 1) == 1);
    CHECK(sigwait(&signals, &got) == 0 && got == SIGTERM);
    rig_stop(&rig);
    CHECK_INT(with_status(&rig, 2), part.calls);
    rig_end(&rig);
    _exit(0);
}

TEST(a_service_ends_in_order_when_told_to)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn;
    int ends[2], status;
    char byte;
    pid_t pid;

    put_many(store, "t", 300, NULL);
    ph_close(store);
    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        serve_until_signalled(ends[1]);
    close(ends[1]);
    CHECK(read(ends[0], &byte, 1) == 1);
    CHECK(kill(pid, SIGTERM) == 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    conn = t_connect();
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 1"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE attempts > 1"), 0);
    t_check_places(conn);
    t_disconnect(conn);
}
