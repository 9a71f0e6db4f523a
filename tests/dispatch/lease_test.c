/* lease_test.c - leases while handlers run: renewed, lost to somebody else, or not renewable. */
#include "rig.h"

TEST(a_handler_that_takes_longer_than_the_lease_keeps_its_message)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;
    int64_t until;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig.opts.lease_s = 2;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    until = see(rig.side, id).locked_until;
    AWAIT(t_clock(rig.side) > until + T_SECOND / 2);
    CHECK(see(rig.side, id).locked_until > until);
    CHECK_INT(reap(rig.side), 0);
    CHECK_INT(claimable(rig.side, 10), 0);
    CHECK_INT(see(rig.side, id).attempts, 1);
    CHECK(rig_stats(&rig).renewals >= 2);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(part.calls, 1);
    CHECK_INT(part.cancelled, 0);
    CHECK_INT(see(rig.side, id).status, PH_DONE);
    CHECK_INT(see(rig.side, id).attempts, 1);
    CHECK_INT(rig_stats(&rig).stale, 0);
    rig_end(&rig);
}

/* Whether they keep their lease or are given back meanwhile: none is lost, none costs more. */
TEST(messages_that_wait_long_for_a_thread_cost_one_attempt)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    ph_enqueued messages[5];
    struct rig rig;
    int64_t until;

    rig_open(&rig);
    put_many(rig.side, "t", 5, messages);
    rig.opts.lease_s = 2;
    rig.opts.threads = 1;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    until = see(rig.side, messages[4].work_id).locked_until;
    AWAIT(t_clock(rig.side) > until + T_SECOND / 2);
    CHECK_INT(reap(rig.side), 0);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(part.calls, 5);
    for (int i = 0; i < 5; i++)
        CHECK_INT(see(rig.side, messages[i].work_id).attempts, 1);
    CHECK_INT(rig_stats(&rig).stale, 0);
    rig_end(&rig);
}

/* Another dispatcher may have a thread for them. */
TEST(messages_that_wait_a_whole_lease_for_a_thread_are_given_back)
{
    static struct gate gate = GATE_INIT;
    static struct part held = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    static struct part idle = { .verdict = PH_VERDICT_DONE };
    struct rig rig, other;

    rig_open(&rig);
    put_many(rig.side, "t", 5, NULL);
    rig.opts.lease_s = 2;
    rig.opts.threads = 1;
    rig.opts.message_limit = 5; /* so that it does not take them again */
    rig_run(&rig, NULL, play, &held);
    gate_await(&gate, 1);
    AWAIT(rig_stats(&rig).claimed == 5);
    other = rig;
    other.store = t_open(NULL);
    rig_run(&other, NULL, play, &idle);
    AWAIT(rig_stats(&other).done == 4);
    CHECK_INT(rig_stats(&rig).released, 4);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE attempts > 1"), 0);
    gate_open(&gate);
    rig_drain(&rig);
    rig_end(&other);
    rig_end(&rig);
}

/* Somebody else takes the message over; the handler is told at the next renewal. */
static ph_lease_ref take_over(struct rig *rig, ph_owner other)
{
    t_clock_advance(rig->side, 10 * T_SECOND);
    reap(rig->side);
    return take_one(rig->side, other);
}

TEST(a_handler_whose_lease_was_lost_is_told_and_its_result_is_stale)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate, .heeds = true };
    ph_owner other = ph_owner_new();
    ph_lease_ref theirs;
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    id = rig_put(&rig, "t");
    rig.opts.lease_s = 3;
    rig.opts.message_limit = 1; /* so that it does not take it back itself */
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    theirs = take_over(&rig, other);
    gate_open(&gate);
    rig_drain(&rig);
    REQ_INT("OBX-057", part.cancelled, 1);
    CHECK_INT(rig_stats(&rig).stale, 1);
    CHECK_INT(rig_stats(&rig).done, 0);
    CHECK_INT(rig_stats(&rig).cancelled, 1);
    CHECK_INT(see(rig.side, id).status, PH_IN_PROGRESS);
    CHECK(same_id(see(rig.side, id).owner.b, other.b));
    CHECK(journal_count(rig.journal, PH_LOG_WARN, "handle", "lease") +
              journal_count(rig.journal, PH_LOG_ERROR, "handle", "lease") >=
          1);
    CHECK_INT(ack(rig.side, other, theirs), PH_OUTCOME_ACKED);
    rig_end(&rig);
}

/* A late retry is not a failure of the new owner's attempt, nor a second one. */
TEST(a_stale_retry_changes_nothing)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_RETRY, .gate = &gate, .error = "stale" };
    ph_owner other = ph_owner_new();
    ph_lease_ref theirs;
    struct rig rig;
    struct seen seen;
    ph_work_id id;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    id = rig_put(&rig, "t");
    rig.opts.lease_s = 3;
    rig.opts.message_limit = 1;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    theirs = take_over(&rig, other);
    CHECK_INT(ack(rig.side, other, theirs), PH_OUTCOME_ACKED);
    gate_open(&gate);
    rig_drain(&rig);
    seen = see(rig.side, id);
    CHECK_INT(seen.status, PH_DONE);
    CHECK_STR(seen.kinds, "lost");
    CHECK(!seen.has_error);
    CHECK_INT(rig_stats(&rig).stale, 1);
    CHECK_INT(rig_stats(&rig).retried, 0);
    rig_end(&rig);
}

/* Those that were still waiting for a thread are not handled any more once that is known. */
TEST(what_was_lost_while_waiting_is_settled_by_nobody)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    ph_owner other = ph_owner_new();
    ph_lease_ref theirs[3];
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    put_many(rig.side, "t", 3, NULL);
    rig.opts.lease_s = 3;
    rig.opts.threads = 1;
    rig.opts.message_limit = 3;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    AWAIT(rig_stats(&rig).claimed == 3);
    t_clock_advance(rig.side, 10 * T_SECOND);
    CHECK_INT(reap(rig.side), 3);
    for (int i = 0; i < 3; i++)
        theirs[i] = take_one(rig.side, other);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, 0);
    CHECK_INT(rig_stats(&rig).waiting, 0);
    for (int i = 0; i < 3; i++)
        CHECK_INT(ack(rig.side, other, theirs[i]), PH_OUTCOME_ACKED);
    rig_end(&rig);
}

TEST(a_lease_that_may_not_be_stretched_further_cancels_the_handler)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .heeds = true };
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    struct rig rig;

    rig_open(&rig);
    settings.max_lease_s = 1;
    set_queue(rig.side, &settings);
    rig_put(&rig, "t");
    rig.opts.lease_s = 3;
    rig.opts.message_limit = 1;
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    REQ_INT("OBX-057", part.cancelled, 1);
    rig_end(&rig);
}

/* The lease ends at the queue's maximum, and the handler is told before: nobody else can have its
 * message yet. */
TEST(a_handler_is_told_before_its_lease_ends_at_the_maximum)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .heeds = true };
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    struct rig rig;
    ph_work_id id;
    int64_t begin, until;

    rig_open(&rig);
    settings.max_lease_s = 5;
    set_queue(rig.side, &settings);
    begin = t_clock(rig.side);
    id = rig_put(&rig, "t");
    rig.opts.lease_s = 4; /* renewed after 1.3 s, for less than was asked */
    rig.opts.message_limit = 1;
    rig_run(&rig, NULL, play, &part);
    AWAIT((until = see(rig.side, id).locked_until) >= begin + 5 * T_SECOND);
    AWAIT(part.cancelled == 1);
    REQ("OBX-057", t_clock(rig.side) < until);
    rig_drain(&rig);
    rig_end(&rig);
}

/* --------------------------------------------------------------- self-fencing */

/* Whatever a renewal needs is locked by this connection, until it rolls back. */
static void lock_everything(struct t_conn *conn)
{
    t_begin(conn);
    if (t_is_pg())
        t_sql(conn, "LOCK TABLE {t}lease IN ACCESS EXCLUSIVE MODE");
}

struct fenced {
    struct gate gate;
    _Atomic int calls, cancelled;
    double started, told; /* seconds */
};

static ph_verdict hold_on(void *context, ph_work *work)
{
    struct fenced *fenced = context;

    if (fenced->calls++ == 0) {
        fenced->started = t_now_s();
        gate_pass(&fenced->gate);
        fenced->cancelled += ph_work_wait(work, AWAIT_LIMIT_S * 1000);
        fenced->told = t_now_s();
    }
    return PH_VERDICT_DONE;
}

TEST(a_handler_is_told_when_its_lease_cannot_be_renewed)
{
    static struct fenced fenced = { .gate = GATE_INIT };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig.opts.lease_s = 3;
    rig_run(&rig, NULL, hold_on, &fenced);
    gate_await(&fenced.gate, 1);
    lock_everything(rig.conn); /* long enough to keep every call waiting until it gives up */
    gate_open(&fenced.gate);
    AWAIT(fenced.cancelled == 1);
    t_rollback(rig.conn);
    AWAIT(see(rig.side, id).status == PH_DONE);
    rig_drain(&rig);
    REQ_INT("OBX-057", fenced.cancelled, 1);
    /* Not much later than the lease: it must not depend on the database's answer. */
    CHECK(fenced.told - fenced.started < 3 + 10);
    CHECK_INT(rig_stats(&rig).cancelled, 1);
    rig_end(&rig);
}

/* Nothing is claimed or settled meanwhile: the renewals alone find out. */
TEST(a_renewal_tells_that_the_database_is_back)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    rig_open(&rig);
    rig.opts.lease_s = 3;
    rig.opts.in_flight_max = 1;
    rig_put(&rig, "t");
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    t_begin(rig.conn);
    if (t_is_pg())
        t_sql(rig.conn, "LOCK TABLE {t}lease IN ACCESS EXCLUSIVE MODE");
    AWAIT(rig_stats(&rig).outages == 1);
    CHECK(!rig_stats(&rig).connected);
    t_rollback(rig.conn);
    AWAIT(rig_stats(&rig).connected);
    CHECK_INT(part.calls, 1);
    AWAIT(journal_count(rig.journal, PH_LOG_WARN, "dispatcher", "back") == 1); /* said next */
    gate_open(&gate);
    rig_drain(&rig);
    rig_end(&rig);
}

TEST(messages_that_wait_are_not_handled_after_their_lease_ran_out)
{
    static struct fenced fenced = { .gate = GATE_INIT };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 4, NULL);
    rig.opts.lease_s = 3;
    rig.opts.threads = 1;
    rig_run(&rig, NULL, hold_on, &fenced);
    gate_await(&fenced.gate, 1);
    AWAIT(rig_stats(&rig).claimed == 4);
    lock_everything(rig.conn);
    gate_open(&fenced.gate);
    AWAIT(fenced.cancelled == 1);
    for (int i = 0; i < 100; i++)
        nap();
    CHECK_INT(fenced.calls, 1); /* the others would run without a lease */
    t_rollback(rig.conn);
    rig_drain(&rig);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2"), 4);
    rig_end(&rig);
}

/* Two deliveries of one message, the older of which was lost, may be settled at the same moment: of
 * a message given twice the database takes the first. */
TEST(what_is_handled_again_after_a_lost_lease_is_settled)
{
    static struct gate gate = GATE_INIT;
    static struct part slow = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    static struct part quick = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    rig_put(&rig, "slow");
    rig_put(&rig, "quick");
    rig.opts.threads = 1;
    rig_new(&rig);
    rig_handle(&rig, "slow", play, &slow);
    rig_handle(&rig, "quick", play, &quick);
    rig_start(&rig);
    gate_await(&gate, 1);
    t_clock_advance(rig.side, 31 * T_SECOND);
    AWAIT(rig_stats(&rig).claimed == 4);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(quick.calls, 1);
    CHECK_INT(t_number(rig.conn,
                       "SELECT count(*) FROM {t}outbox WHERE topic = 'quick' AND status_code = 2"),
              1);
    t_clock_advance(rig.side, 2 * T_SECOND);
    rig_drain(&rig);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2"), 2);
    rig_end(&rig);
}
