/* timer_test.c - messages for later: never early, and cancelled by exactly one. */
#include "doors.h"

static bool cancel(ph_store *store, ph_work_id timer)
{
    bool cancelled = false;

    OK(ph_timer_cancel(store, PH_OWN_TX, timer, 0, &cancelled, &t_err));
    return cancelled;
}

/* Nothing of any message is left. */
static void check_gone(struct t_conn *conn)
{
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}attempt_log"), 0);
    t_check_places(conn);
}

TEST(a_timer_is_never_early)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    int64_t due = T_EPOCH + 3600 * T_SECOND + 7;
    struct seen s;
    ph_work_id id;

    t_clock_set(store, T_EPOCH);
    id = put_timer(store, "tea", due);
    s = see_by(ph_timers_find, store, id);
    CHECK_INT(s.status, PH_READY);
    CHECK_INT(s.requested_due_at, due);
    CHECK_INT(s.next_attempt_at, due);
    CHECK_INT(s.expires_at, 0);
    CHECK_INT(door_counts(&timers_door, store, NULL).scheduled, 1);
    CHECK_INT(run_scheduler(store, NULL).timers, 0);
    t_clock_set(store, due - 1);
    REQ_INT("TIM-001", door_claimable(&timers_door, store), 0);
    REQ_INT("TIM-001", run_scheduler(store, NULL).timers, 0);
    t_clock_set(store, due);
    CHECK(same_id(door_take_one(&timers_door, store, owner).work_id.b, id.b));
}

/* The database's clock goes back: what is not due any more waits on. */
TEST(a_timer_is_not_early_when_the_clock_steps_back)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, T_EPOCH + 100 * T_SECOND);
    put_timer(store, "tea", T_EPOCH + 110 * T_SECOND);
    t_clock_set(store, T_EPOCH);
    CHECK_INT(door_claimable(&timers_door, store), 0);
    CHECK_INT(run_scheduler(store, NULL).timers, 0);
    t_clock_set(store, T_EPOCH + 110 * T_SECOND - 1);
    CHECK_INT(run_scheduler(store, NULL).timers, 0);
    t_clock_advance(store, 1);
    CHECK_INT(run_scheduler(store, NULL).timers, 1);
}

TEST(a_timer_in_the_past_is_due_at_once)
{
    ph_store *store = t_open(NULL);
    ph_work_id id;

    t_clock_set(store, T_EPOCH);
    id = put_timer(store, "late", T_EPOCH - 3600 * T_SECOND);
    CHECK_INT(see_by(ph_timers_find, store, id).next_attempt_at, T_EPOCH);
    CHECK_INT(door_claimable(&timers_door, store), 1);
}

TEST(a_timer_carries_all_it_was_given)
{
    ph_store *store = t_open(NULL);
    ph_timer timer = PH_TIMER_INIT;
    const ph_delivery *d;
    ph_batch *batch;
    ph_work_id id = { { 0 } };

    t_clock_set(store, T_EPOCH);
    timer.topic = "remind";
    timer.payload = "tea is ready, not this";
    timer.payload_length = 12;
    timer.due_at = T_EPOCH + T_SECOND;
    timer.ns = "kitchen";
    timer.correlation_id = "c-1";
    timer.headers = "{\"a\": 1}";
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, &id, &t_err));
    t_clock_advance(store, 2 * T_SECOND);
    CHECK_INT(door_claimable(&timers_door, store), 0);
    batch = door_claim(&timers_door, store, ph_owner_new(), "kitchen", 1);
    d = ph_batch_at(batch, 0);
    CHECK(d != NULL);
    CHECK(same_id(d->work_id.b, id.b));
    CHECK_STR(d->topic, "remind");
    CHECK_STR(d->payload, "tea is ready");
    CHECK_INT(d->payload_length, 12);
    CHECK_STR(d->ns, "kitchen");
    CHECK_STR(d->correlation_id, "c-1");
    CHECK_STR(d->headers, "{\"a\": 1}");
    CHECK_INT(d->due_at, T_EPOCH + T_SECOND);
    CHECK_INT(d->created_at, T_EPOCH);
    CHECK(d->job == NULL);
    CHECK_INT(d->scheduled_at, 0);
    ph_batch_free(batch);
}

TEST(timers_come_in_the_order_of_their_time)
{
    ph_store *store = t_open(NULL);
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    put_timer(store, "third", T_EPOCH + 30 * T_SECOND);
    put_timer(store, "first", T_EPOCH + 10 * T_SECOND);
    put_timer(store, "second", T_EPOCH + 20 * T_SECOND);
    t_clock_set(store, T_EPOCH + 40 * T_SECOND);
    batch = door_claim(&timers_door, store, ph_owner_new(), NULL, 10);
    CHECK_STR(payloads(batch), "first second third");
    ph_batch_free(batch);
}

TEST(a_timer_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_timer timer = PH_TIMER_INIT;
    ph_work_id id = { { 0 } };
    bool cancelled = false;

    timer.topic = "remind";
    timer.payload = "tea";
    timer.due_at = PH_TIMER_MIN;
    CHECK_INT(ph_timer_schedule(store, t_tx(conn), &timer, 0, &id, &t_err), PH_ENOTX);
    t_begin(conn);
    OK(ph_timer_schedule(store, t_tx(conn), &timer, 0, &id, &t_err));
    t_rollback(conn);
    CHECK(!see_by(ph_timers_find, store, id).there);
    t_begin(conn);
    OK(ph_timer_schedule(store, t_tx(conn), &timer, 0, &id, &t_err));
    CHECK(!see_by(ph_timers_find, store, id).there); /* not yet, for others */
    t_commit(conn);
    CHECK_INT(see_by(ph_timers_find, store, id).status, PH_READY);
    t_begin(conn);
    OK(ph_timer_cancel(store, t_tx(conn), id, 0, &cancelled, &t_err));
    CHECK(cancelled);
    t_rollback(conn);
    CHECK_INT(see_by(ph_timers_find, store, id).status, PH_READY);
    t_begin(conn);
    OK(ph_timer_cancel(store, t_tx(conn), id, 0, &cancelled, &t_err));
    t_commit(conn);
    CHECK(!see_by(ph_timers_find, store, id).there);
}

/* -------------------------------------------------------------------- cancel */

TEST(a_cancelled_timer_is_gone)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id id;

    t_clock_set(store, T_EPOCH);
    id = put_timer(store, "tea", T_EPOCH + T_SECOND);
    REQ("TIM-002", cancel(store, id));
    CHECK(!see_by(ph_timers_find, store, id).there);
    check_gone(conn);
    CHECK(!cancel(store, id)); /* twice */
    t_clock_advance(store, 2 * T_SECOND);
    CHECK_INT(run_scheduler(store, NULL).timers, 0);
    CHECK_INT(door_claimable(&timers_door, store), 0);
}

TEST(a_due_timer_can_still_be_cancelled)
{
    ph_store *store = t_open(NULL);
    ph_work_id id;

    t_clock_set(store, T_EPOCH);
    id = put_timer(store, "tea", T_EPOCH);
    put_timer(store, "other", T_EPOCH);
    CHECK(cancel(store, id));
    CHECK_INT(run_scheduler(store, NULL).timers, 1);
}

TEST(a_claimed_timer_is_too_late_to_cancel)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_work_id id;

    t_clock_set(store, T_EPOCH);
    id = put_timer(store, "tea", T_EPOCH);
    ref = door_take_one(&timers_door, store, owner);
    REQ("TIM-002 TIM-003", !cancel(store, id));
    CHECK_INT(see_by(ph_timers_find, store, id).status, PH_IN_PROGRESS);
    OK(ph_timers_abandon(store, PH_OWN_TX, owner, &ref, 1, "again", 0, 0, NULL, &t_err));
    CHECK(cancel(store, id)); /* nobody has it now */
    check_gone(conn);
    put_timer(store, "soup", T_EPOCH);
    ref = door_take_one(&timers_door, store, owner);
    OK(ph_timers_ack(store, PH_OWN_TX, owner, &ref, 1, 0, NULL, &t_err));
    CHECK(!cancel(store, ref.work_id));
    CHECK_INT(see_by(ph_timers_find, store, ref.work_id).status, PH_DONE);
}

TEST(a_timer_whose_worker_crashed_can_be_cancelled_once_it_is_back)
{
    ph_store *store = t_open(NULL);
    ph_work_id id;
    int64_t count = 0;

    t_clock_set(store, T_EPOCH);
    id = put_timer(store, "tea", T_EPOCH);
    CHECK_INT(door_claimable(&timers_door, store), 1);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK(!cancel(store, id)); /* the lease has not been taken back yet */
    OK(ph_timers_reap_expired(store, PH_OWN_TX, 0, &count, &t_err));
    CHECK_INT(count, 1);
    CHECK(cancel(store, id));
}

TEST(a_dead_timer_is_too_late_to_cancel)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_work_id id = put_timer(store, "tea", PH_TIMER_MIN);
    ph_lease_ref ref = door_take_one(&timers_door, store, owner);

    OK(ph_timers_fail(store, PH_OWN_TX, owner, &ref, 1, "no", 0, NULL, &t_err));
    CHECK(!cancel(store, id));
    CHECK_INT(see_by(ph_timers_find, store, id).status, PH_FAILED);
}

TEST(a_timer_that_became_a_message_is_too_late_to_cancel)
{
    ph_store *store = t_open(NULL);
    ph_work_id id = put_timer(store, "tea", PH_TIMER_MIN);

    CHECK_INT(run_scheduler(store, NULL).timers, 1);
    CHECK(!cancel(store, id));
    CHECK_INT(see_by(ph_timers_find, store, id).status, PH_DONE);
    CHECK_INT(claimable(store, 10), 1);
}

TEST(cancel_knows_only_timers)
{
    ph_store *store = t_open(NULL);
    ph_work_id message = t_enqueue(store, "work", "x").work_id;
    ph_work_id run = job_runs_door.make(store, "", "x");
    ph_work_id unknown = message;

    unknown.b[15] ^= 1;
    CHECK(!cancel(store, unknown));
    memset(unknown.b, 0xff, sizeof(unknown.b));
    CHECK(!cancel(store, unknown));
    CHECK(!cancel(store, message));
    CHECK(!cancel(store, run));
    CHECK_INT(see(store, message).status, PH_READY);
    CHECK_INT(see_by(ph_job_runs_find, store, run).status, PH_READY);
}

TEST(a_timer_of_a_paused_queue_can_be_cancelled)
{
    ph_store *store = t_open(NULL);
    ph_work_id id = put_timer(store, "tea", PH_TIMER_MIN);

    OK(ph_queue_pause(store, PH_OWN_TX, PH_TIMERS, NULL, 0, &t_err));
    CHECK(cancel(store, id));
}

TEST(the_payload_limit_of_a_timer_is_that_of_its_queue)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_timer timer = PH_TIMER_INIT;

    settings.max_payload_bytes = 10;
    OK(ph_queue_set(store, PH_OWN_TX, PH_TIMERS, NULL, &settings, 0, &t_err));
    timer.topic = "remind";
    timer.payload = "12345678901";
    timer.due_at = PH_TIMER_MIN;
    CHECK_INT(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    timer.payload = "1234567890";
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err));
}
