/* transaction_test.c - handlers whose effect commits together with the ack, or not at all. */
#include "rig.h"

#include <stdlib.h>

/* A handler that writes its effect and then does as it is told. */
struct writer {
    ph_verdict verdict;
    const char *then;  /* a statement to run after the effect; NULL: none */
    bool then_fails;   /* that statement must fail */
    struct gate *gate; /* waits there after the effect; NULL: does not */
    _Atomic int calls;
};

static ph_verdict write_effect(void *context, ph_work *work)
{
    struct writer *writer = context;

    writer->calls++;
    CHECK(effect_write(work));
    if (writer->then)
        CHECK_INT(work_sql(work, writer->then), !writer->then_fails);
    if (writer->gate)
        gate_pass(writer->gate);
    return writer->verdict;
}

static void open_with_effects(struct rig *rig)
{
    rig_open(rig);
    effects_make(rig->conn);
}

static void run_in_tx(struct rig *rig, ph_handler_fn function, void *context)
{
    rig_new(rig);
    rig_handle_in_tx(rig, "t", function, context);
    rig_start(rig);
}

TEST(effect_and_ack_commit_together)
{
    static struct writer writer = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    open_with_effects(&rig);
    put_many(rig.side, "t", 30, NULL);
    run_in_tx(&rig, write_effect, &writer);
    rig_drain(&rig);
    CHECK_INT(effects(rig.conn), 30);
    CHECK_INT(effects_distinct(rig.conn), 30);
    CHECK_INT(writer.calls, 30);
    CHECK_INT(rig_stats(&rig).done, 30);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2"), 30);
    rig_end(&rig);
}

TEST(nobody_sees_the_effect_before_the_ack)
{
    static struct gate gate = GATE_INIT;
    static struct writer writer = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;
    ph_work_id id;

    open_with_effects(&rig);
    id = rig_put(&rig, "t");
    run_in_tx(&rig, write_effect, &writer);
    gate_await(&gate, 1);
    CHECK_INT(effects(rig.conn), 0);
    CHECK_INT(see(rig.side, id).status, PH_IN_PROGRESS);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(effects(rig.conn), 1);
    CHECK_INT(see(rig.side, id).status, PH_DONE);
    rig_end(&rig);
}

/* One message with this verdict in a transaction; there must be no effect. */
static struct seen outcome_of(struct writer *writer)
{
    struct rig rig;
    struct seen seen;
    ph_work_id id;

    open_with_effects(&rig);
    t_clock_set(rig.side, T_EPOCH);
    id = rig_put(&rig, "t");
    run_in_tx(&rig, write_effect, writer);
    rig_drain(&rig);
    seen = see(rig.side, id);
    CHECK_INT(writer->calls, 1);
    CHECK_INT(effects(rig.conn), 0);
    rig_end(&rig);
    return seen;
}

TEST(retry_rolls_the_effect_back)
{
    static struct writer writer = { .verdict = PH_VERDICT_RETRY };
    struct seen seen = outcome_of(&writer);

    REQ_INT("OBX-056", seen.status, PH_READY);
    CHECK_INT(seen.attempts, 1);
    CHECK_INT(seen.next_attempt_at, T_EPOCH + 2 * T_SECOND);
}

TEST(fail_rolls_the_effect_back)
{
    static struct writer writer = { .verdict = PH_VERDICT_FAIL };

    REQ_STR("OBX-056", outcome_of(&writer).dead_reason, "failed");
}

TEST(defer_rolls_the_effect_back)
{
    static struct writer writer = { .verdict = PH_VERDICT_DEFER };
    struct seen seen = outcome_of(&writer);

    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 0);
    CHECK_INT(seen.next_attempt_at, T_EPOCH + 60 * T_SECOND);
}

TEST(rubbish_rolls_the_effect_back)
{
    static struct writer writer = { .verdict = (ph_verdict)99 };
    struct seen seen = outcome_of(&writer);

    REQ_INT("OBX-056", seen.status, PH_READY);
    REQ("OBX-056", strstr(seen.last_error, "verdict") != NULL);
    CHECK_INT(seen.attempts, 1);
}

/* Its transaction cannot be kept open. */
TEST(a_work_in_a_transaction_cannot_be_kept)
{
    static struct writer writer = { .verdict = PH_VERDICT_KEEP };
    struct seen seen = outcome_of(&writer);

    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 1);
    CHECK(strstr(seen.last_error, "kept") != NULL);
}

/* --------------------------------------------------- transactions gone wrong */

static void check_retried(struct seen seen)
{
    REQ_INT("OBX-056", seen.status, PH_READY);
    REQ_INT("OBX-056", seen.attempts, 1);
    REQ_STR("OBX-056", seen.kinds, "abandoned");
    REQ("OBX-056", seen.has_error);
}

TEST(a_broken_transaction_cannot_be_done)
{
    static struct writer writer = { .verdict = PH_VERDICT_DONE, .then_fails = true };

    if (t_is_pg()) /* any error breaks a transaction there; here it must be asked for */
        writer.then = "SELECT 1 / 0";
    else
        writer.then = "INSERT OR ROLLBACK INTO effect VALUES (NULL)";
    check_retried(outcome_of(&writer));
}

TEST(a_handler_that_rolls_back_itself_is_not_done)
{
    static struct writer writer = { .verdict = PH_VERDICT_DONE, .then = "ROLLBACK" };

    check_retried(outcome_of(&writer));
}

TEST(a_broken_transaction_does_not_disturb_the_next)
{
    static struct writer bad = { .verdict = PH_VERDICT_DONE,
                                 .then = "nonsense",
                                 .then_fails = true };
    static struct writer worse = { .verdict = PH_VERDICT_RETRY, .then = "ROLLBACK" };
    static struct writer good = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    open_with_effects(&rig);
    rig.opts.threads = 1;
    rig_new(&rig);
    rig_handle_in_tx(&rig, "bad", write_effect, &bad);
    rig_handle_in_tx(&rig, "worse", write_effect, &worse);
    rig_handle_in_tx(&rig, "good", write_effect, &good);
    for (int i = 0; i < 4; i++) {
        rig_put(&rig, "bad");
        rig_put(&rig, "good");
        rig_put(&rig, "worse");
        rig_put(&rig, "good");
    }
    rig_start(&rig);
    AWAIT(good.calls == 8);
    rig_stop(&rig);
    /* On SQLite a bad statement leaves the transaction as it was, and it is done. */
    CHECK_INT(effects(rig.conn), t_is_pg() ? 8 : 8 + bad.calls);
    CHECK_INT(effects_distinct(rig.conn), effects(rig.conn));
    rig_end(&rig);
}

/* SQLite can be kept from it. On a server the effect is the handler's own affair then; the message
 * comes again. */
TEST(a_handler_that_commits_itself_is_not_acknowledged_by_that)
{
    static struct writer writer = { .verdict = PH_VERDICT_DONE, .then = "COMMIT" };
    long long kept;
    struct rig rig;
    ph_work_id id;

    open_with_effects(&rig);
    t_clock_set(rig.side, T_EPOCH);
    id = rig_put(&rig, "t");
    writer.then_fails = !t_is_pg();
    run_in_tx(&rig, write_effect, &writer);
    rig_drain(&rig);
    check_retried(see(rig.side, id));
    kept = effects(rig.conn);
    CHECK_INT(kept, t_is_pg() ? 1 : 0);
    writer.then = NULL;
    t_clock_advance(rig.side, 3 * T_SECOND);
    AWAIT(rig_stats(&rig).done == 1);
    CHECK_INT(effects(rig.conn), kept + 1);
    rig_end(&rig);
}

TEST(a_session_setting_does_not_reach_the_next_handler)
{
    static struct writer writer = { .verdict = PH_VERDICT_DONE,
                                    .then = "SET search_path = pg_catalog; "
                                            "SET statement_timeout = 77777" };
    struct rig rig;

    if (!t_is_pg())
        t_not_here("concerns sessions of a server");
    open_with_effects(&rig);
    put_many(rig.side, "t", 20, NULL);
    rig.opts.threads = 2;
    run_in_tx(&rig, write_effect, &writer);
    rig_drain(&rig); /* whatever it sets, ours go on */
    CHECK_INT(effects(rig.conn), 20);
    rig_end(&rig);
}

/* ----------------------------------------------------------- the lost lease */

TEST(an_effect_whose_lease_was_lost_is_rolled_back)
{
    static struct gate gate = GATE_INIT;
    static struct part first = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    static struct writer writer = { .verdict = PH_VERDICT_DONE };
    ph_owner other = ph_owner_new();
    struct rig rig;
    ph_work_id id;

    open_with_effects(&rig);
    t_clock_set(rig.side, T_EPOCH);
    rig_put(&rig, "first");
    id = rig_put(&rig, "t");
    rig.opts.threads = 1; /* the second waits, holding no lock on either database */
    rig.opts.message_limit = 2;
    rig_new(&rig);
    rig_handle(&rig, "first", play, &first);
    rig_handle_in_tx(&rig, "t", write_effect, &writer);
    rig_start(&rig);
    gate_await(&gate, 1);
    AWAIT(rig_stats(&rig).claimed == 2);
    t_clock_advance(rig.side, 31 * T_SECOND);
    CHECK_INT(reap(rig.side), 2);
    take_one(rig.side, other);
    take_one(rig.side, other);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(effects(rig.conn), 0);
    CHECK_INT(rig_stats(&rig).done, 0);
    CHECK_INT(see(rig.side, id).status, PH_IN_PROGRESS);
    CHECK(same_id(see(rig.side, id).owner.b, other.b));
    rig_end(&rig);
}

TEST(an_effect_whose_lease_is_lost_while_the_handler_runs_is_rolled_back)
{
    static struct gate gate = GATE_INIT;
    static struct writer writer = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    ph_owner other = ph_owner_new();
    struct rig rig;
    ph_lease_ref theirs;

    if (!t_is_pg())
        t_not_here("on SQLite the handler's transaction keeps others from writing");
    open_with_effects(&rig);
    t_clock_set(rig.side, T_EPOCH);
    rig_put(&rig, "t");
    rig.opts.message_limit = 1;
    run_in_tx(&rig, write_effect, &writer);
    gate_await(&gate, 1);
    t_clock_advance(rig.side, 31 * T_SECOND);
    CHECK_INT(reap(rig.side), 1);
    theirs = take_one(rig.side, other);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(effects(rig.conn), 0);
    CHECK_INT(rig_stats(&rig).stale, 1);
    CHECK_INT(ack(rig.side, other, theirs), PH_OUTCOME_ACKED);
    rig_end(&rig);
}

struct slow_writer {
    _Atomic int calls;
    int wait_ms;
};

static ph_verdict write_slowly(void *context, ph_work *work)
{
    struct slow_writer *writer = context;

    writer->calls++;
    CHECK(effect_write(work));
    for (double end = t_now_s() + writer->wait_ms / 1e3; t_now_s() < end;)
        nap();
    return PH_VERDICT_DONE;
}

/* On SQLite nobody can renew a lease meanwhile, nor take it over. */
TEST(a_transaction_longer_than_the_lease_has_its_effect_once)
{
    static struct slow_writer writer = { .wait_ms = 2500 };
    struct rig rig;

    open_with_effects(&rig);
    put_many(rig.side, "t", 2, NULL);
    rig.opts.lease_s = 1;
    rig.opts.threads = 2;
    run_in_tx(&rig, write_slowly, &writer);
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2") == 2);
    CHECK_INT(effects(rig.conn), 2);
    CHECK_INT(effects_distinct(rig.conn), 2);
    rig_end(&rig);
}

/* ------------------------------------------------------ verbs in the handler */

static ph_verdict pass_on(void *context, ph_work *work)
{
    ph_message message = a_message("next", ph_work_delivery(work)->payload);
    ph_error err = { 0 };
    int r = ph_enqueue(ph_work_store(work), ph_work_tx(work), &message, 0, NULL, &err);

    if (r < 0)
        printf("%s\n", err.message);
    CHECK_INT(r, 0);
    CHECK(effect_write(work));
    return context && atoi(ph_work_delivery(work)->payload) % 2 ? PH_VERDICT_FAIL : PH_VERDICT_DONE;
}

TEST(a_handler_enqueues_in_its_transaction)
{
    static struct part next = { .verdict = PH_VERDICT_DONE };
    static int odd_ones_fail;
    struct rig rig;

    open_with_effects(&rig);
    put_many(rig.side, "t", 20, NULL);
    rig_new(&rig);
    rig_handle_in_tx(&rig, "t", pass_on, &odd_ones_fail);
    rig_handle(&rig, "next", play, &next);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(next.calls, 10); /* each message that was done has exactly one follower */
    CHECK_INT(effects(rig.conn), 10);
    CHECK_INT(rig_stats(&rig).failed, 10);
    rig_end(&rig);
}

/* ----------------------------------------------------------------- at once */

TEST(transactions_run_at_the_same_time_on_a_server)
{
    static struct gate gate = GATE_INIT;
    static struct writer writer = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    if (!t_is_pg())
        t_not_here("SQLite has one writer");
    open_with_effects(&rig);
    put_many(rig.side, "t", 12, NULL);
    rig.opts.threads = 4;
    run_in_tx(&rig, write_effect, &writer);
    gate_await(&gate, 4);
    REQ_INT("OBX-060", rig_stats(&rig).running, 4);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(effects(rig.conn), 12);
    rig_end(&rig);
}

TEST(many_threads_with_and_without_transactions)
{
    static struct writer writer = { .verdict = PH_VERDICT_DONE };
    static struct part plain = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    open_with_effects(&rig);
    for (int i = 0; i < 10; i++) {
        put_many(rig.side, "t", 10, NULL);
        put_many(rig.side, "plain", 10, NULL);
    }
    rig.opts.threads = 6;
    rig_new(&rig);
    rig_handle_in_tx(&rig, "t", write_effect, &writer);
    rig_handle(&rig, "plain", play, &plain);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(effects(rig.conn), 100);
    CHECK_INT(effects_distinct(rig.conn), 100);
    CHECK_INT(plain.calls, 100);
    CHECK_INT(rig_stats(&rig).done, 200);
    rig_end(&rig);
}

static ph_verdict no_transaction(void *context, ph_work *work)
{
    ph_tx tx = ph_work_tx(work);
    _Atomic int *none = context;

    *none += tx.backend == NULL && tx.connection == NULL;
    return PH_VERDICT_DONE;
}

TEST(without_a_transaction_there_is_none)
{
    static _Atomic int none;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 3, NULL);
    rig_run(&rig, "t", no_transaction, &none);
    rig_drain(&rig);
    CHECK_INT(none, 3);
    rig_end(&rig);
}
