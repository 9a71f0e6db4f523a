/* schedule_sql_test.c - timers, jobs, job runs and the scheduler's functions as SQL sees them. */
#include "common.h"

#define OWNER "'11111111-1111-4111-8111-111111111111'"
#define OTHER "'22222222-2222-4222-8222-222222222222'"
/* The clock of these tests, as SQL. */
#define NOW "'2023-11-14T22:13:20Z'"

/* What a tick answers, and how to hand it on to work_advance. */
#define TICK "{t}work_tick(" OWNER ", 100, true, true)"

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

    CHECK_INT(t_number(conn, say("SELECT count(*) %s", which)), 1);
    CHECK_STR(t_value(conn, say("SELECT pg_get_function_arguments(oid) %s", which)), arguments);
    CHECK_STR(t_value(conn, say("SELECT pg_get_function_result(oid) %s", which)), result);
}

TEST(functions_of_timers_and_jobs_have_the_agreed_signatures)
{
    struct t_conn *conn = set_up();

    check_function(conn, "timer_schedule",
                   "topic text, payload text, due_at timestamp with time zone, "
                   "namespace text DEFAULT ''::text, correlation_id text DEFAULT NULL::text, "
                   "headers jsonb DEFAULT NULL::jsonb",
                   "uuid");
    check_function(conn, "timer_cancel", "timer_id uuid", "boolean");
    check_function(conn, "job_set",
                   "name text, topic text, cron text, payload text DEFAULT NULL::text, "
                   "timezone text DEFAULT 'UTC'::text, misfire text DEFAULT 'once'::text, "
                   "misfire_limit integer DEFAULT 100, overlap text DEFAULT 'allow'::text, "
                   "namespace text DEFAULT ''::text",
                   "void");
    check_function(conn, "job_delete", "name text", "boolean");
    check_function(conn, "job_trigger", "name text", "uuid");
    check_function(conn, "job_pause", "name text", "void");
    check_function(conn, "job_resume", "name text", "void");
}

/* What every door has differs from the outbox by its name only. */
TEST(every_door_has_the_same_functions)
{
    struct t_conn *conn = set_up();
    static const char *const doors[] = { "timers", "job_runs" };

    for (size_t i = 0; i < 2; i++)
        CHECK_STR(
            t_value(conn,
                    say("SELECT string_agg(o.proname || ':' || (pg_get_function_arguments(o.oid) = "
                        "pg_get_function_arguments(p.oid) AND pg_get_function_result(o.oid) = "
                        "pg_get_function_result(p.oid)), ' ' ORDER BY o.proname) "
                        "FROM pg_proc o LEFT JOIN pg_proc p ON p.pronamespace = o.pronamespace "
                        "AND p.proname = replace(o.proname, '{p}outbox_', '{p}%s_') "
                        "WHERE o.pronamespace = '{schema}'::regnamespace "
                        "AND starts_with(o.proname, '{p}outbox_')",
                        doors[i])),
            "outbox_abandon:true outbox_ack:true outbox_claim:true outbox_fail:true "
            "outbox_reap_expired:true outbox_release:true outbox_renew:true");
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

#define TIMER_COLUMNS                                                                              \
    "id uuid, namespace text, topic text, payload text, correlation_id text, headers jsonb, "      \
    "created_at timestamp with time zone, due_time_utc timestamp with time zone, status text, "    \
    "status_code integer, attempts integer, max_attempts integer, retry_count integer, "           \
    "last_error text, next_attempt_at timestamp with time zone, "                                  \
    "locked_until timestamp with time zone, owner_token uuid, fence bigint, "                      \
    "is_processed boolean, processed_at timestamp with time zone, processed_by text, "             \
    "updated_at timestamp with time zone"

TEST(views_of_timers_and_jobs_have_the_agreed_columns)
{
    struct t_conn *conn = set_up();

    check_columns(conn, "timers", TIMER_COLUMNS);
    check_columns(conn, "job_runs",
                  TIMER_COLUMNS
                  ", job text, scheduled_at timestamp with time zone, triggered boolean");
    check_columns(conn, "jobs",
                  "name text, namespace text, topic text, payload text, cron text, timezone text, "
                  "misfire text, misfire_limit integer, overlap text, paused boolean, "
                  "problem text, next_at timestamp with time zone, "
                  "last_at timestamp with time zone, last_run uuid, skipped bigint, "
                  "created_at timestamp with time zone, updated_at timestamp with time zone");
}

/* --------------------------------------------------------------------- timers */

TEST(a_timer_is_shown_as_it_was_scheduled)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}timer_schedule(topic => 'remind', payload => '', "
                "due_at => '2024-01-01Z', namespace => 'n', correlation_id => 'c', "
                "headers => '{\"k\": 1}')");
    CHECK_STR(t_value(conn, "SELECT concat_ws('|', topic, payload, namespace, correlation_id, "
                            "headers, due_time_utc, next_attempt_at, status, attempts, "
                            "max_attempts, retry_count) FROM {t}timers"),
              "remind||n|c|{\"k\": 1}|2024-01-01 00:00:00+00|2024-01-01 00:00:00+00|ready|0|10|0");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 0);
    CHECK_STR(t_value(conn, "SELECT string_agg(door || ':' || namespace, ' ' ORDER BY door, "
                            "namespace) FROM {t}queues"),
              "outbox: timers:n");
    /* a due time in the past means now */
    t_sql(conn, "SELECT {t}timer_schedule('past', 'p', '2000-01-01Z', correlation_id => '')");
    CHECK_STR(t_value(conn, "SELECT concat_ws('|', due_time_utc, next_attempt_at, "
                            "correlation_id IS NULL) FROM {t}timers WHERE topic = 'past'"),
              "2000-01-01 00:00:00+00|2023-11-14 22:13:20+00|t");
    t_check_places(conn);
}

TEST(bad_timers_are_refused)
{
    struct t_conn *conn = set_up();
    const char *before = stored(conn);

#define BAD(text, call) refused(conn, "22023", text, "SELECT {t}timer_schedule(" call ")")
    BAD("timer_schedule: topic is null", "NULL, 'p', " NOW);
    BAD("timer_schedule: topic is empty", "'', 'p', " NOW);
    BAD("topic has 256 characters", "repeat('ä', 256), 'p', " NOW);
    BAD("payload is null", "'t', NULL, " NOW);
    BAD("payload has 1048577 bytes", "'t', repeat('x', 1048577), " NOW);
    BAD("due_at is null; a timer needs it", "'t', 'p', NULL");
    BAD("before the year 2000; its unit is probably wrong", "'t', 'p', '1999-12-31Z'");
    BAD("unit is probably wrong", "'t', 'p', to_timestamp(1700000000 / 1000)");
    BAD("outside the years 1 to 9999", "'t', 'p', 'infinity'");
    BAD("outside the years 1 to 9999", "'t', 'p', '10000-01-01Z'");
    BAD("namespace is null", "'t', 'p', " NOW ", NULL");
    BAD("namespace has 256 characters", "'t', 'p', " NOW ", repeat('n', 256)");
    BAD("correlation_id has 256", "'t', 'p', " NOW ", '', repeat('c', 256)");
    BAD("headers are not a JSON object", "'t', 'p', " NOW ", '', NULL, '[1]'");
#undef BAD
    refused(conn, "22023", "timer_cancel: timer_id is null", "SELECT {t}timer_cancel(NULL)");
    CHECK_STR(stored(conn), before);
    t_sql(conn, "SELECT {t}timer_schedule(repeat('ä', 255), '', '9999-12-31T23:59:59.999999Z', "
                "repeat('n', 255), repeat('c', 255))");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}timers"), 1);
}

/* Producers may call work_enqueue: it lets nothing odd behind the other doors. */
TEST(work_enqueue_keeps_the_doors)
{
    struct t_conn *conn = set_up();
    static const struct {
        const char *arguments, *problem;
    } cases[] = {
        { "3::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, 1::smallint, " NOW
          ", NULL, NULL, NULL, NULL, NULL",
          "job runs cannot be enqueued: only schedulers and job_trigger make them" },
        { "1::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, 1::smallint, NULL, NULL, NULL, "
          "NULL, NULL, NULL",
          "source is null; it is required" },
        { "4::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, 1::smallint, NULL, NULL, NULL, "
          "NULL, NULL, NULL",
          "there is no door 4 to enqueue into" },
        { "NULL, '', 't', 'p', NULL, NULL, NULL, NULL, 1::smallint, NULL, NULL, NULL, NULL, "
          "NULL, NULL",
          "there is no door null to enqueue into" },
        { "2::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, 0::smallint, " NOW
          ", NULL, NULL, NULL, NULL, NULL",
          "a timer has no priority, tenant, dedupe key, message id, expiry, max_attempts or join" },
        { "2::smallint, '', 't', 'p', NULL, 'k', NULL, NULL, 1::smallint, " NOW
          ", NULL, NULL, NULL, NULL, NULL",
          "a timer has no priority, tenant, dedupe key, message id, expiry, max_attempts or join" },
        { "2::smallint, '', 't', 'p', NULL, NULL, NULL, NULL, 1::smallint, " NOW
          ", '2999-01-01Z', NULL, NULL, NULL, NULL",
          "a timer has no priority, tenant, dedupe key, message id, expiry, max_attempts or join" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR(t_value(conn, say("SELECT problem FROM {t}work_enqueue(%s)", cases[i].arguments)),
                  cases[i].problem);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
}

TEST(a_timer_is_cancelled_until_it_is_claimed)
{
    struct t_conn *conn = set_up(), *rival = a_connection(NULL);
    const char *timer = t_value(conn, "SELECT {t}timer_schedule('t', 'p', " NOW ")");
    const char *cancel = say("SELECT {t}timer_cancel('%s')", timer);
    const char *claim = "SELECT work_id FROM {t}timers_claim(" OWNER ", 30, 1)";

    CHECK_STR(t_value(conn, "SELECT {t}timer_cancel(gen_random_uuid())"), "f");
    t_begin(conn); /* a claim that is not yet committed: the cancel waits */
    CHECK_STR(t_value(conn, claim), timer);
    t_sql(rival, "SET lock_timeout = '100ms'");
    refused(rival, "55P03", "lock timeout", cancel);
    t_commit(conn);
    CHECK_STR(t_value(rival, cancel), "f");
    t_sql(conn, say("SELECT {t}timers_abandon(" OWNER ", '{%s}', delay => '10 s')", timer));
    t_begin(rival);
    CHECK_STR(t_value(rival, cancel), "t"); /* found under its new due, with its history */
    CHECK_STR(t_value(rival, cancel), "f");
    t_rollback(rival);
    t_clock_advance(store, 10 * T_SECOND);
    t_begin(rival); /* a cancel that is not yet committed: the claim passes it over */
    CHECK_STR(t_value(rival, cancel), "t");
    CHECK_STR(t_value(conn, claim), "");
    t_commit(rival);
    CHECK_STR(t_value(conn, claim), "");
    CHECK_INT(t_number(conn, "SELECT (SELECT count(*) FROM {t}message) + "
                             "(SELECT count(*) FROM {t}attempt_log)"),
              0);
    t_check_places(conn);
}

TEST(only_timers_are_cancelled)
{
    struct t_conn *conn = set_up();
    const char *id =
        t_value(conn, "SELECT ({t}enqueue('t', 'p', due_at => '2024-01-01Z')).work_id");

    CHECK_STR(t_value(conn, say("SELECT {t}timer_cancel('%s')", id)), "f");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 1);
}

/* ---------------------------------------------------------------------- doors */

TEST(timers_live_like_messages_behind_their_own_door)
{
    struct t_conn *conn = set_up();
    const char *ids;

    t_sql(conn, "SELECT {t}timer_schedule('t', 'p' || i, " NOW ") FROM generate_series(1, 5) i");
    CHECK_STR(t_value(conn, "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 30, 10)"), "0");
    CHECK_STR(t_value(conn, "SELECT count(*) FROM {t}job_runs_claim(" OWNER ", 30, 10)"), "0");
    ids = t_value(conn, "SELECT array_agg(work_id) FROM {t}timers_claim(" OWNER ", 30, 10)");
    CHECK_STR(
        t_value(conn, say("SELECT DISTINCT outcome FROM {t}outbox_ack(" OWNER ", '%s')", ids)),
        "unknown");
#define OUTCOME(call)                                                                              \
    t_value(conn, say("SELECT outcome FROM {t}timers_" call, say("('%s'::uuid[])", ids)))
    CHECK_STR(OUTCOME("renew(" OWNER ", (%s)[1:1], 60)"), "renewed");
    CHECK_STR(OUTCOME("ack(" OWNER ", (%s)[1:1])"), "acked");
    CHECK_STR(OUTCOME("abandon(" OWNER ", (%s)[2:2], 'why')"), "abandoned");
    CHECK_STR(OUTCOME("fail(" OWNER ", (%s)[3:3], 'why')"), "failed");
    CHECK_STR(OUTCOME("release(" OWNER ", (%s)[4:4])"), "released");
    CHECK_STR(OUTCOME("ack(" OTHER ", (%s)[5:5])"), "stale");
#undef OUTCOME
    CHECK_STR(t_value(conn, "SELECT string_agg(status || attempts || retry_count || "
                            "coalesce(last_error, '-') || is_processed, ' ' ORDER BY payload) "
                            "FROM {t}timers"),
              "done10-true ready11whyfalse failed10whyfalse ready00-false in_progress10-false");
    t_clock_advance(store, 61 * T_SECOND);
    CHECK_INT(t_number(conn, "SELECT {t}outbox_reap_expired()"), 0);
    CHECK_INT(t_number(conn, "SELECT {t}job_runs_reap_expired()"), 0);
    CHECK_INT(t_number(conn, "SELECT {t}timers_reap_expired()"), 1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}dead_retry(ARRAY(SELECT id FROM "
                             "{t}dead_letters))"),
              1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}timers WHERE status = 'ready'"), 4);
    t_check_places(conn);
}

TEST(every_door_has_queues_with_settings)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}queue_set('timers', 'a', '{\"max_attempts\": 3}'), "
                "{t}queue_set('job_runs', 'a', '{\"retention_s\": 5}'), "
                "{t}queue_pause('job_runs', '')");
    CHECK_STR(t_value(conn, "SELECT string_agg(concat_ws(',', door, namespace, max_attempts, "
                            "retention_s, paused), ' ' ORDER BY door, namespace) FROM {t}queues"),
              "job_runs,,10,604800,t job_runs,a,10,5,f outbox,,10,604800,f timers,a,3,604800,f");
    refused(conn, "22023", "there is no door \"attic\"", "SELECT {t}queue_pause('attic', '')");
    refused(conn, "22023", "outbox, inbox, timers, job_runs", "SELECT {t}queue_resume(NULL, '')");
    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', " NOW ", 'a')");
    t_sql(conn, "SELECT {t}timers_claim(" OWNER ", 30, 1, 'a')");
    CHECK_STR(t_value(conn, "SELECT max_attempts FROM {t}timers"), "3");
}

/* ----------------------------------------------------------------------- tick */

#define NUMBERS                                                                                    \
    "SELECT concat_ws(',', timers, job_runs, joins, next_at - now, more, namespaces) FROM "

TEST(a_tick_turns_due_timers_into_messages)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}timer_schedule('t' || i, 'p' || i, " NOW "::timestamptz + interval '1 "
                "s' * (5 - i), CASE i % 2 WHEN 0 THEN 'n' ELSE '' END, 'c' || i, "
                "jsonb_build_object('i', i)) FROM generate_series(1, 4) i");
    CHECK_STR(t_value(conn, NUMBERS TICK), "0,0,0,00:00:01,f");
    t_clock_advance(store, 3 * T_SECOND);
    CHECK_STR(t_value(conn, "SELECT string_agg(topic, ',') FROM {t}outbox"), "");
    CHECK_STR(t_value(conn, NUMBERS "{t}work_tick(" OWNER ", 2, true, true)"),
              "2,0,0,00:00:01,t,{\"\",n}");
    CHECK_STR(t_value(conn, NUMBERS TICK), "1,0,0,00:00:01,f,{n}");
    CHECK_STR(t_value(conn, "SELECT string_agg(concat_ws(',', o.topic, o.payload, o.namespace, "
                            "o.correlation_id, o.headers, o.priority, o.due_time_utc IS NULL, "
                            "o.next_attempt_at - {t}clock(), o.status, o.attempts, "
                            "o.message_id = t.id, t.status, t.processed_by), ' ' ORDER BY o.id) "
                            "FROM {t}outbox o JOIN {t}timers t USING (topic)"),
              "t4,p4,n,c4,{\"i\": 4},1,t,00:00:00,ready,0,t,done,"
              "11111111-1111-4111-8111-111111111111 "
              "t3,p3,,c3,{\"i\": 3},1,t,00:00:00,ready,0,t,done,"
              "11111111-1111-4111-8111-111111111111 "
              "t2,p2,n,c2,{\"i\": 2},1,t,00:00:00,ready,0,t,done,"
              "11111111-1111-4111-8111-111111111111");
    CHECK_STR(t_value(conn, NUMBERS "{t}work_tick(" OWNER ", 2, false, true)"), "0,0,0,f");
    t_check_places(conn);
}

TEST(a_tick_with_nothing_to_do_writes_nothing)
{
    struct t_conn *conn = set_up();
    const char *before;

    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', '2030-01-01Z', i::text) "
                "FROM generate_series(1, 20) i");
    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily'), {t}job_pause('j')");
    before = stored(conn);
    t_begin(conn);
    CHECK_STR(t_value(conn, "SELECT timers FROM " TICK), "0");
    CHECK_STR(t_value(conn, "SELECT pg_current_xact_id_if_assigned() IS NULL"), "t");
    t_commit(conn);
    CHECK_STR(stored(conn), before);
}

/* Queues of very different lengths, with equal due times too. */
TEST(a_tick_takes_the_oldest_of_all_namespaces)
{
    struct t_conn *conn = set_up();

    t_sql(conn,
          "SELECT {t}timer_schedule('t', 'p', " NOW "::timestamptz - interval '1 h' + interval "
          "'1 ms' * (i * 7919 % 50), CASE WHEN i % 3 = 0 THEN 'a' ELSE 'n' || i % 9 END) "
          "FROM generate_series(1, 700) i");
    /* a due time in the past counts as now: let time pass, so that they differ */
    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', " NOW "::timestamptz + interval "
                "'1 ms' * (i * 7919 % 50), CASE WHEN i < 300 THEN 'b' ELSE 'm' || i % 40 END) "
                "FROM generate_series(1, 700) i");
    t_clock_advance(store, T_SECOND);
    for (int left = 1400; left > 0; left -= 100)
        CHECK_STR(t_value(conn, "SELECT timers || ' ' || more FROM " TICK), "100 true");
    CHECK_STR(t_value(conn, "SELECT timers || ' ' || more FROM " TICK), "0 false");
    CHECK_STR(t_value(conn,
                      "SELECT count(*) || ' ' || count(*) FILTER (WHERE made <> due) FROM (SELECT "
                      "row_number() OVER (ORDER BY o.id) AS made, row_number() OVER (ORDER BY "
                      "greatest(t.due_at, t.created_at), t.id) AS due FROM {t}message o "
                      "JOIN {t}message t ON t.id = o.message_id) x"),
              "1400 0");
    t_check_places(conn);
}

TEST(a_tick_respects_pauses_and_delete_on_ack)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', " NOW "::timestamptz + i * interval '1 s', "
                "'n' || i) FROM generate_series(0, 2) i");
    t_sql(conn, "SELECT {t}queue_pause('timers', 'n0'), "
                "{t}queue_set('timers', 'n2', '{\"delete_on_ack\": true}')");
    CHECK_STR(t_value(conn, NUMBERS TICK), "0,0,0,00:00:01,f");
    t_clock_advance(store, 5 * T_SECOND);
    CHECK_STR(t_value(conn, NUMBERS TICK), "2,0,0,f,{n1,n2}");
    CHECK_STR(t_value(conn, "SELECT string_agg(namespace || status, ' ' ORDER BY namespace) "
                            "FROM {t}timers"),
              "n0ready n1done");
    CHECK_STR(t_value(conn, "SELECT string_agg(namespace || payload, ' ' ORDER BY namespace) "
                            "FROM {t}outbox"),
              "n1p n2p");
    t_sql(conn, "SELECT {t}queue_resume('timers', 'n0')");
    CHECK_STR(t_value(conn, NUMBERS TICK), "1,0,0,f,{n0}");
    t_check_places(conn);
}

/* Two schedulers at once: each row goes to one of them. */
TEST(a_tick_passes_over_what_another_has_locked)
{
    struct t_conn *conn = set_up(), *rival = a_connection(NULL);

    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', " NOW ") FROM generate_series(1, 10)");
    t_begin(conn);
    CHECK_STR(t_value(conn, "SELECT timers FROM {t}work_tick(" OWNER ", 4, true, true)"), "4");
    CHECK_STR(t_value(rival, "SELECT timers FROM {t}work_tick(" OTHER ", 4, true, true)"), "4");
    CHECK_STR(t_value(rival, "SELECT timers FROM {t}work_tick(" OTHER ", 4, true, true)"), "2");
    CHECK_STR(t_value(rival, "SELECT timers FROM {t}work_tick(" OTHER ", 4, true, true)"), "0");
    t_rollback(conn);
    CHECK_STR(t_value(rival, "SELECT timers FROM {t}work_tick(" OTHER ", 10, true, true)"), "4");
    CHECK_INT(t_number(conn, "SELECT count(DISTINCT message_id) FROM {t}outbox"), 10);
    t_check_places(conn);
}
