/* schedule_jobs_test.c - jobs and their runs as SQL sees them: what users call, and what a
 * scheduler makes of it through work_tick and work_advance. */
#include "common.h"

#define OWNER "'11111111-1111-4111-8111-111111111111'"
#define NOW "'2023-11-14T22:13:20Z'" /* the clock of these tests */
#define TICK "{t}work_tick(" OWNER ", 100, true, true)"
#define KEEP "{t}work_tick(" OWNER ", 100, true, false)" /* leaves runs where they are */

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

/* Advances a job as it stands: instants in seconds from the clock's start ("{0,60}"), next too
 * (NULL: never again). Returns how many runs were made. */
static long long advance(struct t_conn *conn, const char *job, const char *instants,
                         const char *next)
{
    return t_number(conn,
                    say("SELECT {t}work_advance(ARRAY[name], ARRAY[generation], ARRAY[next_at], "
                        "ARRAY[" NOW "::timestamptz + %s * interval '1 s'], '{NULL}', "
                        "ARRAY[cardinality('%s'::bigint[])]::bigint[], "
                        "ARRAY(SELECT " NOW
                        "::timestamptz + i * interval '1 s' FROM unnest('%s'::bigint[]) i)) "
                        "FROM {t}job WHERE name = '%s'",
                        next, instants, instants, job));
}

static const char *job(struct t_conn *conn, const char *name, const char *columns)
{
    return t_value(conn,
                   say("SELECT concat_ws('|', %s) FROM {t}jobs WHERE name = '%s'", columns, name));
}

static const char *runs(struct t_conn *conn)
{
    return t_value(conn, "SELECT string_agg(extract(epoch FROM scheduled_at - " NOW ")::int || "
                         "status, ' ' ORDER BY id) FROM {t}job_runs");
}

/* ------------------------------------------------------------------------ set */

TEST(a_job_is_shown_as_it_was_set)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}job_set('plain', 'report', '0 3 * * *')");
    CHECK_STR(job(conn, "plain",
                  "topic, payload IS NULL, cron, timezone, misfire, misfire_limit, overlap, "
                  "namespace, paused, problem IS NULL, next_at IS NULL, last_at IS NULL, "
                  "last_run IS NULL, skipped, created_at, updated_at"),
              "report|t|0 3 * * *|UTC|once|100|allow||f|t|t|t|t|0|2023-11-14 22:13:20+00|"
              "2023-11-14 22:13:20+00");
    t_clock_advance(store, T_SECOND);
    t_sql(conn, "SELECT {t}job_set(name => 'plain', topic => 'other', cron => '@daily', "
                "payload => '', timezone => 'Europe/Berlin', misfire => 'all', "
                "misfire_limit => 7, overlap => 'skip', namespace => 'n')");
    CHECK_STR(job(conn, "plain",
                  "topic, payload, cron, timezone, misfire, misfire_limit, overlap, namespace, "
                  "created_at, updated_at"),
              "other||@daily|Europe/Berlin|all|7|skip|n|2023-11-14 22:13:20+00|"
              "2023-11-14 22:13:21+00");
    t_sql(conn, "SELECT {t}job_set('plain', 't', '@daily', misfire => 'skip')");
    CHECK_STR(job(conn, "plain", "payload IS NULL, misfire, overlap"), "t|skip|allow");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}jobs"), 1);
}

TEST(setting_a_job_keeps_what_is_past)
{
    struct t_conn *conn = set_up();
    const char *generation;

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily', overlap => 'skip')");
    CHECK_INT(advance(conn, "j", "{-1,0}", "60"), 1);
    t_sql(conn, "UPDATE {t}job SET problem = 'bad'");
    t_sql(conn, "SELECT {t}job_pause('j')");
    generation = t_value(conn, "SELECT generation FROM {t}job");
    t_clock_advance(store, T_SECOND);
    t_sql(conn, "SELECT {t}job_set('j', 't', '@hourly')");
    CHECK_STR(t_value(conn, say("SELECT concat_ws('|', paused, problem IS NULL, next_at IS NULL, "
                                "last_at, last_run IS NOT NULL, skipped, anchor_at, "
                                "generation - %s) FROM {t}job",
                                generation)),
              "t|t|t|2023-11-14 22:13:19+00|t|1|2023-11-14 22:13:21+00|1");
}

TEST(setting_a_job_to_what_it_is_writes_nothing)
{
    static const char *const set =
        "SELECT {t}job_set('j', 't', '@daily', 'body', 'Asia/Tokyo', 'all', "
        "7, 'skip', 'n')";
    struct t_conn *conn = set_up();
    const char *before;

    t_sql(conn, set);
    CHECK_INT(advance(conn, "j", "{-1}", "0"), 1);
    before = t_value(conn, "SELECT concat_ws('|', xmin, ctid, job) FROM {t}job");
    t_clock_advance(store, T_SECOND);
    t_sql(conn, set);
    REQ_STR("JOB-001", t_value(conn, "SELECT concat_ws('|', xmin, ctid, job) FROM {t}job"), before);
    CHECK_STR(t_value(conn, "SELECT string_agg(name, ' ') FROM " TICK), "j");
}

TEST(bad_jobs_are_refused)
{
    struct t_conn *conn = set_up();

#define BAD(text, call) refused(conn, "22023", "job_set: " text, "SELECT {t}job_set(" call ")")
    BAD("name is null or empty", "NULL, 't', '@daily'");
    BAD("name is null or empty", "'', 't', '@daily'");
    BAD("name has 256 characters", "repeat('ä', 256), 't', '@daily'");
    BAD("topic is null or empty", "'j', NULL, '@daily'");
    BAD("topic is null or empty", "'j', '', '@daily'");
    BAD("topic has 256 characters", "'j', repeat('t', 256), '@daily'");
    BAD("cron is null or empty", "'j', 't', NULL");
    BAD("cron is null or empty", "'j', 't', ''");
    BAD("cron has 256 bytes", "'j', 't', repeat('ä', 128)");
    BAD("cron: 1 field(s); give five", "'j', 't', 'rubbish'");
    BAD("cron: minute \"61\": it is out of range; give 0 to 59", "'j', 't', '61 * * * *'");
    BAD("cron: \"0 0 30 2 *\" never fires", "'j', 't', '0 0 30 2 *'");
    BAD("payload has 67108865 bytes", "'j', 't', '@daily', repeat('x', 67108865)");
    BAD("timezone is null or empty", "'j', 't', '@daily', '', NULL");
    BAD("timezone is null or empty", "'j', 't', '@daily', '', ''");
    BAD("timezone has 256 characters", "'j', 't', '@daily', '', repeat('z', 256)");
    BAD("misfire is \"never\"; give once, skip or all", "'j', 't', '@daily', misfire => 'never'");
    BAD("misfire is null", "'j', 't', '@daily', misfire => NULL");
    BAD("misfire_limit is 0; give 1 to 10000", "'j', 't', '@daily', misfire_limit => 0");
    BAD("misfire_limit is 10001", "'j', 't', '@daily', misfire_limit => 10001");
    BAD("misfire_limit is null", "'j', 't', '@daily', misfire_limit => NULL");
    BAD("overlap is \"all\"; give allow or skip", "'j', 't', '@daily', overlap => 'all'");
    BAD("overlap is null", "'j', 't', '@daily', overlap => NULL");
    BAD("namespace is null", "'j', 't', '@daily', namespace => NULL");
    BAD("namespace has 256 characters", "'j', 't', '@daily', namespace => repeat('n', 256)");
#undef BAD
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}jobs"), 0);
    t_sql(conn, "SELECT {t}job_set(repeat('ä', 255), repeat('t', 255), rpad('* * * * *', 255), "
                "misfire_limit => 10000, namespace => repeat('n', 255))");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}jobs"), 1);
}

/* What PostgreSQL takes for a zone besides, no scheduler can read: it is refused when it is set, by
 * the library and in SQL alike. */
TEST(zones_are_those_that_have_a_name)
{
    static const char *const bad[] = {
        "Mars/Olympus", "FOO+3",          "europe/berlin", "CEST",
        "+02:00",       "Europe/Berlin ", "utc2",          "EST5EDT4"
    };
    static const char *const good[] = { "UTC", "Europe/Berlin", "Asia/Kolkata", "Etc/GMT+3",
                                        "CET" };
    struct t_conn *conn = set_up();
    ph_job by_c = PH_JOB_INIT;

    by_c.name = "j";
    by_c.topic = "t";
    by_c.cron = "@daily";
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        by_c.timezone = bad[i];
        CHECK_INT(ph_job_set(store, PH_OWN_TX, &by_c, 0, NULL, &t_err), PH_EINVAL);
        refused(
            conn, "22023",
            say("job_set: there is no time zone \"%s\"; give one such as Europe/Berlin", bad[i]),
            say("SELECT {t}job_set('j', 't', '@daily', timezone => '%s')", bad[i]));
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}jobs"), 0);
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        by_c.timezone = good[i];
        OK(ph_job_set(store, PH_OWN_TX, &by_c, 0, NULL, &t_err));
        t_sql(conn, say("SELECT {t}job_set('j', 't', '@hourly', timezone => '%s')", good[i]));
        CHECK_STR(job(conn, "j", "timezone, problem IS NULL"), say("%s|t", good[i]));
    }
}

TEST(unknown_jobs_are_named)
{
    struct t_conn *conn = set_up();
    static const char *const verbs[] = { "trigger", "pause", "resume" };

    for (size_t i = 0; i < 3; i++) {
        refused(conn, "P0002", say("job_%s: there is no job \"x\"", verbs[i]),
                say("SELECT {t}job_%s('x')", verbs[i]));
        refused(conn, "22023", say("job_%s: name is null, empty", verbs[i]),
                say("SELECT {t}job_%s('')", verbs[i]));
    }
    CHECK_STR(t_value(conn, "SELECT {t}job_delete('x')"), "f");
    refused(conn, "22023", "job_delete: name is null", "SELECT {t}job_delete(NULL)");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
}

/* -------------------------------------------------------------- pause, resume */

TEST(a_paused_job_is_not_due)
{
    struct t_conn *conn = set_up();
    const char *due = "SELECT count(*) FROM " TICK " WHERE name = 'j'";

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily')");
    CHECK_STR(t_value(conn, due), "1");
    CHECK_INT(advance(conn, "j", "{}", "60"), 0);
    CHECK_STR(t_value(conn, due), "0");
    CHECK_STR(job(conn, "j", "next_at"), "2023-11-14 22:14:20+00");
    t_sql(conn, "SELECT {t}job_resume('j')"); /* it is not paused: nothing happens */
    CHECK_STR(job(conn, "j", "next_at"), "2023-11-14 22:14:20+00");
    t_sql(conn, "SELECT {t}job_pause('j')");
    CHECK_STR(job(conn, "j", "paused, next_at IS NULL"), "t|t");
    t_clock_advance(store, 100 * T_SECOND);
    CHECK_STR(t_value(conn, due), "0");
    CHECK_STR(t_value(conn, "SELECT next_at IS NULL FROM " TICK), "t");
    t_sql(conn, "SELECT {t}job_resume('j')");
    CHECK_STR(t_value(conn, "SELECT concat_ws('|', job_next_at IS NULL, anchor_at) FROM " TICK
                            " WHERE name = 'j'"),
              "t|2023-11-14 22:15:00+00");
    CHECK_STR(job(conn, "j", "paused, next_at IS NULL, updated_at"), "f|t|2023-11-14 22:13:20+00");
}

/* -------------------------------------------------------------------- trigger */

TEST(a_trigger_makes_a_run_for_now)
{
    struct t_conn *conn = set_up();
    const char *run;

    t_sql(conn, "SELECT {t}job_set('nightly \"x\"', 'report', '@daily', 'body', namespace => 'n', "
                "overlap => 'skip'), {t}job_pause('nightly \"x\"')");
    run = t_value(conn, "SELECT {t}job_trigger('nightly \"x\"')");
    CHECK_STR(t_value(conn, say("SELECT concat_ws('|', topic, payload, namespace, headers, status, "
                                "due_time_utc, job, scheduled_at, triggered) FROM {t}job_runs "
                                "WHERE id = '%s'",
                                run)),
              "report|body|n|{\"job\": \"nightly \\\"x\\\"\", "
              "\"scheduled_at\": \"2023-11-14T22:13:20.000000Z\"}|ready|2023-11-14 22:13:20+00|"
              "nightly \"x\"|2023-11-14 22:13:20+00|t");
    CHECK_STR(job(conn, "nightly \"x\"", "last_at, last_run, paused"),
              say("2023-11-14 22:13:20+00|%s|t", run));
    t_sql(conn, "SELECT {t}job_trigger('nightly \"x\"')"); /* for the same instant, once more */
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job_runs"), 2);
    CHECK_STR(t_value(conn, "SELECT work_id FROM {t}job_runs_claim(" OWNER ", 30, 1, 'n')"), run);
    t_check_places(conn);
}

TEST(a_job_without_payload_has_empty_runs)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily')");
    t_sql(conn, "SELECT {t}queue_set('job_runs', '', '{\"max_payload_bytes\": 1}')");
    t_sql(conn, "SELECT {t}job_trigger('j')");
    CHECK_STR(t_value(conn, "SELECT '<' || payload || '>' FROM {t}job_runs"), "<>");
    /* the queue's limit is not for runs */
    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily', 'long')");
    t_sql(conn, "SELECT {t}job_trigger('j')");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job_runs WHERE payload = 'long'"), 1);
}

/* --------------------------------------------------------------------- delete */

TEST(a_deleted_job_takes_its_pending_runs_along)
{
    struct t_conn *conn = set_up(), *rival = a_connection(NULL);

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily'), {t}job_set('k', 't', '@daily')");
    CHECK_INT(advance(conn, "j", "{-3,-2,-1,0}", "60"), 4);
    CHECK_INT(advance(conn, "k", "{0}", "60"), 1);
    t_sql(conn, "SELECT {t}job_runs_ack(" OWNER
                ", ARRAY(SELECT work_id FROM {t}job_runs_claim(" OWNER ", 30, 1)))");
    t_sql(conn, "SELECT {t}job_runs_claim(" OWNER ", 30, 1)");
    t_sql(conn, "SELECT {t}job_runs_abandon(" OWNER ", ARRAY(SELECT work_id FROM "
                "{t}job_runs_claim(" OWNER ", 30, 1)), 'e', '1 h')");
    CHECK_STR(runs(conn), "-3done -2in_progress -1ready 0ready 0ready");
    t_begin(conn); /* somebody is just claiming one: the deletion waits */
    t_sql(conn, "SELECT {t}job_runs_claim(" OWNER ", 30, 1)");
    t_sql(rival, "SET lock_timeout = '100ms'");
    refused(rival, "55P03", "lock timeout", "SELECT {t}job_delete('j')");
    t_rollback(conn);
    CHECK_STR(t_value(conn, "SELECT {t}job_delete('j')"), "t");
    CHECK_STR(runs(conn), "-3done -2in_progress 0ready");
    CHECK_STR(t_value(conn, "SELECT string_agg(job, ' ' ORDER BY id) FROM {t}job_run"), "j j k");
    CHECK_STR(t_value(conn, "SELECT {t}job_delete('j')"), "f");
    t_check_places(conn);
}

/* -------------------------------------------------------------------- advance */

TEST(an_instant_makes_one_run)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily', namespace => 'n')");
    CHECK_INT(advance(conn, "j", "{-60,0}", "60"), 2);
    CHECK_STR(runs(conn), "-60ready 0ready");
    CHECK_STR(job(conn, "j", "next_at, last_at, skipped"),
              "2023-11-14 22:14:20+00|2023-11-14 22:13:20+00|0");
    CHECK_STR(t_value(conn, "SELECT r.id = j.last_run FROM {t}jobs j JOIN {t}job_runs r "
                            "ON r.scheduled_at = j.last_at"),
              "t");
    CHECK_INT(advance(conn, "j", "{0,60}", "120"), 1); /* one of them is there already */
    CHECK_STR(runs(conn), "-60ready 0ready 60ready");
    CHECK_STR(job(conn, "j", "last_at"), "2023-11-14 22:14:20+00");
    /* a run of an instant ahead is not due before */
    CHECK_STR(t_value(conn, "SELECT job_runs || ' ' || (next_at - now) FROM " TICK), "2 00:01:00");
    CHECK_STR(t_value(conn, "SELECT string_agg(o.namespace || o.topic || (o.message_id = r.id) || "
                            "(o.headers = r.headers), ' ') FROM {t}outbox o JOIN {t}job_runs r "
                            "ON r.id = o.message_id"),
              "nttruetrue nttruetrue");
    CHECK_STR(runs(conn), "-60done 0done 60ready");
    t_check_places(conn);
}

TEST(a_job_that_is_not_as_it_was_seen_is_left_out)
{
    struct t_conn *conn = set_up();
    const char *step;

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily')");
    step = say("SELECT {t}work_advance('{gone,j}', '{1,%s}', '{NULL,NULL}', ARRAY[" NOW ", " NOW
               "]::timestamptz[], '{NULL,NULL}', '{1,2}', ARRAY[" NOW ", " NOW "]::timestamptz[])",
               t_value(conn, "SELECT generation FROM {t}job"));
    CHECK_INT(t_number(conn, step), 1);
    CHECK_INT(t_number(conn, step), 0); /* next_at is another */
    t_sql(conn, "UPDATE {t}job SET next_at = NULL, generation = generation + 1");
    CHECK_INT(t_number(conn, step), 0);
    t_sql(conn, "UPDATE {t}job SET generation = generation - 1");
    CHECK_INT(t_number(conn, step), 0); /* there is a run of that instant */
    CHECK_STR(runs(conn), "0ready");
    /* a new job of an old name is another one */
    t_sql(conn, "SELECT {t}job_delete('j'), {t}job_set('j', 't', '@daily')");
    CHECK_INT(t_number(conn, step), 0);
    CHECK_STR(runs(conn), "");
}

TEST(a_job_that_somebody_holds_does_not_hold_up_the_others)
{
    struct t_conn *conn = set_up(), *other = a_connection(NULL);
    ph_scheduler *scheduler = NULL;
    ph_schedule done = PH_SCHEDULE_INIT;

    t_sql(conn, "SELECT {t}job_set('a', 't', '* * * * *'), {t}job_set('b', 't', '* * * * *')");
    t_clock_advance(store, 60 * T_SECOND);
    t_begin(other);
    t_sql(other, "SELECT {t}job_pause('a')");
    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, 10000, &done, &t_err));
    CHECK_INT(done.runs, 1);
    CHECK_STR(t_value(conn, "SELECT string_agg(job, ' ') FROM {t}job_runs"), "b");
    t_rollback(other);
    OK(ph_scheduler_run(scheduler, 10000, &done, &t_err));
    CHECK_INT(done.runs, 1);
    CHECK_STR(t_value(conn, "SELECT string_agg(job, ' ' ORDER BY job) FROM {t}job_runs"), "a b");
    ph_scheduler_free(scheduler);
}

TEST(a_problem_is_kept_with_the_job)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}job_set('good', 't', '@daily'), "
                "{t}work_job_set('bad', 't', '@daily', NULL, 'Mars/Olympus', 1::smallint, 100, "
                "1::smallint, '')"); /* by a library whose machine has that zone */
    CHECK_STR(t_value(conn, "SELECT string_agg(name, ' ') FROM " TICK), "bad good");
    t_sql(conn, "SELECT {t}work_advance('{bad}', ARRAY[generation], '{NULL}', '{NULL}', "
                "'{cannot be read}', '{1}', ARRAY[" NOW "]::timestamptz[]) FROM {t}job "
                "WHERE name = 'bad'");
    CHECK_STR(job(conn, "bad", "problem, next_at IS NULL"), "cannot be read|t");
    CHECK_STR(runs(conn), "");
    CHECK_STR(t_value(conn, "SELECT string_agg(name, ' ') FROM " TICK), "good");
    t_sql(conn, "SELECT {t}job_set('bad', 't', '@daily')");
    CHECK_STR(t_value(conn, "SELECT string_agg(name, ' ') FROM " TICK), "bad good");
}

TEST(never_again_is_for_ever)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily')");
    CHECK_INT(advance(conn, "j", "{0}", "NULL"), 1);
    CHECK_STR(t_value(conn, "SELECT next_at FROM {t}job"), "infinity");
    CHECK_STR(job(conn, "j", "next_at IS NULL"), "t");
    CHECK_STR(t_value(conn, "SELECT concat_ws('|', next_at IS NULL, name) FROM " TICK), "t");
}

TEST(due_jobs_come_with_what_a_scheduler_needs)
{
    struct t_conn *conn = set_up();

    t_sql(conn,
          "SELECT {t}job_set('j' || i, 't', '@daily', timezone => 'Etc/GMT+' || i, misfire => "
          "'all', misfire_limit => i) FROM generate_series(1, 3) i");
    CHECK_INT(advance(conn, "j2", "{}", "-5"), 0);
    CHECK_INT(advance(conn, "j3", "{}", "7"), 0);
    CHECK_STR(t_value(conn, "SELECT string_agg(concat_ws('|', t.name, t.cron, t.timezone, "
                            "t.generation - j.generation, t.job_next_at, t.anchor_at, t.misfire, "
                            "t.misfire_limit), ' ') FROM " TICK " t JOIN {t}job j USING (name)"),
              "j1|@daily|Etc/GMT+1|0|2023-11-14 22:13:20+00|3|1 "
              "j2|@daily|Etc/GMT+2|0|2023-11-14 22:13:15+00|2023-11-14 22:13:20+00|3|2");
    CHECK_STR(t_value(conn, "SELECT next_at - now FROM " TICK), "00:00:07");
    CHECK_STR(
        t_value(conn, "SELECT string_agg(name, ' ') FROM {t}work_tick(" OWNER ", 1, true, true)"),
        "j1");
}

/* -------------------------------------------------------------------- overlap */

TEST(overlap_skip_waits_for_the_end_of_the_run)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily', overlap => 'skip')");
    CHECK_INT(advance(conn, "j", "{-2,-1,0}", "60"), 1); /* the first; then it is open */
    CHECK_STR(runs(conn), "-2ready");
    CHECK_STR(job(conn, "j", "skipped, last_at"), "2|2023-11-14 22:13:18+00");
    t_sql(conn, "SELECT {t}job_runs_claim(" OWNER ", 30, 1)");
    CHECK_INT(advance(conn, "j", "{1}", "60"), 0);
    CHECK_STR(job(conn, "j", "skipped"), "3");
    t_sql(conn, "SELECT {t}job_runs_ack(" OWNER ", ARRAY(SELECT id FROM {t}job_runs))");
    CHECK_INT(advance(conn, "j", "{2}", "60"), 1);
    CHECK_STR(t_value(conn, "SELECT string_agg(maybe_open::text, ' ' ORDER BY id) FROM {t}job_run"),
              "false true");
    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily')"); /* overlap: allow */
    CHECK_INT(advance(conn, "j", "{3,4}", "60"), 2);
}

/* Behind a scheduler the run has ended when its message has. */
TEST(overlap_skip_follows_the_message_of_the_run)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily', overlap => 'skip')");
    CHECK_INT(advance(conn, "j", "{0}", "60"), 1);
    CHECK_STR(t_value(conn, "SELECT job_runs FROM " TICK), "1");
    CHECK_STR(runs(conn), "0done");
    t_clock_advance(store, 10 * T_SECOND);
    CHECK_INT(advance(conn, "j", "{1}", "60"), 0); /* its message is ready */
    t_sql(conn, "SELECT {t}outbox_claim(" OWNER ", 30, 1)");
    CHECK_INT(advance(conn, "j", "{2}", "60"), 0); /* in progress */
    t_sql(conn, "SELECT {t}outbox_fail(" OWNER ", ARRAY(SELECT id FROM {t}outbox))");
    CHECK_INT(advance(conn, "j", "{3}", "60"), 1); /* dead: that is an end */
    t_sql(conn, "SELECT {t}job_runs_ack(" OWNER
                ", ARRAY(SELECT work_id FROM {t}job_runs_claim(" OWNER ", 30, 1)))");
    t_sql(conn, "SELECT {t}dead_retry(ARRAY(SELECT id FROM {t}dead_letters))");
    CHECK_INT(advance(conn, "j", "{4}", "60"), 0); /* the first lives again */
    t_sql(conn, "SELECT {t}outbox_ack(" OWNER ", ARRAY(SELECT work_id FROM {t}outbox_claim(" OWNER
                ", 30, 1)))");
    CHECK_INT(advance(conn, "j", "{5}", "60"), 1);
    CHECK_STR(job(conn, "j", "skipped"), "3");
    t_check_places(conn);
}

/* ------------------------------------------------------------------ retention */

TEST(a_forgotten_run_leaves_nothing)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily')");
    CHECK_INT(advance(conn, "j", "{-1,0}", "60"), 2);
    t_sql(conn, "SELECT {t}timer_schedule('t', 'p', " NOW ")");
    CHECK_STR(t_value(conn, "SELECT timers || ' ' || job_runs FROM " TICK), "1 2");
    t_sql(conn, "SELECT {t}queue_set(door, '', '{\"retention_s\": 1}') FROM {t}queues");
    t_clock_advance(store, 10 * T_SECOND);
    CHECK_INT(t_number(conn, "SELECT {t}retention_run()"), 3);
    CHECK_INT(t_number(conn, "SELECT (SELECT count(*) FROM {t}job_run) + "
                             "(SELECT count(*) FROM {t}timers)"),
              0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 3);
    t_check_places(conn);
}

TEST(a_retried_run_shows_its_job)
{
    struct t_conn *conn = set_up();

    t_sql(conn, "SELECT {t}job_set('j', 't', '@daily'), {t}job_trigger('j')");
    t_sql(conn, "SELECT {t}job_runs_fail(" OWNER
                ", ARRAY(SELECT work_id FROM {t}job_runs_claim(" OWNER ", 30, 1)))");
    t_sql(conn, "SELECT {t}dead_retry(ARRAY(SELECT id FROM {t}dead_letters))");
    CHECK_STR(t_value(conn, "SELECT string_agg(job || status || triggered, ' ' ORDER BY id) "
                            "FROM {t}job_runs"),
              "jfailedtrue jreadytrue");
    CHECK_STR(t_value(conn, "SELECT count(*) FROM " KEEP),
              "2"); /* the job is due, runs are not taken */
}
