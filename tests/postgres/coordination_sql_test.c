/* coordination_sql_test.c - the inbox, streams, instances, receptors and checkpoints as any language
 * sees them: functions with their names, defaults and edges, and views. */
#include "common.h"

#define OWNER "'11111111-1111-4111-8111-111111111111'"
#define OTHER "'22222222-2222-4222-8222-222222222222'"
#define NOWHERE "'99999999-9999-4999-8999-999999999999'"

static ph_store *store;

static struct t_conn *set_up(void)
{
    struct t_conn *conn;

    store = t_open(NULL);
    t_clock_set(store, T_EPOCH);
    conn = a_connection(NULL);
    t_sql(conn, "SET timezone = 'UTC'");
    return conn;
}

/* ----------------------------------------------------------------- signatures */

static void check_function(struct t_conn *conn, const char *name, const char *arguments,
                           const char *result)
{
    const char *which = say("FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace "
                            "AND proname = '{p}%s'",
                            name);

    REQ_INT("BAT-009", t_number(conn, say("SELECT count(*) %s", which)), 1);
    REQ_STR("BAT-009", t_value(conn, say("SELECT pg_get_function_arguments(oid) %s", which)),
            arguments);
    REQ_STR("BAT-009", t_value(conn, say("SELECT pg_get_function_result(oid) %s", which)), result);
}

#define OUTCOMES "TABLE(work_id uuid, outcome text)"
#define ENDINGS "TABLE(work_id uuid, outcome text, joins uuid[])"

TEST(functions_of_coordination_have_the_agreed_signatures)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SET search_path = {schema}"); /* types of ours print without their schema */
    check_function(
        conn, "inbox_receive",
        "source text, message_id text, topic text, payload text, namespace text DEFAULT "
        "''::text, tenant_id uuid DEFAULT NULL::uuid, correlation_id text DEFAULT "
        "NULL::text, stream text DEFAULT NULL::text, priority integer DEFAULT 1, headers "
        "jsonb DEFAULT NULL::jsonb, handled boolean DEFAULT false, OUT work_id uuid, OUT "
        "is_new boolean",
        "record");
    check_function(conn, "inbox_claim",
                   "owner uuid, lease_seconds integer, batch_size integer, namespace text DEFAULT "
                   "''::text, topics text[] DEFAULT NULL::text[], from_due timestamp with time "
                   "zone[] DEFAULT NULL::timestamp with time zone[]",
                   "TABLE(work_id uuid, message_id text, fence bigint, topic text, payload text, "
                   "tenant_id uuid, dedupe_key text, correlation_id text, stream text, headers "
                   "jsonb, attempts integer, retry_count integer, created_at timestamp with time "
                   "zone, due_at timestamp with time zone, last_error text, source text)");
    check_function(conn, "inbox_ack",
                   "owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL::bigint[]", ENDINGS);
    check_function(conn, "inbox_abandon",
                   "owner uuid, work_ids uuid[], error text DEFAULT NULL::text, "
                   "delay interval DEFAULT NULL::interval, fences bigint[] DEFAULT NULL::bigint[]",
                   ENDINGS);
    check_function(conn, "inbox_fail",
                   "owner uuid, work_ids uuid[], error text DEFAULT NULL::text, fences bigint[] "
                   "DEFAULT NULL::bigint[]",
                   ENDINGS);
    check_function(conn, "inbox_release",
                   "owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL::bigint[]", OUTCOMES);
    check_function(conn, "inbox_renew",
                   "owner uuid, work_ids uuid[], lease_seconds integer, fences bigint[] DEFAULT "
                   "NULL::bigint[]",
                   OUTCOMES);
    check_function(conn, "inbox_reap_expired", "", "integer");
    check_function(conn, "instance_leave", "instance_id uuid", "boolean");
    check_function(conn, "stream_hash", "key text", "bigint");
    check_function(conn, "receptor_complete", "work_id uuid, receptor text", "void");
    check_function(conn, "receptor_fail",
                   "work_id uuid, receptor text, error text DEFAULT NULL::text", "void");
    check_function(conn, "checkpoint_complete",
                   "stream text, consumer text, seq bigint, namespace text DEFAULT ''::text, door "
                   "text DEFAULT 'outbox'::text",
                   "bigint");
    check_function(
        conn, "checkpoint_fail",
        "stream text, consumer text, seq bigint, error text DEFAULT NULL::text, namespace "
        "text DEFAULT ''::text, door text DEFAULT 'outbox'::text",
        "void");
    check_function(conn, "checkpoint_rewind",
                   "stream text, consumer text, seq bigint, namespace text DEFAULT ''::text, door "
                   "text DEFAULT 'outbox'::text",
                   "bigint");
    check_function(conn, "stream_read",
                   "stream text, after_seq bigint DEFAULT 0, batch_size integer DEFAULT 50, "
                   "namespace text DEFAULT ''::text, door text DEFAULT 'outbox'::text",
                   "TABLE(seq bigint, work_id uuid, message_id text, topic text, payload text, "
                   "tenant_id uuid, correlation_id text, headers jsonb, created_at timestamp with "
                   "time zone)");
}

/* -------------------------------------------------------------------------- inbox */

/* The life of an inbox message in SQL alone. */
TEST(the_inbox_is_worked_in_sql)
{
    struct t_conn *conn = set_up();

    CHECK_STR(t_value(conn, "SELECT is_new FROM {t}inbox_receive('billing', '42', 't', 'p')"), "t");
    CHECK_STR(t_value(conn, "SELECT (is_new, work_id = (SELECT id FROM {t}inbox)) FROM "
                            "{t}inbox_receive('billing', '42', 'other', 'q')"),
              "(f,t)");
    CHECK_STR(t_value(conn,
                      "SELECT is_new FROM {t}inbox_receive(source => 's', message_id => 'm', topic "
                      "=> 't', payload => '', namespace => 'n', tenant_id => " NOWHERE
                      ", correlation_id => 'c', stream => 'a', priority => 0, headers => '{}')"),
              "t");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', source, message_id, dedupe_key IS NULL, topic, "
                            "payload, attempts, retry_count, stream IS NULL) "
                            "FROM {t}inbox_claim(" OWNER ", 30, 10)"),
              "billing 42 t t p 1 0 t");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', source, message_id, stream, headers) "
                            "FROM {t}inbox_claim(" OWNER ", 30, 10, namespace => 'n', topics => "
                            "ARRAY['t'])"),
              "s m a {}");
    CHECK_STR(t_value(conn, "SELECT outcome FROM {t}inbox_renew(" OWNER
                            ", ARRAY(SELECT id FROM {t}inbox WHERE namespace = ''), 60)"),
              "renewed");
    CHECK_STR(t_value(conn, "SELECT outcome FROM {t}inbox_abandon(" OWNER
                            ", ARRAY(SELECT id FROM {t}inbox WHERE namespace = ''), 'why', '5 s')"),
              "abandoned");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', status, attempts, retry_count, last_error, "
                            "next_attempt_at) FROM {t}inbox WHERE namespace = ''"),
              "ready 1 1 why 2023-11-14 22:13:25+00");
    CHECK_STR(t_value(conn, "SELECT outcome FROM {t}inbox_fail(" OWNER
                            ", ARRAY(SELECT id FROM {t}inbox WHERE namespace = 'n'), 'never')"),
              "failed");
    CHECK_STR(t_value(conn, "SELECT status FROM {t}inbox WHERE namespace = 'n'"), "failed");
    t_clock_advance(store, 5 * T_SECOND);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}inbox_claim(" OWNER ", 30, 10)"), 1);
    CHECK_STR(t_value(conn, "SELECT outcome FROM {t}inbox_release(" OWNER
                            ", ARRAY(SELECT id FROM {t}inbox WHERE namespace = ''))"),
              "released");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}inbox_claim(" OWNER ", 30, 10)"), 1);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(t_number(conn, "SELECT {t}inbox_reap_expired()"), 1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}inbox_claim(" OWNER ", 30, 10)"), 1);
    CHECK_STR(t_value(conn, "SELECT outcome FROM {t}inbox_ack(" OWNER
                            ", ARRAY(SELECT id FROM {t}inbox WHERE namespace = ''))"),
              "acked");
    CHECK_STR(t_value(conn, "SELECT is_new FROM {t}inbox_receive('billing', '42', 't', 'p')"), "f");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', status, is_processed, processed_by) "
                            "FROM {t}inbox WHERE namespace = ''"),
              "done t 11111111-1111-4111-8111-111111111111");
    t_check_places(conn);
}

/* handled: the record, the completion and the caller's writes in one transaction. */
TEST(what_is_handled_in_the_same_transaction_is_done)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "CREATE TABLE {schema}.mine (n int)");
    for (int i = 0; i < 3; i++) {
        t_begin(conn);
        t_sql(conn, "INSERT INTO {schema}.mine SELECT 1 FROM {t}inbox_receive('s', '1', 't', 'p', "
                    "handled => true) WHERE is_new");
        if (i == 0)
            t_rollback(conn);
        else
            t_commit(conn);
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {schema}.mine"), 1);
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', status, is_processed, processed_by IS NULL) "
                            "FROM {t}inbox"),
              "done t t");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}inbox_claim(" OWNER ", 30, 10)"), 0);
    t_check_places(conn);
}

/* Alone in its transaction nothing can have been done with it: the message would be lost. */
TEST(what_is_handled_needs_a_transaction_of_the_callers)
{
    static const char *const fine[] = {
        "BEGIN; SELECT {t}inbox_receive('s', '1', 't', 'p', handled => true); COMMIT",
        "WITH x AS (INSERT INTO {schema}.mine VALUES (1)) "
        "SELECT {t}inbox_receive('s', '2', 't', 'p', handled => true)",
        "DO $$ BEGIN PERFORM {t}inbox_receive('s', '3', 't', 'p', handled => true); "
        "INSERT INTO {schema}.mine VALUES (1); END $$",
        "INSERT INTO {schema}.mine SELECT 1 FROM {t}inbox_receive('s', '4', 't', 'p', "
        "handled => true)",
    };
    static const char *const batch =
        "SELECT * FROM {t}process_work_batch(" OWNER ", 's', 'h', 1, new_inbox_messages => "
        "'[{\"source\": \"s\", \"message_id\": \"6\", \"topic\": \"t\", \"payload\": \"p\", "
        "\"handled\": true}]')";
    struct t_conn *conn = set_up();

    t_sql(conn, "CREATE TABLE {schema}.mine (n int)");
    refused(conn, "22023",
            "inbox_receive: handled needs a transaction of yours, in which the work is done; begin "
            "it with BEGIN",
            "SELECT {t}inbox_receive('s', '1', 't', 'p', handled => true)");
    refused(conn, "22023", "new_inbox_messages: handled needs a transaction of yours", batch);
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++)
        t_sql(conn, fine[i]);
    t_begin(conn);
    t_sql(conn, "SELECT {t}inbox_receive('s', '5', 't', 'p', handled => true)");
    t_sql(conn, batch);
    t_commit(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}inbox WHERE status = 'done'"), 6);
}

TEST(inbox_receive_refuses)
{
    static const char *const wrong[][2] = {
        { "NULL, '1', 't', 'p'", "source is null" },
        { "'', '1', 't', 'p'", "source is empty" },
        { "repeat('ü', 256), '1', 't', 'p'", "source has 256 characters" },
        { "'s', NULL, 't', 'p'", "message_id is null" },
        { "'s', '', 't', 'p'", "message_id is empty" },
        { "'s', repeat('x', 256), 't', 'p'", "message_id has 256 characters" },
        { "'s', '1', NULL, 'p'", "topic" },
        { "'s', '1', '', 'p'", "topic is empty" },
        { "'s', '1', 't', NULL", "payload is null" },
        { "'s', '1', 't', 'p', NULL", "namespace" },
        { "'s', '1', 't', 'p', priority => 4", "priority is 4" },
        { "'s', '1', 't', 'p', priority => NULL", "priority is null" },
        { "'s', '1', 't', 'p', stream => ''", "stream is empty" },
        { "'s', '1', 't', 'p', stream => repeat('x', 256)", "stream has 256 characters" },
        { "'s', '1', 't', 'p', headers => '[]'", "headers" },
        { "'s', '1', 't', 'p', handled => NULL", "handled is null" },
        { "'s', '1', 't', 'p', handled => true, stream => 'a'", "handled" },
        { "'s', '1', 't', repeat('x', 1048577)", "payload has 1048577 bytes" },
    };
    struct t_conn *conn = set_up();
    char before[200];

    snprintf(before, sizeof(before), "%s", stored(conn));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        refused(conn, "22023", "inbox_receive: ", say("SELECT {t}inbox_receive(%s)", wrong[i][0]));
        refused(conn, "22023", wrong[i][1], say("SELECT {t}inbox_receive(%s)", wrong[i][0]));
    }
    CHECK_STR(stored(conn), before);
    refused(conn, "22023", "inbox_claim: owner is null", "SELECT {t}inbox_claim(NULL, 30, 10)");
    refused(conn, "22023", "inbox_claim: batch_size is 0",
            "SELECT {t}inbox_claim(" OWNER ", 30, 0)");
    refused(conn, "22023", "inbox_claim: lease_seconds is 0",
            "SELECT {t}inbox_claim(" OWNER ", 0, 1)");
}

/* ------------------------------------------------------------------------ streams */

TEST(streams_are_worked_in_sql)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}enqueue('t', 'a' || i, stream => 'a') FROM generate_series(1, 3) i");
    t_sql(conn, "SELECT {t}enqueue_many('[{\"topic\": \"t\", \"payload\": \"b1\", \"stream\": "
                "\"b\"}, {\"topic\": \"t\", \"payload\": \"b2\", \"stream\": \"b\"}]')");
    CHECK_STR(t_value(conn, "SELECT string_agg(payload || '=' || status, ' ' ORDER BY payload) "
                            "FROM {t}outbox"),
              "a1=ready a2=parked a3=parked b1=ready b2=parked");
    CHECK_STR(t_value(conn, "SELECT string_agg(stream || seq, ' ' ORDER BY stream, seq) "
                            "FROM {t}outbox"),
              "a1 a2 a3 b1 b2");
    CHECK_STR(t_value(conn, "SELECT string_agg(payload || stream, ' ') "
                            "FROM {t}outbox_claim(" OWNER ", 30, 10)"),
              "a1a a2a a3a b1b b2b");
    CHECK_STR(t_value(conn, "SELECT string_agg(outcome, ' ' ORDER BY o.n) FROM {t}outbox_ack(" OWNER
                            ", ARRAY(SELECT id FROM {t}outbox WHERE payload IN ('a2', 'b1') "
                            "ORDER BY payload)) WITH ORDINALITY o(work_id, outcome, joins, n)"),
              "stale acked");
    CHECK_STR(t_value(conn, "SELECT string_agg(seq || payload || topic, ' ') "
                            "FROM {t}stream_read('a', 1)"),
              "2a2t 3a3t");
    CHECK_STR(t_value(conn, "SELECT string_agg(seq::text, ' ') FROM {t}stream_read(stream => 'a', "
                            "after_seq => 0, batch_size => 2, namespace => '', door => 'outbox')"),
              "1 2");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}stream_read('none')"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}stream_read('a', door => 'inbox')"), 0);
    t_check_places(conn);
}

/* The view of streams: one row each, with what blocks it. */
TEST(the_view_of_streams_says_how_they_stand)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"dead_head\": \"block\"}')");
    t_sql(conn, "SELECT {t}enqueue('t', k || i, stream => k) FROM unnest('{a,b,c,d}'::text[]) k, "
                "generate_series(1, 2) i ORDER BY 1");
    t_sql(conn, "SELECT {t}outbox_claim(" OWNER ", 30, 3)");
    t_sql(conn, "SELECT {t}outbox_fail(" OWNER ", ARRAY(SELECT id FROM {t}outbox WHERE payload = "
                "'a1'), 'no')");
    t_sql(conn,
          "SELECT {t}outbox_abandon(" OWNER ", ARRAY(SELECT id FROM {t}outbox WHERE payload = "
          "'b1'), 'no', '1 h')");
    CHECK_STR(t_value(conn, "SELECT string_agg(concat_ws(' ', stream, state, last_seq), ', ' "
                            "ORDER BY stream) FROM {t}streams"),
              "a blocked 2, b scheduled 2, c in_progress 2, d ready 2");
    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"dead_head\": \"skip\"}')");
    CHECK_STR(t_value(conn, "SELECT state FROM {t}streams WHERE stream = 'a'"), "ready");
    t_check_places(conn);
}

/* The vectors of tests/partitions.tsv are the C library's; a few of them in SQL. */
TEST(stream_hash_is_the_librarys)
{
    struct t_conn *conn = set_up();

    CHECK_STR(t_value(conn, "SELECT {t}stream_hash('0')"), "432009897232336627");
    CHECK_STR(t_value(conn, "SELECT {t}stream_hash('a')"), "912392414677810140");
    CHECK_STR(t_value(conn, "SELECT {t}stream_hash(' ')"), "246183398422722607");
    for (int i = 0; i < 50; i++) {
        char key[40];

        snprintf(key, sizeof(key), "k%d \xc3\xa4 %d", i, i * i);
        REQ_INT("STR-013", t_number(conn, say("SELECT {t}stream_hash('%s') %% 10000", key)),
                ph_stream_partition(key, 0));
    }
}

/* Producers may call work_enqueue_many: no list of theirs gives two messages one number. */
TEST(work_enqueue_many_numbers_no_message_twice)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}enqueue('t', 'p', stream => 's')");
    CHECK_STR(
        t_value(conn,
                "SELECT problem FROM {t}work_enqueue_many(0::smallint, ROW('{\"\",\"\",\"\"}', "
                "'{t,t,t}', '{x,y,z}', '{NULL,NULL,NULL}', '{NULL,NULL,NULL}', "
                "'{NULL,NULL,NULL}', '[0:2]={a,s,s}', '{1,1,1}', '{NULL,NULL,NULL}', "
                "'{NULL,NULL,NULL}', '{NULL,NULL,NULL}', '{NULL,NULL,NULL}', "
                "'{NULL,NULL,NULL}', NULL, NULL, NULL)::{t}work_messages)"),
        "the lists are not plain ones of one length");
    CHECK_INT(t_number(conn, "SELECT count(*) - count(DISTINCT (stream_id, seq)) FROM {t}message"),
              0);
}

/* Nor more than are allowed, nor lists that do not fit together. */
TEST(work_enqueue_many_wants_lists_of_one_length)
{
    static const char *const lists[] = { "'{a}'", "'{b}'",    "'{NULL}'", "'{NULL}'", "'{NULL}'",
                                         "NULL",  "'{1}'",    "'{NULL}'", "'{NULL}'", "'{NULL}'",
                                         "NULL",  "'{NULL}'", "NULL",     "NULL",     "NULL" };
    static const char *const longer[] = { "'{a,a}'",       "'{b,b}'",       "'{NULL,NULL}'",
                                          "'{NULL,NULL}'", "'{NULL,NULL}'", "'{a,b}'",
                                          "'{1,1}'",       "'{NULL,NULL}'", "'{NULL,NULL}'",
                                          "'{NULL,NULL}'", "'{NULL,NULL}'", "'{NULL,NULL}'",
                                          "'{NULL,NULL}'", "'{NULL,NULL}'", "'{false,false}'" };
    struct t_conn *conn = set_up();

    for (size_t wrong = 0; wrong <= 15; wrong++) {
        char call[600] =
            "SELECT coalesce(problem, 'fine') FROM {t}work_enqueue_many(0::smallint, ROW('{\"\"}'";

        for (size_t i = 0; i < 15; i++)
            strcat(strcat(call, ", "), i == wrong ? longer[i] : lists[i]);
        CHECK_STR(t_value(conn, strcat(call, ")::{t}work_messages)")),
                  wrong < 15 ? "the lists are not plain ones of one length" : "fine");
    }
    CHECK_STR(
        t_value(conn,
                "SELECT problem FROM {t}work_enqueue_many(0::smallint, ROW("
                "array_fill(''::text, '{10001}'), array_fill('t'::text, '{10001}'), "
                "array_fill(''::text, '{10001}'), NULL, NULL, NULL, NULL, "
                "array_fill(1::smallint, '{10001}'), NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
                "NULL)::{t}work_messages)"),
        "10001 messages; at most 10000 are allowed");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 1);
}

TEST(functions_of_streams_refuse)
{
    static const char *const wrong[][2] = {
        { "stream_read(NULL)", "stream_read: stream is null" },
        { "stream_read('')", "stream_read: stream is empty" },
        { "stream_read('a', -1)", "stream_read: after_seq is -1" },
        { "stream_read('a', 0, 0)", "stream_read: batch_size is 0" },
        { "stream_read('a', 0, 10001)", "stream_read: batch_size is 10001" },
        { "stream_read('a', door => 'timers')", "stream_read: door is \"timers\"" },
        { "checkpoint_complete(NULL, 'c', 1)", "checkpoint_complete: stream is null" },
        { "checkpoint_complete('a', '', 1)", "checkpoint_complete: consumer is empty" },
        { "checkpoint_complete('a', 'c', 0)", "checkpoint_complete: seq is 0; give 1 or more" },
        { "checkpoint_complete('a', 'c', NULL)", "checkpoint_complete: seq is null" },
        { "checkpoint_complete('a', 'c', 1, NULL)", "checkpoint_complete: namespace is null" },
        { "checkpoint_complete('a', 'c', 1, door => NULL)",
          "checkpoint_complete: door is \"null\"" },
        { "checkpoint_fail('a', 'c', 0)", "checkpoint_fail: seq is 0" },
        { "checkpoint_rewind('a', 'c', -1)", "checkpoint_rewind: seq is -1; give 0 or more" },
        { "receptor_complete(NULL, 'r')", "receptor_complete: work_id is null" },
        { "receptor_complete(" NOWHERE ", '')", "receptor_complete: receptor is empty" },
        { "receptor_fail(" NOWHERE ", NULL)", "receptor_fail: receptor is null" },
        { "instance_leave(NULL)", "instance_leave: instance_id is null" },
    };
    static const char *const missing[] = {
        "checkpoint_complete('none', 'c', 1)", "checkpoint_complete('a', 'c', 2)",
        "checkpoint_fail('none', 'c', 1)",     "checkpoint_rewind('a', 'c', 2)",
        "checkpoint_rewind('none', 'c', 0)",   "receptor_complete(" NOWHERE ", 'r')",
        "receptor_fail(" NOWHERE ", 'r')",
    };
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}enqueue('t', 'p', stream => 'a')");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        refused(conn, "22023", wrong[i][1], say("SELECT {t}%s", wrong[i][0]));
    for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++)
        refused(conn, "P0002", "", say("SELECT {t}%s", missing[i]));
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}checkpoints"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}receptors"), 0);
}

/* ---------------------------------------------------------- receptors, checkpoints */

TEST(receptors_report_in_sql)
{
    struct t_conn *conn = set_up();
    const char *id = say("'%s'", t_value(conn, "SELECT ({t}enqueue('t', 'p')).work_id"));

    t_sql(conn, say("SELECT {t}receptor_complete(%s, 'mail')", id));
    t_sql(conn,
          say("SELECT {t}receptor_fail(work_id => %s, receptor => 'log', error => 'no')", id));
    t_clock_advance(store, T_SECOND);
    t_sql(conn, say("SELECT {t}receptor_fail(%s, 'log', 'still')", id));
    t_sql(conn, say("SELECT {t}receptor_fail(%s, 'mail', 'late')", id));
    CHECK_STR(t_value(conn, "SELECT string_agg(concat_ws(' ', receptor, state, attempts, error, "
                            "last_at - first_at), ', ' ORDER BY receptor) FROM {t}receptors"),
              "log failed 2 still 00:00:01, mail completed 1 00:00:00");
}

TEST(consumers_report_in_sql)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}enqueue('t', 'p', stream => 'a') FROM generate_series(1, 5)");
    t_sql(conn, "SELECT {t}inbox_receive('s', 'i', 't', 'p', 'n', stream => 'a')");
    CHECK_STR(t_value(conn, "SELECT {t}checkpoint_complete('a', 'c', 1)"), "1");
    CHECK_STR(t_value(conn, "SELECT {t}checkpoint_complete('a', 'c', 3)"), "1");
    t_sql(conn, "SELECT {t}checkpoint_fail('a', 'c', 2, 'why')");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', door, namespace, stream, consumer, seq, ahead, "
                            "lag, error, error_seq, error_at = {t}clock(), rewound_at IS NULL) "
                            "FROM {t}checkpoints"),
              "outbox  a c 1 1 4 why 2 t t");
    CHECK_STR(t_value(conn, "SELECT {t}checkpoint_complete(stream => 'a', consumer => 'c', seq => "
                            "2)"),
              "3");
    CHECK_STR(t_value(conn, "SELECT {t}checkpoint_rewind('a', 'c', 1)"), "3");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', seq, ahead, lag, error IS NULL, rewound_at = "
                            "{t}clock()) FROM {t}checkpoints"),
              "1 0 4 t t");
    CHECK_STR(t_value(conn, "SELECT {t}checkpoint_complete('a', 'c', 1, 'n', 'inbox')"), "1");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}checkpoints"), 2);
}

/* ----------------------------------------------------------------------- instances */

TEST(the_view_of_instances_shows_what_they_are)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}enqueue('t', 'p') FROM generate_series(1, 3)");
    t_sql(conn, "SELECT {t}process_work_batch(" OWNER ", 'web', 'host', 7, '{\"z\": 1}', "
                "lease_seconds => 60, stale_threshold_seconds => 120, partition_count => 7)");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', id, service, host, process_id, metadata, state, "
                            "started_at = {t}clock(), last_heartbeat_at = {t}clock(), ended_at IS "
                            "NULL, lease_seconds, stale_threshold_seconds, partition_count, "
                            "in_progress) "
                            "FROM {t}instances"),
              "11111111-1111-4111-8111-111111111111 web host 7 {\"z\": 1} live t t t 60 120 7 3");
    CHECK_STR(t_value(conn, "SELECT {t}instance_leave(" OWNER ")"), "t");
    CHECK_STR(t_value(conn, "SELECT {t}instance_leave(" OWNER ")"), "f");
    CHECK_STR(t_value(conn, "SELECT {t}instance_leave(" OTHER ")"), "f");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', state, ended_at = {t}clock(), in_progress) "
                            "FROM {t}instances"),
              "left t 0");
    CHECK_STR(t_value(conn, "SELECT string_agg(DISTINCT status || attempts, ' ') FROM {t}outbox"),
              "ready0");
    t_check_places(conn);
}

/* ----------------------------------------------------------- isolation levels */

/* Where everybody works in REPEATABLE READ streams go on and come to rest all the same, also more
 * of them than a claim looks at. */
TEST(streams_go_on_where_nobody_reads_committed)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SET default_transaction_isolation = 'repeatable read'");
    t_sql(conn,
          "SELECT count(*) FROM {t}enqueue_many((SELECT jsonb_agg(jsonb_build_object("
          "'topic', 't', 'payload', '', 'stream', 's' || i)) FROM generate_series(1, 1100) i))");
    for (int i = 0; i < 2; i++)
        t_sql(conn, "SELECT {t}outbox_ack(" OWNER
                    ", array_agg(c.work_id)) FROM {t}outbox_claim(" OWNER ", 30, 1000) c");
    CHECK(t_number(conn, "SELECT count(*) FROM {t}stream WHERE busy") >= 100);
    t_sql(conn, "SELECT {t}enqueue('t', 'new', stream => 's1100')");
    t_clock_advance(store, T_SECOND);
    for (int i = 0; i < 2; i++) /* each looks at a thousand */
        t_sql(conn, "CREATE TEMP TABLE IF NOT EXISTS got (payload text); INSERT INTO got "
                    "SELECT payload FROM {t}outbox_claim(" OWNER ", 30, 10)");
    REQ_STR("STR-004", t_value(conn, "SELECT string_agg(payload, ',') FROM got"), "new");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}stream WHERE busy"), 1);
}

/* The token of a stream that is being blocked cannot be seen there: it fails rather than miss it. */
TEST(a_change_to_skip_does_not_overlook_a_head_that_dies)
{
    struct t_conn *conn = set_up(), *other = a_connection(NULL);

    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"dead_head\": \"block\"}'); "
                "SELECT {t}enqueue('t', 'a1', stream => 'a'); "
                "SELECT {t}enqueue('t', 'a2', stream => 'a'); "
                "SELECT * FROM {t}outbox_claim(" OWNER ", 30, 1)");
    t_sql(other, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM {t}queue");
    t_sql(conn,
          "SELECT {t}outbox_fail(" OWNER ", array_agg(id)) FROM {t}outbox WHERE payload = 'a1'");
    refused(other, "40001", "could not serialize",
            "SELECT {t}queue_set('outbox', '', '{\"dead_head\": \"skip\"}')");
    t_sql(other, "ROLLBACK");
    t_sql(other, "SELECT {t}queue_set('outbox', '', '{\"dead_head\": \"skip\"}')");
    REQ_STR("STR-006", t_value(conn, "SELECT payload FROM {t}outbox_claim(" OWNER ", 30, 1)"),
            "a2");
}

TEST(settings_of_streams_are_for_doors_that_have_them)
{
    struct t_conn *conn = set_up();

    refused(conn, "22023", "dead_head is for streams",
            "SELECT {t}queue_set('timers', '', '{\"dead_head\": \"block\"}')");
    refused(conn, "22023", "affinity_grace_ms is for streams",
            "SELECT {t}queue_set('job_runs', '', '{\"affinity_grace_ms\": 5}')");
    t_sql(conn, "SELECT {t}queue_set('timers', '', '{\"dead_head\": null, \"max_attempts\": 3}')");
}

/* What a producer may call cannot store an outbox message as done, or trip over odd lists. */
TEST(only_the_inbox_stores_what_is_handled)
{
    struct t_conn *conn = set_up();
    const char *rest = "NULL, NULL, NULL, NULL, 1::smallint, NULL, NULL, NULL, NULL, NULL, NULL";

    CHECK_STR(
        t_value(conn, say("SELECT problem FROM {t}work_enqueue(0::smallint, '', 't', '', %s, NULL, "
                          "true)",
                          rest)),
        "only messages of the inbox have a source, or are handled already");
    CHECK_STR(t_value(conn,
                      "SELECT problem FROM {t}work_enqueue_many(0::smallint, ROW('{\"\"}', '{x}', "
                      "'{y}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{1}', '{NULL}', '{NULL}', "
                      "'{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', "
                      "'{true}')::{t}work_messages)"),
              "only messages of the inbox have a source, or are handled already");
    CHECK_STR(
        t_value(conn,
                "SELECT problem FROM {t}work_enqueue_many(0::smallint, ROW('{{\"\"}}', '{{x}}', "
                "'{{y}}', '{{NULL}}', '{{NULL}}', '{{NULL}}', '{{NULL}}', '{{1}}', "
                "'{{NULL}}', '{{NULL}}', '{{NULL}}', '{{NULL}}', '{{NULL}}', '{{NULL}}', "
                "'{{NULL}}', '{{false}}')::{t}work_messages)"),
        "the lists are not plain ones of one length");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
}
