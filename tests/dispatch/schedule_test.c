/* schedule_test.c - a dispatcher that also runs a scheduler: timers and jobs reach its handlers;
 * and joins that end under it are told one at a time. */
#include "rig.h"
#include "store/store.h"

static ph_work_id put_timer(struct rig *rig, int64_t due_at)
{
    ph_timer timer = PH_TIMER_INIT;
    ph_work_id id;

    timer.topic = "later";
    timer.payload = "x";
    timer.due_at = due_at;
    OK(ph_timer_schedule(rig->side, PH_OWN_TX, &timer, 0, &id, &t_err));
    return id;
}

/* One handler at a time: it notes the message id of what it got. */
struct noted {
    _Atomic int calls;
    ph_message_id last;
};

static ph_verdict note(void *context, ph_work *work)
{
    struct noted *noted = context;

    noted->last = ph_work_delivery(work)->message_id;
    atomic_fetch_add(&noted->calls, 1);
    return PH_VERDICT_DONE;
}

TEST(a_due_timer_reaches_the_handler_of_its_topic)
{
    static struct noted noted;
    ph_work_id timer;
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    rig.opts.schedule = true;
    rig_run(&rig, "later", note, &noted);
    timer = put_timer(&rig, T_EPOCH + 1000000);
    for (int i = 0; i < 100; i++)
        nap();
    CHECK_INT(noted.calls, 0); /* the clock stands still: it is not due */
    t_clock_advance(rig.side, 1000000);
    AWAIT(noted.calls == 1);
    CHECK(memcmp(noted.last.b, timer.b, sizeof(timer.b)) == 0);
    rig_drain(&rig);
    rig_end(&rig);
    CHECK_INT(noted.calls, 1);
}

TEST(jobs_are_run_beside_handlers)
{
    static struct noted noted;
    ph_job job = PH_JOB_INIT;
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    job.name = "tick";
    job.topic = "later";
    job.cron = "*/5 * * * * *";
    OK(ph_job_set(rig.side, PH_OWN_TX, &job, 0, NULL, &t_err));
    rig.opts.schedule = true;
    rig_run(&rig, "later", note, &noted);
    for (int i = 1; i <= 3; i++) {
        t_clock_advance(rig.side, 5000000);
        AWAIT(noted.calls == i);
    }
    rig_drain(&rig);
    rig_end(&rig);
    CHECK_INT(noted.calls, 3);
}

TEST(without_the_option_timers_stay)
{
    static struct noted noted;
    struct rig rig;

    rig_open(&rig);
    rig_run(&rig, NULL, note, &noted);
    put_timer(&rig, T_EPOCH);
    for (int i = 0; i < 150; i++)
        nap();
    CHECK_INT(noted.calls, 0);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}timers WHERE status = 'ready'"), 1);
    rig_end(&rig);
}

struct ends {
    _Atomic int count, inside, overlaps;
};

static void on_end(void *context, const ph_join_end *join)
{
    struct ends *ends = context;

    if (atomic_fetch_add(&ends->inside, 1) > 0)
        atomic_fetch_add(&ends->overlaps, 1);
    nap();
    if (join->state == PH_JOIN_COMPLETED && join->waits == 1)
        atomic_fetch_add(&ends->count, 1);
    atomic_fetch_sub(&ends->inside, 1);
}

/* The store's callback is called by the poller, and by handler threads that ack in their own
 * transactions. */
TEST(joins_that_end_are_told_one_at_a_time)
{
    enum { JOINS = 20 };
    static struct part plain = { .verdict = PH_VERDICT_DONE };
    static struct part own = { .verdict = PH_VERDICT_DONE };
    static struct part after = { .verdict = PH_VERDICT_DONE };
    static struct ends ends;
    struct rig rig;

    rig_open(&rig);
    rig.store->opts.join_ended = on_end;
    rig.store->opts.join_context = &ends;
    for (int i = 0; i < JOINS; i++) {
        ph_message step = PH_MESSAGE_INIT;
        ph_wait wait = PH_WAIT_INIT;
        ph_join_id join;

        OK(ph_join_start(rig.side, PH_OWN_TX, 1, NULL, 0, &join, &t_err));
        step.topic = i % 2 ? "plain" : "own";
        step.payload = "x";
        step.join_id = &join;
        OK(ph_enqueue(rig.side, PH_OWN_TX, &step, 0, NULL, &t_err));
        wait.on_complete_topic = "after";
        wait.on_complete_payload = "x";
        OK(ph_join_wait(rig.side, PH_OWN_TX, join, &wait, 0, NULL, &t_err));
    }
    rig_new(&rig);
    rig_handle(&rig, "plain", play, &plain);
    rig_handle_in_tx(&rig, "own", play, &own);
    rig_handle(&rig, "after", play, &after);
    rig_start(&rig);
    rig_drain(&rig);
    rig_end(&rig);
    CHECK_INT(plain.calls + own.calls, JOINS);
    CHECK_INT(after.calls, JOINS);
    CHECK_INT(ends.count, JOINS);
    CHECK_INT(ends.overlaps, 0);
}
