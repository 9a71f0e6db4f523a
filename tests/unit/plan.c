/* plan.c - what a database needs now, and when somebody must look again. */
#include "harness.h"
#include "in_memory.h"

#define ROOM 10
#define BIT(chore) (1u << PH__CHORE_##chore)
#define FOREVER_US (M_START + 3600 * M_SECOND)

static struct ph__plan plan(const struct ph__db *db)
{
    return ph__plan(db, ROOM, m_now_us);
}

static bool is_nothing(const struct ph__plan *plan)
{
    return !plan->act && !plan->claim && !plan->chores;
}

/* One that would do nothing by itself for an hour. */
static struct ph__db *calm_db(void)
{
    struct ph__db *db = m_db(m_dispatcher());

    db->claim.next_us = db->heart.beat_us = db->leases.renew_us = db->unclaimed_us = FOREVER_US;
    return db;
}

/* Nobody calls it: plans only ask whether there is one. */
static void give_scheduler(struct ph__db *db, int64_t due_us)
{
    void *some = db;

    db->schedule.scheduler = some;
    db->schedule.due_us = due_us;
}

/* ------------------------------------------------------------------- when to look again */

TEST(with_nothing_to_do_it_sleeps_until_the_earliest_of_its_times)
{
    struct ph__db *db = m_db(m_dispatcher());
    struct ph__plan now = plan(db);

    CHECK(is_nothing(&now));
    CHECK_INT(now.due, 0);
    CHECK_INT(now.wake_us, db->heart.beat_us);
    db->heart.beat_us = M_START + 40 * M_SECOND;
    CHECK_INT(plan(db).wake_us, db->claim.next_us);
    CHECK_INT(ph__plan(db, 0, m_now_us).wake_us, db->heart.beat_us);
    give_scheduler(db, M_START + 5 * M_SECOND);
    CHECK_INT(plan(db).wake_us, db->schedule.due_us);
    db->retention_us = M_START + 3 * M_SECOND;
    CHECK_INT(plan(db).wake_us, db->retention_us);
}

TEST(it_sleeps_for_a_minute_at_most)
{
    struct ph__db *db = calm_db();

    CHECK_INT(plan(db).wake_us, M_START + 60 * M_SECOND);
}

TEST(a_missing_thread_is_tried_again_after_seconds)
{
    struct ph__db *db = calm_db();

    db->dispatcher->pool.missing = 1;
    CHECK_INT(plan(db).wake_us, M_START + 5 * M_SECOND);
}

/* ----------------------------------------------------------------------------- settling */

TEST(a_decided_work_waits_a_moment_for_company)
{
    struct ph__db *db = calm_db();

    db->works.running = 1;
    m_decide(db, 1);
    CHECK(!plan(db).act);
    CHECK_INT(plan(db).wake_us, M_START + 2 * M_MS);
    m_now_us += 2 * M_MS - 1;
    CHECK(!plan(db).act);
    m_now_us++;
    CHECK(plan(db).act);
    CHECK_INT(plan(db).due, BIT(SETTLE));
}

TEST(a_decided_work_does_not_wait_when_no_other_can_come)
{
    struct ph__db *db = calm_db();

    m_decide(db, 1);
    CHECK(plan(db).act);
    db->works.waiting = 1;
    CHECK(!plan(db).act);
    db->works.waiting = 0;
    db->works.running = 1;
    CHECK(!plan(db).act);
}

TEST(a_full_load_is_settled_at_once)
{
    struct ph__db *db = calm_db();

    db->works.running = 1;
    m_decide(db, PH__SETTLE_MAX - 1);
    CHECK(!plan(db).act);
    m_decide(db, 1);
    CHECK_INT(plan(db).due, BIT(SETTLE));
}

TEST(who_stops_or_leaves_settles_at_once)
{
    struct ph__db *db = calm_db();

    db->works.running = 1;
    m_decide(db, 1);
    db->leaving = true;
    CHECK_INT(plan(db).due, BIT(SETTLE));
    db->leaving = false;
    CHECK_INT(plan(db).due, 0);
    db->dispatcher->phase.stopping = true;
    CHECK_INT(plan(db).due, BIT(SETTLE));
}

/* Each call for itself would cost two where one does. */
TEST(among_others_what_is_decided_waits_for_the_turn_to_claim)
{
    struct ph__db *db = calm_db();

    m_db(db->dispatcher);
    db->claim.next_us = M_START;
    m_decide(db, 1);
    CHECK(!plan(db).act && plan(db).claim);
    CHECK_INT(plan(db).wake_us, M_START + 20 * M_MS);
    m_now_us += 20 * M_MS;
    CHECK(plan(db).act);
    db->has_connection = false;
    CHECK(!plan(db).act);
    CHECK_INT(plan(db).wake_us, M_START + 500 * M_MS);
    m_now_us = M_START + 500 * M_MS;
    CHECK(plan(db).act);
}

TEST(what_is_decided_waits_for_no_turn_that_does_not_come)
{
    struct ph__db *db = calm_db();

    m_decide(db, 1);
    db->claim.next_us = M_START;
    CHECK(plan(db).act); /* it is alone */
    m_db(db->dispatcher);
    CHECK(!plan(db).act);
    CHECK(ph__plan(db, 0, m_now_us).act);
    db->dispatcher->stop.drain_waiters = 1; /* somebody waits for the end */
    CHECK(plan(db).act);
    db->dispatcher->stop.drain_waiters = 0;
    db->claim.next_us = M_START + 1;
    CHECK(plan(db).act);
}

TEST(what_the_second_poller_settles_is_left_to_it_for_a_while)
{
    struct ph__db *db = calm_db();

    db->dispatcher->second.running = true;
    m_decide(db, PH__SETTLE_MAX);
    CHECK(!plan(db).act);
    CHECK_INT(plan(db).wake_us, M_START + 50 * M_MS);
    m_now_us += 50 * M_MS;
    CHECK_INT(plan(db).due, BIT(SETTLE));
}

/* ------------------------------------------------------------- renewals and the heartbeat */

TEST(leases_are_renewed_only_with_something_in_flight)
{
    struct ph__db *db = calm_db();

    db->leases.renew_us = M_START + M_SECOND;
    CHECK_INT(plan(db).wake_us, M_START + 60 * M_SECOND);
    db->works.in_flight = db->works.running = 1;
    CHECK_INT(plan(db).wake_us, M_START + M_SECOND);
    m_now_us += M_SECOND;
    CHECK(plan(db).act);
    CHECK_INT(plan(db).due, BIT(RENEW));
    db->works.in_flight = db->works.running = 0;
    CHECK_INT(plan(db).due, 0);
}

TEST(the_heart_beats_when_its_time_has_come)
{
    struct ph__db *db = calm_db();

    db->heart.beat_us = M_START + 1;
    CHECK(!plan(db).act);
    CHECK_INT(plan(db).wake_us, M_START + 1);
    m_now_us++;
    CHECK(plan(db).act && !plan(db).chores && !plan(db).claim);
    CHECK_INT(plan(db).due, BIT(HEARTBEAT));
}

/* ------------------------------------------------------------------------------- outages */

/* Everything is due that can be. */
static struct ph__db *failing_db(void)
{
    struct ph__db *db = m_db(m_dispatcher());

    db->health.retry_us = M_START + M_SECOND;
    db->claim.next_us = db->heart.beat_us = db->unclaimed_us = 0;
    db->claim.found = db->claim.stream_free = true;
    db->retention_us = 1;
    give_scheduler(db, 0);
    m_decide(db, 1);
    return db;
}

TEST(in_an_outage_only_what_must_not_wait_is_done)
{
    struct ph__db *db = failing_db();
    struct ph__plan now = plan(db);

    CHECK(is_nothing(&now) && now.outage);
    CHECK_INT(now.due, 0);
    CHECK_INT(now.room, 0);
    CHECK_INT(now.wake_us, db->health.retry_us);
    db->leases.renew_us = M_START + 1;
    CHECK_INT(plan(db).wake_us, M_START + 1);
    m_now_us++;
    CHECK(plan(db).act && !plan(db).claim);
    CHECK_INT(plan(db).due, BIT(RENEW));
    db->doorbell.hear = true;
    CHECK(plan(db).chores && !plan(db).claim);
    CHECK_INT(plan(db).due, BIT(RENEW) | BIT(LISTEN));
}

TEST(who_has_nothing_in_flight_can_leave_in_an_outage)
{
    struct ph__db *db = failing_db();

    db->leaving = true;
    CHECK_INT(plan(db).due, 0);
    db->works.in_flight = db->settle.decided.count = 0;
    CHECK(plan(db).chores && !plan(db).act);
    CHECK_INT(plan(db).due, BIT(LEAVE));
}

TEST(when_its_time_has_come_a_failing_one_is_tried_with_all_that_is_due)
{
    struct ph__db *db = failing_db();

    m_now_us = db->health.retry_us;
    CHECK(plan(db).act && plan(db).claim && !plan(db).outage);
    CHECK(plan(db).due & BIT(RETRY));
    CHECK(plan(db).due & BIT(SETTLE));
    CHECK(plan(db).due & BIT(HEARTBEAT));
    CHECK(plan(db).due & BIT(SCHEDULE));
}

TEST(nothing_else_due_a_retry_alone_is_a_reason_to_act)
{
    struct ph__db *db = calm_db();

    db->health.retry_us = M_START;
    CHECK(plan(db).act);
    CHECK_INT(plan(db).due, BIT(RETRY));
}

/* -------------------------------------------------------------------------------- claims */

TEST(a_claim_takes_the_room_that_there_is)
{
    struct ph__db *db = calm_db();

    CHECK_INT(plan(db).room, 0);
    db->claim.next_us = M_START;
    CHECK(plan(db).claim && !plan(db).act);
    CHECK_INT(plan(db).room, ROOM);
    db->claim.max = ROOM - 1; /* the last one took long */
    CHECK_INT(plan(db).room, ROOM - 1);
    CHECK(!ph__plan(db, 0, m_now_us).claim);
}

TEST(a_doorbell_that_may_have_rung_is_a_reason_to_claim)
{
    struct ph__db *db = calm_db();

    db->doorbell.hear = true;
    CHECK(plan(db).claim && plan(db).chores);
    CHECK_INT(plan(db).due, BIT(LISTEN));
    CHECK(!ph__plan(db, 0, m_now_us).claim);
    CHECK(ph__plan(db, 0, m_now_us).chores);
}

TEST(a_doorbell_is_not_followed_so_soon_after_false_alarms)
{
    struct ph__db *db = calm_db();

    db->doorbell.hear = true;
    db->claim.at_us = M_START;
    CHECK(plan(db).claim);
    db->doorbell.false_alarms = 4;
    CHECK(!plan(db).claim);
    CHECK_INT(plan(db).wake_us, M_START + 2 * M_MS);
    m_now_us += 2 * M_MS;
    CHECK(plan(db).claim);
}

TEST(a_claim_rides_along_if_the_last_one_found_something)
{
    struct ph__db *db = calm_db();

    db->claim.found = true;
    CHECK(!plan(db).claim);
    db->heart.beat_us = M_START;
    CHECK(plan(db).act && plan(db).claim);
    CHECK_INT(plan(db).room, ROOM);
    db->claim.found = false;
    CHECK(plan(db).act && !plan(db).claim);
}

/* The stream goes on only once its last message is settled. */
TEST(a_freed_stream_is_a_reason_to_claim_with_what_is_settled)
{
    struct ph__db *db = calm_db();

    db->claim.stream_free = true;
    CHECK(plan(db).claim);
    db->works.running = 1;
    m_decide(db, 1);
    CHECK(!plan(db).claim);
    m_now_us += 2 * M_MS;
    CHECK(plan(db).act && plan(db).claim);
}

TEST(a_database_whose_works_wait_for_transactions_gives_no_more)
{
    struct ph__db *db = calm_db();

    db->claim.next_us = 0;
    db->works.waiting = 1;
    db->tx.full_us = M_START - PH__HELD_UP_US + 1;
    CHECK(plan(db).claim);
    m_now_us++;
    CHECK(!plan(db).claim);
    db->works.waiting = 0;
    CHECK(plan(db).claim);
}

TEST(who_leaves_claims_nothing_and_goes_when_nothing_is_in_flight)
{
    struct ph__db *db = calm_db();

    db->leaving = true;
    db->claim.next_us = 0;
    db->works.in_flight = db->works.running = 1;
    CHECK(!plan(db).claim && !plan(db).chores);
    CHECK_INT(plan(db).room, 0);
    db->works.in_flight = db->works.running = 0;
    CHECK(!plan(db).claim && plan(db).chores);
    CHECK_INT(plan(db).due, BIT(LEAVE));
}

/* ------------------------------------------------------------------------- last attempts */

TEST(a_last_attempt_waits_for_a_thread)
{
    struct ph__db *db = calm_db();

    db->claim.next_us = 0;
    db->last.waits = true;
    CHECK(plan(db).claim);
    db->dispatcher->works.running = 4;
    CHECK(!plan(db).claim);
    CHECK_INT(plan(db).wake_us, M_START + 5 * M_MS);
    db->dispatcher->works.running = 3;
    CHECK(plan(db).claim);
    db->dispatcher->works.waiting.count = 1; /* the thread is for this */
    CHECK(!plan(db).claim);
}

TEST(who_has_a_thread_of_its_own_claims_one_without_room)
{
    struct ph__db *db = calm_db();

    db->claim.next_us = 0;
    db->last.waits = true;
    db->last.reserved = db->dispatcher->reserve.count = 1;
    db->dispatcher->works.running = 4;
    CHECK_INT(ph__plan(db, 0, m_now_us).room, 1);
    CHECK_INT(plan(db).room, ROOM);
    db->dispatcher->works.in_flight = (size_t)db->dispatcher->opts.in_flight_max;
    CHECK(!ph__plan(db, 0, m_now_us).claim);
}

/* --------------------------------------------------------------- chores for themselves */

TEST(what_is_old_is_deleted_when_idle_or_after_twice_the_time)
{
    struct ph__db *db = calm_db();

    db->claim.found = true;
    db->retention_us = M_START;
    CHECK_INT(plan(db).due, 0);
    db->dispatcher->room.short_of_it = true;
    CHECK(plan(db).chores && !plan(db).act);
    CHECK_INT(plan(db).due, BIT(RETENTION));
    db->dispatcher->room.short_of_it = false;
    m_now_us += M_SECOND - 1;
    CHECK_INT(plan(db).due, 0);
    m_now_us++;
    CHECK(plan(db).chores);
    db->leaving = true;
    db->works.in_flight = 1;
    CHECK_INT(plan(db).due, 0);
}

TEST(nobody_connects_only_to_delete_unless_it_is_long_overdue)
{
    struct ph__db *db = calm_db();

    db->has_connection = false;
    db->retention_us = M_START;
    CHECK(!plan(db).chores);
    CHECK_INT(plan(db).due, BIT(RETENTION)); /* with a visit that is made anyway */
    m_now_us += 2 * M_SECOND;
    CHECK(plan(db).chores);
}

TEST(the_scheduler_runs_when_something_is_due)
{
    struct ph__db *db = calm_db();

    CHECK_INT(plan(db).due, 0); /* there is none */
    give_scheduler(db, M_START + 1);
    CHECK(!plan(db).chores);
    m_now_us++;
    CHECK(plan(db).chores && !plan(db).act);
    CHECK_INT(plan(db).due, BIT(SCHEDULE));
    db->leaving = true;
    db->works.in_flight = 1;
    CHECK_INT(plan(db).due, 0);
}

TEST(nobody_comes_only_to_look_for_topics_that_nobody_claims)
{
    struct ph__db *db = calm_db();
    struct ph__plan now;

    db->unclaimed_us = M_START + 1;
    CHECK_INT(plan(db).wake_us, M_START + 60 * M_SECOND);
    m_now_us++;
    now = plan(db);
    CHECK_INT(now.due, BIT(UNCLAIMED));
    CHECK(is_nothing(&now));
}

/* -------------------------------------------------------------------------- any state */

static bool coin(void)
{
    return t_dice(2) == 0;
}

/* Past, present or future, near or far. */
static int64_t any_time(void)
{
    int64_t far_us[] = { 0, 1, M_MS, 30 * M_MS, M_SECOND, 100 * M_SECOND };
    int64_t away_us = far_us[t_dice(6)] * (1 + t_dice(3));

    return coin() ? M_START + away_us : M_START - away_us;
}

static size_t few(void)
{
    return coin() ? 0 : t_dice(4);
}

static void shuffle_dispatcher(ph_dispatcher *dispatcher)
{
    dispatcher->phase.stopping = t_dice(8) == 0;
    dispatcher->stop.drain_waiters = t_dice(8) == 0;
    dispatcher->second.running = t_dice(4) == 0;
    dispatcher->pool.missing = t_dice(8) == 0;
    dispatcher->works.running = t_dice(6);
    dispatcher->room.short_of_it = coin();
    dispatcher->dbs.count = 1 + t_dice(2);
}

static void shuffle_claims(struct ph__db *db)
{
    db->claim.next_us = any_time();
    db->claim.at_us = coin() ? 0 : M_START - (int64_t)t_dice(3000);
    db->claim.found = coin();
    db->claim.stream_free = t_dice(4) == 0;
    db->claim.max = 1 + (int)t_dice(20);
    db->doorbell.hear = t_dice(4) == 0;
    db->doorbell.false_alarms = (int)few();
    db->last.waits = t_dice(4) == 0;
    db->last.reserved = t_dice(8) == 0;
    db->tx.full_us = t_dice(4) == 0 ? any_time() : 0;
}

static void shuffle(struct ph__db *db)
{
    shuffle_dispatcher(db->dispatcher);
    shuffle_claims(db);
    db->works.waiting = few();
    db->works.running = few();
    db->settle.decided.count = few();
    db->works.in_flight = db->works.waiting + db->works.running + db->settle.decided.count + few();
    db->settle.since_us = any_time();
    db->leases.renew_us = any_time();
    db->heart.beat_us = any_time();
    db->health.retry_us = coin() ? 0 : any_time();
    db->unclaimed_us = any_time();
    db->retention_us = coin() ? 0 : any_time();
    give_scheduler(db, any_time());
    if (coin())
        db->schedule.scheduler = NULL;
    db->leaving = t_dice(8) == 0;
    db->has_connection = coin();
}

TEST(whatever_the_state_who_finds_nothing_to_do_wakes_later)
{
    struct ph__db *db = m_db(m_dispatcher());
    int idle = 0;

    m_db(db->dispatcher);
    t_dice_seed(1);
    for (int i = 0; i < 100000; i++) {
        struct ph__plan now;

        shuffle(db);
        now = ph__plan(db, (int)t_dice(20), m_now_us);
        CHECK(now.wake_us > m_now_us && now.wake_us <= m_now_us + 60 * M_SECOND);
        idle += is_nothing(&now);
    }
    CHECK(idle > 1000);
}

TEST(whatever_the_state_only_a_claim_that_may_be_made_has_room)
{
    struct ph__db *db = m_db(m_dispatcher());
    int claims = 0;

    m_db(db->dispatcher);
    t_dice_seed(2);
    for (int i = 0; i < 100000; i++) {
        int room = (int)t_dice(20), most = room == 0 ? 1 : room;
        struct ph__plan now;

        shuffle(db);
        now = ph__plan(db, room, m_now_us);
        CHECK(now.claim == (now.room > 0));
        CHECK(now.room <= db->claim.max && now.room <= most);
        CHECK(!now.claim || (!db->leaving && !now.outage));
        CHECK(!now.claim || room > 0 || db->last.reserved > 0);
        claims += now.claim;
    }
    CHECK(claims > 1000);
}

/* Retention is left out: what can wait is looked for only when something else is. */
TEST(whatever_the_state_nothing_comes_due_before_it_wakes)
{
    struct ph__db *db = m_db(m_dispatcher());
    int looked = 0;

    m_db(db->dispatcher);
    t_dice_seed(3);
    for (int i = 0; i < 100000; i++) {
        int room = (int)t_dice(20);
        struct ph__plan now, before;

        shuffle(db);
        db->retention_us = 0;
        now = ph__plan(db, room, M_START);
        if (!is_nothing(&now))
            continue;
        before = ph__plan(db, room, now.wake_us - 1);
        CHECK(is_nothing(&before));
        looked++;
    }
    CHECK(looked > 1000);
}
