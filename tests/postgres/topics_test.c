/* topics_test.c - how a queue comes to the index on topics (work_topics_turn), and claims by it. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWNER "'11111111-1111-4111-8111-111111111111'"

/* The payloads of the claimed messages, in order. */
static const char *claimed(struct t_conn *conn, int n, const char *topics)
{
    return t_value(conn, say("SELECT string_agg(payload, ' ') FROM {t}outbox_claim(" OWNER ", 30, "
                             "%d, topics => '%s')",
                             n, topics));
}

static long long by_topic(struct t_conn *conn)
{
    return t_number(conn, "SELECT by_topic FROM {t}queue WHERE namespace = '' AND door = 0");
}

/* Empty claims of a topic, until the queue is there, or for some time. */
static long long turned(struct t_conn *conn, double seconds)
{
    double end = t_now_s() + seconds;

    while (by_topic(conn) < 2 && t_now_s() < end) {
        CHECK_STR(claimed(conn, 1, "{nothing}"), "");
        t_nap_ms(10);
    }
    return by_topic(conn);
}

static void enqueue(struct t_conn *conn, const char *topic, const char *payload)
{
    t_sql(conn, say("SELECT {t}enqueue('%s', '%s')", topic, payload));
}

TEST(a_queue_pays_for_the_index_on_topics_from_the_first_claim_that_names_one)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = t_connect();
    enqueue(conn, "a", "1");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending WHERE topic >= 0"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 1)"), 1);
    CHECK_INT(by_topic(conn), 0);
    enqueue(conn, "b", "2");
    CHECK_STR(claimed(conn, 1, "{b}"), "2");
    CHECK_INT(by_topic(conn), 1);
    enqueue(conn, "c", "3");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending WHERE topic >= 0"), 1);
    CHECK_INT(turned(conn, 30), 2);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}topic_turn"), 0);
    CHECK_STR(claimed(conn, 9, "{c}"), "3");
}

/* They come from a transaction that does not know of the index, and commits late. */
static void stragglers_are_found(const char *begin, const char *end)
{
    struct t_conn *conn, *late;

    t_open(NULL);
    conn = t_connect();
    late = t_connect();
    enqueue(conn, "a", "0");
    t_sql(late, begin);
    t_sql(late, "SELECT count(*) FROM {t}queue"); /* takes its snapshot, if it keeps one */
    enqueue(late, "a", "1");
    CHECK_STR(claimed(conn, 9, "{a}"), "0");
    CHECK_INT(turned(conn, 0.5), 1); /* not while it is open */
    enqueue(late, "a", "2");
    t_sql(late, end);
    CHECK_INT(turned(conn, 30), 2);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending WHERE topic < 0"), 0);
    CHECK_STR(claimed(conn, 9, "{a}"), "1 2");
    t_check_places(conn);
}

TEST(messages_of_a_transaction_that_was_open_are_put_into_the_index)
{
    stragglers_are_found("BEGIN", "COMMIT");
}

TEST(messages_of_an_old_snapshot_are_put_into_the_index)
{
    stragglers_are_found("BEGIN ISOLATION LEVEL REPEATABLE READ", "COMMIT");
}

TEST(messages_of_a_prepared_transaction_are_put_into_the_index)
{
    struct t_conn *conn, *late;

    t_open(NULL);
    conn = t_connect();
    if (t_number(conn, "SELECT current_setting('max_prepared_transactions')") == 0)
        t_skip("max_prepared_transactions is 0 on this server");
    late = t_connect();
    enqueue(conn, "a", "0");
    t_sql(late, "BEGIN");
    enqueue(late, "a", "1");
    CHECK_STR(claimed(conn, 9, "{a}"), "0");
    CHECK_INT(turned(conn, 0.2), 1);
    t_sql(late, "PREPARE TRANSACTION '{t}late'");
    CHECK_INT(turned(conn, 0.5), 1); /* it has ended, but not yet committed */
    t_sql(late, "COMMIT PREPARED '{t}late'");
    CHECK_INT(turned(conn, 30), 2);
    CHECK_STR(claimed(conn, 9, "{a}"), "1");
}

/* The one who takes the steps has read the list of sessions before the late one connected. */
TEST(sessions_that_came_after_the_first_look_at_them_are_waited_for)
{
    struct t_conn *conn, *late, *looked;

    t_open(NULL);
    conn = t_connect();
    looked = t_connect();
    enqueue(conn, "a", "0");
    t_sql(looked, "BEGIN");
    CHECK(t_number(looked, "SELECT count(*) FROM pg_stat_activity") > 0);
    late = t_connect();
    t_sql(late, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    t_sql(late, "SELECT count(*) FROM {t}queue");
    CHECK_STR(claimed(conn, 9, "{a}"), "0");
    CHECK_STR(claimed(looked, 9, "{a}"), ""); /* notes who runs */
    t_sql(looked, "COMMIT");
    CHECK_INT(turned(conn, 0.5), 1);
    enqueue(late, "a", "1");
    t_sql(late, "COMMIT");
    CHECK_INT(turned(conn, 30), 2);
    CHECK_STR(claimed(conn, 9, "{a}"), "1");
}

TEST(a_session_that_took_over_an_old_snapshot_is_waited_for)
{
    struct t_conn *conn, *old, *heir;
    char snapshot[100];

    t_open(NULL);
    conn = t_connect();
    old = t_connect();
    heir = t_connect();
    enqueue(conn, "a", "0");
    t_sql(old, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    snprintf(snapshot, sizeof(snapshot), "%s", t_value(old, "SELECT pg_export_snapshot()"));
    CHECK_STR(claimed(conn, 9, "{a}"), "0");
    CHECK_STR(claimed(conn, 9, "{a}"), ""); /* notes who runs: not yet the heir */
    t_sql(heir, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    t_sql(heir, say("SET TRANSACTION SNAPSHOT '%s'", snapshot));
    t_sql(heir, "SELECT count(*) FROM {t}queue");
    t_sql(old, "COMMIT");
    CHECK_INT(turned(conn, 0.5), 1);
    enqueue(heir, "a", "1");
    t_sql(heir, "COMMIT");
    CHECK_INT(turned(conn, 30), 2);
    CHECK_STR(claimed(conn, 9, "{a}"), "1");
}

TEST(rows_that_another_claim_holds_are_not_forgotten)
{
    struct t_conn *conn, *other;

    t_open(NULL);
    conn = t_connect();
    other = t_connect();
    for (int i = 1; i <= 3; i++)
        enqueue(conn, "a", say("%d", i));
    CHECK_STR(claimed(conn, 1, "{a}"), "1");
    while (t_number(conn, "SELECT count(upto) FROM {t}topic_turn") == 0) {
        CHECK_STR(claimed(conn, 1, "{nothing}"), "");
        t_nap_ms(10);
    }
    t_sql(other, "BEGIN");
    CHECK_INT(t_number(other, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 1)"), 1);
    CHECK_INT(turned(conn, 0.5), 1); /* the row may come back */
    t_rollback(other);
    CHECK_INT(turned(conn, 30), 2);
    CHECK_STR(claimed(conn, 9, "{a}"), "2 3");
}

TEST(a_caller_with_an_old_snapshot_claims_by_topic_without_a_step)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = t_connect();
    enqueue(conn, "a", "1");
    t_sql(conn, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    CHECK_STR(claimed(conn, 1, "{a}"), "1");
    t_sql(conn, "COMMIT");
    CHECK_INT(by_topic(conn), 0);
}

/* ------------------------------------------------------------------------- claims */

/* A thousand messages of another topic, then those of ours. */
static struct t_conn *behind_others(int ours)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = t_connect();
    CHECK_STR(claimed(conn, 1, "{nothing}"), "");
    t_sql(conn, "SELECT count({t}enqueue('other', 'x')) FROM generate_series(1, 1000)");
    t_sql(conn, say("SELECT count({t}enqueue(CASE i %% 2 WHEN 0 THEN 'a' ELSE 'b' END, i::text)) "
                    "FROM generate_series(1, %d) i",
                    ours));
    CHECK_INT(turned(conn, 30), 2);
    return conn;
}

/* How many rows of pending a claim reads. */
static long long read_by(struct t_conn *conn, const char *topics)
{
    static const char count[] = "SELECT pg_stat_get_xact_tuples_fetched('{t}pending'::regclass)";
    long long before, after;

    t_sql(conn, "BEGIN");
    before = t_number(conn, count);
    CHECK_STR(claimed(conn, 3, topics), "1 2 3");
    after = t_number(conn, count);
    t_rollback(conn);
    return after - before;
}

TEST(a_claim_by_topic_does_not_read_the_messages_of_others)
{
    struct t_conn *conn = behind_others(3);

    CHECK(read_by(conn, "{a,b}") < 50);
    t_sql(conn, "DELETE FROM {t}pending p USING {t}message m WHERE m.id = p.id AND m.topic = 'b'");
    t_sql(conn, "SELECT {t}enqueue('a', i::text) FROM generate_series(1, 3) i");
    CHECK_STR(claimed(conn, 1, "{a}"), "2");
    CHECK(read_by(conn, "{a}") < 50);
}

TEST(several_topics_come_in_one_order_even_if_others_hold_the_first)
{
    struct t_conn *conn = behind_others(1000), *other = t_connect();
    const char *got;

    t_sql(other, "BEGIN");
    CHECK_INT(strtoll(claimed(other, 900, "{a,b}"), NULL, 10), 1);
    got = claimed(conn, 90, "{b,a,nothing}"); /* behind more than a claim looks at first */
    CHECK(strncmp(got, "901 902 903 ", 12) == 0);
    CHECK_STR(strrchr(got, ' '), " 990");
    t_rollback(other);
    CHECK(strncmp(claimed(conn, 950, "{a,b}"), "1 2 3 4 ", 8) == 0);
    t_check_places(conn);
}

TEST(a_message_that_came_back_is_found_by_its_topic)
{
    struct t_conn *conn = behind_others(4);
    const char *ids = t_value(conn, "SELECT array_agg(work_id) FROM {t}outbox_claim(" OWNER
                                    ", 30, 4, topics => '{a,b}')");

    t_sql(conn,
          say("SELECT {t}outbox_abandon(" OWNER ", ('%s'::uuid[])[1:1], delay => '0 s')", ids));
    t_sql(conn, say("SELECT {t}outbox_release(" OWNER ", ('%s'::uuid[])[2:2])", ids));
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending WHERE topic < 0"), 0);
    CHECK_STR(claimed(conn, 9, "{a,b}"), "1 2");
}

/* ------------------------------------------------------------------- last attempts */

/* Its worker died, and it has one attempt left: it comes alone even behind a row to be buried. */
TEST(a_last_attempt_comes_alone_behind_one_that_has_expired)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = t_connect();
    t_sql(conn, "SELECT {t}enqueue('t', 'x', expires_at => {t}clock() + interval '1 ms')");
    t_sql(conn, "SELECT {t}enqueue('t', 'r', max_attempts => 2)");
    t_sql(conn, "SELECT {t}enqueue('t', 'y', max_attempts => 5)");
    t_sql(conn, "UPDATE {t}pending SET lost = 1, attempts = 1 WHERE expires_at IS NULL");
    t_nap_ms(5);
    CHECK_STR(t_value(conn, "SELECT string_agg(coalesce(payload, orphan::text), ' ') FROM "
                            "{t}work_claim(0::smallint, " OWNER ", 30, 2, '', NULL, NULL, NULL, 0, "
                            "NULL, 1::smallint)"),
              "r true");
}
