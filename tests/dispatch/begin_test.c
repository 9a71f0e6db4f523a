/* begin_test.c - a handler's transaction that is long in coming, or does not come at all. */
#include "rig.h"

static ph_verdict wait_at_gate(void *context, ph_work *work)
{
    (void)work;
    watch_thread();
    gate_pass(context);
    return PH_VERDICT_DONE;
}

/* Nobody can begin a transaction until it is rolled back: on SQLite because it writes, on a server
 * because a new connection looks at the schema's version first. */
static void lock_out(struct rig *rig)
{
    t_begin(rig->conn);
    if (t_is_pg())
        t_sql(rig->conn, "LOCK TABLE {t}store IN ACCESS EXCLUSIVE MODE");
}

/* One message per thread at the gate, and one behind it that needs a transaction; then it is
 * locked out, and the threads go for it. */
static void run_into_lock(struct rig *rig, struct gate *gate, struct part *part, int time_limit_ms)
{
    ph_handler handler = PH_HANDLER_INIT;
    int threads = rig->opts.threads;

    put_many(rig->side, "gate", (size_t)threads, NULL);
    put_many(rig->side, "tx", (size_t)threads, NULL);
    rig_new(rig);
    rig_handle(rig, "gate", wait_at_gate, gate);
    handler.topic = "tx";
    handler.handle = play;
    handler.context = part;
    handler.in_transaction = true;
    handler.time_limit_ms = time_limit_ms;
    OK(ph_dispatcher_handle(rig->dispatcher, &handler, &t_err));
    rig_start(rig);
    gate_await(gate, threads);
    AWAIT(rig_stats(rig).waiting == threads);
    lock_out(rig);
    gate_open(gate);
    AWAIT(rig_stats(rig).waiting == 0);
}

TEST(a_handlers_time_begins_when_it_has_its_transaction)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 1;
    run_into_lock(&rig, &gate, &part, 1000);
    for (double end = t_now_s() + 1.5; t_now_s() < end;)
        nap();
    CHECK_INT(part.calls, 0);
    t_rollback(rig.conn);
    rig_drain(&rig);
    CHECK_INT(part.calls, 1);
    CHECK_INT(part.cancelled, 0);
    CHECK_INT(rig_stats(&rig).done, 2);
    CHECK_INT(rig_stats(&rig).cancelled, 0);
    rig_end(&rig);
}

static void *stop_at_once(void *context)
{
    struct rig *rig = context;
    ph_error ignored;

    (void)!ph_dispatcher_stop(rig->dispatcher, 0, &ignored);
    return NULL;
}

/* What the handler needs may be gone by then. */
TEST(no_handler_is_called_once_it_was_cancelled_by_a_stop)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE };
    pthread_t stopper;
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 1;
    run_into_lock(&rig, &gate, &part, 0);
    CHECK_INT(pthread_create(&stopper, NULL, stop_at_once, &rig), 0);
    AWAIT(rig_stats(&rig).cancelled == 1);
    t_rollback(rig.conn);
    pthread_join(stopper, NULL);
    AWAIT(ended_threads() == 1);
    CHECK_INT(part.calls, 0);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 0 AND "
                                 "attempts = 0"),
              1); /* given back, and nothing counted */
    ph_dispatcher_free(rig.dispatcher);
    t_check_places(rig.conn);
}

/* Every thread tries in vain, and one of them says so. */
TEST(a_lack_of_transactions_is_said_once_and_costs_no_attempt)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 4;
    rig.opts.lease_s = 3; /* so they try for a second */
    run_into_lock(&rig, &gate, &part, 0);
    AWAIT(rig_stats(&rig).running == 0);
    CHECK_INT(part.calls, 0);
    CHECK_INT(journal_count(rig.journal, PH_LOG_WARN, "handle", "no transaction"), 1);
    t_rollback(rig.conn);
    AWAIT(part.calls >= 4);
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).retried, 0);
    rig_end(&rig);
}

struct settler {
    _Atomic int calls, status;
};

static ph_verdict settle_apart(void *context, ph_work *work)
{
    struct settler *settler = context;
    ph_error err;

    settler->calls++;
    CHECK(effect_write(work));
    settler->status = ph_work_settle(work, PH_VERDICT_DONE, &err);
    return PH_VERDICT_DONE;
}

/* Otherwise the ack could come without the effect. */
TEST(a_work_with_a_transaction_is_not_settled_apart_from_it)
{
    static struct settler settler;
    struct rig rig;

    rig_open(&rig);
    effects_make(rig.conn);
    rig_put(&rig, "t");
    rig_new(&rig);
    rig_handle_in_tx(&rig, NULL, settle_apart, &settler);
    rig_start(&rig);
    AWAIT(rig_stats(&rig).done == 1);
    rig_drain(&rig);
    CHECK_INT(settler.status, PH_EINVAL);
    CHECK_INT(settler.calls, 1);
    CHECK_INT(effects(rig.conn), 1);
    rig_end(&rig);
}
