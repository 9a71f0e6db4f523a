/* hints_test.c - where a claim or a tick starts to look: only a hint. A wrong one can
 * make a message wait for the next look from the start, but never lose it. */
#include "common.h"

#define OWNER "'11111111-1111-4111-8111-111111111111'"

static long long claimed(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 10)");
}

/* A hint that passes over everything that is due. */
static void mislead(struct t_conn *conn, const char *whole_look_next)
{
    t_sql(conn, say("INSERT INTO {t}hint (queue, written_at, from_due, whole_look_next) "
                    "SELECT id, {t}clock(), array_fill({t}clock() + interval '1 h', ARRAY[4]), %s "
                    "FROM {t}queue",
                    whole_look_next));
}

TEST(a_message_below_the_hint_is_found_by_a_look_from_the_start)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "t", "p");
    mislead(conn, "'-infinity'");
    CHECK_INT(claimed(conn), 1);
}

TEST(a_dear_look_from_the_start_waits_for_its_time_and_then_finds_it)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "t", "p");
    mislead(conn, "{t}clock() + interval '10 s'");
    CHECK_INT(claimed(conn), 0);
    t_clock_advance(store, 11 * T_SECOND);
    CHECK_INT(claimed(conn), 1);
    t_check_places(conn);
}

TEST(a_hint_from_the_future_is_not_used)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "t", "p");
    mislead(conn, "{t}clock() - interval '1 s'");
    t_clock_set(store, T_EPOCH - T_SECOND); /* the clock steps back behind the hint */
    t_enqueue(store, "t", "q");
    CHECK_INT(claimed(conn), 1);
    CHECK_STR(t_value(conn, "SELECT payload FROM {t}outbox WHERE status = 'in_progress'"), "q");
}

TEST(a_callers_bound_is_a_hint_too)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "t", "p");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 10, from_due => "
                             "array_fill({t}clock() + interval '1 h', ARRAY[4]))"),
              1);
}

/* What an expired lease may hide behind: the hint for the look for expired ones. */
TEST(an_expired_lease_below_the_hint_is_taken_back_within_a_minute)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "t", "p");
    CHECK_INT(claimed(conn), 1);
    t_clock_advance(store, 40 * T_SECOND);
    t_sql(conn, "INSERT INTO {t}hint (queue, written_at, reap_from, reap_whole_next) SELECT id, "
                "'-infinity', {t}clock() - interval '1 s', {t}clock() + interval '60 s' "
                "FROM {t}queue");
    CHECK_INT(claimed(conn), 0);
    t_clock_advance(store, 60 * T_SECOND);
    CHECK_INT(claimed(conn), 1);
}

TEST(a_claim_over_a_small_index_leaves_no_hint)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect(); /* a new session plans, and is slow once */

    t_enqueue(store, "t", "p");
    CHECK_INT(claimed(conn), 1);
    CHECK_INT(claimed(conn), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}hint"), 0);
}

/* ----------------------------------------------------------------------- ticks */

static long long fired(struct t_conn *conn)
{
    return t_number(conn, "SELECT timers FROM {t}work_tick(" OWNER ", 10, true, true)");
}

TEST(a_timer_below_the_hint_waits_for_the_next_look_from_the_start)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', {t}clock(), i::text) "
                "FROM generate_series(1, 2) i");
    mislead(conn, "{t}clock() + interval '10 s'");
    CHECK_INT(fired(conn), 0);
    t_sql(conn, "DELETE FROM {t}hint WHERE queue = (SELECT id FROM {t}queue "
                "WHERE namespace = '1')");
    CHECK_INT(fired(conn), 1);
    t_clock_advance(store, 11 * T_SECOND);
    CHECK_INT(fired(conn), 1);
    t_check_places(conn);
}

/* A transaction holds vacuum up; what was fired lies in the way of every tick. */
TEST(a_slow_tick_leaves_a_hint_and_the_next_is_fast)
{
    struct t_conn *conn, *old;

    t_open(NULL);
    conn = a_connection(NULL);
    old = a_connection(NULL);
    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', {t}clock() + interval '1 h')");
    t_sql(old, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    t_sql(old, "SELECT 1");
    t_sql(conn,
          "INSERT INTO {t}pending SELECT {t}clock(), gen_random_uuid(), NULL, {t}lane(id, 1), -1, "
          "0, 0, NULL FROM {t}queue, generate_series(1, 200000) WHERE door = 2");
    t_sql(conn, "DELETE FROM {t}pending WHERE due < {t}clock()");
    CHECK_INT(fired(conn), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}hint WHERE from_due[2] <= {t}clock() "
                             "AND whole_look_next > written_at"),
              1);
    t_sql(conn, "UPDATE {t}hint SET whole_look_next = {t}clock() + interval '1 h'");
    CHECK_INT(fired(conn), 0);
    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', {t}clock())");
    CHECK_INT(fired(conn), 1);
    t_rollback(old);
}
