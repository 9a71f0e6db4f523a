/* sql_interface_test.c - the functions and views as any language sees them:
 * names, types, defaults, and what they do inside a caller's transaction. */
#include "common.h"

#include <libpq-fe.h>
#include <stdlib.h>

#define OWNER "'11111111-1111-4111-8111-111111111111'"
#define OTHER "'22222222-2222-4222-8222-222222222222'"

/* ----------------------------------------------------------------- signatures */

struct signature {
    const char *name, *arguments, *result;
};

#define OUTCOMES "TABLE(work_id uuid, outcome text)"
#define ENDINGS "TABLE(work_id uuid, outcome text, joins uuid[])" /* of verbs that can end joins */

static const struct signature signatures[] = {
    { "enqueue",
      "topic text, payload text, namespace text DEFAULT ''::text, tenant_id uuid DEFAULT "
      "NULL::uuid, "
      "dedupe_key text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, "
      "stream text DEFAULT NULL::text, priority integer DEFAULT 1, "
      "due_at timestamp with time zone DEFAULT NULL::timestamp with time zone, "
      "expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, "
      "headers jsonb DEFAULT NULL::jsonb, message_id uuid DEFAULT NULL::uuid, "
      "join_id uuid DEFAULT NULL::uuid, max_attempts integer DEFAULT NULL::integer",
      "enqueued" },
    { "enqueue_many", "messages jsonb", "SETOF enqueued" },
    { "outbox_claim",
      "owner uuid, lease_seconds integer, batch_size integer, namespace text DEFAULT ''::text, "
      "topics text[] DEFAULT NULL::text[], "
      "from_due timestamp with time zone[] DEFAULT NULL::timestamp with time zone[]",
      "TABLE(work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id "
      "uuid, "
      "dedupe_key text, correlation_id text, stream text, headers jsonb, attempts integer, "
      "retry_count integer, created_at timestamp with time zone, due_at timestamp with time zone, "
      "last_error text)" },
    { "outbox_ack", "owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL::bigint[]",
      ENDINGS },
    { "outbox_abandon",
      "owner uuid, work_ids uuid[], error text DEFAULT NULL::text, "
      "delay interval DEFAULT NULL::interval, fences bigint[] DEFAULT NULL::bigint[]",
      ENDINGS },
    { "outbox_fail",
      "owner uuid, work_ids uuid[], error text DEFAULT NULL::text, "
      "fences bigint[] DEFAULT NULL::bigint[]",
      ENDINGS },
    { "outbox_release", "owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL::bigint[]",
      OUTCOMES },
    { "outbox_renew",
      "owner uuid, work_ids uuid[], lease_seconds integer, fences bigint[] DEFAULT NULL::bigint[]",
      OUTCOMES },
    { "outbox_reap_expired", "", "integer" },
    { "queue_set", "door text, namespace text, settings jsonb", "void" },
    { "queue_pause", "door text, namespace text", "void" },
    { "queue_resume", "door text, namespace text", "void" },
    { "queue_delete", "door text, namespace text", "boolean" },
    { "dead_retry", "work_ids uuid[]", "TABLE(old uuid, new uuid)" },
    { "dead_discard", "work_ids uuid[]", "integer" },
    { "retention_run", "batch integer DEFAULT 1000", "bigint" },
    { "join_start",
      "expected_steps integer, grouping_key text DEFAULT NULL::text, metadata text DEFAULT "
      "NULL::text, "
      "deadline timestamp with time zone DEFAULT NULL::timestamp with time zone",
      "uuid" },
    { "join_attach", "join_id uuid, message_id uuid", "void" },
    { "join_attach_many", "join_id uuid, message_ids uuid[]", "void" },
    { "join_report_completed", "join_id uuid, message_id uuid", "void" },
    { "join_report_failed", "join_id uuid, message_id uuid", "void" },
    { "join_wait",
      "join_id uuid, fail_if_any_step_failed boolean, on_complete_topic text, on_complete_payload "
      "text, "
      "on_fail_topic text DEFAULT NULL::text, on_fail_payload text DEFAULT NULL::text, "
      "namespace text DEFAULT ''::text",
      "uuid" },
    { "join_cancel", "join_id uuid", "boolean" },
    { "doorbell_ring", "namespace text DEFAULT ''::text", "void" },
    { "clock", "", "timestamp with time zone" },
};

TEST(functions_have_the_agreed_signatures)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = t_connect();
    t_sql(conn, "SET search_path = {schema}"); /* types of ours print without their schema */
    for (size_t i = 0; i < sizeof(signatures) / sizeof(*signatures); i++) {
        const struct signature *s = &signatures[i];
        const char *which = say("FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace "
                                "AND proname = '{p}%s'",
                                s->name);

        REQ_INT("OBX-112", t_number(conn, say("SELECT count(*) %s", which)), 1);
        REQ_STR("OBX-112", t_value(conn, say("SELECT pg_get_function_arguments(oid) %s", which)),
                s->arguments);
        REQ_STR("OBX-112", t_value(conn, say("SELECT pg_get_function_result(oid) %s", which)),
                s->result);
    }
    CHECK_STR(t_value(conn, "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), "
                            "', ' ORDER BY attnum) FROM pg_attribute "
                            "WHERE attrelid = '{schema}.{p}enqueued'::regclass"),
              "work_id uuid, message_id uuid, is_new boolean");
}

static void check_columns(struct t_conn *conn, const char *view, const char *columns)
{
    CHECK_STR(
        t_value(conn, say("SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), "
                          "', ' ORDER BY attnum) FROM pg_attribute "
                          "WHERE attrelid = '{schema}.{p}%s'::regclass AND attnum > 0",
                          view)),
        columns);
}

TEST(views_have_the_agreed_columns)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = t_connect();
    check_columns(
        conn, "outbox",
        "id uuid, message_id uuid, namespace text, topic text, payload text, tenant_id uuid, "
        "dedupe_key text, correlation_id text, stream text, priority smallint, "
        "headers jsonb, created_at timestamp with time zone, "
        "due_time_utc timestamp with time zone, expires_at timestamp with time zone, "
        "status text, status_code integer, attempts integer, max_attempts integer, "
        "retry_count integer, last_error text, next_attempt_at timestamp with time zone, "
        "locked_until timestamp with time zone, owner_token uuid, locked_by uuid, "
        "fence bigint, is_processed boolean, processed_at timestamp with time zone, "
        "processed_by text, updated_at timestamp with time zone, waits_for uuid, seq bigint");
    check_columns(
        conn, "inbox",
        "id uuid, source text, message_id text, namespace text, topic text, payload text, "
        "tenant_id uuid, correlation_id text, stream text, priority smallint, "
        "headers jsonb, created_at timestamp with time zone, "
        "due_time_utc timestamp with time zone, expires_at timestamp with time zone, "
        "status text, status_code integer, attempts integer, max_attempts integer, "
        "retry_count integer, last_error text, next_attempt_at timestamp with time zone, "
        "locked_until timestamp with time zone, owner_token uuid, locked_by uuid, "
        "fence bigint, is_processed boolean, processed_at timestamp with time zone, "
        "processed_by text, updated_at timestamp with time zone, seq bigint");
    check_columns(
        conn, "instances",
        "id uuid, service text, host text, process_id integer, metadata jsonb, state text, "
        "started_at timestamp with time zone, last_heartbeat_at timestamp with time zone, "
        "ended_at timestamp with time zone, lease_seconds integer, "
        "stale_threshold_seconds integer, partition_count integer, in_progress bigint");
    check_columns(conn, "receptors",
                  "message_id uuid, receptor text, state text, attempts integer, error text, "
                  "first_at timestamp with time zone, last_at timestamp with time zone, "
                  "work_id uuid");
    check_columns(
        conn, "streams",
        "door text, namespace text, stream text, state text, partition integer, last_seq bigint, "
        "next_seq bigint, unsettled bigint, head uuid, head_due_at timestamp with time zone, "
        "head_attempts integer, owner uuid, locked_until timestamp with time zone, "
        "created_at timestamp with time zone");
    check_columns(
        conn, "checkpoints",
        "door text, namespace text, stream text, consumer text, seq bigint, ahead bigint, "
        "lag bigint, error text, error_seq bigint, error_at timestamp with time zone, "
        "updated_at timestamp with time zone, rewound_at timestamp with time zone");
    check_columns(
        conn, "dead_letters",
        "id uuid, message_id uuid, namespace text, topic text, payload text, tenant_id uuid, "
        "dedupe_key text, correlation_id text, priority smallint, headers jsonb, "
        "created_at timestamp with time zone, reason text, error text, attempts integer, "
        "retry_count integer, died_at timestamp with time zone, owner_token uuid, "
        "retried_as uuid, history jsonb, door text, source text, source_id text");
    check_columns(
        conn, "queues",
        "door text, namespace text, paused boolean, max_attempts integer, backoff text, "
        "backoff_base_ms bigint, backoff_max_ms bigint, retention_s bigint, "
        "dead_retention_s bigint, dedupe_retention_s bigint, max_payload_bytes integer, "
        "max_lease_s integer, delete_on_ack boolean, join_wait_topic text, dead_head text, "
        "affinity_grace_ms integer");
    check_columns(conn, "joins",
                  "id uuid, grouping_key text, metadata text, status text, status_code integer, "
                  "expected_steps integer, attached_steps integer, completed_steps integer, "
                  "failed_steps integer, open_waits integer, created_at timestamp with time zone, "
                  "updated_at timestamp with time zone, deadline timestamp with time zone, "
                  "finished_at timestamp with time zone");
    check_columns(conn, "join_members",
                  "join_id uuid, message_id uuid, work_id uuid, status text, status_code integer, "
                  "created_at timestamp with time zone, topic text");
}

/* -------------------------------------------------------------- in transactions */

TEST(enqueue_belongs_to_the_callers_transaction)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = a_connection(NULL);
    t_sql(conn, "CREATE TABLE {schema}.orders (id int)");
    t_begin(conn);
    t_sql(conn, "INSERT INTO {schema}.orders VALUES (1)");
    t_sql(conn, "SELECT {t}enqueue('order.placed', '{\"id\": 1}')");
    t_rollback(conn);
    CHECK_STR(t_value(conn, "SELECT (SELECT count(*) FROM {schema}.orders) + "
                            "(SELECT count(*) FROM {t}outbox)"),
              "0");
    t_begin(conn);
    t_sql(conn, "INSERT INTO {schema}.orders VALUES (1)");
    t_sql(conn, "SELECT {t}enqueue('order.placed', '{\"id\": 1}')");
    t_commit(conn);
    CHECK_STR(
        t_value(conn,
                "SELECT concat_ws(' ', topic, payload, namespace, priority, status, attempts, "
                "retry_count) FROM {t}outbox"),
        "order.placed {\"id\": 1}  1 ready 0 0");
}

TEST(enqueue_takes_named_arguments)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = a_connection(NULL);
    CHECK_STR(
        t_value(
            conn,
            "SELECT (e.work_id <> e.message_id)::text || e.is_new || e.message_id FROM {t}enqueue("
            "topic => 'a', payload => '', namespace => 'n', "
            "tenant_id => '5f0e6f3a-7f1e-4a31-9d1a-6f0c8a2b3c4d', "
            "dedupe_key => '5F0E6F3A7F1E4A319D1A6F0C8A2B3C4D/1', correlation_id => 'c', "
            "priority => 3, due_at => '2999-01-01Z', expires_at => '2999-01-02Z', "
            "headers => '{\"k\": [1]}', message_id => '99999999-9999-4999-8999-999999999999', "
            "max_attempts => 2) e"),
        "truetrue99999999-9999-4999-8999-999999999999");
    CHECK_STR(t_value(conn,
                      "SELECT concat_ws('|', topic, payload, namespace, tenant_id, dedupe_key, "
                      "correlation_id, priority, due_time_utc AT TIME ZONE 'UTC', "
                      "expires_at AT TIME ZONE 'UTC', headers, message_id, max_attempts, "
                      "next_attempt_at = due_time_utc) FROM {t}outbox"),
              "a||n|5f0e6f3a-7f1e-4a31-9d1a-6f0c8a2b3c4d|5F0E6F3A7F1E4A319D1A6F0C8A2B3C4D/1|c|3|"
              "2999-01-01 00:00:00|2999-01-02 00:00:00|{\"k\": [1]}|"
              "99999999-9999-4999-8999-999999999999|2|t");
    CHECK_STR(
        t_value(conn, "SELECT namespace FROM {t}queues WHERE door = 'outbox' AND namespace <> ''"),
        "n");
    CHECK_STR(t_value(conn, "SELECT correlation_id IS NULL FROM {t}outbox WHERE id = "
                            "({t}enqueue('b', 'p', correlation_id => '')).work_id"),
              "");
    CHECK_STR(t_value(conn, "SELECT correlation_id IS NULL FROM {t}outbox WHERE topic = 'b'"), "t");
}

/* modkit: a duplicate is an answer with the existing ids, not an error. */
TEST(a_duplicate_key_answers_with_the_existing_ids)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = a_connection(NULL);
    t_sql(conn, "CREATE TABLE {schema}.answers AS SELECT (e).* FROM "
                "(SELECT {t}enqueue('a', '1', dedupe_key => 'k')) x(e)");
    t_begin(conn);
    t_sql(conn, "INSERT INTO {schema}.answers SELECT (e).* FROM "
                "(SELECT {t}enqueue('a', '2', dedupe_key => 'k', "
                "message_id => '99999999-9999-4999-8999-999999999999')) x(e)");
    t_sql(conn, "INSERT INTO {schema}.answers SELECT * FROM {t}enqueue_many("
                "'[{\"topic\": \"a\", \"payload\": \"3\", \"dedupe_key\": \"k\"}]')");
    t_commit(conn); /* the transaction is not harmed */
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', count(*), count(DISTINCT work_id), "
                            "count(DISTINCT message_id), count(*) FILTER (WHERE is_new)) "
                            "FROM {schema}.answers"),
              "3 1 1 1");
    CHECK_STR(t_value(conn, "SELECT string_agg(payload, ',') FROM {t}outbox"), "1");
    CHECK_STR(t_value(conn, "SELECT ({t}enqueue('b', '4', dedupe_key => 'k')).is_new"), "t");
    CHECK_STR(t_value(conn, "SELECT ({t}enqueue('a', '5', 'ns', dedupe_key => 'k')).is_new"), "t");
    CHECK_STR(t_value(conn, "SELECT string_agg(({t}enqueue('a', '6')).is_new::text, '') "
                            "FROM generate_series(1, 2)"),
              "truetrue");
}

TEST(enqueue_many_answers_in_order)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = a_connection(NULL);
    CHECK_STR(t_value(conn, "SELECT count(*) FROM {t}enqueue_many('[]')"), "0");
    t_sql(conn,
          "CREATE TABLE {schema}.answers AS SELECT * FROM {t}enqueue_many('["
          "{\"topic\": \"a\", \"payload\": \"0\", \"dedupe_key\": \"z\"},"
          "{\"topic\": \"a\", \"payload\": \"1\", \"namespace\": null, \"priority\": null, "
          "\"headers\": null, \"due_at\": null, \"message_id\": null},"
          "{\"topic\": \"a\", \"payload\": \"2\", \"dedupe_key\": \"a\", \"namespace\": \"n\"},"
          "{\"topic\": \"a\", \"payload\": \"3\", \"dedupe_key\": \"z\"},"
          "{\"topic\": \"a\", \"payload\": \"4\", \"headers\": {\"k\": 1}, \"max_attempts\": 3, "
          "\"priority\": 0, \"due_at\": \"2999-01-01T00:00:00Z\"}]') WITH ORDINALITY");
    CHECK_STR(t_value(conn, "SELECT string_agg(a.is_new || o.payload, ' ' ORDER BY ordinality) "
                            "FROM {schema}.answers a JOIN {t}outbox o ON o.id = a.work_id"),
              "true0 true1 true2 false0 true4");
    CHECK_STR(
        t_value(conn,
                "SELECT concat_ws(' ', priority, max_attempts, headers, next_attempt_at AT TIME "
                "ZONE 'UTC') FROM {t}outbox WHERE payload = '4'"),
        "0 3 {\"k\": 1} 2999-01-01 00:00:00");
    CHECK_STR(t_value(conn, "SELECT bool_and(id > before) FROM (SELECT id, lag(id) OVER "
                            "(ORDER BY payload) AS before FROM {t}outbox) x"),
              "t");
}

/* Claims up to n and keeps the answer in the table `claimed`. */
static void claim(struct t_conn *conn, int n)
{
    t_sql(conn, "DROP TABLE IF EXISTS claimed");
    t_sql(conn,
          say("CREATE TEMP TABLE claimed AS SELECT * FROM {t}outbox_claim(" OWNER ", 30, %d)", n));
}

static const char *outcomes(struct t_conn *conn, const char *call)
{
    return t_value(conn, say("SELECT string_agg(outcome, ',' ORDER BY n) FROM %s "
                             "WITH ORDINALITY AS x(work_id, outcome, n)",
                             call));
}

TEST(a_message_lives_its_life_in_sql)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = a_connection(NULL);
    t_sql(conn,
          "SELECT {t}enqueue('a', i::text, tenant_id => '5f0e6f3a-7f1e-4a31-9d1a-6f0c8a2b3c4d', "
          "correlation_id => 'c') FROM generate_series(1, 6) i");
    claim(conn, 10);
    CHECK_STR(t_value(conn,
                      "SELECT concat_ws(' ', count(*), min(fence), max(fence), min(attempts), "
                      "max(retry_count), string_agg(payload, '' ORDER BY work_id), "
                      "max(correlation_id), bool_and(created_at = due_at), "
                      "bool_and(work_id = message_id)) FROM claimed"),
              "6 1 1 1 0 123456 c t t");
    REQ_STR("OBX-112",
            outcomes(conn, "{t}outbox_ack(" OWNER ", ARRAY(SELECT work_id FROM claimed "
                           "WHERE payload IN ('1', '2')))"),
            "acked,acked");
    REQ_STR("OBX-112",
            outcomes(conn, "{t}outbox_abandon(owner => " OWNER ", work_ids => ARRAY(SELECT "
                           "work_id FROM claimed WHERE payload = '3'), error => 'sorry', "
                           "delay => '0')"),
            "abandoned");
    REQ_STR("OBX-112",
            outcomes(conn, "{t}outbox_fail(" OWNER ", ARRAY(SELECT work_id FROM claimed "
                           "WHERE payload = '4'), 'no', ARRAY[1])"),
            "failed");
    CHECK_STR(outcomes(conn, "{t}outbox_release(" OWNER ", ARRAY(SELECT work_id FROM claimed "
                             "WHERE payload = '5'))"),
              "released");
    CHECK_STR(outcomes(conn, "{t}outbox_renew(" OWNER ", ARRAY(SELECT work_id FROM claimed "
                             "ORDER BY payload), 60)"),
              "stale,stale,stale,stale,stale,renewed");
    CHECK_STR(outcomes(conn, "{t}outbox_ack(" OTHER ", ARRAY(SELECT work_id FROM claimed "
                             "WHERE payload = '6') || gen_random_uuid())"),
              "stale,unknown");
    CHECK_STR(t_value(conn, "SELECT string_agg(status, ' ' ORDER BY payload) FROM {t}outbox"),
              "done done ready failed ready in_progress");
    claim(conn, 10);
    CHECK_STR(t_value(conn, "SELECT string_agg(concat_ws(':', payload, attempts, retry_count, "
                            "last_error), ' ' ORDER BY payload) FROM claimed"),
              "3:2:1:sorry 5:1:0");
    REQ_STR("OBX-112", t_value(conn, "SELECT {t}outbox_reap_expired()"), "0");
    t_check_places(conn);
}

/* acked only where nothing else can be in the transaction: the effect of the message may be. */
TEST(a_repeated_ack_is_stale_unless_the_call_is_seen_to_be_alone)
{
    static const struct {
        const char *before, *after, *outcome;
    } forms[] = {
        { "SELECT outcome FROM {t}outbox_ack(", ")", "acked" },
        { "select\toutcome, work_id , joins\nfrom {schema}.\"{p}outbox_ack\" (", ") ; ", "acked" },
        { "SELECT outcome FROM {t}outbox_ack(", "), effects", "stale" },
        { "SELECT outcome FROM {t}outbox_ack(", ") WHERE pg_temp.effect() = 1", "stale" },
        { "SELECT outcome, pg_temp.effect() FROM {t}outbox_ack(", ")", "stale" },
        { "SELECT outcome FROM effects, {t}outbox_ack(", ")", "stale" },
        { "WITH x AS (INSERT INTO effect VALUES (1)) SELECT outcome FROM {t}outbox_ack(", ")",
          "stale" },
        { "BEGIN; SELECT outcome FROM {t}outbox_ack(", ")", "stale" },
    };
    struct t_conn *conn;
    PGresult *result;
    char arguments[128];

    t_open(NULL);
    conn = a_connection(NULL);
    t_sql(conn, "CREATE TEMP TABLE effect (n int); CREATE FUNCTION pg_temp.effect() RETURNS int "
                "LANGUAGE sql AS 'INSERT INTO effect VALUES (1) RETURNING n'; "
                "CREATE TEMP VIEW effects AS SELECT pg_temp.effect()");
    t_sql(conn, "SELECT {t}enqueue('a', '1')");
    claim(conn, 1);
    CHECK_STR(outcomes(conn, "{t}outbox_ack(" OWNER ", ARRAY(SELECT work_id FROM claimed))"),
              "acked");
    snprintf(arguments, sizeof(arguments), OWNER ", '{%s}'",
             t_value(conn, "SELECT work_id FROM claimed"));
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        CHECK_STR(t_value(conn, say("%s%s%s", forms[i].before, arguments, forms[i].after)),
                  forms[i].outcome);
        t_sql(conn, "ROLLBACK");
    }
    t_begin(conn);
    REQ_STR("OBX-031", t_value(conn, say("%s%s)", forms[0].before, arguments)), "stale");
    t_commit(conn);
    /* of parameters, which programs use, the server does not tell enough */
    result = PQexecParams(t_native(conn),
                          say("SELECT outcome FROM \"%s\".outbox_ack(%s)", t_schema(), arguments),
                          0, NULL, NULL, NULL, NULL, 0);
    CHECK_STR(PQgetvalue(result, 0, 0), "stale");
    PQclear(result);
    t_disconnect(conn);
}

/* Without a delay the queue's policy decides: 2 s after the first attempt. */
TEST(an_abandon_without_delay_waits_as_the_queue_says)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);

    t_clock_set(store, T_EPOCH);
    t_sql(conn, "SELECT {t}enqueue('a', '1')");
    claim(conn, 1);
    CHECK_STR(outcomes(conn, "{t}outbox_abandon(" OWNER ", ARRAY(SELECT work_id FROM claimed))"),
              "abandoned");
    CHECK_STR(t_value(conn, "SELECT next_attempt_at - {t}clock() FROM {t}outbox"), "00:00:02");
}

TEST(a_claim_in_a_transaction_that_rolls_back_never_was)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = a_connection(NULL);
    t_sql(conn, "SELECT {t}enqueue('a', '1')");
    t_begin(conn);
    claim(conn, 1);
    CHECK_STR(outcomes(conn, "{t}outbox_ack(" OWNER ", ARRAY(SELECT work_id FROM claimed))"),
              "acked");
    t_rollback(conn);
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', status, attempts) FROM {t}outbox"), "ready 0");
    t_begin(conn);
    claim(conn, 1);
    t_sql(conn, "SELECT {t}outbox_ack(" OWNER ", ARRAY(SELECT work_id FROM claimed))");
    t_commit(conn);
    CHECK_STR(
        t_value(conn,
                "SELECT concat_ws(' ', status, status_code, is_processed, processed_by = " OWNER
                ", processed_at = updated_at) FROM {t}outbox"),
        "done 2 t t t");
    t_check_places(conn);
}

TEST(a_claim_that_finds_nothing_takes_no_transaction_id)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = a_connection(NULL);
    t_sql(conn, "SELECT {t}enqueue('t', 'p', due_at => clock_timestamp() + interval '1 h')");
    t_begin(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 10)"), 0);
    CHECK_STR(t_value(conn, "SELECT pg_current_xact_id_if_assigned()"), "");
    t_sql(conn, "SELECT {t}enqueue('t', 'p')"); /* that it can be told apart */
    CHECK(strcmp(t_value(conn, "SELECT pg_current_xact_id_if_assigned()"), "") != 0);
    t_rollback(conn);
}

TEST(a_claim_names_its_topics_and_namespace)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = a_connection(NULL);
    t_sql(conn, "SELECT {t}enqueue(t, 'x', n) FROM unnest('{a,b,A}'::text[]) t, "
                "unnest('{\"\",n}'::text[]) n");
    CHECK_STR(
        t_value(
            conn,
            "SELECT string_agg(topic, '' ORDER BY topic COLLATE \"C\") FROM {t}outbox_claim(" OWNER
            ", 30, 10, 'n', '{A,b,nothing}')"),
        "Ab");
    CHECK_STR(t_value(conn,
                      "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 10, topics => '{b}', "
                      "from_due => '{-infinity,-infinity,-infinity,-infinity}')"),
              "1");
    CHECK_STR(t_value(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER
                            ", 30, 10, namespace => 'none')"),
              "0");
    CHECK_STR(t_value(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 86400, 10000)"), "2");
}

TEST(operators_have_their_verbs_too)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = a_connection(NULL);
    t_sql(conn,
          "SELECT {t}queue_set('outbox', '', '{\"max_attempts\": 1, \"backoff\": \"equal-jitter\", "
          "\"retention_s\": 1, \"dead_retention_s\": -1, \"delete_on_ack\": false}')");
    CHECK_STR(
        t_value(conn,
                "SELECT concat_ws(' ', door, namespace, max_attempts, backoff, backoff_base_ms, "
                "backoff_max_ms, retention_s, dead_retention_s, paused) FROM {t}queues"),
        "outbox  1 equal-jitter 1000 300000 1 -1 f");
    t_sql(conn, "SELECT {t}enqueue('a', '1')");
    t_sql(conn, "SELECT {t}queue_pause('outbox', '')");
    claim(conn, 1);
    CHECK_STR(t_value(conn, "SELECT count(*) FROM claimed"), "0");
    t_sql(conn, "SELECT {t}queue_resume('outbox', '')");
    claim(conn, 1);
    CHECK_STR(
        outcomes(conn, "{t}outbox_abandon(" OWNER ", ARRAY(SELECT work_id FROM claimed), 'oh')"),
        "dead");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', reason, error, attempts, retry_count, "
                            "history->0->>'kind') FROM {t}dead_letters"),
              "attempts oh 1 1 abandoned");
    t_sql(conn, "CREATE TEMP TABLE retried AS SELECT * FROM {t}dead_retry(ARRAY(SELECT work_id "
                "FROM claimed "
                "UNION ALL SELECT work_id FROM claimed) || gen_random_uuid())");
    CHECK_STR(t_value(conn, "SELECT concat_ws(' ', count(*), bool_and(r.new = d.retried_as)) "
                            "FROM retried r JOIN {t}dead_letters d ON d.id = r.old"),
              "1 t");
    CHECK_STR(t_value(conn, "SELECT {t}dead_discard(ARRAY(SELECT new FROM retried))"), "0");
    CHECK_STR(t_value(conn, "SELECT {t}dead_discard(ARRAY(SELECT old FROM retried))"), "1");
    CHECK_STR(t_value(conn, "SELECT {t}retention_run()"), "0");
    CHECK_STR(t_value(conn, "SELECT {t}retention_run(batch => 1)"), "0");
    CHECK_STR(t_value(conn, "SELECT abs(extract(epoch FROM {t}clock() - clock_timestamp())) < 5"),
              "t");
    t_check_places(conn);
}

/* An abandoned message keeps at most PH_ERROR_TEXT_MAX bytes of its error, whole characters. */
TEST(error_texts_are_cut_to_the_limit_in_bytes)
{
    struct t_conn *conn;

    t_open(NULL);
    conn = a_connection(NULL);
    t_sql(conn, "SELECT {t}enqueue('a', '1')");
    claim(conn, 1);
    t_sql(conn, "SELECT {t}outbox_abandon(" OWNER ", ARRAY(SELECT work_id FROM claimed), "
                "'x' || repeat('€', 9000), '0')");
    CHECK_STR(t_value(conn, "SELECT octet_length(last_error) FROM {t}outbox"), "8191");
    claim(conn, 1);
    t_sql(conn, "SELECT {t}outbox_fail(" OWNER
                ", ARRAY(SELECT work_id FROM claimed), repeat('e', 8193))");
    CHECK_STR(t_value(conn, "SELECT octet_length(last_error) FROM {t}outbox"), "8192");
}

/* ------------------------------------------------------------------------ psql */

TEST(five_lines_of_psql_do_the_job)
{
    const char *argv[] = { "psql", t_url(), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", NULL };
    char output[4096];
    const char *script;

    t_open(NULL);
    script = say("SET search_path = \"%s\";\n"
                 "SELECT is_new FROM enqueue('order.placed', '{\"id\": 7}');\n"
                 "SELECT * FROM outbox_claim(" OWNER ", 30, 10) \\gset\n"
                 "SELECT outcome FROM outbox_ack(" OWNER ", ARRAY[:'work_id'::uuid]);\n"
                 "SELECT status FROM outbox WHERE id = :'work_id';\n",
                 t_schema());
    REQ_INT("OBX-112", run_program(argv, script, output, sizeof(output)), 0);
    CHECK_STR(output, "t\nacked\ndone\n");
}
