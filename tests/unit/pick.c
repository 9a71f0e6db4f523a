/* pick.c - which database comes next. */
#include "harness.h"
#include "in_memory.h"

#define COUNT 3

static ph_dispatcher *dispatcher;
static struct ph__db *dbs[COUNT];
static struct ph__db *victim;
static int64_t wake_us;

/* A set of databases a, b and c, that were all claimed from and are ready for the next. */
static void make(ph_selection selection)
{
    dispatcher = m_dispatcher();
    dispatcher->opts.selection = selection;
    for (int i = 0; i < COUNT; i++) {
        dbs[i] = m_db_of_set(dispatcher);
        dbs[i]->claim.next_us = 0;
        dbs[i]->claim.through = false;
    }
}

static struct ph__db *pick(void)
{
    return ph__pick(dispatcher, &victim, &wake_us);
}

/* As a poller does that goes there. */
static void begin(struct ph__db *db)
{
    db->visit.busy = true;
    db->visit.began_us = m_now_us;
}

static void end(struct ph__db *db, bool found)
{
    if (db->visit.plan.room > 0) {
        db->claim.at_us = m_now_us;
        db->claim.through = !found;
        db->claim.next_us = found ? 0 : m_now_us + 5 * M_SECOND;
    }
    db->turn.met = true;
    db->visit.busy = db->turn.greeting = false;
}

/* Who comes, in order, if each has something every time. */
static void check_order(const char *want)
{
    for (size_t i = 0; want[i]; i++) {
        struct ph__db *db = pick();

        CHECK(db != NULL);
        CHECK_INT(db->id[0], want[i]);
        CHECK(db->visit.plan.claim);
        begin(db);
        m_now_us += M_MS;
        end(db, true);
    }
}

/* ------------------------------------------------------------------------------ in turn */

TEST(in_turn_each_gives_a_batch_before_any_gives_another)
{
    make(PH_SELECT_ROUND_ROBIN);
    check_order("abcabca");
}

TEST(who_has_nothing_is_left_out_until_its_time_has_come)
{
    make(PH_SELECT_ROUND_ROBIN);
    dbs[1]->claim.next_us = M_START + M_SECOND;
    check_order("acac");
    m_now_us += M_SECOND;
    check_order("abc");
}

TEST(who_is_busy_is_not_picked)
{
    make(PH_SELECT_ROUND_ROBIN);
    for (int i = 0; i < COUNT; i++) {
        struct ph__db *db = pick();

        CHECK(db == dbs[i]);
        begin(db);
    }
    CHECK(pick() == NULL);
}

TEST(who_was_never_claimed_from_comes_first)
{
    make(PH_SELECT_ROUND_ROBIN);
    dbs[2]->turn.met = false;
    check_order("cabc");
}

TEST(who_was_settling_when_its_turn_came_comes_first_afterwards)
{
    make(PH_SELECT_ROUND_ROBIN);
    begin(dbs[0]);
    check_order("b");
    CHECK(dbs[0]->turn.owed);
    end(dbs[0], true);
    check_order("acab"); /* and the turn has not moved by that */
}

TEST(who_was_settling_and_has_nothing_is_owed_nothing)
{
    make(PH_SELECT_ROUND_ROBIN);
    dbs[0]->claim.through = true;
    begin(dbs[0]);
    check_order("b");
    end(dbs[0], true);
    check_order("ca");
}

TEST(while_a_new_one_is_greeted_the_others_wait_but_not_for_long)
{
    make(PH_SELECT_ROUND_ROBIN);
    dbs[1]->turn.met = false;
    CHECK(pick() == dbs[1]);
    CHECK(dbs[1]->turn.greeting);
    begin(dbs[1]);
    CHECK(pick() == NULL);
    CHECK_INT(wake_us, M_START + M_SECOND);
    m_now_us += M_SECOND;
    CHECK(pick() == dbs[2]);
}

/* ------------------------------------------------------------------------- one by one */

TEST(drained_first_one_gives_all_it_has_before_the_next)
{
    make(PH_SELECT_DRAIN_FIRST);
    check_order("aaaa");
    CHECK(pick() == dbs[0]);
    begin(dbs[0]);
    CHECK(pick() == NULL);
    end(dbs[0], false);
    check_order("bb");
    dbs[0]->claim.next_us = 0; /* it waits for its turn */
    check_order("bb");
    dbs[1]->claim.through = true;
    check_order("cc");
}

TEST(drained_first_one_that_is_stuck_does_not_hold_the_others)
{
    make(PH_SELECT_DRAIN_FIRST);
    check_order("a");
    CHECK(pick() == dbs[0]);
    begin(dbs[0]);
    m_now_us += M_SECOND - 1;
    CHECK(pick() == NULL);
    CHECK(wake_us > m_now_us);
    m_now_us++;
    CHECK(pick() == dbs[1]);
}

TEST(drained_first_one_that_fails_or_leaves_does_not_hold_the_others)
{
    make(PH_SELECT_DRAIN_FIRST);
    check_order("aa");
    dbs[0]->health.retry_us = m_now_us + M_SECOND;
    check_order("bb");
    dbs[1]->leaving = true;
    dbs[1]->works.in_flight = 1;
    check_order("cc");
}

/* -------------------------------------------------------------------------- the callback */

static int answer, asked;

static int answer_so(void *context, const ph_candidate *stores, size_t count, size_t last)
{
    (void)context;
    asked++;
    CHECK_INT(count, COUNT);
    CHECK_STR(stores[1].store, "b");
    CHECK(last <= count);
    return answer;
}

TEST(a_callback_chooses_among_those_that_are_ready)
{
    make(PH_SELECT_ROUND_ROBIN);
    dispatcher->opts.select = answer_so;
    answer = 2;
    check_order("c");
    dispatcher->pick.choose_us = 0; /* as after every visit */
    answer = 1;
    check_order("b");
    begin(dbs[1]);
    dispatcher->pick.choose_us = 0;
    CHECK(pick() == NULL);
    CHECK_INT(asked, 3);
}

TEST(a_callback_that_wants_none_is_asked_again_later_or_when_others_are_ready)
{
    make(PH_SELECT_ROUND_ROBIN);
    dispatcher->opts.select = answer_so;
    answer = -1;
    CHECK(pick() == NULL);
    CHECK_INT(wake_us, M_START + 5 * M_SECOND);
    CHECK(pick() == NULL);
    CHECK_INT(asked, 1);
    dbs[0]->claim.next_us = M_START + 20 * M_SECOND;
    CHECK(pick() == NULL);
    CHECK_INT(asked, 2);
    m_now_us += 5 * M_SECOND;
    CHECK(pick() == NULL);
    CHECK_INT(asked, 3);
}

/* ------------------------------------------------------------------------ urgent things */

TEST(with_nothing_due_it_sleeps_until_the_first_of_them_needs_something)
{
    make(PH_SELECT_ROUND_ROBIN);
    for (int i = 0; i < COUNT; i++)
        dbs[i]->claim.next_us = M_START + (9 - i) * M_SECOND;
    CHECK(pick() == NULL);
    CHECK_INT(wake_us, M_START + 7 * M_SECOND);
}

TEST(what_is_urgent_and_claims_take_turns)
{
    make(PH_SELECT_ROUND_ROBIN);
    dbs[2]->heart.beat_us = 0;
    dbs[2]->claim.next_us = M_START + 20 * M_SECOND;
    dispatcher->pick.urgent_first = true;
    CHECK(pick() == dbs[2]);
    CHECK(pick() == dbs[0]);
    CHECK(pick() == dbs[2]);
    CHECK(pick() == dbs[1]);
}

TEST(who_comes_for_something_urgent_does_not_claim_out_of_turn)
{
    make(PH_SELECT_ROUND_ROBIN);
    dbs[2]->heart.beat_us = 0;
    dispatcher->pick.urgent_first = true;
    CHECK(pick() == dbs[2]);
    CHECK(dbs[2]->visit.plan.act && !dbs[2]->visit.plan.claim);
    CHECK_INT(dbs[2]->visit.plan.room, 0);
}

TEST(urgent_ones_are_served_in_a_circle)
{
    make(PH_SELECT_ROUND_ROBIN);
    for (int i = 0; i < COUNT; i++) {
        dbs[i]->claim.next_us = M_START + 20 * M_SECOND;
        dbs[i]->heart.beat_us = 0;
    }
    for (int i = 0; i < 3 * COUNT; i++)
        CHECK(pick() == dbs[i % COUNT]);
}

/* ------------------------------------------------------------- pollers and connections */

TEST(a_failing_one_waits_while_enough_pollers_are_with_such_ones)
{
    make(PH_SELECT_ROUND_ROBIN);
    dbs[0]->health.state = PH__FAILING;
    dispatcher->pick.failing = 1;
    check_order("bcb");
    dispatcher->pick.failing = 0;
    check_order("cab");
}

TEST(slow_ones_have_every_poller_if_none_is_well)
{
    make(PH_SELECT_ROUND_ROBIN);
    dispatcher->pick.slow = 3;
    dbs[0]->health.state = dbs[1]->health.state = PH__SLOW;
    check_order("cc");
    dbs[2]->health.state = PH__SLOW;
    check_order("abc");
}

TEST(who_has_had_nothing_to_do_for_longest_gives_its_connection_up)
{
    make(PH_SELECT_ROUND_ROBIN);
    ph__connection_end(dbs[0]);
    dispatcher->connections.max = 2;
    dbs[1]->visit.worked_us = M_START - M_SECOND;
    dbs[2]->visit.worked_us = M_START - 2 * M_SECOND;
    CHECK(pick() == dbs[0]);
    CHECK(victim == dbs[2]);
    CHECK(victim->visit.busy && !victim->has_connection && dbs[0]->has_connection);
    CHECK_INT(dispatcher->connections.used, 2);
}

TEST(without_a_connection_to_be_had_nobody_is_picked_who_needs_one)
{
    make(PH_SELECT_ROUND_ROBIN);
    ph__connection_end(dbs[0]);
    dispatcher->connections.max = 2;
    begin(dbs[1]);
    begin(dbs[2]);
    CHECK(pick() == NULL);
    end(dbs[2], true);
    dbs[2]->works.in_flight = 1; /* also one with works gives its own up, if no other can */
    CHECK(pick() == dbs[0]);
    CHECK(victim == dbs[2]);
}

TEST(another_poller_is_called_if_there_is_more_to_do_and_room_for_it)
{
    make(PH_SELECT_ROUND_ROBIN);
    CHECK(pick() == dbs[0]);
    CHECK(!dispatcher->pick.others_ready); /* the first takes all the room */
    dispatcher->opts.prefetch = 30;
    CHECK(pick() == dbs[1]);
    CHECK(dispatcher->pick.others_ready);
    dispatcher->opts.selection = PH_SELECT_DRAIN_FIRST;
    dispatcher->pick.last_chosen = 0;
    CHECK(pick() == dbs[2]);
    CHECK(!dispatcher->pick.others_ready);
}
