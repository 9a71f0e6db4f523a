/* room.c - how many messages may be claimed, and when it is worth looking again. */
#include "harness.h"
#include "in_memory.h"

static long wake_at;

static int room(const ph_dispatcher *dispatcher)
{
    return ph__room(dispatcher, &wake_at);
}

TEST(without_prefetch_there_is_room_for_idle_threads)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->opts.prefetch = 0;
    CHECK_INT(room(dispatcher), 4);
    dispatcher->works.running = 3;
    CHECK_INT(room(dispatcher), 1);
    dispatcher->works.running = 4;
    CHECK_INT(room(dispatcher), 0);
    CHECK_INT(wake_at, -1); /* it is a handler that must end */
}

TEST(a_thread_that_is_missing_gives_no_room_and_one_that_hangs_was_replaced)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->opts.prefetch = 0;
    dispatcher->pool.missing = 1;
    CHECK_INT(room(dispatcher), 3);
    dispatcher->works.running = 3;
    CHECK_INT(room(dispatcher), 0);
    dispatcher->pool.hung = 2;
    CHECK_INT(room(dispatcher), 2);
}

TEST(prefetch_is_room_beside_the_threads_up_to_a_batch)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    CHECK_INT(room(dispatcher), 10);
    dispatcher->opts.batch_size = 100;
    CHECK_INT(room(dispatcher), 14);
    dispatcher->works.running = 4;
    CHECK_INT(room(dispatcher), 10);
    dispatcher->opts.batch_size = 3;
    CHECK_INT(room(dispatcher), 3);
}

/* Small claims cost as much as large ones. */
TEST(while_something_waits_only_whole_batches_are_claimed)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->works.waiting.count = 4;
    CHECK_INT(room(dispatcher), 10);
    CHECK_INT(wake_at, -1);
    dispatcher->works.waiting.count = 7;
    CHECK_INT(room(dispatcher), 0);
    CHECK_INT(wake_at, 4);
    dispatcher->works.waiting.count = (size_t)wake_at;
    CHECK_INT(room(dispatcher), 10);
}

TEST(a_batch_that_never_fits_is_not_waited_for)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->opts.prefetch = 2;
    dispatcher->works.waiting.count = 5;
    CHECK_INT(room(dispatcher), 0);
    CHECK_INT(wake_at, 4);
    dispatcher->works.waiting.count = 4;
    CHECK_INT(room(dispatcher), 2);
    dispatcher->opts.prefetch = 0;
    dispatcher->works.waiting.count = 3;
    CHECK_INT(room(dispatcher), 1);
}

TEST(nothing_is_waited_for_below_zero)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->works.running = 4;
    dispatcher->room.claiming = 3;
    CHECK_INT(room(dispatcher), 0);
    CHECK_INT(wake_at, 0);
}

TEST(no_more_are_in_flight_than_allowed)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->works.in_flight = 97;
    CHECK_INT(room(dispatcher), 3);
    CHECK(ph__claim_allowed(dispatcher));
    dispatcher->room.claiming = dispatcher->room.doubtful = 2;
    CHECK_INT(room(dispatcher), 1);
    dispatcher->works.in_flight = 98;
    CHECK_INT(room(dispatcher), 0);
    CHECK_INT(wake_at, -1);
    CHECK(!ph__claim_allowed(dispatcher));
}

TEST(no_more_are_claimed_than_asked_for)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->opts.message_limit = 5;
    CHECK_INT(room(dispatcher), 5);
    dispatcher->stats.claimed = 3;
    CHECK_INT(room(dispatcher), 2);
    dispatcher->room.claiming = dispatcher->room.doubtful = 1;
    CHECK_INT(room(dispatcher), 1);
    dispatcher->stats.claimed = 4;
    CHECK_INT(room(dispatcher), 0);
    dispatcher->room.claiming = dispatcher->room.doubtful = 0;
    dispatcher->stats.claimed = 5;
    CHECK(!ph__claim_allowed(dispatcher));
}

TEST(nothing_is_claimed_where_nothing_can_be_handled)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->phase.stopping = true;
    CHECK_INT(room(dispatcher), 0);
    dispatcher->phase.stopping = false;
    dispatcher->handlers.count = 0;
    CHECK_INT(room(dispatcher), 0);
    dispatcher->handlers.count = 1;
    dispatcher->pool.hung = dispatcher->opts.threads;
    CHECK(room(dispatcher) > 0);
    dispatcher->pool.hung++;
    CHECK_INT(room(dispatcher), 0);
}

TEST(while_much_memory_is_held_and_something_waits_nothing_is_claimed)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->works.bytes = PH_CLAIM_BYTES_MAX;
    CHECK_INT(room(dispatcher), 10); /* otherwise threads would have nothing to do */
    dispatcher->works.waiting.count = 2;
    CHECK_INT(room(dispatcher), 0);
    CHECK_INT(wake_at, 1);
    dispatcher->works.bytes--;
    CHECK_INT(room(dispatcher), 10);
    dispatcher->works.bytes++;
    dispatcher->works.waiting.count = 0;
    dispatcher->room.claiming = 1; /* it may bring more of it */
    CHECK_INT(room(dispatcher), 0);
    CHECK_INT(wake_at, 0);
}

TEST(claims_under_way_take_room_but_not_those_that_may_last)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->room.claiming = 4;
    CHECK_INT(room(dispatcher), 10);
    dispatcher->room.claiming = 5;
    CHECK_INT(room(dispatcher), 0);
    dispatcher->room.doubtful = 1;
    CHECK_INT(room(dispatcher), 10);
}

TEST(a_claim_is_counted_from_its_beginning_to_its_end)
{
    ph_dispatcher *dispatcher = m_dispatcher();
    struct ph__db *well = m_db(dispatcher), *slow = m_db(dispatcher);

    slow->visit.share = PH__SHARE_MOST;
    ph__claim_begin(well, 6);
    ph__claim_begin(slow, 3);
    CHECK_INT(dispatcher->room.claiming, 9);
    CHECK_INT(dispatcher->room.doubtful, 3);
    ph__claim_end(well);
    CHECK_INT(dispatcher->room.claiming, 3);
    ph__claim_end(slow);
    ph__claim_end(slow);
    CHECK_INT(dispatcher->room.claiming, 0);
    CHECK_INT(dispatcher->room.doubtful, 0);
}

TEST(what_is_behind_others_takes_from_the_prefetch_and_not_from_the_threads)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->works.behind = 7;
    CHECK_INT(room(dispatcher), 7);
    dispatcher->works.behind = 20;
    CHECK_INT(room(dispatcher), 4);
}

TEST(what_waits_for_its_database_takes_no_room)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->works.waiting.count = 8;
    CHECK_INT(room(dispatcher), 0);
    dispatcher->room.held_up = 8;
    CHECK_INT(ph__waiting_count(dispatcher), 0);
    CHECK_INT(room(dispatcher), 10);
    dispatcher->room.held_up = 9; /* counted a moment ago */
    CHECK_INT(ph__waiting_count(dispatcher), 0);
}

TEST(what_slow_handlers_would_not_get_to_is_left_to_others)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    dispatcher->opts.batch_size = 100;
    dispatcher->room.usual_run_us = M_SECOND;
    CHECK_INT(room(dispatcher), 14);
    dispatcher->room.usual_run_us = 15 * M_SECOND; /* half a lease: one for each thread */
    CHECK_INT(room(dispatcher), 8);
    dispatcher->room.usual_run_us = 100 * M_SECOND;
    CHECK_INT(room(dispatcher), 4);
}

TEST(a_database_is_held_up_when_its_transactions_were_waited_for_long_enough)
{
    struct ph__db *db = m_db(m_dispatcher());

    db->works.waiting = 1;
    CHECK(!ph__db_is_held_up(db, m_now_us));
    db->tx.full_us = m_now_us;
    CHECK(!ph__db_is_held_up(db, m_now_us + PH__HELD_UP_US - 1));
    CHECK(ph__db_is_held_up(db, m_now_us + PH__HELD_UP_US));
    db->works.waiting = 0;
    CHECK(!ph__db_is_held_up(db, m_now_us + PH__HELD_UP_US));
}
