/* work_batch_sql_test.c - process_work_batch as any language sees it: its lists in JSON, at their
 * edges; atomic; and idle for next to nothing. */
#include "common.h"

#define ME "'11111111-1111-4111-8111-111111111111'"
#define OTHER "'22222222-2222-4222-8222-222222222222'"
#define NOWHERE "99999999-9999-4999-8999-999999999999"
#define BATCH "{t}process_work_batch(" ME ", 'svc', 'host', 1"

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

/* What a call with these further arguments gives: "outbox:p:flags …". */
static const char *work(struct t_conn *conn, const char *more)
{
    return t_value(
        conn, say("SELECT string_agg(concat_ws(':', door, payload, flags), ' ') FROM " BATCH "%s)",
                  more));
}

/* The id of the message with this payload, in double quotes; it stays until the test ends. */
static const char *id_of(struct t_conn *conn, const char *payload)
{
    static char texts[16][PH_ID_TEXT_SIZE + 2];
    static size_t next;

    CHECK(next < sizeof(texts) / sizeof(*texts));
    snprintf(texts[next], sizeof(texts[next]), "\"%s\"",
             t_value(conn, say("SELECT id FROM {t}work_state WHERE payload = '%s' ORDER BY id "
                               "DESC LIMIT 1",
                               payload)));
    return texts[next++];
}

TEST(the_one_call_has_the_agreed_signature)
{
    struct t_conn *conn = set_up();
    const char *which = "FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace "
                        "AND proname = '{p}process_work_batch'";

    t_sql(conn, "SET search_path = {schema}");
    REQ_STR(
        "BAT-009", t_value(conn, say("SELECT pg_get_function_arguments(oid) %s", which)),
        "instance_id uuid, service_name text, host_name text, process_id integer, metadata "
        "jsonb DEFAULT NULL::jsonb, outbox_completions jsonb DEFAULT NULL::jsonb, "
        "outbox_failures jsonb DEFAULT NULL::jsonb, inbox_completions jsonb DEFAULT "
        "NULL::jsonb, inbox_failures jsonb DEFAULT NULL::jsonb, receptor_completions jsonb "
        "DEFAULT NULL::jsonb, receptor_failures jsonb DEFAULT NULL::jsonb, "
        "checkpoint_completions jsonb DEFAULT NULL::jsonb, checkpoint_failures jsonb DEFAULT "
        "NULL::jsonb, new_outbox_messages jsonb DEFAULT NULL::jsonb, new_inbox_messages jsonb "
        "DEFAULT NULL::jsonb, renew_outbox_ids uuid[] DEFAULT NULL::uuid[], renew_inbox_ids "
        "uuid[] DEFAULT NULL::uuid[], flags integer DEFAULT 0, namespace text DEFAULT ''::text, "
        "topics text[] DEFAULT NULL::text[], batch_size integer DEFAULT 50, partition_count "
        "integer DEFAULT 10000, max_partitions_per_instance integer DEFAULT NULL::integer, "
        "lease_seconds integer DEFAULT 300, stale_threshold_seconds integer DEFAULT 600");
    REQ_STR("BAT-009",
            t_value(conn, "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), "
                          "', ' ORDER BY attnum) FROM pg_attribute "
                          "WHERE attrelid = '{schema}.{p}batch_item'::regclass"),
            "door text, flags integer, work_id uuid, message_id text, fence bigint, topic text, "
            "payload text, tenant_id uuid, dedupe_key text, correlation_id text, stream text, "
            "headers jsonb, attempts integer, retry_count integer, created_at timestamp with time "
            "zone, due_at timestamp with time zone, last_error text, source text");
}

/* Every list once. */
TEST(everything_is_done_in_one_statement)
{
    struct t_conn *conn = set_up();
    const char *a1, *x, *y, *i1, *z;

    CHECK_STR(
        work(conn,
             ", new_outbox_messages => '[{\"topic\": \"t\", \"payload\": \"a1\", \"stream\": "
             "\"a\"}, {\"topic\": \"t\", \"payload\": \"x\"}, {\"topic\": \"t\", \"payload\": "
             "\"y\"}]', new_inbox_messages => '[{\"source\": \"s\", \"message_id\": \"1\", "
             "\"topic\": \"t\", \"payload\": \"i1\"}, {\"source\": \"s\", \"message_id\": "
             "\"1\", \"topic\": \"t\", \"payload\": \"twice\"}, {\"source\": \"s\", "
             "\"message_id\": \"2\", \"topic\": \"t\", \"payload\": \"z\"}]'"),
        "outbox:a1:1 outbox:x:1 outbox:y:1 inbox:i1:1 inbox:z:1");
    a1 = id_of(conn, "a1");
    x = id_of(conn, "x");
    y = id_of(conn, "y");
    i1 = id_of(conn, "i1");
    z = id_of(conn, "z");
    t_clock_advance(store, T_SECOND);
    CHECK_STR(
        work(conn, say(", outbox_completions => '[{\"work_id\": %s}]', outbox_failures => "
                       "'[{\"work_id\": %s, \"error\": \"no\", \"delay\": 0}, {\"work_id\": %s, "
                       "\"error\": \"never\", \"permanent\": true}]', inbox_completions => '[]', "
                       "inbox_failures => '[{\"work_id\": %s, \"delay\": 1.5}]', "
                       "receptor_completions => '[{\"work_id\": %s, \"receptor\": \"r\"}]', "
                       "receptor_failures => '[{\"work_id\": %s, \"receptor\": \"q\", \"error\": "
                       "\"e\"}]', checkpoint_completions => '[{\"stream\": \"a\", \"consumer\": "
                       "\"c\", \"seq\": 1}]', checkpoint_failures => '[{\"stream\": \"a\", "
                       "\"consumer\": \"d\", \"seq\": 1, \"error\": \"e\", \"namespace\": \"\", "
                       "\"door\": \"outbox\"}]', renew_inbox_ids => ARRAY[%s]::uuid[]",
                       a1, x, y, i1, a1, a1, say("'%.36s'", z + 1))),
        "outbox:x:4");
    CHECK_STR(t_value(conn, "SELECT string_agg(payload || '=' || status, ' ' ORDER BY payload) "
                            "FROM {t}outbox"),
              "a1=done x=in_progress y=failed");
    CHECK_STR(t_value(conn, "SELECT string_agg(concat_ws(' ', payload, status, next_attempt_at, "
                            "locked_until), ', ' ORDER BY payload) FROM {t}inbox"),
              "i1 ready 2023-11-14 22:13:22.5+00, z in_progress 2023-11-14 22:18:21+00");
    CHECK_STR(t_value(conn, "SELECT string_agg(concat_ws(' ', receptor, state, error), ', ' "
                            "ORDER BY receptor) FROM {t}receptors"),
              "q failed e, r completed");
    CHECK_STR(t_value(conn, "SELECT string_agg(concat_ws(' ', consumer, seq, error), ', ' "
                            "ORDER BY consumer) FROM {t}checkpoints"),
              "c 1, d 0 e");
    CHECK_STR(t_value(conn, "SELECT last_error FROM {t}outbox WHERE payload = 'y'"), "never");
    t_check_places(conn);
}

/* A fence that is not that of the lease, and another's lease: nothing happens, and nothing fails. */
TEST(only_ones_own_leases_are_touched)
{
    struct t_conn *conn = set_up();
    const char *mine, *theirs;

    t_sql(conn, "SELECT {t}enqueue('t', 'theirs')");
    t_sql(conn, "SELECT {t}process_work_batch(" OTHER ", 'svc', 'host', 1)");
    t_sql(conn, "SELECT {t}enqueue('t', 'mine')");
    CHECK_STR(work(conn, ""), "outbox:mine:0");
    mine = id_of(conn, "mine");
    theirs = id_of(conn, "theirs");
    work(conn,
         say(", outbox_completions => '[{\"work_id\": %s}, {\"work_id\": %s, \"fence\": "
             "999}, {\"work_id\": \"" NOWHERE "\"}]', renew_outbox_ids => '{%.36s, " NOWHERE "}'",
             theirs, mine, theirs + 1));
    CHECK_STR(t_value(conn, "SELECT string_agg(payload || '=' || status, ' ' ORDER BY payload) "
                            "FROM {t}outbox"),
              "mine=in_progress theirs=in_progress");
    work(conn,
         say(", outbox_completions => (SELECT jsonb_build_array(jsonb_build_object('work_id', "
             "id, 'fence', fence)) FROM {t}outbox WHERE id = '%.36s')",
             mine + 1));
    CHECK_STR(t_value(conn, "SELECT status FROM {t}outbox WHERE payload = 'mine'"), "done");
    t_check_places(conn);
}

/* 2: its worker was lost; 4: it was tried before. */
TEST(flags_say_what_became_of_a_message_before)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}enqueue('t', 'x'); "
                "SELECT {t}inbox_receive('s', '1', 't', 'i')");
    t_sql(conn, "SELECT * FROM {t}outbox_claim(" OTHER ", 30, 10); "
                "SELECT * FROM {t}inbox_claim(" OTHER ", 30, 10)");
    t_clock_advance(store, 31 * T_SECOND);
    REQ_STR("BAT-006", work(conn, ""), "outbox:x:2 inbox:i:2");
    work(conn, say(", outbox_failures => '[{\"work_id\": %s, \"delay\": 0}]', flags => 6",
                   id_of(conn, "x")));
    work(conn, say(", inbox_failures => '[{\"work_id\": %s, \"delay\": 0}]', flags => 6",
                   id_of(conn, "i")));
    REQ_STR("BAT-006", work(conn, ""), "outbox:x:4 inbox:i:4");
}

/* The work ids with their doors and flags, and how many of their other columns are not null. */
static const char *late(struct t_conn *conn, const char *more)
{
    return t_value(conn, say("SELECT string_agg(concat_ws(':', door, flags, work_id, num_nonnulls("
                             "message_id, fence, topic, payload, tenant_id, dedupe_key, "
                             "correlation_id, stream, headers, attempts, retry_count, created_at, "
                             "due_at, last_error, source)), ' ') FROM " BATCH "%s)",
                             more));
}

TEST(what_was_too_late_is_reported_if_asked_for)
{
    struct t_conn *conn = set_up();
    const char *x, *i, *settle;

    t_sql(conn, "SELECT {t}enqueue('t', 'mine'), {t}inbox_receive('s', '1', 't', 'i')");
    work(conn, ", flags => 4");
    t_sql(conn, "SELECT {t}enqueue('t', 'x')");
    t_sql(conn, "SELECT * FROM {t}outbox_claim(" OTHER ", 30, 10)");
    x = id_of(conn, "x");
    i = id_of(conn, "i");
    settle = say(", outbox_completions => '[{\"work_id\": %s}, {\"work_id\": %s}]', "
                 "inbox_failures => '[{\"work_id\": %s}]', renew_outbox_ids => '{" NOWHERE "}', "
                 "renew_inbox_ids => '{%.36s}'",
                 id_of(conn, "mine"), x, i, i + 1);
    REQ_STR("BAT-006", late(conn, say("%s, flags => 14", settle)),
            say("outbox:8:%.36s:0 outbox:8:" NOWHERE ":0 inbox:8:%.36s:0 inbox:8:%.36s:0", x + 1,
                i + 1, i + 1));
    CHECK_STR(late(conn, say("%s, flags => 6", settle)), "");
    CHECK_STR(late(conn, ", flags => 14"), "");
    CHECK_STR(work(conn, say(", flags => 10, outbox_completions => '[{\"work_id\": %s}]'", x)),
              "inbox:i:0 outbox:8");
}

/* Too late is what may be done twice: if the call can be seen to be all that there is, it is not. */
TEST(a_repeated_completion_is_too_late_unless_the_call_is_seen_to_be_alone)
{
    struct t_conn *conn = set_up();
    const char *settle;

    t_sql(conn, "SELECT {t}enqueue('t', 'x')");
    work(conn, ", flags => 4");
    settle = say("SELECT work_id FROM " BATCH ", outbox_completions => '[{\"work_id\": %s}]', "
                 "flags => 14)",
                 id_of(conn, "x"));
    CHECK_STR(t_value(conn, settle), "");
    REQ_STR("BAT-006", t_value(conn, settle), "");
    t_begin(conn);
    REQ_STR("BAT-006", t_value(conn, settle), say("%.36s", id_of(conn, "x") + 1));
    t_commit(conn);
}

/* Settles so many messages at once, of the queue without a namespace or of "n". */
static void settle_some(struct t_conn *conn, const char *ns, int count)
{
    t_sql(conn, say("SELECT count(*) FROM {t}enqueue_many((SELECT jsonb_agg(jsonb_build_object("
                    "'topic', 't', 'payload', 'x', 'namespace', '%s')) FROM generate_series(1, "
                    "%d)))",
                    ns, count));
    t_sql(conn, say("SELECT {t}outbox_ack(" OTHER
                    ", ARRAY(SELECT work_id FROM {t}outbox_claim(" OTHER ", 30, %d, '%s')))",
                    count, ns));
}

/* How long until an exchange does retention again. */
static const char *turn(struct t_conn *conn)
{
    return t_value(conn, "SELECT next_at - {t}clock() FROM {t}retention_turn");
}

/* A slow machine may need more than one exchange, of which one a second does something. */
static void work_until_rest(struct t_conn *conn)
{
    for (int i = 0; i < 100 && strcmp(turn(conn), "00:01:00") != 0; i++) {
        t_clock_advance(store, T_SECOND);
        work(conn, "");
    }
    CHECK_STR(turn(conn), "00:01:00");
}

#define DECADES (INT64_C(30) * 365 * 86400 * T_SECOND) /* the schema is made by the real clock */

TEST(workers_that_know_only_this_call_do_retention_once_a_minute)
{
    struct t_conn *conn = set_up(), *other = a_connection(NULL);
    const char *count = "SELECT count(*) FROM {t}message";

    t_clock_set(store, T_EPOCH + DECADES);
    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"retention_s\": 1}')");
    settle_some(conn, "", 1);
    work_until_rest(conn);
    CHECK_INT(t_number(conn, count), 0);
    settle_some(conn, "", 1);
    t_clock_advance(store, 59 * T_SECOND);
    work(conn, "");
    CHECK_INT(t_number(conn, count), 1);
    t_clock_advance(store, T_SECOND);
    t_sql(other, "BEGIN; SELECT FROM {t}retention_turn FOR UPDATE");
    work(conn, ""); /* waits for nobody who is at it */
    CHECK_INT(t_number(conn, count), 1);
    t_sql(other, "ROLLBACK");
    work(conn, "");
    CHECK_INT(t_number(conn, count), 0);
}

/* A bite is small, so that no exchange fails of it; and they come soon if there is more. */
TEST(a_backlog_of_retention_goes_away_in_bites_beside_a_statement_timeout)
{
    struct t_conn *conn = set_up();
    const char *count = "SELECT count(*) FROM {t}message";
    int messages = t_soak() ? 100000 : 10000, failed = 0;
    int64_t left, before;

    t_limit(600);
    t_clock_set(store, T_EPOCH + DECADES);
    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"retention_s\": 1}'), "
                "{t}queue_set('outbox', 'n', '{\"retention_s\": 1}')");
    for (int i = 0; i < messages; i += 5000)
        settle_some(conn, "", 5000);
    settle_some(conn, "n", 1);
    left = before = messages + 1;
    t_sql(conn, "SET statement_timeout = '300ms'");
    for (int i = 0; left > 0 && i < 100 * messages; i++) {
        t_clock_advance(store, T_SECOND);
        if (!t_try_sql(conn, "SELECT * FROM " BATCH ")"))
            failed++; /* the machine has other things to do */
        left = t_number(conn, count);
        CHECK(before - left <= 500);
        before = left;
        if (i == 9) /* one queue that has a lot does not keep it from the other */
            CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE namespace = 'n'"), 0);
    }
    CHECK_INT(left, 0);
    if (failed > 0)
        printf("%d exchanges took more than 300 ms\n", failed);
    work_until_rest(conn);
    t_check_places(conn);
}

TEST(retention_of_messages_that_were_acked_one_by_one_comes_to_an_end)
{
    struct t_conn *conn = set_up();

    t_clock_set(store, T_EPOCH + DECADES);
    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"retention_s\": 1}')");
    for (int i = 0; i < 100; i++)
        settle_some(conn, "", 1);
    work_until_rest(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
}

TEST(flags_say_what_to_leave_out)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"delete_on_ack\": true}')");
    t_sql(conn, "SELECT {t}enqueue('t', 'x'), {t}inbox_receive('s', '1', 't', 'i')");
    CHECK_STR(work(conn, ", flags => 6"), "");
    CHECK_STR(work(conn, ", flags => 2"), "inbox:i:0");
    CHECK_STR(work(conn, ", flags => 4"), "outbox:x:0");
    work(conn, say(", flags => 1, outbox_completions => '[{\"work_id\": %s}]'", id_of(conn, "x")));
    CHECK_STR(t_value(conn, "SELECT status FROM {t}outbox"), "done");
    t_sql(conn, "SELECT {t}enqueue('t', 'gone')");
    CHECK_STR(work(conn, ""), "outbox:gone:0");
    work(conn, say(", outbox_completions => '[{\"work_id\": %s}]'", id_of(conn, "gone")));
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 1);
    t_check_places(conn);
}

/* An evicted instance is refused with 55000, and nothing of its call is done. */
TEST(an_evicted_instance_is_refused_in_sql)
{
    struct t_conn *conn = set_up();

    work(conn, "");
    t_clock_advance(store, 601 * T_SECOND);
    t_sql(conn, "SELECT {t}process_work_batch(" OTHER ", 'svc', 'host', 1)");
    CHECK_STR(t_value(conn, "SELECT state FROM {t}instances WHERE id = " ME), "evicted");
    refused(conn, "55000", "was taken for dead",
            "SELECT " BATCH ", new_outbox_messages => '[{\"topic\": \"t\", \"payload\": \"p\"}]')");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    t_sql(conn, "SELECT {t}instance_leave(" OTHER ")");
    refused(conn, "55000", "has left", "SELECT {t}process_work_batch(" OTHER ", 'svc', 'h', 1)");
}

/* ---------------------------------------------------------------------- arguments */

/* A list, what is wrong in it, and what the error says. */
static const char *const wrong_lists[][3] = {
    { "outbox_completions", "[{}]", "work_id is missing" },
    { "outbox_completions", "[{\"work_id\": null}]", "work_id is missing" },
    { "outbox_completions", "[{\"work_id\": \"x\"}]", "work_id is not a UUID" },
    { "outbox_completions", "[{\"work_id\": 1}]", "work_id is not a UUID" },
    { "outbox_completions", "[{\"work_id\": \"" NOWHERE "\", \"fence\": \"1\"}]",
      "fence is not a whole number" },
    { "outbox_completions", "[{\"work_id\": \"" NOWHERE "\", \"fence\": 1.5}]",
      "fence is not a whole number" },
    { "outbox_completions", "[{\"work_id\": \"" NOWHERE "\", \"error\": \"x\"}]",
      "unknown key \"error\"" },
    { "outbox_failures", "[{\"work_id\": \"" NOWHERE "\", \"error\": 1}]",
      "error is not a JSON string" },
    { "outbox_failures", "[{\"work_id\": \"" NOWHERE "\", \"permanent\": 1}]",
      "permanent is not a JSON boolean" },
    { "outbox_failures", "[{\"work_id\": \"" NOWHERE "\", \"delay\": \"1 s\"}]",
      "delay is not a JSON number" },
    { "inbox_failures", "[{\"work_id\": \"" NOWHERE "\", \"delay\": -1}]", "delay is negative" },
    { "outbox_completions", "[{\"work_id\": \"" NOWHERE "\", \"fence\": -1}]",
      "fence is negative; give 0 for any" },
    { "receptor_completions", "[{\"work_id\": \"" NOWHERE "\"}]", "receptor is missing" },
    { "receptor_completions", "[{\"work_id\": \"" NOWHERE "\", \"receptor\": \"\"}]",
      "receptor is empty" },
    { "receptor_failures", "[{\"receptor\": \"r\"}]", "work_id is missing" },
    { "checkpoint_completions", "[{\"stream\": \"a\", \"consumer\": \"c\"}]", "seq is missing" },
    { "checkpoint_completions", "[{\"stream\": \"a\", \"consumer\": \"c\", \"seq\": 0}]",
      "seq is 0" },
    { "checkpoint_completions", "[{\"stream\": \"a\", \"consumer\": \"c\", \"seq\": 1e30}]",
      "seq is not a whole number" },
    { "checkpoint_failures",
      "[{\"stream\": \"a\", \"consumer\": \"c\", \"seq\": 1, \"door\": \"timers\"}]",
      "door is \"timers\"" },
    { "new_outbox_messages", "[{\"topic\": \"t\"}]", "payload" },
    { "new_outbox_messages", "[{\"topic\": \"t\", \"payload\": \"p\", \"sream\": \"a\"}]",
      "sream" },
    { "new_outbox_messages", "[{\"topic\": \"t\", \"payload\": \"p\", \"stream\": \"\"}]",
      "stream is empty" },
    { "new_inbox_messages", "[{\"source\": \"s\", \"topic\": \"t\", \"payload\": \"p\"}]",
      "message_id is missing" },
    { "new_inbox_messages",
      "[{\"source\": \"s\", \"message_id\": 1, \"topic\": \"t\", \"payload\": \"p\"}]",
      "message_id is not a JSON string" },
    { "new_inbox_messages",
      "[{\"source\": \"s\", \"message_id\": \"1\", \"topic\": \"t\", \"payload\": \"p\", "
      "\"priority\": 9}]",
      "priority is 9" },
    { "new_inbox_messages",
      "[{\"source\": \"s\", \"message_id\": \"1\", \"topic\": \"t\", \"payload\": \"p\", "
      "\"due_at\": \"2030-01-01Z\"}]",
      "unknown key \"due_at\"" },
};

/* Lists: what is not an array, not an object, unknown, of the wrong type, missing, null. */
TEST(lists_in_json_are_checked)
{
    static const char *const lists[] = {
        "outbox_completions",     "outbox_failures",      "inbox_completions",
        "inbox_failures",         "receptor_completions", "receptor_failures",
        "checkpoint_completions", "checkpoint_failures",  "new_outbox_messages",
        "new_inbox_messages",
    };
    struct t_conn *conn = set_up();
    char before[200];

    snprintf(before, sizeof(before), "%s", stored(conn));
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        refused(conn, "22023", lists[i], say("SELECT " BATCH ", %s => '{}')", lists[i]));
        refused(conn, "22023", lists[i], say("SELECT " BATCH ", %s => '1')", lists[i]));
        refused(conn, "22023", lists[i], say("SELECT " BATCH ", %s => 'null')", lists[i]));
        refused(conn, "22023", lists[i], say("SELECT " BATCH ", %s => '[1]')", lists[i]));
        refused(conn, "22023", lists[i], say("SELECT " BATCH ", %s => '[null]')", lists[i]));
        refused(conn, "22023", lists[i],
                say("SELECT " BATCH ", %s => (SELECT jsonb_agg('{}'::jsonb) FROM "
                    "generate_series(1, 10001)))",
                    lists[i]));
        t_sql(conn, say("SELECT " BATCH ", %s => NULL)", lists[i]));
        t_sql(conn, say("SELECT " BATCH ", %s => '[]')", lists[i]));
    }
    t_sql(conn, "DELETE FROM {t}instance");
    for (size_t i = 0; i < sizeof(wrong_lists) / sizeof(*wrong_lists); i++) {
        const char *sql =
            say("SELECT " BATCH ", %s => '%s')", wrong_lists[i][0], wrong_lists[i][1]);

        refused(conn, "22023", say("process_work_batch: %s", wrong_lists[i][0]), sql);
        refused(conn, "22023", wrong_lists[i][2], sql);
    }
    CHECK_STR(stored(conn), before);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}instance"), 0);
}

TEST(plain_arguments_are_checked)
{
    static const char *const wrong[][2] = {
        { "NULL, 's', 'h', 1", "instance_id is null" },
        { "'00000000-0000-0000-0000-000000000000', 's', 'h', 1", "instance_id is all zero" },
        { ME ", NULL, 'h', 1", "service_name is null" },
        { ME ", '', 'h', 1", "service_name is empty" },
        { ME ", repeat('x', 256), 'h', 1", "service_name has 256 characters" },
        { ME ", 's', NULL, 1", "host_name is null" },
        { ME ", 's', '', 1", "host_name is empty" },
        { ME ", 's', 'h', NULL", "process_id is null" },
        { ME ", 's', 'h', -1", "process_id is -1" },
        { ME ", 's', 'h', 1, '[]'", "metadata is not a JSON object" },
        { ME ", 's', 'h', 1, jsonb_build_object('k', repeat('x', 70000))", "metadata has" },
        { ME ", 's', 'h', 1, flags => 16", "flags is 16" },
        { ME ", 's', 'h', 1, flags => -1", "flags is -1" },
        { ME ", 's', 'h', 1, flags => NULL", "flags is null" },
        { ME ", 's', 'h', 1, namespace => NULL", "namespace is null" },
        { ME ", 's', 'h', 1, topics => '{}'", "topics is empty" },
        { ME ", 's', 'h', 1, topics => '{a,NULL}'", "topics" },
        { ME ", 's', 'h', 1, batch_size => 0", "batch_size is 0" },
        { ME ", 's', 'h', 1, batch_size => 10001", "batch_size is 10001" },
        { ME ", 's', 'h', 1, batch_size => NULL", "batch_size is null" },
        { ME ", 's', 'h', 1, partition_count => 0", "partition_count is 0" },
        { ME ", 's', 'h', 1, partition_count => 1000001", "partition_count is 1000001" },
        { ME ", 's', 'h', 1, max_partitions_per_instance => 0",
          "max_partitions_per_instance is 0" },
        { ME ", 's', 'h', 1, lease_seconds => 0", "lease_seconds is 0" },
        { ME ", 's', 'h', 1, lease_seconds => 86401", "lease_seconds is 86401" },
        { ME ", 's', 'h', 1, stale_threshold_seconds => 0", "stale_threshold_seconds is 0" },
        { ME ", 's', 'h', 1, stale_threshold_seconds => 604801",
          "stale_threshold_seconds is 604801" },
        { ME ", 's', 'h', 1, renew_outbox_ids => ARRAY[NULL::uuid]", "renew_outbox_ids: " },
        { ME ", 's', 'h', 1, renew_inbox_ids => array_fill(" ME "::uuid, ARRAY[10001])",
          "renew_inbox_ids: " },
    };
    struct t_conn *conn = set_up();

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        const char *sql = say("SELECT {t}process_work_batch(%s)", wrong[i][0]);

        refused(conn, "22023", "process_work_batch: ", sql);
        refused(conn, "22023", wrong[i][1], sql);
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}instance"), 0);
    t_sql(conn, "SELECT " BATCH ", renew_outbox_ids => '{}', max_partitions_per_instance => 1)");
}

/* What only the tables know is wrong: nothing of the call is done either, and the place is named. */
TEST(what_is_not_there_undoes_the_whole_call)
{
    struct t_conn *conn = set_up();
    char before[200];

    t_sql(conn, "SELECT {t}enqueue('t', 'x', stream => 'a')");
    snprintf(before, sizeof(before), "%s", stored(conn));
    refused(conn, "P0002", "receptor_completions: item 0",
            "SELECT " BATCH ", receptor_completions => '[{\"work_id\": \"" NOWHERE
            "\", \"receptor\": \"r\"}]', new_outbox_messages => '[{\"topic\": \"t\", \"payload\": "
            "\"p\"}]')");
    refused(conn, "P0002", "checkpoint_failures: item 1",
            "SELECT " BATCH
            ", checkpoint_completions => '[{\"stream\": \"a\", \"consumer\": \"c\", "
            "\"seq\": 1}]', checkpoint_failures => '[{\"stream\": \"a\", \"consumer\": \"c\", "
            "\"seq\": 1}, {\"stream\": \"none\", \"consumer\": \"c\", \"seq\": 1}]')");
    refused(conn, "22023", "new_outbox_messages: message 1",
            "SELECT " BATCH
            ", new_outbox_messages => jsonb_build_array(jsonb_build_object('topic', "
            "'t', 'payload', 'p'), jsonb_build_object('topic', 't', 'payload', repeat('x', "
            "1048577))))");
    refused(conn, "22023", "new_inbox_messages: item 0",
            "SELECT " BATCH
            ", new_inbox_messages => jsonb_build_array(jsonb_build_object('source', "
            "'s', 'message_id', '1', 'topic', 't', 'payload', repeat('x', 1048577))))");
    CHECK_STR(stored(conn), before);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}instance"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}checkpoints"), 0);
    t_check_places(conn);
}

/* -------------------------------------------------------------------- idle, and time */

TEST(an_idle_call_takes_no_transaction_id)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}enqueue('t', 'x', stream => 'a'), {t}enqueue('t', 'y'), "
                "{t}inbox_receive('s', '1', 't', 'z')");
    work(conn, "");
    t_begin(conn);
    for (int i = 0; i < 3; i++)
        CHECK_STR(work(conn, ""), "");
    work(conn,
         ", outbox_completions => '[]', new_outbox_messages => '[]', renew_inbox_ids => '{}'");
    REQ_STR("BAT-002", t_value(conn, "SELECT pg_current_xact_id_if_assigned()"), "");
    t_commit(conn);
}

#define CALL_OTHER "SELECT count(*) FROM {t}process_work_batch(" OTHER ", 'svc', 'host', 2)"

static long long takes_all(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(*) FROM " BATCH ")");
}

static bool other_comes(struct t_conn *conn)
{
    return t_number(conn, "SELECT comes::int FROM {t}claimer WHERE instance = " OTHER
                          " AND door = 0") != 0;
}

static void put_heads(struct t_conn *conn, const char *prefix)
{
    t_sql(conn, say("SELECT {t}enqueue('t', 'x', stream => '%s' || i) FROM generate_series(1, 8) i",
                    prefix));
    t_clock_advance(store, 2 * T_SECOND); /* longer than the grace */
}

/* Who did not come is marked, and sets that right when it claims: neither waits for the other's
 * transaction. */
TEST(claims_do_not_wait_for_each_others_marks)
{
    struct t_conn *conn = set_up(), *other = a_connection(NULL);

    t_sql(conn, "SET lock_timeout = '100ms'");
    t_sql(other, "SET lock_timeout = '100ms'");
    CHECK_INT(takes_all(conn) + t_number(other, CALL_OTHER), 0);
    put_heads(conn, "a");
    t_begin(conn);
    CHECK_INT(takes_all(conn), 8);
    REQ_INT("STR-014", t_number(other, CALL_OTHER), 0);
    CHECK(other_comes(other));
    t_commit(conn);
    CHECK(!other_comes(other));
    t_begin(other);
    REQ_INT("STR-014", t_number(other, CALL_OTHER), 0);
    CHECK(other_comes(other));
    put_heads(conn, "b");
    REQ_INT("STR-014", takes_all(conn), 8);
    t_commit(other);
    CHECK(other_comes(conn));
    t_disconnect(other);
    t_disconnect(conn);
}
