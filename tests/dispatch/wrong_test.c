/* wrong_test.c - handlers that go wrong: they end their thread, hang, or come back too late. */
#include "rig.h"

static void handle_with_limit(struct rig *rig, const char *topic, ph_handler_fn function,
                              void *context, int time_limit_ms)
{
    ph_handler handler = PH_HANDLER_INIT;

    handler.topic = topic;
    handler.handle = function;
    handler.context = context;
    handler.time_limit_ms = time_limit_ms;
    OK(ph_dispatcher_handle(rig->dispatcher, &handler, &t_err));
}

/* ------------------------------------------------------------ the thread's end */

static ph_verdict end_the_thread(void *context, ph_work *work)
{
    _Atomic int *calls = context;

    (*calls)++;
    ph_work_error(work, "the handler's own words");
    ph_work_delay(work, 0);
    pthread_exit(NULL);
}

TEST(a_handler_that_ends_its_thread_costs_the_attempt_and_the_thread_is_replaced)
{
    static _Atomic int ends;
    static struct part good = { .verdict = PH_VERDICT_DONE };
    struct rig rig;
    struct seen seen;
    ph_work_id id;

    rig_open(&rig);
    set_max_attempts(rig.side, 3);
    id = rig_put(&rig, "bad");
    put_many(rig.side, "good", 10, NULL);
    rig.opts.threads = 1; /* the only one */
    rig_new(&rig);
    rig_handle(&rig, "bad", end_the_thread, &ends);
    rig_handle(&rig, "good", play, &good);
    rig_start(&rig);
    AWAIT(rig_stats(&rig).dead == 1);
    rig_drain(&rig);
    seen = see(rig.side, id);
    REQ_INT("OBX-056", ends, 3);
    REQ_INT("OBX-056", seen.status, PH_FAILED);
    REQ_STR("OBX-056", seen.dead_reason, "attempts");
    REQ("OBX-056", strstr(seen.last_error, "thread") != NULL);
    REQ_INT("OBX-056", good.calls, 10);
    CHECK_INT(rig_stats(&rig).replaced_threads, 3);
    CHECK_INT(rig_stats(&rig).running, 0);
    CHECK_INT(journal_count(rig.journal, PH_LOG_ERROR, "handle", "thread"), 3);
    rig_end(&rig);
}

static ph_verdict end_the_thread_in_tx(void *context, ph_work *work)
{
    CHECK(effect_write(work));
    return end_the_thread(context, work);
}

TEST(a_transaction_whose_thread_ends_is_rolled_back)
{
    static _Atomic int ends;
    static struct part good = { .verdict = PH_VERDICT_DONE };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    effects_make(rig.conn);
    set_max_attempts(rig.side, 2);
    id = rig_put(&rig, "bad");
    put_many(rig.side, "good", 3, NULL);
    rig_new(&rig);
    rig_handle_in_tx(&rig, "bad", end_the_thread_in_tx, &ends);
    rig_handle(&rig, "good", play, &good);
    rig_start(&rig);
    AWAIT(rig_stats(&rig).dead == 1);
    rig_drain(&rig);
    CHECK_INT(see(rig.side, id).status, PH_FAILED);
    CHECK_INT(effects(rig.conn), 0);
    CHECK_INT(good.calls, 3);
    rig_end(&rig);
}

/* -------------------------------------------------------------- the time limit */

TEST(a_handler_is_cancelled_at_its_time_limit)
{
    static struct part slow = { .verdict = PH_VERDICT_RETRY, .heeds = true, .error = "too slow" };
    struct rig rig;
    struct seen seen;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_new(&rig);
    handle_with_limit(&rig, "t", play, &slow, 50);
    rig_start(&rig);
    rig_drain(&rig);
    seen = see(rig.side, id);
    REQ_INT("OBX-057", slow.cancelled, 1);
    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 1); /* unlike one that was cancelled by a stop */
    CHECK_STR(seen.last_error, "too slow");
    CHECK_INT(rig_stats(&rig).cancelled, 1);
    CHECK_INT(rig_stats(&rig).replaced_threads, 0);
    rig_end(&rig);
}

TEST(a_handler_that_finishes_although_it_was_cancelled_is_done)
{
    static struct part slow = { .verdict = PH_VERDICT_DONE, .heeds = true };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_new(&rig);
    handle_with_limit(&rig, "t", play, &slow, 50);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(see(rig.side, id).status, PH_DONE);
    rig_end(&rig);
}

TEST(a_handler_within_its_time_limit_is_not_cancelled)
{
    static struct part quick = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 20, NULL);
    rig_new(&rig);
    handle_with_limit(&rig, "t", play, &quick, 60000);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(quick.cancelled, 0);
    CHECK_INT(rig_stats(&rig).cancelled, 0);
    rig_end(&rig);
}

struct hang {
    struct gate gate;
    _Atomic int cancelled;
};

static ph_verdict hang_around(void *context, ph_work *work)
{
    struct hang *hang = context;

    watch_thread();
    if (ph_work_wait(work, AWAIT_LIMIT_S * 1000))
        hang->cancelled++;
    gate_pass(&hang->gate);
    ph_work_error(work, "far too late"); /* nobody may listen any more */
    ph_work_delay(work, 1);
    return PH_VERDICT_FAIL;
}

/* With one thread: nothing else could be handled if it were not replaced. */
TEST(a_handler_that_hangs_is_abandoned_and_its_thread_replaced)
{
    static struct hang hang = { .gate = GATE_INIT };
    static struct part good = { .verdict = PH_VERDICT_DONE };
    struct rig rig;
    struct seen seen;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "hangs");
    rig.opts.threads = 1;
    rig_new(&rig);
    handle_with_limit(&rig, "hangs", hang_around, &hang, 20);
    rig_handle(&rig, "good", play, &good);
    rig_start(&rig);
    gate_await(&hang.gate, 1);
    put_many(rig.side, "good", 5, NULL);
    AWAIT(rig_stats(&rig).replaced_threads == 1);
    AWAIT(good.calls == 5);
    rig_drain(&rig);
    seen = see(rig.side, id);
    REQ_INT("OBX-056", hang.cancelled, 1);
    REQ_INT("OBX-056", seen.status, PH_READY);
    REQ_INT("OBX-056", seen.attempts, 1);
    REQ_INT("OBX-056", seen.retry_count, 1);
    CHECK(seen.has_error);
    CHECK(journal_count(rig.journal, PH_LOG_ERROR, "handle", "hangs") >= 1);
    gate_open(&hang.gate);
    AWAIT(ended_threads() == 1);
    rig_put(&rig, "good");
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).failed, 0); /* what it returned at last was ignored */
    CHECK_INT(rig_stats(&rig).running, 0);
    CHECK(strcmp(see(rig.side, id).last_error, "far too late") != 0);
    rig_end(&rig);
}

/* What a handler that was given up has come to. */
struct late_stop {
    ph_dispatcher *dispatcher;
    struct gate gate;
    _Atomic int result;
};

static ph_verdict stop_too_late(void *context, ph_work *work)
{
    struct late_stop *late = context;

    (void)work;
    gate_pass(&late->gate);
    late->result = ph_dispatcher_stop(late->dispatcher, 0, NULL);
    return PH_VERDICT_DONE;
}

TEST(a_handler_that_was_given_up_still_cannot_stop_its_dispatcher)
{
    static struct late_stop late = { .gate = GATE_INIT };
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "hangs");
    rig.opts.threads = 1;
    rig_new(&rig);
    late.dispatcher = rig.dispatcher;
    handle_with_limit(&rig, "hangs", stop_too_late, &late, 20);
    rig_start(&rig);
    AWAIT(rig_stats(&rig).replaced_threads == 1);
    gate_open(&late.gate);
    AWAIT(late.result != 0);
    CHECK_INT(late.result, PH_EINVAL);
    rig_end(&rig);
}

static ph_verdict hang_at_once(void *context, ph_work *work)
{
    ph_work_delay(work, 0);
    gate_pass(context);
    return PH_VERDICT_DONE;
}

/* It cannot be handled here while its handler hangs; and every try is kept in its history. */
TEST(a_message_whose_handler_hangs_is_put_off)
{
    static struct gate gate = GATE_INIT;
    int64_t now = 0;
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "hangs");
    rig_new(&rig);
    handle_with_limit(&rig, "hangs", hang_at_once, &gate, 20);
    rig_start(&rig);
    AWAIT(rig_stats(&rig).released == 1);
    OK(ph_clock(rig.side, PH_OWN_TX, 0, &now, &t_err));
    CHECK(see(rig.side, id).next_attempt_at > now + 30 * T_SECOND);
    CHECK_INT(rig_stats(&rig).started, 1);
    gate_open(&gate);
    rig_end(&rig);
}

/* As many hang as there are threads, and one more: then nothing is replaced any more. */
TEST(a_pool_that_hung_works_again_when_its_handlers_return)
{
    static struct hang hang = { .gate = GATE_INIT };
    static struct part good = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "hangs", 2, NULL);
    rig.opts.threads = 1;
    rig.opts.prefetch = -1;
    rig_new(&rig);
    handle_with_limit(&rig, "hangs", hang_around, &hang, 20);
    rig_handle(&rig, "good", play, &good);
    rig_start(&rig);
    gate_await(&hang.gate, 2);
    AWAIT(journal_count(rig.journal, PH_LOG_ERROR, "handle", "too many handlers hang") == 1);
    put_many(rig.side, "good", 3, NULL);
    CHECK_INT(rig_stats(&rig).replaced_threads, 1);
    CHECK_INT(rig_stats(&rig).claimed, 2);
    gate_open(&hang.gate);
    AWAIT(good.calls == 3);
    AWAIT(rig_stats(&rig).replaced_threads == 2);
    rig_end(&rig);
}

TEST(neighbours_of_a_hung_handler_go_on_meanwhile)
{
    static struct hang hang = { .gate = GATE_INIT };
    static struct part good = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "hangs");
    rig.opts.threads = 2;
    rig_new(&rig);
    handle_with_limit(&rig, "hangs", hang_around, &hang, 20);
    rig_handle(&rig, "good", play, &good);
    rig_start(&rig);
    gate_await(&hang.gate, 1);
    put_many(rig.side, "good", 50, NULL);
    AWAIT(rig_stats(&rig).done == 50);
    CHECK_INT(rig_stats(&rig).replaced_threads,
              0); /* it was not yet given up, or this says little */
    gate_open(&hang.gate);
    rig_drain(&rig);
    rig_end(&rig);
}

/* Both threads are gone: the late one returns in the middle of other people's work. */
TEST(a_transaction_of_a_hung_handler_has_no_effect)
{
    static struct hang hang = { .gate = GATE_INIT };
    ph_handler handler = PH_HANDLER_INIT;
    struct rig rig;
    ph_work_id id;

    if (!t_is_pg())
        t_not_here("on SQLite it holds the file's write lock, and nobody can abandon the message");
    rig_open(&rig);
    id = rig_put(&rig, "hangs");
    rig_new(&rig);
    handler.topic = "hangs";
    handler.handle = hang_around;
    handler.context = &hang;
    handler.in_transaction = true;
    handler.time_limit_ms = 20;
    OK(ph_dispatcher_handle(rig.dispatcher, &handler, &t_err));
    rig_start(&rig);
    gate_await(&hang.gate, 1);
    AWAIT(rig_stats(&rig).replaced_threads == 1);
    AWAIT(see(rig.side, id).status == PH_READY);
    gate_open(&hang.gate);
    AWAIT(ended_threads() == 1);
    CHECK_INT(see(rig.side, id).status, PH_READY);
    rig_end(&rig);
}
