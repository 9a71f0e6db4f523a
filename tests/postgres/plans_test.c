/* plans_test.c - the plan of every statement inside the hot functions, as
 * auto_explain reports it: by index, without sorting, hashing or bitmaps,
 * whatever the planner knows (or does not know) about the tables.
 *
 * Allowed is a Sort, Hash or Merge over the caller's own arrays, with no table
 * of ours beneath: enqueue_many sorts its keys so that two calls lock them in
 * one order. And work_hold, which looks for messages wherever they are, may read
 * the leases (a row per batch under way), and sort what it found. Instances are few. */
#include "common.h"

#include <jansson.h>
#include <libpq-fe.h>
#include <stdlib.h>

#define OWNER "'11111111-1111-4111-8111-111111111111'"

struct plans {
    int statements; /* seen */
    int bad;
};

/* ---------------------------------------------------------------- judging a plan */

static bool touches_a_table(const json_t *node)
{
    size_t i;
    json_t *child;

    if (json_object_get(node, "Relation Name"))
        return true;
    json_array_foreach(json_object_get(node, "Plans"), i, child)
    {
        if (touches_a_table(child))
            return true;
    }
    return false;
}

/* By its constraint, or because it is a sequence: a scan is as good as an index. */
static bool has_one_row(const char *table)
{
    return strcmp(table, "store") == 0 || strcmp(table, "retention_turn") == 0 ||
           strcmp(table, "fence") == 0;
}

/* There are as many rows as programs that work here, and a call looks at all that live. */
static bool is_of_instances(const json_t *node)
{
    const char *table = json_string_value(json_object_get(node, "Relation Name"));
    const char *index = json_string_value(json_object_get(node, "Index Name"));

    return (table && strcmp(table, "instance") == 0) ||
           (index && strncmp(index, "instance_", 9) == 0);
}

/* The two statements of work_hold. */
static bool looks_everywhere(const char *query)
{
    return strstr(query, "work_state") || strstr(query, "unnest(_message_ids)");
}

/* Of several topics the first rows of each are merged: work_pick_topics. */
static bool merges_topics(const char *query)
{
    return strstr(query, "unnest(_hashes)") != NULL;
}

/* What is wrong with this node, or NULL. */
static const char *complaint(const json_t *node, const char *query)
{
    const char *type = json_string_value(json_object_get(node, "Node Type"));
    const char *table = json_string_value(json_object_get(node, "Relation Name"));

    if (is_of_instances(node))
        return NULL;
    if (looks_everywhere(query) &&
        (strcmp(type, "Sort") == 0 || (table && strcmp(table, "lease") == 0)))
        return NULL;
    if (strcmp(type, "Seq Scan") == 0 && !has_one_row(table))
        return say("a sequential scan of %s", table);
    if (strncmp(type, "Bitmap", 6) == 0 || strcmp(type, "Gather") == 0)
        return say("a node of type %s", type);
    if (merges_topics(query) && strstr(type, "Sort"))
        return NULL;
    if ((strstr(type, "Sort") || strncmp(type, "Hash", 4) == 0 || strncmp(type, "Merge", 5) == 0 ||
         strcmp(type, "Memoize") == 0) &&
        touches_a_table(node))
        return say("a node of type %s over a table", type);
    return NULL;
}

static void judge(const json_t *node, const char *query, struct plans *plans)
{
    const char *what = complaint(node, query);
    size_t i;
    json_t *child;

    if (what) {
        printf("%s in: %.1200s\n", what, query);
        plans->bad++;
    }
    json_array_foreach(json_object_get(node, "Plans"), i, child) judge(child, query, plans);
}

/* auto_explain sends "duration: 0.123 ms  plan:\n{…}" as a notice. */
static void receive(void *context, const PGresult *notice)
{
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    const char *start = text ? strchr(text, '{') : NULL;
    struct plans *plans = context;
    json_t *json;

    if (!start || strncmp(text, "duration:", 9) != 0)
        return;
    json = json_loads(start, 0, NULL);
    if (!json) {
        printf("not JSON: %s\n", start);
        plans->bad++;
        return;
    }
    plans->statements++;
    judge(json_object_get(json, "Plan"), json_string_value(json_object_get(json, "Query Text")),
          plans);
    json_decref(json);
}

static struct t_conn *explaining(struct plans *plans)
{
    struct t_conn *conn = a_connection(NULL);

    t_sql(conn, "LOAD 'auto_explain'");
    t_sql(conn,
          "SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; "
          "SET auto_explain.log_format = json; SET auto_explain.log_level = notice; "
          "SET client_min_messages = notice");
    PQsetNoticeReceiver((PGconn *)t_native(conn), receive, plans);
    return conn;
}

/* Runs one call; at least so many statements must have been seen inside it. */
static void look(struct t_conn *conn, struct plans *plans, int statements, const char *call)
{
    plans->statements = plans->bad = 0;
    t_sql(conn, say("SELECT {t}%s", call));
    if (plans->bad || plans->statements < statements)
        printf("SELECT {t}%s: %d statements, %d bad nodes\n", call, plans->statements, plans->bad);
    REQ_INT("OBX-119", plans->bad, 0);
    CHECK(plans->statements >= statements);
}

/* ---------------------------------------------------------------------- the calls */

/* Claims n messages; the claim itself was looked at before. */
static void claim(struct t_conn *conn, int n, const char **ret_ids, const char **ret_fences)
{
    const char *arrays =
        t_value(conn, say("SELECT concat_ws(' ', array_agg(work_id), array_agg(fence)) "
                          "FROM {t}outbox_claim(" OWNER ", 30, %d)",
                          n));
    const char *blank = strchr(arrays, ' ');

    CHECK(blank != NULL);
    *ret_ids = say("'%.*s'", (int)(blank - arrays), arrays);
    *ret_fences = say("'%s'", blank + 1);
}

/* With and without fences, part of a batch and all of it. */
static void look_at_settling(struct t_conn *conn, struct plans *plans, const char *verb)
{
    const char *lease = strcmp(verb, "renew") == 0 ? ", 30" : "";
    const char *ids, *fences;

    for (int part = 0; part < 2; part++) {
        const char *slice = part ? "[2:3]" : "";

        claim(conn, 4, &ids, &fences);
        look(conn, plans, 4,
             say("outbox_%s(" OWNER ", (%s::uuid[])%s%s)", verb, ids, slice, lease));
        claim(conn, 4, &ids, &fences);
        look(conn, plans, 4,
             say("outbox_%s(" OWNER ", (%s::uuid[])%s%s, fences => (%s::bigint[])%s)", verb, ids,
                 slice, lease, fences, slice));
    }
}

/* Texts that outlive say()'s. */
struct steps {
    char join[PH_ID_TEXT_SIZE + 2], ids[4000];
};

static void start(struct t_conn *conn, struct steps *to, int expected)
{
    const char *sql = say("SELECT {t}join_start(%d, deadline => {t}clock() + '10 s')", expected);

    snprintf(to->join, sizeof(to->join), "'%s'", t_value(conn, sql));
}

static void claim_steps(struct t_conn *conn, struct steps *to, int n)
{
    const char *sql =
        say("SELECT array_agg(work_id) FROM {t}outbox_claim(" OWNER ", 30, %d, topics "
            "=> '{step}')",
            n);

    snprintf(to->ids, sizeof(to->ids), "'%s'", t_value(conn, sql));
}

/* Acks every second step, then fails the others; the last one fires the wait. */
static void look_at_counting(struct t_conn *conn, struct plans *plans, int count)
{
    static const char *const verbs[] = { "ack", "fail" };
    struct steps steps;

    start(conn, &steps, count);
    look(conn, plans, 5,
         say("enqueue_many((SELECT jsonb_agg(jsonb_build_object('topic', 'step', 'payload', 'p', "
             "'priority', 0, 'join_id', %s)) FROM generate_series(1, %d)))",
             steps.join, count));
    look(conn, plans, 4, say("join_wait(%s, true, 'a', 'b', 'c', 'd')", steps.join));
    claim_steps(conn, &steps, count);
    for (int i = 0; i < 2; i++)
        look(conn, plans, 8,
             say("outbox_%s(" OWNER ", ARRAY(SELECT id FROM unnest(%s::uuid[]) WITH ORDINALITY "
                 "u(id, i) WHERE i %% 2 = %d))",
                 verbs[i], steps.ids, i));
    CHECK_STR(t_value(conn, say("SELECT status FROM {t}joins WHERE id = %s", steps.join)),
              "failed");
}

static void look_at_joins(struct t_conn *conn, struct plans *plans)
{
    struct steps steps;

    look_at_counting(conn, plans, 2);
    look_at_counting(conn, plans, 40);
    look(conn, plans, 2, "join_start(3)");
    start(conn, &steps, 9);
    look(conn, plans, 5, say("enqueue('step', 'p', priority => 0, join_id => %s)", steps.join));
    look(conn, plans, 6,
         say("join_attach(%s, '%s')", steps.join,
             t_value(conn, "SELECT ({t}enqueue('step', 'p', priority => "
                           "0)).message_id")));
    claim_steps(conn, &steps, 2);
    start(conn, &steps, 9);
    look(conn, plans, 6, say("join_attach_many(%s, %s)", steps.join, steps.ids));
    look(conn, plans, 4, say("join_report_failed(%s, (%s::uuid[])[2])", steps.join, steps.ids));
    look(conn, plans, 4, say("join_cancel(%s)", steps.join));
    start(conn, &steps, 1); /* ended by its deadline, later */
}

/* Until the queue has the index on topics, and with it. */
static void look_at_topics(struct t_conn *conn, struct plans *plans)
{
    static const char *const topics[] = { "one", "one,u" };
    double end = t_now_s() + 30;

    t_sql(conn, "SELECT {t}enqueue('one', 'p') FROM generate_series(1, 4)");
    do {
        look(conn, plans, 4, "outbox_claim(" OWNER ", 30, 1, topics => '{nothing}')");
    } while (t_number(conn, "SELECT by_topic FROM {t}queue WHERE namespace = '' AND door = 0") <
                 2 &&
             t_now_s() < end);
    for (int i = 0; i < 2; i++)
        look(conn, plans, 6, say("outbox_claim(" OWNER ", 30, 2, topics => '{%s}')", topics[i]));
}

static void look_at_everything(struct t_conn *conn, struct plans *plans)
{
    static const char *const verbs[] = { "ack", "abandon", "fail", "release", "renew" };

    look(conn, plans, 2, "enqueue('t', 'p')");
    look(conn, plans, 3, "enqueue('t', 'p', dedupe_key => 'k')");
    look(conn, plans, 3, "enqueue('t', 'p', dedupe_key => 'k')");
    look(conn, plans, 3, "enqueue('t', 'p', 'new ' || clock_timestamp())");
    look(conn, plans, 5,
         "enqueue_many((SELECT jsonb_agg(jsonb_build_object('topic', 't', 'payload', 'p', "
         "'dedupe_key', CASE WHEN i % 2 = 0 THEN 'k' || i END)) FROM generate_series(1, 120) i))");
    look(conn, plans, 5, "outbox_claim(" OWNER ", 30, 3)");
    look(conn, plans, 5, "outbox_claim(" OWNER ", 30, 3, topics => '{t,u}')");
    look(conn, plans, 5,
         "outbox_claim(" OWNER ", 30, 3, from_due => '{-infinity,-infinity,-infinity,-infinity}')");
    look(conn, plans, 1, "outbox_claim(" OWNER ", 30, 3, 'there is no such namespace')");
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        look_at_settling(conn, plans, verbs[i]);
    look(conn, plans, 4, "outbox_ack(" OWNER ", ARRAY[gen_random_uuid()])");
    look_at_joins(conn, plans);
    look_at_topics(conn, plans);
}

/* Leases that ran out, messages that expired or spent their attempts, retention. */
static void look_at_the_rest(ph_store *store, struct t_conn *conn, struct plans *plans)
{
    t_sql(conn,
          "SELECT {t}enqueue('t', 'p', expires_at => {t}clock() + interval '1 s', priority => 0)");
    t_sql(
        conn,
        "SELECT {t}enqueue('t', 'p', max_attempts => 1, priority => 0) FROM generate_series(1, 4)");
    t_sql(conn, "SELECT {t}outbox_claim(" OWNER ", 30, 2)");
    t_clock_advance(store, 31 * T_SECOND);
    look(conn, plans, 5, "outbox_reap_expired()");
    t_sql(conn, "SELECT {t}outbox_claim(" OWNER ", 1, 2, topics => '{t,u}')");
    t_clock_advance(store, 31 * T_SECOND);
    look(conn, plans, 9, "outbox_claim(" OWNER ", 30, 3)"); /* takes the leases back by itself */
    t_sql(conn,
          "SELECT {t}enqueue('t', 'p', expires_at => {t}clock() + interval '1 s', priority => 0)");
    t_clock_advance(store, 2 * T_SECOND);
    look(conn, plans, 6, "outbox_claim(" OWNER ", 30, 3)"); /* buries */
    t_sql(conn, "SELECT {t}queue_set('outbox', '', '{\"retention_s\": 1, \"dead_retention_s\": 1, "
                "\"dedupe_retention_s\": 1}')");
    t_clock_advance(store, 10 * T_SECOND);
    look(conn, plans, 6, "retention_run()");
}

/* A tick with nothing to do, with due timers and runs of one namespace and of several, and jobs. */
static void look_at_the_schedule(ph_store *store, struct t_conn *conn, struct plans *plans)
{
    static const char *const tick = "work_tick(" OWNER ", 20, true, true)";

    look(conn, plans, 6, tick);
    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', {t}clock()) FROM generate_series(1, 50)");
    look(conn, plans, 12, tick);
    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', {t}clock(), 'n' || i % 5) "
                "FROM generate_series(1, 50) i");
    look(conn, plans, 12, tick);
    look(conn, plans, 3, "timer_cancel((SELECT {t}timer_schedule('t', 'p', '2030-01-01Z')))");
    t_sql(conn, "SELECT {t}job_set('skip', 't', '@daily', overlap => 'skip', namespace => 'x'), "
                "{t}job_set('allow', 't', '@daily', namespace => 'y')");
    look(conn, plans, 6, tick);
    for (int i = 0; i < 3; i++) {
        const char *seen =
            t_value(conn, "SELECT format('%L, %L, %L', array_agg(name), array_agg(generation), "
                          "array_agg(next_at)) FROM {t}job WHERE namespace IN ('x', 'y')");

        look(conn, plans, 20,
             say("work_advance(%s, array_fill({t}clock(), '{2}'), '{NULL,NULL}', '{3,6}', ARRAY("
                 "SELECT {t}clock() + i * interval '1 us' FROM generate_series(1, 6) i))",
                 seen));
        look(conn, plans, 12, tick);
        t_clock_advance(store, T_SECOND);
    }
    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', {t}clock() + interval '1 h')");
    look(conn, plans, 6, tick);
}

/* Streams: producers, runs, the ends of runs, lost ones, blocked ones; and the one exchange. */
static void look_at_streams(ph_store *store, struct t_conn *conn, struct plans *plans)
{
    static const char *const verbs[] = { "ack", "abandon", "fail", "release" };
    struct steps taken;

    t_sql(conn, "SELECT {t}queue_set('outbox', 's', '{\"dead_head\": \"skip\"}')");
    look(conn, plans, 4, "enqueue('t', 'p', 's', stream => 'a')");
    look(conn, plans, 4, "enqueue('t', 'p', 's', stream => 'a')");
    look(conn, plans, 6,
         "enqueue_many((SELECT jsonb_agg(jsonb_build_object('topic', 't', 'payload', 'p', "
         "'namespace', 's', 'stream', 'k' || i % 9)) FROM generate_series(1, 90) i))");
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        look(conn, plans, 5, "outbox_claim(" OWNER ", 30, 10, 's', ARRAY['t'])");
        t_sql(conn, "SELECT {t}outbox_release(" OWNER ", ARRAY(SELECT id FROM {t}outbox WHERE "
                    "namespace = 's' AND status = 'in_progress'))");
        snprintf(taken.ids, sizeof(taken.ids), "'%s'",
                 t_value(conn,
                         "SELECT array_agg(work_id) FROM {t}outbox_claim(" OWNER ", 30, 10, 's')"));
        look(conn, plans, 4, say("outbox_ack(" OWNER ", (%s::uuid[])[1:1])", taken.ids));
        look(conn, plans, 4, say("outbox_%s(" OWNER ", (%s::uuid[])[2:9])", verbs[i], taken.ids));
    }
    t_sql(conn, "SELECT {t}outbox_claim(" OWNER ", 30, 10, 's')");
    t_clock_advance(store, 31 * T_SECOND);
    look(conn, plans, 5, "outbox_reap_expired()");
    t_sql(conn, "SELECT {t}outbox_claim(" OWNER ", 1, 10, 's')");
    t_clock_advance(store, 31 * T_SECOND);
    look(conn, plans, 5, "outbox_claim(" OWNER ", 30, 10, 's')");
    look(conn, plans, 2, "stream_read('a', 0, 10, 's')");
    look(conn, plans, 2, "work_stream_read(0::smallint, 's', 'a', 0, 10)");
    look(conn, plans, 4, "checkpoint_complete('a', 'c', 1, 's')");
    look(conn, plans, 4, "checkpoint_complete('a', 'c', 1, 's')");
    look(conn, plans, 3, "inbox_receive('x', 'y', 't', 'p')");
    look(conn, plans, 3, "inbox_receive('x', 'y', 't', 'p')");
    look(conn, plans, 5, "inbox_claim(" OWNER ", 30, 10)");
    snprintf(taken.ids, sizeof(taken.ids), "'{%s}'", t_value(conn, "SELECT id FROM {t}inbox"));
    look(conn, plans, 4, say("inbox_ack(" OWNER ", %s)", taken.ids));
    look(conn, plans, 4, say("receptor_complete((%s::uuid[])[1], 'r')", taken.ids));
}

#define INSTANCE "'44444444-4444-4444-8444-444444444444', 'svc', 'h', 1, namespace => 's'"

static void look_at_the_exchange(ph_store *store, struct t_conn *conn, struct plans *plans)
{
    struct steps completed;

    t_sql(conn,
          "SELECT {t}process_work_batch('55555555-5555-4555-8555-555555555555', 'svc', 'h', 1, "
          "flags => 6)");
    look(conn, plans, 4, "process_work_batch(" INSTANCE ")");
    look(conn, plans, 3, "process_work_batch(" INSTANCE ", flags => 6)"); /* idle */
    look(conn, plans, 4, "process_work_batch(" INSTANCE ", max_partitions_per_instance => 2)");
    snprintf(completed.ids, sizeof(completed.ids), "'%s'",
             t_value(conn,
                     "SELECT jsonb_agg(jsonb_build_object('work_id', id)) FROM {t}outbox WHERE "
                     "owner_token = '44444444-4444-4444-8444-444444444444'"));
    look(conn, plans, 8,
         say("process_work_batch(" INSTANCE ", outbox_completions => %s, new_outbox_messages => "
             "'[{\"topic\": \"t\", \"payload\": \"p\", \"namespace\": \"s\", \"stream\": "
             "\"a\"}]', checkpoint_completions => '[{\"stream\": \"a\", \"consumer\": \"c\", "
             "\"seq\": 1, \"namespace\": \"s\"}]')",
             completed.ids));
    t_clock_advance(store, 601 * T_SECOND); /* the other one is removed */
    look(conn, plans, 6, "process_work_batch(" INSTANCE ")");
    look(conn, plans, 4, "instance_leave('44444444-4444-4444-8444-444444444444')");
}

TEST(plans_on_empty_tables_that_were_never_analysed)
{
    ph_store *store = t_open(NULL);
    struct plans plans = { 0 };
    struct t_conn *conn = explaining(&plans);

    t_clock_set(store, T_EPOCH);
    t_sql(conn, "ALTER TABLE {t}message SET (autovacuum_enabled = off)");
    t_sql(conn, "ALTER TABLE {t}pending SET (autovacuum_enabled = off)");
    look(conn, &plans, 2, "outbox_claim(" OWNER ", 30, 3)"); /* planned while nothing was there */
    look_at_everything(conn, &plans);
    look_at_the_rest(store, conn, &plans);
    look_at_the_schedule(store, conn, &plans);
    look_at_streams(store, conn, &plans);
    look_at_the_exchange(store, conn, &plans);
    t_check_places(conn);
}

/* Thousands of rows everywhere. */
static void fill(struct t_conn *conn)
{
    t_sql(conn,
          "SELECT count({t}enqueue('t' || i % 7, 'p', priority => i % 4, "
          "dedupe_key => CASE WHEN i % 3 = 0 THEN 'd' || i END)) FROM generate_series(1, 6000) i");
    t_sql(conn, "DO $$ DECLARE _ids uuid[]; BEGIN "
                "FOR i IN 1 .. 150 LOOP "
                "SELECT array_agg(work_id) INTO _ids FROM {t}outbox_claim(" OWNER ", 30, 10, "
                "topics => CASE WHEN i % 2 = 0 THEN '{t1,t2,t3}'::text[] END); "
                "IF i % 5 = 0 THEN PERFORM {t}outbox_fail(" OWNER ", _ids, 'e'); "
                "ELSIF i % 5 = 1 THEN PERFORM {t}outbox_abandon(" OWNER ", _ids, 'e', '0'); "
                "ELSIF i % 5 < 4 THEN PERFORM {t}outbox_ack(" OWNER ", _ids); END IF; "
                "END LOOP; END $$");
    t_sql(conn, "SELECT count({t}timer_schedule('t', 'p', '2030-01-01Z', 'n' || i % 5)) "
                "FROM generate_series(1, 3000) i");
    t_sql(conn,
          "SELECT {t}job_set('filling ' || i, 't', '@daily') FROM generate_series(1, 1000) i");
    t_sql(conn,
          "SELECT count({t}job_trigger('filling ' || i % 9 + 1)) FROM generate_series(1, 1000) i");
    t_sql(conn, "UPDATE {t}job SET next_at = '2030-01-01Z'");
    t_sql(conn, "SELECT count({t}enqueue('t', 'p', 'full', stream => 's' || i % 500)) "
                "FROM generate_series(1, 2000) i");
    t_sql(conn, "ANALYZE");
}

TEST(plans_on_thousands_of_rows)
{
    ph_store *store = t_open(NULL);
    struct plans plans = { 0 };
    struct t_conn *conn;

    t_clock_set(store, T_EPOCH);
    conn = a_connection(NULL);
    fill(conn);
    t_disconnect(conn);
    conn = explaining(&plans);
    look_at_everything(conn, &plans);
    look_at_the_rest(store, conn, &plans);
    look_at_the_schedule(store, conn, &plans);
    look_at_streams(store, conn, &plans);
    look_at_the_exchange(store, conn, &plans);
    t_check_places(conn);
}

/* ----------------------------------------------------------------------- the view */

/* The first node of the plan that reads this table, or NULL. */
static const json_t *node_of(const json_t *node, const char *table)
{
    const char *name = json_string_value(json_object_get(node, "Relation Name"));
    size_t i;
    json_t *child;

    if (name && strcmp(name, table) == 0)
        return node;
    json_array_foreach(json_object_get(node, "Plans"), i, child)
    {
        const json_t *found = node_of(child, table);

        if (found)
            return found;
    }
    return NULL;
}

static bool uses_an_index(const json_t *plan, const char *table)
{
    const char *type = json_string_value(json_object_get(node_of(plan, table), "Node Type"));

    return type && (strncmp(type, "Index", 5) == 0 || strncmp(type, "Bitmap", 6) == 0);
}

/* A part of the key would do too, but then walks over all that is pending. */
static bool enters_pending_by_its_whole_key(const json_t *plan)
{
    const char *condition =
        json_string_value(json_object_get(node_of(plan, "pending"), "Index Cond"));

    return condition && strstr(condition, "(lane = ") && strstr(condition, "(due = ") &&
           strstr(condition, "(id = ");
}

static json_t *explained(struct t_conn *conn, const char *sql)
{
    json_t *json = json_loads(t_value(conn, sql), 0, NULL);

    CHECK(json != NULL);
    return json;
}

TEST(the_view_finds_each_pending_row_by_its_whole_key)
{
    struct t_conn *conn;
    json_t *json;

    t_open(NULL);
    conn = a_connection(NULL);
    fill(conn); /* and no ANALYZE: the planner has to guess */
    json = explained(conn, "EXPLAIN (FORMAT JSON) SELECT * FROM {t}outbox");
    CHECK(enters_pending_by_its_whole_key(json_object_get(json_array_get(json, 0), "Plan")));
    json_decref(json);
}

/* The lease table is small (a row per batch under way) and is read as a whole. */
TEST(one_message_is_found_in_the_view_by_indexes)
{
    static const char *const tables[] = { "message", "pending", "done", "dead", "attempt_log" };
    struct t_conn *conn;
    const json_t *plan;
    json_t *json;

    t_open(NULL);
    conn = a_connection(NULL);
    fill(conn);
    t_sql(conn, "INSERT INTO {t}done SELECT int8range(i, i, '[]'), clock_timestamp(), "
                "gen_random_uuid(), 1, "
                "ARRAY[gen_random_uuid()] FROM generate_series(1000000, 1005000) i");
    t_sql(conn, "INSERT INTO {t}dead SELECT gen_random_uuid(), clock_timestamp(), NULL, NULL, 1, 1 "
                "FROM generate_series(1, 5000)");
    t_sql(conn, "ANALYZE");
    json = explained(conn, "EXPLAIN (FORMAT JSON) SELECT * FROM {t}outbox "
                           "WHERE id = '99999999-9999-4999-8999-999999999999'");
    plan = json_object_get(json_array_get(json, 0), "Plan");
    CHECK(enters_pending_by_its_whole_key(plan));
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        bool by_index = uses_an_index(plan, tables[i]);

        if (!by_index)
            printf("%s\n", tables[i]);
        REQ("OBX-119", by_index);
    }
    json_decref(json);
}
