/* wake_test.c - the poller wakes when there is something to do, and only then. The lease is
 * long and the doorbell off: nothing else would wake it in time. */
#include "rig.h"

#define MESSAGES 8

static void open_quiet(struct rig *rig)
{
    rig_open(rig);
    rig->opts.doorbell = PH_DOORBELL_OFF;
    rig->opts.lease_s = 3600;
    put_many(rig->side, "t", MESSAGES, NULL);
}

static void run_in_tx(struct rig *rig, struct part *part)
{
    rig_new(rig);
    rig_handle_in_tx(rig, NULL, play, part);
    rig_start(rig);
    AWAIT(part->calls == MESSAGES);
    rig_drain(rig);
    CHECK_INT(rig_stats(rig).done, MESSAGES);
    rig_end(rig);
}

TEST(a_thread_that_ends_its_transaction_gets_the_next_message)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    open_quiet(&rig);
    rig.opts.prefetch = -1;
    rig.opts.threads = 2;
    run_in_tx(&rig, &part);
}

TEST(a_transaction_that_ends_makes_room_in_flight)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    open_quiet(&rig);
    rig.opts.in_flight_max = 1;
    run_in_tx(&rig, &part);
}

/* Whoever settles must see to that, also if it is not who claims. */
TEST(what_is_settled_makes_room_in_flight)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    open_quiet(&rig);
    rig.opts.in_flight_max = 1;
    rig_run(&rig, NULL, play, &part);
    AWAIT(rig_stats(&rig).done == MESSAGES);
    rig_drain(&rig);
    rig_end(&rig);
}

struct keeper {
    _Atomic int count;
    ph_work *works[MESSAGES];
};

static ph_verdict keep(void *context, ph_work *work)
{
    struct keeper *keeper = context;

    keeper->works[keeper->count] = work;
    keeper->count++;
    return PH_VERDICT_KEEP;
}

TEST(a_thread_whose_work_was_kept_gets_the_next_message)
{
    static struct keeper keeper;
    struct rig rig;

    open_quiet(&rig);
    rig.opts.prefetch = -1;
    rig.opts.threads = 1;
    rig_run(&rig, NULL, keep, &keeper);
    AWAIT(keeper.count == MESSAGES);
    for (int i = 0; i < MESSAGES; i++)
        OK(ph_work_settle(keeper.works[i], PH_VERDICT_DONE, &t_err));
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, MESSAGES);
    rig_end(&rig);
}

/* On SQLite every commit is a doorbell, whomever it concerns. */
TEST(a_dispatcher_does_not_run_at_every_doorbell_that_is_not_for_it)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    double begin, took;
    int64_t looks;
    struct rig rig;

    rig_open(&rig);
    rig.opts.ns = "another";
    rig_run(&rig, NULL, play, &part);
    AWAIT(rig_stats(&rig).empty_claims > 3);
    looks = rig_stats(&rig).empty_claims;
    begin = t_now_s();
    for (int i = 0; i < 2000; i++)
        rig_put(&rig, "t");
    looks = rig_stats(&rig).empty_claims - looks;
    took = t_now_s() - begin;
    printf("%lld looks in %.2f s\n", (long long)looks, took);
    CHECK((double)looks < 100 + took * 250); /* 5 ms apart, and some at the beginning */
    CHECK_INT(part.calls, 0);
    rig_end(&rig);
}

struct mixed {
    struct gate gate;
    _Atomic int quick;
};

static ph_verdict stop_at_the_slow_one(void *context, ph_work *work)
{
    struct mixed *mixed = context;

    if (strcmp(ph_work_delivery(work)->topic, "slow") == 0)
        gate_pass(&mixed->gate);
    else
        mixed->quick++;
    return PH_VERDICT_DONE;
}

/* Quick handlers are left to one thread; but nobody knows beforehand which will be quick. */
TEST(a_slow_handler_does_not_hold_up_the_rest_of_its_batch)
{
    static struct mixed mixed = { .gate = GATE_INIT };
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 3;
    put_many(rig.side, "t", 300, NULL);
    rig_run(&rig, NULL, stop_at_the_slow_one, &mixed);
    AWAIT(mixed.quick == 300);
    t_begin(rig.conn);
    for (int i = 0; i < 22; i++) {
        ph_message message = a_message(i % 11 ? "t" : "slow", "x");

        OK(try_put(rig.side, t_tx(rig.conn), &message));
    }
    t_commit(rig.conn);
    gate_await(&mixed.gate, 2);
    AWAIT(mixed.quick == 320);
    gate_open(&mixed.gate);
    rig_drain(&rig);
    rig_end(&rig);
}
