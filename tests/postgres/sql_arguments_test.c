/* sql_arguments_test.c - every argument of the SQL functions at its edges: bad
 * input is SQLSTATE 22023 with a text that names cause and cure, and nothing is
 * stored. */
#include "common.h"

#define OWNER "'11111111-1111-4111-8111-111111111111'"
#define ID "'99999999-9999-4999-8999-999999999999'"
#define ZERO "'00000000-0000-0000-0000-000000000000'"

struct bad {
    const char *call, *text; /* of the error */
};

/* Every one must be refused, alone and in a transaction, and leave no trace. */
static void all_refused(struct t_conn *conn, const struct bad *bad, size_t count)
{
    char before[200];

    snprintf(before, sizeof(before), "%s", stored(conn));
    for (size_t i = 0; i < count; i++) {
        const char *sql = say("SELECT * FROM {t}%s", bad[i].call);

        refused(conn, "22023", bad[i].text, sql);
        t_begin(conn);
        refused(conn, "22023", bad[i].text, sql);
        t_commit(conn); /* which rolls back */
        CHECK_STR(stored(conn), before);
    }
}
#define ALL_REFUSED(conn, list) all_refused(conn, list, sizeof(list) / sizeof(*(list)))

static struct t_conn *deployed(void)
{
    t_open(NULL);
    return a_connection(NULL);
}

#define BATCH_WITH(part)                                                                           \
    "SELECT * FROM {t}process_work_batch(" OWNER ", 's', 'h', 1, " part " => %s)"

/* As the library says it; with another limit, for such messages are dear. */
TEST(more_bytes_than_one_call_may_store_are_refused)
{
    static const char why[] = "the messages have 1005 bytes of payloads and headers; at most 1000 "
                              "are allowed in one call: give fewer messages at once";
    struct t_conn *conn = deployed();
    const char *out = "(SELECT jsonb_agg(jsonb_build_object('topic', 't', 'payload', "
                      "repeat('x', 333), 'headers', '{}'::jsonb)) FROM generate_series(1, 3) i)";
    const char *in = "(SELECT jsonb_agg(jsonb_build_object('source', 's', 'message_id', i::text, "
                     "'topic', 't', 'payload', repeat('x', 335))) FROM generate_series(1, 3) i)";

    t_sql(conn, "CREATE OR REPLACE FUNCTION {t}enqueue_bytes_max() RETURNS int "
                "LANGUAGE sql IMMUTABLE RETURN 1000");
    refused(conn, "22023", say("enqueue_many: %s", why),
            say("SELECT * FROM {t}enqueue_many(%s)", out));
    refused(conn, "22023", say("process_work_batch: new_outbox_messages: %s", why),
            say(BATCH_WITH("new_outbox_messages"), out));
    refused(conn, "22023", say("process_work_batch: new_inbox_messages: %s", why),
            say(BATCH_WITH("new_inbox_messages"), in));
    CHECK_STR(t_value(conn, "SELECT problem FROM {t}work_enqueue_many(0::smallint, ROW("
                            "array_fill(''::text, '{3}'), array_fill('t'::text, '{3}'), "
                            "array_fill(repeat('x', 335), '{3}'), NULL, NULL, NULL, NULL, "
                            "array_fill(1::smallint, '{3}'), NULL, NULL, NULL, NULL, NULL, NULL, "
                            "NULL, NULL)::{t}work_messages)"),
              why);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    t_sql(conn, "SELECT {t}enqueue_many('[{\"topic\": \"t\", \"payload\": \"fits\"}]')");
}

TEST(enqueue_refuses)
{
    static const struct bad bad[] = {
        { "enqueue(NULL, 'p')", "topic is null" },
        { "enqueue('', 'p')", "topic is empty" },
        { "enqueue(repeat('x', 256), 'p')", "topic has 256 characters; at most 255" },
        { "enqueue(repeat('ü', 256), 'p')", "topic has 256 characters" },
        { "enqueue('t', NULL)", "payload is null; it is required, but may be empty" },
        { "enqueue('t', repeat('x', 1048577))",
          "payload has 1048577 bytes; this queue allows 1048576" },
        { "enqueue('t', repeat('€', 349526))", "payload has 1048578 bytes" },
        { "enqueue('t', 'p', NULL)", "namespace is null; leave it out" },
        { "enqueue('t', 'p', repeat('n', 256))", "namespace has 256 characters" },
        { "enqueue('t', 'p', 'new', dedupe_key => '')", "dedupe_key is empty" },
        { "enqueue('t', 'p', 'new', dedupe_key => repeat('k', 256))",
          "dedupe_key has 256 characters" },
        { "enqueue('t', 'p', correlation_id => repeat('c', 256))",
          "correlation_id has 256 characters" },
        { "enqueue('t', 'p', stream => '')", "stream is empty" },
        { "enqueue('t', 'p', stream => repeat('s', 256))", "stream has 256 characters" },
        { "enqueue('t', 'p', priority => NULL)", "priority is null; give 0 (urgent) to 3 (bulk)" },
        { "enqueue('t', 'p', priority => -1)", "priority is -1" },
        { "enqueue('t', 'p', priority => 4)", "priority is 4" },
        { "enqueue('t', 'p', priority => 2147483647)", "priority is 2147483647" },
        { "enqueue('t', 'p', due_at => 'infinity')", "due_at lies outside the years 1 to 9999" },
        { "enqueue('t', 'p', due_at => '-infinity')", "due_at lies outside" },
        { "enqueue('t', 'p', due_at => '10000-01-01Z')", "due_at lies outside" },
        { "enqueue('t', 'p', due_at => '0001-01-01Z BC')", "due_at lies outside" },
        { "enqueue('t', 'p', expires_at => 'infinity')", "expires_at lies outside" },
        { "enqueue('t', 'p', due_at => '2999-01-01Z', expires_at => '2999-01-01Z')",
          "expires_at is not after due_at" },
        { "enqueue('t', 'p', headers => '[]')", "headers are not a JSON object" },
        { "enqueue('t', 'p', headers => 'null')", "headers are not a JSON object" },
        { "enqueue('t', 'p', headers => jsonb_build_object('k', repeat('x', 65536)))",
          "headers have 65545 bytes; at most 65536" },
        { "enqueue('t', 'p', max_attempts => 0)", "max_attempts is 0; give 1 to 30000" },
        { "enqueue('t', 'p', max_attempts => 30001)", "max_attempts is 30001" },
        { "enqueue('t', 'p', message_id => " ZERO ")", "message_id is all zero" },
        { "enqueue('t', 'p', tenant_id => " ZERO ")", "tenant_id is all zero" },
        { "enqueue('t', 'p', tenant_id => " ID ", dedupe_key => 'k')",
          "dedupe_key does not begin with the tenant id" },
        { "enqueue('t', 'p', tenant_id => " ID
          ", dedupe_key => '99999999-9999-4999-8999-999999999999')",
          "with a tenant it must read \"99999999-9999-4999-8999-999999999999/" },
        { "enqueue('t', 'p', tenant_id => " ID
          ", dedupe_key => '99999999999949998999999999999998/k')",
          "dedupe_key does not begin with the tenant id" },
    };

    ALL_REFUSED(deployed(), bad);
}

TEST(enqueue_takes_what_is_just_allowed)
{
    struct t_conn *conn = deployed();

    t_sql(
        conn,
        "SELECT {t}enqueue(repeat('ü', 255), '', repeat('ü', 255), dedupe_key => repeat('ü', 255), "
        "correlation_id => repeat('ü', 255), max_attempts => 30000, due_at => '9999-12-30Z', "
        "expires_at => '9999-12-31 23:59:59.999999Z', headers => '{}')");
    t_sql(conn,
          "SELECT {t}enqueue('t', repeat('x', 1048576), due_at => '0001-01-01Z', priority => 0, "
          "headers => jsonb_build_object('k', repeat('x', 65527)), max_attempts => 1)");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 2);
}

TEST(enqueue_many_refuses)
{
    static const struct bad bad[] = {
        { "enqueue_many(NULL)", "messages is not a JSON array" },
        { "enqueue_many('{}')", "messages is not a JSON array" },
        { "enqueue_many('null')", "messages is not a JSON array" },
        { "enqueue_many((SELECT jsonb_agg('{\"topic\": \"t\", \"payload\": \"\"}'::jsonb) "
          "FROM generate_series(1, 10001)))",
          "10001 messages; at most 10000" },
        { "enqueue_many('[5]')", "message 0: is not a JSON object" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\"}, null]')",
          "message 1: is not a JSON object" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\"}, {\"topic\": \"t\", \"payload\": "
          "\"p\", "
          "\"Topic\": 1}]')",
          "message 1: unknown key \"Topic\"" },
        { "enqueue_many('[{\"payload\": \"p\"}]')", "message 0: topic is null" },
        { "enqueue_many('[{\"topic\": \"t\"}]')", "message 0: payload is null" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"namespace\": \"new\", "
          "\"dedupe_key\": \"k\"}, "
          "{\"topic\": \"\", \"payload\": \"\"}]')",
          "message 1: topic is empty" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": {\"a\": 1}}]')",
          "message 0: payload is not a JSON string" },
        { "enqueue_many('[{\"topic\": 5, \"payload\": \"\"}]')",
          "message 0: topic is not a JSON string" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\"}, {\"topic\": \"t\", \"payload\": "
          "\"p\", "
          "\"priority\": \"high\"}]')",
          "message 1: priority is not a whole number" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"priority\": 1.5}]')",
          "message 0: priority is not a whole number" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"priority\": 5000000000}]')",
          "message 0: priority is not a whole number" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"priority\": 4}]')",
          "message 0: priority is 4" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"max_attempts\": []}]')",
          "message 0: max_attempts is not a whole number" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"tenant_id\": \"acme\"}]')",
          "message 0: tenant_id is not a UUID" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"message_id\": 7}]')",
          "message 0: message_id is not a JSON string" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"stream\": \"\"}]')",
          "message 0: stream is empty" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": null}]')",
          "message 0: payload is null; it is required, but may be empty" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"due_at\": "
          "\"2030-01-01 10:00\"}]')",
          "message 0: due_at is not a time with its zone; give one such as 2030-01-31T09:30:00Z" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"expires_at\": "
          "\"2030-01-01T10:00:00\"}]')",
          "message 0: expires_at is not a time with its zone" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"due_at\": \"soon\"}]')",
          "message 0: due_at is not a time" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"due_at\": "
          "\"2026-02-30T00:00:00Z\"}]')",
          "message 0: due_at is not a time" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"expires_at\": 5}]')",
          "message 0: expires_at is not a JSON string" },
        { "enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\", \"headers\": \"x\"}]')",
          "message 0: headers are not a JSON object" },
        { "enqueue_many(jsonb_build_array('{\"topic\": \"t\", \"payload\": \"p\", \"dedupe_key\": "
          "\"k\"}'::jsonb, "
          "jsonb_build_object('topic', 't', 'payload', repeat('x', 1048577))))",
          "message 1: payload has 1048577 bytes; this queue allows 1048576" },
    };

    ALL_REFUSED(deployed(), bad);
}

TEST(claim_refuses)
{
    static const struct bad bad[] = {
        { "outbox_claim(NULL, 30, 1)", "owner is null" },
        { "outbox_claim(" ZERO ", 30, 1)", "owner is all zero" },
        { "outbox_claim(" OWNER ", NULL, 1)", "lease_seconds is null; give 1 to 86400" },
        { "outbox_claim(" OWNER ", 0, 1)", "lease_seconds is 0" },
        { "outbox_claim(" OWNER ", -1, 1)", "lease_seconds is -1" },
        { "outbox_claim(" OWNER ", 86401, 1)", "lease_seconds is 86401" },
        { "outbox_claim(" OWNER ", 30, NULL)", "batch_size is null; give 1 to 10000" },
        { "outbox_claim(" OWNER ", 30, 0)", "batch_size is 0" },
        { "outbox_claim(" OWNER ", 30, 10001)", "batch_size is 10001" },
        { "outbox_claim(" OWNER ", 30, 1, NULL)", "namespace is null" },
        { "outbox_claim(" OWNER ", 30, 1, repeat('n', 256))", "namespace has 256 characters" },
        { "outbox_claim(" OWNER ", 30, 1, '', '{}')", "topics is empty" },
        { "outbox_claim(" OWNER ", 30, 1, '', '{a,NULL}')", "topics is empty or holds a null" },
        { "outbox_claim(" OWNER ", 30, 1, '', '{{a,b},{c,d}}')",
          "topics has more than one dimension" },
        { "outbox_claim(" OWNER ", 30, 1, '', array_fill('t'::text, '{1001}'))",
          "1001 topics; at most 1000" },
        { "outbox_claim(" OWNER ", 30, 1, '', NULL, '{-infinity}')",
          "from_due must have one element per priority" },
        { "outbox_claim(" OWNER
          ", 30, 1, '', NULL, '{{-infinity,-infinity},{-infinity,-infinity}}')",
          "from_due must have one element per priority" },
    };
    struct t_conn *conn = deployed();

    t_sql(conn, "SELECT {t}enqueue('t', 'p')");
    ALL_REFUSED(conn, bad);
    CHECK_INT(
        t_number(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 1, 1, '', NULL, '{}')"), 1);
}

TEST(settling_refuses)
{
    static const struct bad bad[] = {
        { "outbox_ack(NULL, '{}')", "outbox_ack: owner is null" },
        { "outbox_ack(" ZERO ", '{}')", "outbox_ack: owner is all zero" },
        { "outbox_ack(" OWNER ", NULL)", "work_ids is null" },
        { "outbox_ack(" OWNER ", ARRAY[" ID ", NULL]::uuid[])",
          "work_ids is null or holds a null" },
        { "outbox_ack(" OWNER ", ARRAY[[" ID "], [" ID "]]::uuid[])",
          "work_ids has more than one dimension" },
        { "outbox_ack(" OWNER ", array_fill(" ID "::uuid, '{10001}'))",
          "10001 work_ids; at most 10000" },
        { "outbox_ack(" OWNER ", ARRAY[" ID "]::uuid[], '{}')",
          "0 fences for 1 work_ids; give one each, or none" },
        { "outbox_ack(" OWNER ", ARRAY[" ID "]::uuid[], '{-1}')",
          "a fence is negative; give 0 for any" },
        { "outbox_renew(" OWNER ", ARRAY[" ID "]::uuid[], 30, '{-1}')",
          "a fence is negative; give 0 for any" },
        { "outbox_ack(" OWNER ", ARRAY[" ID "]::uuid[], '{1,2}')", "2 fences for 1 work_ids" },
        { "outbox_ack(" OWNER ", ARRAY[" ID "," ID "]::uuid[], '{{1},{2}}')",
          "fences has more than one dimension" },
        { "outbox_abandon(NULL, '{}')", "outbox_abandon: owner is null" },
        { "outbox_abandon(" OWNER ", NULL)", "outbox_abandon: work_ids is null" },
        { "outbox_abandon(" OWNER ", ARRAY[" ID "]::uuid[], 'e', '-1 ms')", "delay is negative" },
        { "outbox_abandon(" OWNER ", ARRAY[" ID "]::uuid[], 'e', '-100000 years')",
          "delay is negative" },
        { "outbox_abandon(" OWNER ", ARRAY[" ID "]::uuid[], fences => '{1,2}')",
          "2 fences for 1 work_ids" },
        { "outbox_fail(NULL, '{}')", "outbox_fail: owner is null" },
        { "outbox_fail(" OWNER ", NULL)", "outbox_fail: work_ids is null" },
        { "outbox_release(NULL, '{}')", "outbox_release: owner is null" },
        { "outbox_release(" OWNER ", NULL)", "outbox_release: work_ids is null" },
        { "outbox_renew(NULL, '{}', 30)", "outbox_renew: owner is null" },
        { "outbox_renew(" OWNER ", NULL, 30)", "outbox_renew: work_ids is null" },
        { "outbox_renew(" OWNER ", ARRAY[" ID "]::uuid[], NULL)",
          "lease_seconds is null; give 1 to 86400" },
        { "outbox_renew(" OWNER ", ARRAY[" ID "]::uuid[], 0)", "lease_seconds is 0" },
        { "outbox_renew(" OWNER ", ARRAY[" ID "]::uuid[], 86401)", "lease_seconds is 86401" },
    };

    ALL_REFUSED(deployed(), bad);
}

/* Lists that are odd, but not wrong. */
TEST(settling_takes_odd_lists)
{
    struct t_conn *conn = deployed();

    CHECK_STR(t_value(conn, "SELECT count(*) FROM {t}outbox_ack(" OWNER ", '{}')"), "0");
    CHECK_STR(t_value(conn, "SELECT count(*) FROM {t}outbox_renew(" OWNER ", '{}', 30, '{}')"),
              "0");
    t_sql(conn, "SELECT {t}enqueue('t', i::text) FROM generate_series(1, 3) i");
    t_sql(conn, "CREATE TEMP TABLE c AS SELECT * FROM {t}outbox_claim(" OWNER ", 30, 3)");
    /* An array may begin at any index; its elements are the same. */
    CHECK_STR(
        t_value(
            conn,
            "SELECT string_agg(outcome, ',') FROM {t}outbox_renew(" OWNER ", ('[0:1]={' || "
            "(SELECT string_agg(work_id::text, ',') FROM c WHERE payload < '3') || '}')::uuid[], "
            "60, '[5:6]={1,NULL}')"),
        "renewed,renewed");
    CHECK_STR(
        t_value(
            conn,
            "SELECT string_agg(outcome, ',') FROM {t}outbox_ack(" OWNER ", ('[0:1]={' || "
            "(SELECT string_agg(work_id::text, ',') FROM c WHERE payload < '3') || '}')::uuid[], "
            "'[5:6]={NULL,1}')"),
        "acked,acked");
    /* Given twice, also with a fence that never was. */
    CHECK_STR(t_value(conn, "SELECT string_agg(outcome, ',') FROM {t}outbox_ack(" OWNER
                            ", ARRAY(SELECT work_id "
                            "FROM c, generate_series(1, 2) WHERE payload = '3'), '{5,9999}')"),
              "stale,stale");
    CHECK_STR(t_value(conn,
                      "SELECT string_agg(outcome, ',') FROM {t}outbox_abandon(" OWNER
                      ", ARRAY(SELECT work_id "
                      "FROM c, generate_series(1, 2) WHERE payload = '3'), NULL, '1000000 years')"),
              "abandoned,abandoned");
    CHECK_STR(
        t_value(conn,
                "SELECT next_attempt_at < clock_timestamp() + interval '367 days' FROM {t}outbox "
                "WHERE payload = '3'"),
        "t");
    t_check_places(conn);
}

TEST(operators_functions_refuse)
{
    static const struct bad bad[] = {
        { "queue_set(NULL, '', '{}')",
          "there is no door \"null\"; this version of the schema has: outbox" },
        { "queue_set('attic', 'new', '{}')", "there is no door \"attic\"" },
        { "queue_set('Outbox', 'new', '{}')", "there is no door \"Outbox\"" },
        { "queue_set('outbox', NULL, '{}')", "queue_set: namespace is null" },
        { "queue_set('outbox', repeat('n', 256), '{}')",
          "queue_set: namespace is null or has more than 255" },
        { "queue_set('outbox', 'new', NULL)", "settings is not a JSON object" },
        { "queue_set('outbox', 'new', '[]')", "settings is not a JSON object" },
        { "queue_set('outbox', 'new', '{\"max_attempt\": 1}')", "unknown setting \"max_attempt\"" },
        { "queue_set('outbox', 'new', '{\"max_attempts\": 0}')", "max_attempts: give 1 to 30000" },
        { "queue_set('outbox', 'new', '{\"max_attempts\": 30001}')",
          "max_attempts: give 1 to 30000" },
        { "queue_set('outbox', 'new', '{\"max_attempts\": \"ten\"}')",
          "max_attempts is not a whole number" },
        { "queue_set('outbox', 'new', '{\"max_attempts\": 1.5}')",
          "max_attempts is not a whole number" },
        { "queue_set('outbox', 'new', '{\"retention_s\": 1e30}')",
          "retention_s is not a whole number" },
        { "queue_set('outbox', 'new', '{\"backoff\": \"linear\"}')", "backoff: give" },
        { "queue_set('outbox', 'new', '{\"backoff\": 1}')", "backoff: give" },
        { "queue_set('outbox', 'new', '{\"backoff_base_ms\": 0}')", "backoff_base_ms: give" },
        { "queue_set('outbox', 'new', '{\"backoff_max_ms\": 31622400001}')",
          "backoff_max_ms: give" },
        { "queue_set('outbox', 'new', '{\"retention_s\": 0}')", "give 1 s to 100 years" },
        { "queue_set('outbox', 'new', '{\"dead_retention_s\": -2}')", "give 1 s to 100 years" },
        { "queue_set('outbox', 'new', '{\"dedupe_retention_s\": 3162240001}')",
          "give 1 s to 100 years" },
        { "queue_set('outbox', 'new', '{\"max_payload_bytes\": 67108865}')",
          "max_payload_bytes: give" },
        { "queue_set('outbox', 'new', '{\"max_lease_s\": 86401}')", "max_lease_s: give" },
        { "queue_set('outbox', 'new', '{\"delete_on_ack\": \"maybe\"}')",
          "delete_on_ack is not true or false" },
        { "queue_set('outbox', 'new', '{\"delete_on_ack\": 1}')",
          "delete_on_ack is not true or false" },
        { "queue_set('outbox', 'new', '{\"dead_head\": \"stop\"}')", "dead_head: give" },
        { "queue_set('outbox', 'new', '{\"dead_head\": 1}')", "dead_head: give" },
        { "queue_set('outbox', 'new', '{\"affinity_grace_ms\": 3600001}')",
          "affinity_grace_ms: give" },
        { "queue_set('outbox', 'new', '{\"affinity_grace_ms\": -2}')", "affinity_grace_ms: give" },
        { "queue_pause('attic', 'new')", "there is no door \"attic\"" },
        { "queue_pause(NULL, 'new')", "there is no door \"null\"" },
        { "queue_pause('outbox', NULL)", "queue_pause: namespace is null" },
        { "queue_pause('outbox', repeat('n', 256))",
          "queue_pause: namespace is null or has more than 255" },
        { "queue_resume('attic', 'new')", "there is no door \"attic\"" },
        { "queue_resume('outbox', NULL)", "queue_resume: namespace is null" },
        { "queue_resume('outbox', repeat('n', 256))",
          "queue_resume: namespace is null or has more than 255" },
        { "queue_delete('attic', 'new')", "there is no door \"attic\"" },
        { "queue_delete('outbox', NULL)", "queue_delete: namespace is null" },
        { "queue_delete('outbox', repeat('n', 256))",
          "queue_delete: namespace is null or has more than 255" },
        { "dead_retry(NULL)", "dead_retry: work_ids is null" },
        { "dead_retry(ARRAY[NULL]::uuid[])", "dead_retry: work_ids is null or holds a null" },
        { "dead_retry(array_fill(" ID "::uuid, '{10001}'))", "10001 work_ids; at most 10000" },
        { "dead_discard(NULL)", "dead_discard: work_ids is null" },
        { "dead_discard(ARRAY[NULL]::uuid[])", "dead_discard: work_ids is null or holds a null" },
        { "dead_discard(array_fill(" ID "::uuid, '{10001}'))", "10001 work_ids; at most 10000" },
        { "retention_run(NULL)", "retention_run: batch must be 1 to 100000" },
        { "retention_run(0)", "retention_run: batch must be 1 to 100000" },
        { "retention_run(-1)", "retention_run: batch must be 1 to 100000" },
        { "retention_run(100001)", "retention_run: batch must be 1 to 100000" },
    };

    ALL_REFUSED(deployed(), bad);
}

TEST(settings_of_null_change_nothing)
{
    struct t_conn *conn = deployed();
    const char *before = say("%s", stored(conn));

    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{}')");
    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"max_attempts\": null, \"backoff\": null, "
                "\"delete_on_ack\": null}')");
    CHECK_STR(stored(conn), before);
}
