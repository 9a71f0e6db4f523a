/* join_sql_test.c - joins as any language sees them: every function, its arguments at their
 * edges, its errors, and what settling does to joins. */
#include "common.h"

#include <stdio.h>

#define OWNER "'11111111-1111-4111-8111-111111111111'"
#define NOWHERE "'99999999-9999-4999-8999-999999999999'"
#define ZERO "'00000000-0000-0000-0000-000000000000'"

/* Texts in quotes, mostly ids; each stays until the test ends. */
static const char *kept(const char *text)
{
    static char texts[32][400];
    static size_t next;
    char *copy = texts[next++];

    CHECK(next <= sizeof(texts) / sizeof(*texts));
    CHECK(snprintf(copy, sizeof(*texts), "'%s'", text) < (int)sizeof(*texts));
    return copy;
}

static const char *start(struct t_conn *conn, int steps)
{
    return kept(t_value(conn, say("SELECT {t}join_start(%d)", steps)));
}

static const char *put(struct t_conn *conn, const char *more)
{
    return kept(t_value(conn, say("SELECT ({t}enqueue('t', 'p'%s)).message_id", more)));
}

static const char *put_step(struct t_conn *conn, const char *join)
{
    return put(conn, say(", join_id => %s", join));
}

static const char *wait_for(struct t_conn *conn, const char *join, const char *flag)
{
    return kept(
        t_value(conn, say("SELECT {t}join_wait(%s, %s, 'good', 'went well', 'bad', 'went wrong')",
                          join, flag)));
}

static const char *state(struct t_conn *conn, const char *join)
{
    return t_value(conn, say("SELECT concat_ws(' ', status, expected_steps, attached_steps, "
                             "completed_steps, failed_steps, open_waits) FROM {t}joins "
                             "WHERE id = %s",
                             join));
}

static const char *step(struct t_conn *conn, const char *join, const char *message)
{
    return t_value(conn, say("SELECT status || ' ' || status_code FROM {t}join_members "
                             "WHERE join_id = %s AND message_id = %s",
                             join, message));
}

static void settle(struct t_conn *conn, const char *how, const char *message)
{
    t_sql(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 1000)");
    t_sql(conn, say("SELECT {t}outbox_%s(" OWNER ", ARRAY[%s]::uuid[])", how, message));
}

/* What was sent, with payloads and headers. */
static const char *sent(struct t_conn *conn)
{
    return t_value(conn, "SELECT string_agg(concat_ws(' ', topic, payload, headers ->> "
                         "'join_status'), ', ' ORDER BY id) FROM {t}outbox WHERE topic IN "
                         "('good', 'bad')");
}

/* ------------------------------------------------------------------------ starting */

TEST(a_join_is_stored_as_it_was_started)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);
    const char *join;

    t_clock_set(store, T_EPOCH);
    join = kept(t_value(conn, "SELECT {t}join_start(expected_steps => 3, grouping_key => 'k', "
                              "metadata => '{\"a\": 1}', deadline => {t}clock() + '1 s')"));
    REQ_STR("JOIN-001", state(conn, join), "pending 3 0 0 0 0");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', grouping_key, metadata, deadline - created_at, "
                            "created_at = {t}clock(), updated_at = created_at, finished_at IS NULL)"
                            " FROM {t}joins"),
              "k {\"a\": 1} 00:00:01 t t t");
    t_sql(conn, "SELECT {t}join_start(1, ''), {t}join_start(1000000, repeat('ü', 255), "
                "repeat('x', 1048576))");
    REQ_STR("JOIN-003", t_value(conn, "SELECT count(*) FROM {t}joins WHERE grouping_key IS NULL"),
            "1");
    CHECK_STR(t_value(conn, "SELECT octet_length(metadata) FROM {t}joins "
                            "WHERE expected_steps = 1000000"),
              "1048576");
}

TEST(join_start_refuses)
{
    static const char *const wrong[][2] = {
        { "NULL", "expected_steps is null; give 1 to 1000000" },
        { "0", "expected_steps is 0; give 1 to 1000000" },
        { "-1", "expected_steps is -1" },
        { "1000001", "expected_steps is 1000001" },
        { "1, repeat('ü', 256)", "grouping_key has 256 characters; at most 255 are allowed" },
        { "1, metadata => repeat('x', 1048577)", "metadata has 1048577 bytes" },
        { "1, deadline => 'infinity'", "deadline lies outside the years 1 to 9999" },
        { "1, deadline => '-infinity'", "deadline lies outside the years 1 to 9999" },
        { "1, deadline => {t}clock()", "deadline is not ahead of the database's clock" },
    };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);

    t_clock_set(store, T_EPOCH);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        refused(conn, "22023", "join_start: ", say("SELECT {t}join_start(%s)", wrong[i][0]));
        refused(conn, "22023", wrong[i][1], say("SELECT {t}join_start(%s)", wrong[i][0]));
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}joins"), 0);
}

/* ----------------------------------------------------------------------- attaching */

TEST(steps_are_attached_in_every_way)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 6), *alone = put(conn, ""), *first = put(conn, ""),
               *second = put(conn, ", message_id => '12345678-1234-4234-8234-123456789012'");

    t_sql(conn, say("SELECT {t}join_attach(join_id => %s, message_id => %s)", join, alone));
    t_sql(conn, say("SELECT {t}join_attach_many(join_id => %s, message_ids => ARRAY[%s, %s, %s, %s]"
                    "::uuid[])",
                    join, first, second, first, alone));
    REQ_STR("JOIN-011", state(conn, join), "pending 6 3 0 0 0");
    put_step(conn, join);
    t_sql(conn, say("SELECT * FROM {t}enqueue_many(jsonb_build_array("
                    "jsonb_build_object('topic', 't', 'payload', 'p', 'join_id', %s), "
                    "jsonb_build_object('topic', 't', 'payload', 'p'), "
                    "jsonb_build_object('topic', 't', 'payload', 'p', 'join_id', %s)))",
                    join, join));
    REQ_STR("JOIN-013", state(conn, join), "pending 6 6 0 0 0");
    t_sql(conn, say("SELECT {t}join_attach_many(%s, '{}')", join));
    CHECK_STR(t_value(conn, "SELECT count(*) || ' ' || count(DISTINCT work_id) || ' ' || "
                            "min(status) || ' ' || min(topic) FROM {t}join_members"),
              "6 6 pending t");
    t_check_places(conn);
}

/* Who attaches a message that is leased, and sits in the transaction, holds up nobody; what was
 * settled meanwhile is counted by the next claim. */
TEST(attaching_holds_up_nobody_who_settles_and_the_next_claim_counts)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL)), *stranger = a_connection(NULL);
    const char *first = start(conn, 1), *second = start(conn, 1), *third = start(conn, 1),
               *acked = put(conn, ", dedupe_key => 'k'"), *failed = put(conn, ""),
               *renewed = put(conn, "");

    t_sql(conn, "SELECT * FROM {t}outbox_claim(" OWNER ", 30, 10)");
    t_begin(stranger);
    t_sql(stranger, say("SELECT {t}enqueue('t', 'p', dedupe_key => 'k', join_id => %s)", first));
    t_sql(stranger, say("SELECT {t}join_attach(%s, %s)", second, failed));
    t_sql(stranger, say("SELECT {t}join_attach(%s, %s)", third, renewed));
    t_sql(conn, "SET statement_timeout = '5s'");
    CHECK_STR(t_value(conn, say("SELECT outcome FROM {t}outbox_renew(" OWNER ", ARRAY[%s]::uuid[], "
                                "60)",
                                renewed)),
              "renewed");
    settle(conn, "ack", acked);
    settle(conn, "fail", failed);
    t_commit(stranger);
    t_sql(conn, "SELECT * FROM {t}outbox_claim(" OWNER ", 30, 10)");
    REQ_STR("JOIN-060", state(conn, first), "completed 1 1 1 0 0");
    REQ_STR("JOIN-060", state(conn, second), "failed 1 1 0 1 0");
    REQ_STR("JOIN-060", state(conn, third), "pending 1 1 0 0 0");
    settle(conn, "ack", renewed); /* seen and counted by the ack itself */
    REQ_STR("JOIN-060", state(conn, third), "completed 1 1 1 0 0");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}join_member WHERE loose IS NOT NULL"), 0);
    t_check_places(conn);
    t_check_joins(conn);
}

TEST(attaching_refuses)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 1), *message = put(conn, ""), *full = start(conn, 1),
               *closed = start(conn, 1), *wait = wait_for(conn, join, "true");

    put_step(conn, full);
    t_sql(conn, say("SELECT {t}join_cancel(%s)", closed));
    refused(conn, "P0002", "join_attach: there is no join 99999999-9999-4999-8999-999999999999",
            say("SELECT {t}join_attach(" NOWHERE ", %s)", message));
    refused(conn, "P0002", "there is no outbox message 99999999-9999-4999-8999-999999999999",
            say("SELECT {t}join_attach(%s, " NOWHERE ")", join));
    refused(conn, "55000", "has all the steps it expects; start it with more",
            say("SELECT {t}join_attach(%s, %s)", full, message));
    refused(conn, "55000", "is closed: it was cancelled, or its deadline has passed",
            say("SELECT {t}join_attach(%s, %s)", closed, message));
    refused(conn, "55000", "is a wait, which cannot be a step",
            say("SELECT {t}join_attach(%s, %s)", join, wait));
    refused(conn, "P0002", "there is no outbox message", /* and none of the others */
            say("SELECT {t}join_attach_many(%s, ARRAY[%s, " NOWHERE "]::uuid[])", join, message));
    refused(conn, "22023", "join_attach: join_id is null",
            say("SELECT {t}join_attach(NULL, %s)", message));
    refused(conn, "22023", "join_id is all zero",
            say("SELECT {t}join_attach(" ZERO ", %s)", message));
    refused(conn, "22023", "a message id is null", say("SELECT {t}join_attach(%s, NULL)", join));
    refused(conn, "22023", "a message id is all zero",
            say("SELECT {t}join_attach(%s, " ZERO ")", join));
    refused(conn, "22023", "join_attach_many: a message id is null",
            say("SELECT {t}join_attach_many(%s, NULL)", join));
    refused(conn, "22023", "more than one dimension",
            say("SELECT {t}join_attach_many(%s, ARRAY[ARRAY[%s::uuid]])", join, message));
    refused(
        conn, "22023", "10001 message_ids; at most 10000",
        say("SELECT {t}join_attach_many(%s, array_fill(%s::uuid, ARRAY[10001]))", join, message));
    REQ_STR("JOIN-012", state(conn, join), "pending 1 0 0 0 1");
}

/* The message is the newest stay of that message id, wherever it is by now. */
TEST(a_message_is_attached_wherever_it_is)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 9), *leased, *done, *dead, *again, *gone;

    done = put(conn, "");
    settle(conn, "ack", done);
    dead = put(conn, "");
    settle(conn, "fail", dead);
    again = put(conn, "");
    settle(conn, "fail", again);
    t_sql(conn, say("SELECT {t}dead_retry(ARRAY[%s]::uuid[])", again));
    gone = put(conn, "");
    settle(conn, "fail", gone);
    t_sql(conn, say("SELECT {t}dead_discard(ARRAY[%s]::uuid[])", gone));
    leased = put(conn, "");
    t_sql(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 10)"); /* again, too */
    t_sql(conn, say("SELECT {t}join_attach_many(%s, ARRAY[%s, %s, %s, %s]::uuid[])", join, leased,
                    done, dead, again));
    REQ_STR("JOIN-013", state(conn, join), "pending 9 4 1 1 0");
    refused(conn, "P0002", "there is no outbox message",
            say("SELECT {t}join_attach(%s, %s)", join, gone));
    CHECK_STR(step(conn, join, leased), "pending 0");
    CHECK_STR(step(conn, join, done), "completed 1");
    CHECK_STR(step(conn, join, dead), "failed 2");
    CHECK_STR(step(conn, join, again), "pending 0");
    t_sql(conn, "SELECT {t}outbox_ack(" OWNER ", array_agg(id)) FROM {t}outbox "
                "WHERE status = 'in_progress'");
    CHECK_STR(state(conn, join), "pending 9 4 3 1 0");
    t_check_places(conn);
}

TEST(an_enqueue_that_cannot_become_a_step_stores_nothing)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 2), *before;

    before = kept(stored(conn));
    refused(conn, "P0002", "enqueue: there is no join",
            "SELECT {t}enqueue('t', 'p', dedupe_key => 'k', join_id => " NOWHERE ")");
    refused(conn, "P0002", "enqueue_many: message 1: there is no join",
            say("SELECT {t}enqueue_many(jsonb_build_array("
                "jsonb_build_object('topic', 't', 'payload', 'p', 'dedupe_key', 'k', 'join_id', "
                "%s), jsonb_build_object('topic', 't', 'payload', 'p', 'join_id', " NOWHERE ")))",
                join));
    refused(conn, "55000", "enqueue_many: message 2: join ",
            say("SELECT {t}enqueue_many((SELECT jsonb_agg(jsonb_build_object('topic', 't', "
                "'payload', 'p', 'join_id', %s)) FROM generate_series(1, 4)))",
                join));
    refused(
        conn, "22023", "message 0: join_id is not a UUID",
        "SELECT {t}enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"join_id\": \"x\"}]')");
    CHECK_STR(say("'%s'", stored(conn)), before);
    /* An answer, not an error, leaves nothing behind either. */
    CHECK_STR(t_value(conn,
                      "SELECT join_problem FROM {t}work_enqueue(0::smallint, '', 't', 'p', "
                      "NULL, 'k', NULL, NULL, 1::smallint, NULL, NULL, NULL, NULL, NULL, " NOWHERE
                      ")"),
              "1");
    CHECK_STR(say("'%s'", stored(conn)), before);
    CHECK_STR(state(conn, join), "pending 2 0 0 0 0");
}

TEST(a_duplicate_attaches_the_message_that_has_the_key)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 3), *other = start(conn, 2),
               *taker = put(conn, ", dedupe_key => 'k'");

    CHECK_STR(say("'%s'", t_value(conn, say("SELECT ({t}enqueue('t', 'p', dedupe_key => 'k', "
                                            "join_id => %s)).message_id",
                                            join))),
              taker);
    CHECK_STR(step(conn, join, taker), "pending 0");
    t_sql(conn, say("SELECT {t}enqueue_many(jsonb_build_array("
                    "jsonb_build_object('topic', 't', 'payload', 'p', 'dedupe_key', 'k', "
                    "'join_id', %s), "
                    "jsonb_build_object('topic', 't', 'payload', 'p', 'dedupe_key', 'l', "
                    "'join_id', %s), "
                    "jsonb_build_object('topic', 't', 'payload', 'p', 'dedupe_key', 'l', "
                    "'join_id', %s)))",
                    other, other, join));
    CHECK_STR(state(conn, join), "pending 3 2 0 0 0");
    CHECK_STR(state(conn, other), "pending 2 2 0 0 0");
    settle(conn, "ack", taker);
    CHECK_STR(state(conn, join), "pending 3 2 1 0 0");
    t_sql(conn, "SELECT {t}outbox_ack(" OWNER ", array_agg(id)) FROM {t}outbox "
                "WHERE status = 'in_progress'");
    CHECK_STR(state(conn, other), "completed 2 2 2 0 0");
}

/* ------------------------------------------------------------------------ counting */

TEST(settling_counts_and_the_last_step_sends)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);
    const char *join, *any, *a, *b, *strict, *lax;

    t_clock_set(store, T_EPOCH);
    join = start(conn, 2);
    any = start(conn, 1);
    a = put_step(conn, join);
    b = put_step(conn, join);
    t_sql(conn, say("SELECT {t}join_attach(%s, %s)", any, a));
    strict = wait_for(conn, join, "true");
    lax = wait_for(conn, join, "false");
    CHECK_STR(t_value(conn, say("SELECT concat_ws(' ', topic, status, status_code, waits_for = %s) "
                                "FROM {t}outbox WHERE id = %s",
                                join, strict)),
              "join.wait waiting 4 t");
    CHECK_STR(t_value(conn, say("SELECT payload FROM {t}outbox WHERE id = %s", lax)),
              say("{\"join_id\":\"%.36s\",\"fail_if_any_step_failed\":false,\"on_complete_topic\":"
                  "\"good\",\"on_complete_payload\":\"went well\",\"on_fail_topic\":\"bad\","
                  "\"on_fail_payload\":\"went wrong\"}",
                  join + 1));
    t_clock_advance(store, T_SECOND);
    settle(conn, "ack", a);
    REQ_STR("JOIN-081", state(conn, any), "completed 1 1 1 0 0");
    CHECK_STR(state(conn, join), "pending 2 2 1 0 2");
    CHECK_STR(sent(conn), "");
    t_clock_advance(store, T_SECOND);
    settle(conn, "fail", b);
    REQ_STR("JOIN-041", state(conn, join), "failed 2 2 1 1 0");
    REQ_STR("JOIN-054", sent(conn), "bad went wrong failed, good went well failed");
    CHECK_STR(t_value(conn, say("SELECT concat_ws(' ', updated_at - created_at, finished_at - "
                                "created_at) FROM {t}joins WHERE id = %s",
                                join)),
              "00:00:02 00:00:02");
    CHECK_STR(t_value(conn, say("SELECT concat_ws(' ', status, processed_at = {t}clock(), "
                                "processed_by IS NULL, waits_for IS NULL) FROM {t}outbox "
                                "WHERE id = %s",
                                strict)),
              "done t t t");
    refused(conn, "55000", "is a wait", say("SELECT {t}join_attach({t}join_start(1), %s)", strict));
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 10)"), 2);
    t_check_places(conn);
}

TEST(settling_names_the_joins_it_ended)
{
    struct t_conn *conn;
    const char *one, *two, *a, *b, *c;

    t_open(NULL);
    conn = a_connection(NULL);
    one = start(conn, 1);
    two = start(conn, 2);
    a = put_step(conn, one);
    b = put_step(conn, two);
    c = put_step(conn, two);
    t_sql(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 10)");
    CHECK_STR(
        t_value(conn, say("SELECT joins FROM {t}outbox_ack(" OWNER ", ARRAY[%s]::uuid[])", b)), "");
    CHECK_STR(t_value(conn, say("SELECT string_agg(concat_ws(' ', outcome, cardinality(joins), "
                                "joins @> ARRAY[%s, %s]::uuid[]), ', ') FROM {t}outbox_fail(" OWNER
                                ", ARRAY[%s, %s]::uuid[])",
                                one, two, a, c)),
              "failed 2 t, failed 2 t");
}

/* Whoever buries a step counts it. */
TEST(steps_die_in_every_way)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);
    const char *join;

    t_clock_set(store, T_EPOCH);
    join = start(conn, 4);
    wait_for(conn, join, "false");
    put(conn, say(", join_id => %s, max_attempts => 1, priority => 0", join));
    t_sql(conn, "SELECT {t}outbox_abandon(" OWNER ", array_agg(work_id)) "
                "FROM {t}outbox_claim(" OWNER ", 1, 1)");
    CHECK_STR(state(conn, join), "pending 4 1 0 1 1");
    put(conn, say(", join_id => %s, max_attempts => 1, priority => 0", join));
    t_sql(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 1, 1)");
    t_clock_advance(store, 2 * T_SECOND);
    CHECK_INT(t_number(conn, "SELECT {t}outbox_reap_expired()"), 1);
    CHECK_STR(state(conn, join), "pending 4 2 0 2 1");
    put(conn, say(", join_id => %s, max_attempts => 1, priority => 0", join));
    t_sql(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 1, 1)");
    put(conn, say(", join_id => %s, expires_at => {t}clock() + '1 s'", join));
    t_clock_advance(store, 2 * T_SECOND);
    /* One claim takes a lease back and buries both; what that sends is for the next. */
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 10)"), 0);
    REQ_STR("JOIN-031", state(conn, join), "failed 4 4 0 4 0");
    CHECK_STR(sent(conn), "good went well failed");
    t_check_places(conn);
}

TEST(reports_count_once_and_the_first_stands)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 3), *a = put_step(conn, join), *b = put_step(conn, join);

    t_sql(conn, say("SELECT {t}join_report_completed(join_id => %s, message_id => %s)", join, a));
    t_sql(conn, say("SELECT {t}join_report_failed(join_id => %s, message_id => %s)", join, a));
    t_sql(conn, say("SELECT {t}join_report_failed(%s, %s)", join, b));
    REQ_STR("JOIN-022", state(conn, join), "pending 3 2 1 1 0");
    settle(conn, "fail", a);
    settle(conn, "ack", b);
    REQ_STR("JOIN-022", state(conn, join), "pending 3 2 1 1 0");
    CHECK_STR(step(conn, join, a), "completed 1");
    CHECK_STR(step(conn, join, b), "failed 2");
    refused(conn, "P0002", "join_report_completed: there is no join",
            say("SELECT {t}join_report_completed(" NOWHERE ", %s)", a));
    refused(conn, "P0002",
            "join_report_failed: message 99999999-9999-4999-8999-999999999999 is "
            "not a step of join",
            say("SELECT {t}join_report_failed(%s, " NOWHERE ")", join));
    refused(conn, "22023", "join_report_completed: join_id is null",
            "SELECT {t}join_report_completed(NULL, " NOWHERE ")");
    refused(conn, "22023", "join_report_failed: a message id is null",
            say("SELECT {t}join_report_failed(%s, NULL)", join));
}

/* -------------------------------------------------------------- waiting and ending */

TEST(join_wait_refuses)
{
    static const char *const wrong[][2] = {
        { "NULL, 'a', 'b'", "fail_if_any_step_failed is null" },
        { "true, NULL, 'b'", "on_complete_topic is null; it is required" },
        { "true, '', 'b'", "on_complete_topic is empty; it is required" },
        { "true, repeat('ü', 256), 'b'", "on_complete_topic has 256 characters" },
        { "true, 'a', NULL", "on_complete_payload is null; it is required, but may be empty" },
        { "true, 'a', 'b', ''", "on_fail_topic is empty; leave it out to send nothing" },
        { "true, 'a', 'b', repeat('ü', 256)", "on_fail_topic has 256 characters" },
        { "true, 'a', 'b', namespace => NULL", "namespace is null" },
        { "true, 'a', 'b', namespace => repeat('ü', 256)", "namespace has 256 characters" },
        { "true, 'a', repeat('x', 1048577)", "the payload of a continuation is longer" },
        { "true, 'a', 'b', 'c', repeat('x', 1048577)", "the payload of a continuation is longer" },
    };
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 1), *before = kept(stored(conn));

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        refused(conn, "22023", wrong[i][1], say("SELECT {t}join_wait(%s, %s)", join, wrong[i][0]));
    refused(conn, "22023", "join_wait: join_id is null",
            "SELECT {t}join_wait(NULL, true, 'a', 'b')");
    refused(conn, "P0002", "join_wait: there is no join",
            "SELECT {t}join_wait(" NOWHERE ", true, 'a', 'b')");
    REQ_STR("JOIN-052", say("'%s'", stored(conn)), before);
}

TEST(a_wait_on_a_join_that_has_ended_fires_at_once)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 1), *wait;

    settle(conn, "ack", put_step(conn, join));
    t_sql(conn, "SELECT {t}queue_set('outbox', 'n', '{\"join_wait_topic\": \"w\\\"w\"}')");
    wait = kept(t_value(conn, say("SELECT {t}join_wait(%s, true, 'good', E'tab\\t \"ü\\\\', NULL, "
                                  "NULL, 'n')",
                                  join)));
    REQ_STR("JOIN-050",
            t_value(conn, say("SELECT topic || ' ' || status FROM {t}outbox "
                              "WHERE id = %s",
                              wait)),
            "w\"w done");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', topic, payload, namespace, priority, headers ->>"
                            " 'join_status') FROM {t}outbox WHERE topic = 'good'"),
              "good tab\t \"ü\\ n 1 completed");
    CHECK_STR(t_value(conn, say("SELECT payload::jsonb ->> 'on_fail_topic' FROM {t}outbox "
                                "WHERE id = %s",
                                wait)),
              "");
    refused(conn, "22023", "join_wait_topic: give 1 to 255 characters",
            "SELECT {t}queue_set('outbox', '', '{\"join_wait_topic\": \"\"}')");
    refused(conn, "22023", "join_wait_topic is not a JSON string",
            "SELECT {t}queue_set('outbox', '', '{\"join_wait_topic\": 1}')");
}

TEST(a_cancelled_join_keeps_what_it_showed)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 4), *done = put_step(conn, join), *dead = put_step(conn, join),
               *open = put_step(conn, join);

    settle(conn, "ack", done);
    settle(conn, "fail", dead);
    wait_for(conn, join, "false");
    CHECK_STR(t_value(conn, say("SELECT {t}join_cancel(join_id => %s)", join)), "t");
    CHECK_STR(t_value(conn, say("SELECT {t}join_cancel(%s)", join)), "f");
    CHECK_STR(state(conn, join), "cancelled 4 3 1 1 0");
    CHECK_STR(sent(conn), "bad went wrong cancelled");
    settle(conn, "ack", open);
    t_sql(conn, say("SELECT {t}join_report_failed(%s, %s)", join, open));
    REQ_STR("JOIN-042", state(conn, join), "cancelled 4 3 1 1 0");
    CHECK_STR(step(conn, join, done), "completed 1");
    CHECK_STR(step(conn, join, dead), "failed 2");
    CHECK_STR(step(conn, join, open), "pending 0");
    t_sql(conn, say("SELECT {t}join_attach(%s, %s)", join, open)); /* it is a step */
    refused(conn, "P0002", "join_cancel: there is no join", "SELECT {t}join_cancel(" NOWHERE ")");
    refused(conn, "22023", "join_cancel: join_id is null", "SELECT {t}join_cancel(NULL)");
}

TEST(a_deadline_acts_when_somebody_comes_by)
{
    static const char *const by[] = { "outbox_claim(" OWNER ", 30, 10)", "outbox_reap_expired()" };

    for (size_t i = 0; i < 2; i++) {
        ph_store *store = t_open(NULL);
        struct t_conn *conn = a_connection(NULL);
        const char *join, *late;

        t_clock_set(store, T_EPOCH);
        t_sql(conn, "DELETE FROM {t}message; DELETE FROM {t}pending; DELETE FROM {t}join_head");
        join = kept(t_value(conn, "SELECT {t}join_start(2, deadline => {t}clock() + '1 s')"));
        late = put(conn, say(", join_id => %s, due_at => {t}clock() + '1 h'", join));
        wait_for(conn, join, "false");
        t_sql(conn, say("SELECT count(*) FROM {t}%s", by[i]));
        CHECK_STR(state(conn, join), "pending 2 1 0 0 1");
        t_clock_advance(store, T_SECOND);
        t_sql(conn, say("SELECT count(*) FROM {t}%s", by[i]));
        CHECK_STR(state(conn, join), "failed 2 1 0 0 0");
        CHECK_STR(sent(conn), "bad went wrong failed");
        CHECK_STR(step(conn, join, late), "pending 0");
        refused(conn, "55000", "is closed",
                say("SELECT {t}join_attach(%s, %s)", join, put(conn, "")));
    }
}

/* ---------------------------------------------------------------------- forgetting */

TEST(steps_outlive_their_messages_and_go_with_their_join)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);
    const char *open, *ended, *done, *dead, *both;

    t_clock_set(store, T_EPOCH);
    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"retention_s\": 10}')");
    open = start(conn, 4);
    ended = start(conn, 1);
    done = put_step(conn, open);
    dead = put_step(conn, open);
    both = put_step(conn, open);
    t_sql(conn, say("SELECT {t}join_attach(%s, %s)", ended, both));
    settle(conn, "ack", done);
    settle(conn, "ack", both);
    settle(conn, "fail", dead);
    t_sql(conn, say("SELECT {t}dead_discard(ARRAY[%s]::uuid[])", dead));
    t_clock_advance(store, 9 * T_SECOND);
    CHECK_INT(t_number(conn, "SELECT {t}retention_run()"), 0);
    CHECK_STR(state(conn, ended), "completed 1 1 1 0 0");
    t_clock_advance(store, T_SECOND);
    CHECK_INT(t_number(conn, "SELECT {t}retention_run()"), 3); /* two messages and a join */
    CHECK_STR(state(conn, ended), "");
    CHECK_STR(state(conn, open), "pending 4 3 2 1 0");
    CHECK_STR(step(conn, open, done), "completed 1");
    CHECK_STR(step(conn, open, both), "completed 1");
    CHECK_STR(step(conn, open, dead), "failed 2");
    CHECK_STR(t_value(conn, "SELECT count(*) || ' ' || count(topic) FROM {t}join_members"), "3 0");
}

TEST(messages_that_are_deleted_on_ack_count_before)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 2), *a = put_step(conn, join), *b = put_step(conn, join);

    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"delete_on_ack\": true}')");
    wait_for(conn, join, "true");
    settle(conn, "ack", a);
    CHECK_STR(state(conn, join), "pending 2 2 1 0 1");
    CHECK_STR(step(conn, join, a), "completed 1");
    t_sql(conn, say("SELECT {t}outbox_ack(" OWNER ", ARRAY[%s]::uuid[])", b));
    CHECK_STR(state(conn, join), "completed 2 2 2 0 0");
    CHECK_STR(t_value(conn, "SELECT string_agg(topic, ' ') FROM {t}outbox"), "good");
    t_check_places(conn);
}

/* Numbers far apart, and messages that are no steps between those that are. */
TEST(steps_are_counted_among_others)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));
    const char *join = start(conn, 40), *early = put_step(conn, join);

    t_sql(conn, "SELECT count({t}enqueue('t', 'p')) FROM generate_series(1, 300)");
    t_sql(conn, say("SELECT count({t}enqueue('t', 'p', join_id => CASE WHEN i %% 3 = 0 THEN "
                    "%s::uuid END)) FROM generate_series(1, 117) i",
                    join));
    t_sql(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 1000)");
    t_sql(conn, say("SELECT {t}outbox_ack(" OWNER ", ARRAY[%s, (SELECT max(id::text) FROM "
                    "{t}outbox)]::uuid[])",
                    early));
    CHECK_STR(state(conn, join), "pending 40 40 2 0 0");
    t_sql(conn, "SELECT {t}outbox_ack(" OWNER ", array_agg(id)) FROM (SELECT id FROM {t}outbox "
                "WHERE status = 'in_progress' ORDER BY id DESC LIMIT 59) x");
    CHECK_STR(state(conn, join), "pending 40 40 21 0 0");
    t_sql(conn, "SELECT {t}outbox_fail(" OWNER ", array_agg(id)) FROM {t}outbox "
                "WHERE status = 'in_progress'");
    CHECK_STR(state(conn, join), "failed 40 40 21 19 0");
    t_check_places(conn);
}
