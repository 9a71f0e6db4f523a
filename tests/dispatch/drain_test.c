/* drain_test.c - waiting until everything is done, and claiming so many messages and no more. */
#include "rig.h"

TEST(a_drain_waits_until_everything_is_settled)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig_run(&rig, NULL, play, &part);
    for (int i = 1; i <= 5; i++) {
        put_many(rig.side, "t", 30, NULL);
        OK(ph_dispatcher_drain(rig.dispatcher, 0, &t_err)); /* without limit */
        CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2"),
                  30 * i);
    }
    rig_end(&rig);
}

TEST(an_empty_queue_is_drained_at_once)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    rig_drain(&rig);
    CHECK_INT(part.calls, 0);
    rig_end(&rig);
}

TEST(a_drain_does_not_wait_for_what_is_due_later)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_message message = a_message("t", "later");
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    rig_put(&rig, "t");
    message.due_at = T_EPOCH + 3600 * T_SECOND;
    put(rig.side, &message);
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    CHECK_INT(part.calls, 1);
    t_clock_advance(rig.side, 3600 * T_SECOND);
    AWAIT(part.calls == 2);
    rig_drain(&rig);
    rig_end(&rig);
}

/* An instance of the service that has died, which nobody knows yet. */
static void add_dead_instance(struct rig *rig, const char *service)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_work_batch *batch;

    opts.instance_id = ph_owner_new();
    opts.service_name = service;
    opts.flags = PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX;
    OK(ph_process_work_batch(rig->side, PH_OWN_TX, &opts, 0, &batch, &t_err));
    ph_work_batch_free(batch);
}

static void check_drain_of_streams(int max_partitions)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    part.calls = 0;
    rig_open(&rig);
    for (int i = 0; i < 10; i++)
        add_dead_instance(&rig, "shop");
    for (int i = 0; i < 5; i++) {
        char name[16];

        snprintf(name, sizeof(name), "s%d", i);
        rig_put_stream(&rig, "t", name, 60);
    }
    rig.opts.service = "shop";
    rig.opts.batch_size = 20;
    rig.opts.max_partitions = max_partitions;
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    CHECK_INT(part.calls, 300);
    rig_end(&rig);
}

TEST(a_drain_does_not_end_at_streams_of_a_dead_instance)
{
    check_drain_of_streams(0);
    check_drain_of_streams(2);
}

static ph_verdict mark_thread_and_play(void *context, ph_work *work)
{
    boot_clock_is_quick = true;
    return play(context, work);
}

TEST(a_drain_does_not_end_when_what_it_has_claimed_is_done_at_once)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 1;
    rig.opts.prefetch = -1;
    rig_put(&rig, "t");
    rig_new(&rig);
    rig_handle_in_tx(&rig, "t", mark_thread_and_play, &part);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(part.calls, 1);
    boot_clock_is_quick = true; /* this thread, too: so that the poller alone is slow */
    for (int i = 0; i < 3; i++)
        rig_put(&rig, "t");
    boot_clock_stall_ms = 40;
    rig_drain(&rig);
    CHECK_INT(part.calls, 4);
    boot_clock_stall_ms = 0;
    rig_end(&rig);
}

TEST(what_has_expired_does_not_hide_what_is_due)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    static ph_message messages[3500];
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    for (size_t i = 0; i < 3500; i++) {
        messages[i] = a_message("t", "too late");
        messages[i].expires_at = T_EPOCH + T_SECOND;
    }
    OK(ph_enqueue_many(rig.side, PH_OWN_TX, messages, 3500, 0, NULL, &t_err));
    t_clock_advance(rig.side, 2 * T_SECOND);
    put_many(rig.side, "t", 5, NULL);
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    CHECK_INT(part.calls, 5);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}pending"), 0);
    rig_end(&rig);
}

TEST(a_drain_ends_at_its_time_limit)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    CHECK_INT(ph_dispatcher_drain(rig.dispatcher, 50, &t_err), PH_ETIMEOUT);
    CHECK_INT(t_err.code, PH_ETIMEOUT);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, 1);
    rig_end(&rig);
}

static ph_verdict keep_it(void *context, ph_work *work)
{
    *(ph_work * _Atomic *)context = work;
    return PH_VERDICT_KEEP;
}

TEST(a_drain_waits_for_kept_works)
{
    static ph_work *_Atomic kept;
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, keep_it, &kept);
    AWAIT(kept != NULL);
    CHECK_INT(ph_dispatcher_drain(rig.dispatcher, 50, &t_err), PH_ETIMEOUT);
    OK(ph_work_settle(kept, PH_VERDICT_DONE, &t_err));
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, 1);
    rig_end(&rig);
}

static void *drain_it(void *context)
{
    struct rig *rig = context;
    ph_error err;
    int r = ph_dispatcher_drain(rig->dispatcher, AWAIT_LIMIT_S * 1000, &err);

    CHECK(r == 0 || r == PH_EINVAL); /* the latter: it was stopped meanwhile */
    return NULL;
}

/* It looks no more often than the polling interval says. */
TEST(a_drain_that_waits_for_a_handler_leaves_the_database_alone)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    int64_t before;
    struct rig rig;

    rig_open(&rig);
    rig.opts.poll_ms = 200;
    rig_put(&rig, "t");
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    before = rig_stats(&rig).empty_claims;
    CHECK_INT(ph_dispatcher_drain(rig.dispatcher, 2000, &t_err), PH_ETIMEOUT);
    CHECK(rig_stats(&rig).empty_claims - before < 40); /* 10, 20, 40 … 200 ms apart */
    gate_open(&gate);
    rig_drain(&rig);
    rig_end(&rig);
}

static ph_verdict drain_from_inside(void *context, ph_work *work)
{
    struct rig *rig = context;

    (void)work;
    CHECK_INT(ph_dispatcher_drain(rig->dispatcher, 0, &t_err), PH_EINVAL);
    return PH_VERDICT_DONE;
}

TEST(a_handler_cannot_wait_for_itself)
{
    static struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, drain_from_inside, &rig);
    AWAIT(rig_stats(&rig).done == 1);
    rig_end(&rig);
}

TEST(several_threads_may_wait)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    pthread_t waiters[3];
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 20, NULL);
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&waiters[i], NULL, drain_it, &rig) == 0);
    gate_open(&gate);
    for (int i = 0; i < 3; i++)
        pthread_join(waiters[i], NULL);
    CHECK_INT(rig_stats(&rig).done, 20);
    rig_end(&rig);
}

TEST(a_stop_ends_a_drain)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .heeds = true };
    pthread_t waiter;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 20, NULL);
    rig_run(&rig, NULL, play, &part);
    AWAIT(part.calls > 0);
    CHECK(pthread_create(&waiter, NULL, drain_it, &rig) == 0);
    OK(ph_dispatcher_stop(rig.dispatcher, 1, &t_err));
    pthread_join(waiter, NULL);
    rig_end(&rig);
}

TEST(a_drain_says_what_kept_it_from_looking)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct rig rig;
    int r;

    rig_open(&rig);
    opts.timeout_ms = 200;
    rig.store = t_open(&opts);
    rig_put(&rig, "t");
    t_begin(rig.conn);
    if (t_is_pg())
        t_sql(rig.conn, "LOCK TABLE {t}lease IN ACCESS EXCLUSIVE MODE");
    rig_run(&rig, NULL, play, &part);
    AWAIT(rig_stats(&rig).outages > 0);
    r = ph_dispatcher_drain(rig.dispatcher, 100, &t_err);
    CHECK(r == PH_ETIMEOUT || r == PH_EBUSY);
    CHECK_INT(t_err.code, r);
    t_rollback(rig.conn);
    rig_drain(&rig);
    CHECK_INT(part.calls, 1);
    rig_end(&rig);
}

/* ------------------------------------------------------------- so many, no more */

TEST(a_message_limit_is_kept)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 100, NULL);
    rig.opts.message_limit = 37;
    rig.opts.batch_size = 10;
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig); /* returns although there are more */
    CHECK_INT(part.calls, 37);
    CHECK_INT(rig_stats(&rig).claimed, 37);
    CHECK_INT(rig_stats(&rig).done, 37);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 0"), 63);
    rig_end(&rig);
}

TEST(a_message_limit_above_what_is_there_ends_the_drain_too)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 5, NULL);
    rig.opts.message_limit = 6;
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    CHECK_INT(part.calls, 5);
    rig_put(&rig, "t");
    rig_put(&rig, "t");
    rig_drain(&rig);
    CHECK_INT(part.calls, 6);
    CHECK_INT(rig_stats(&rig).claimed, 6);
    rig_end(&rig);
}
