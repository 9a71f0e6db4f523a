/* scheduler_test.c - what a scheduler does when it runs, and what it leaves alone. */
#include "doors.h"
#include "journal.h"

#define MINUTE (60 * T_SECOND)
#define HOUR (60 * MINUTE)

static void put_timer_in(ph_store *store, const char *ns, const char *payload, int64_t due_at)
{
    ph_timer timer = PH_TIMER_INIT;

    timer.topic = "remind";
    timer.payload = payload;
    timer.due_at = due_at;
    timer.ns = ns;
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err));
}

/* -------------------------------------------------------------------- timers */

TEST(a_due_timer_becomes_exactly_one_message)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_timer timer = PH_TIMER_INIT;
    ph_work_id id = { { 0 } };
    const ph_delivery *d;
    ph_schedule s;
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    timer.topic = "remind";
    timer.payload = "tea";
    timer.due_at = T_EPOCH + MINUTE;
    timer.ns = "kitchen";
    timer.correlation_id = "c-1";
    timer.headers = "{\"a\": 1}";
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, &id, &t_err));
    s = run_scheduler(store, NULL);
    CHECK_INT(s.timers, 0);
    CHECK_INT(s.now, T_EPOCH);
    CHECK_INT(s.next_at, T_EPOCH + MINUTE);
    t_clock_set(store, T_EPOCH + 2 * MINUTE);
    s = run_scheduler(store, NULL);
    REQ_INT("TIM-006", s.timers, 1);
    CHECK_INT(s.next_at, 0);
    CHECK(!s.more);
    REQ_INT("TIM-006", run_scheduler(store, NULL).timers, 0);
    CHECK_INT(see_by(ph_timers_find, store, id).status, PH_DONE);
    CHECK_INT(see_by(ph_timers_find, store, id).processed_at, T_EPOCH + 2 * MINUTE);
    CHECK(!ph_id_is_zero(see_by(ph_timers_find, store, id).owner.b));
    batch = door_claim(&outbox_door, store, ph_owner_new(), "kitchen", 10);
    CHECK_INT(ph_batch_count(batch), 1);
    d = ph_batch_at(batch, 0);
    REQ("TIM-006", same_id(d->message_id.b, id.b));
    CHECK(!same_id(d->work_id.b, id.b));
    CHECK_STR(d->topic, "remind");
    CHECK_STR(d->payload, "tea");
    CHECK_STR(d->correlation_id, "c-1");
    CHECK_STR(d->headers, "{\"a\": 1}");
    CHECK_INT(d->created_at, T_EPOCH + 2 * MINUTE);
    CHECK_INT(d->due_at, T_EPOCH + 2 * MINUTE);
    CHECK_INT(d->attempts, 1);
    CHECK(d->job == NULL && d->tenant_id == NULL && d->dedupe_key == NULL);
    ph_batch_free(batch);
    t_check_places(conn);
}

TEST(a_timer_with_nothing_but_topic_and_payload)
{
    ph_store *store = t_open(NULL);
    ph_batch *batch;

    put_timer(store, "", PH_TIMER_MIN);
    CHECK_INT(run_scheduler(store, NULL).timers, 1);
    batch = t_claim(store, ph_owner_new(), 10);
    CHECK_INT(ph_batch_count(batch), 1);
    CHECK_STR(ph_batch_at(batch, 0)->payload, "");
    CHECK(ph_batch_at(batch, 0)->headers == NULL);
    CHECK(ph_batch_at(batch, 0)->correlation_id == NULL);
    ph_batch_free(batch);
}

TEST(what_others_hold_is_left_to_them)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    put_timer(store, "claimed", T_EPOCH);
    ref = door_take_one(&timers_door, store, owner);
    put_timer(store, "free", T_EPOCH);
    CHECK_INT(run_scheduler(store, NULL).timers, 1);
    CHECK_STR(claimed_payloads(store, owner, 10), "free");
    CHECK_INT(see_by(ph_timers_find, store, ref.work_id).status, PH_IN_PROGRESS);
    OK(ph_timers_abandon(store, PH_OWN_TX, owner, &ref, 1, "e", 1000, 0, NULL, &t_err));
    CHECK_INT(run_scheduler(store, NULL).next_at, T_EPOCH + T_SECOND);
    t_clock_advance(store, T_SECOND);
    CHECK_INT(run_scheduler(store, NULL).timers, 1);
    CHECK_STR(claimed_payloads(store, owner, 10), "claimed");
    t_check_places(conn);
}

TEST(a_scheduler_works_every_namespace)
{
    static const char *const spaces[] = { "", "a", "b", "\xe2\x82\xac" };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 4; i++) {
        put_timer_in(store, spaces[i], spaces[i], T_EPOCH);
        job_runs_door.make(store, spaces[i], spaces[i]);
    }
    CHECK_INT(run_scheduler(store, NULL).timers, 4);
    for (int i = 0; i < 4; i++) {
        ph_batch *batch = door_claim(&outbox_door, store, ph_owner_new(), spaces[i], 10);

        CHECK_INT(ph_batch_count(batch), 2);
        for (size_t k = 0; k < 2; k++)
            CHECK_STR(ph_batch_at(batch, k)->payload, spaces[i]);
        ph_batch_free(batch);
    }
    t_check_places(conn);
}

TEST(a_paused_queue_is_left_alone)
{
    ph_store *store = t_open(NULL);
    ph_schedule s;

    t_clock_set(store, T_EPOCH);
    put_timer_in(store, "still", "x", T_EPOCH);
    put_timer_in(store, "still", "later", T_EPOCH + MINUTE);
    put_timer_in(store, "", "y", T_EPOCH);
    job_runs_door.make(store, "still", "run");
    OK(ph_queue_pause(store, PH_OWN_TX, PH_TIMERS, "still", 0, &t_err));
    OK(ph_queue_pause(store, PH_OWN_TX, PH_JOB_RUNS, "still", 0, &t_err));
    s = run_scheduler(store, NULL);
    CHECK_INT(s.timers, 1);
    CHECK_INT(s.job_runs, 0);
    CHECK_INT(door_counts(&timers_door, store, "still").ready, 1);
    OK(ph_queue_resume(store, PH_OWN_TX, PH_TIMERS, "still", 0, &t_err));
    s = run_scheduler(store, NULL);
    CHECK_INT(s.timers, 1);
    CHECK_INT(s.next_at, T_EPOCH + MINUTE);
    OK(ph_queue_resume(store, PH_OWN_TX, PH_JOB_RUNS, "still", 0, &t_err));
    CHECK_INT(run_scheduler(store, NULL).job_runs, 1);
}

/* It takes messages, but hands out none. */
TEST(a_paused_outbox_gets_its_messages)
{
    ph_store *store = t_open(NULL);

    put_timer(store, "tea", PH_TIMER_MIN);
    OK(ph_outbox_queue_pause(store, PH_OWN_TX, NULL, 0, &t_err));
    CHECK_INT(run_scheduler(store, NULL).timers, 1);
    CHECK_INT(claimable(store, 10), 0);
    CHECK_INT(door_counts(&outbox_door, store, NULL).ready, 1);
}

TEST(a_limit_of_the_outbox_does_not_hold_up_a_timer)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.max_payload_bytes = 5;
    set_queue(store, &settings);
    put_timer(store, "longer than five bytes", PH_TIMER_MIN);
    put_timer(store, "tea", PH_TIMER_MIN);
    CHECK_INT(run_scheduler(store, NULL).timers, 2);
    CHECK_INT(claimable(store, 10), 2);
}

TEST(timers_can_be_deleted_when_they_became_messages)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_work_id id;

    settings.delete_on_ack = 1;
    OK(ph_queue_set(store, PH_OWN_TX, PH_TIMERS, NULL, &settings, 0, &t_err));
    id = put_timer(store, "tea", PH_TIMER_MIN);
    CHECK_INT(run_scheduler(store, NULL).timers, 1);
    CHECK(!see_by(ph_timers_find, store, id).there);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 1);
    CHECK_INT(claimable(store, 10), 1);
    t_check_places(conn);
}

/* ----------------------------------------------------------- what it may touch */

TEST(a_scheduler_can_keep_its_hands_off)
{
    ph_store *store = t_open(NULL);
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_schedule s;

    t_clock_set(store, T_EPOCH);
    put_timer(store, "now", T_EPOCH);
    put_timer(store, "later", T_EPOCH + T_SECOND);
    put_job(store, "j", "* * * * *");
    OK(ph_job_trigger(store, PH_OWN_TX, "j", 0, NULL, &t_err));
    opts.keep_timers = opts.keep_job_runs = true;
    s = run_scheduler(store, &opts);
    CHECK_INT(s.timers, 0);
    CHECK_INT(s.job_runs, 0);
    CHECK_INT(s.next_at, T_EPOCH + 40 * T_SECOND); /* the job; the timers are not ours */
    CHECK_INT(door_counts(&timers_door, store, NULL).ready, 1);
    CHECK_INT(door_counts(&job_runs_door, store, NULL).ready, 1);
    t_clock_advance(store, 40 * T_SECOND);
    s = run_scheduler(store, &opts);
    CHECK_INT(s.runs, 1);
    CHECK_INT(s.job_runs, 0);
    opts.keep_timers = false;
    s = run_scheduler(store, &opts);
    CHECK_INT(s.timers, 2);
    CHECK_INT(s.job_runs, 0);
    opts.keep_timers = true;
    opts.keep_job_runs = false;
    s = run_scheduler(store, &opts);
    CHECK_INT(s.timers, 0);
    CHECK_INT(s.job_runs, 2);
}

TEST(a_full_batch_says_that_there_is_more)
{
    ph_store *store = t_open(NULL);
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_schedule s;

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 5; i++)
        put_timer(store, "x", T_EPOCH);
    opts.batch_size = 2;
    for (int i = 0; i < 2; i++) {
        s = run_scheduler(store, &opts);
        CHECK_INT(s.timers, 2);
        CHECK(s.more);
    }
    s = run_scheduler(store, &opts);
    CHECK_INT(s.timers, 1);
    CHECK(!s.more);
    CHECK_INT(claimable(store, 10), 5);
}

TEST(the_earliest_come_first_whatever_their_namespace)
{
    static const char *const spaces[] = { "b", "a", "c", "b", "a", "c" };
    ph_store *store = t_open(NULL);
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 6; i++)
        put_timer_in(store, spaces[i], "x", T_EPOCH + i * T_SECOND);
    t_clock_advance(store, MINUTE);
    opts.batch_size = 1;
    for (int i = 0; i < 6; i++) {
        long long before = door_counts(&outbox_door, store, spaces[i]).ready;

        CHECK_INT(run_scheduler(store, &opts).timers, 1);
        CHECK_INT(door_counts(&outbox_door, store, spaces[i]).ready, before + 1);
    }
}

TEST(many_jobs_are_worked_in_batches)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_scheduler *scheduler = NULL;
    ph_schedule s = PH_SCHEDULE_INIT;
    char name[16];
    int turns = 0;

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 25; i++) {
        snprintf(name, sizeof(name), "job %02d", i);
        put_job(store, name, "* * * * *");
    }
    opts.batch_size = 10;
    OK(ph_scheduler_new(store, &opts, &scheduler, &t_err));
    do {
        OK(ph_scheduler_run(scheduler, 0, &s, &t_err));
    } while (s.more && ++turns < 10);
    CHECK_INT(s.next_at, T_EPOCH + 40 * T_SECOND);
    t_clock_advance(store, 40 * T_SECOND);
    for (turns = 0, s.more = true; s.more && turns < 20; turns++)
        OK(ph_scheduler_run(scheduler, 0, &s, &t_err));
    CHECK(turns < 20);
    ph_scheduler_free(scheduler);
    CHECK_INT(run_count(conn), 25);
    CHECK_INT(t_number(conn, "SELECT count(DISTINCT job) FROM {t}job_run"), 25);
    CHECK_INT(claimable(store, 100), 25);
    t_check_places(conn);
}

TEST(what_is_next_is_the_earliest_of_all)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_work_id timer;

    t_clock_set(store, T_EPOCH);
    CHECK_INT(run_scheduler(store, NULL).next_at, 0);
    put_job(store, "j", "*/10 * * * *"); /* T_EPOCH is 22:13:20 */
    CHECK_INT(run_scheduler(store, NULL).next_at, T_EPOCH + 6 * MINUTE + 40 * T_SECOND);
    timer = put_timer(store, "x", T_EPOCH + 5 * MINUTE);
    CHECK_INT(run_scheduler(store, NULL).next_at, T_EPOCH + 5 * MINUTE);
    OK(ph_job_trigger(store, PH_OWN_TX, "j", 0, NULL, &t_err));
    ref = door_take_one(&job_runs_door, store, owner);
    OK(ph_job_runs_abandon(store, PH_OWN_TX, owner, &ref, 1, "e", 240000, 0, NULL, &t_err));
    CHECK_INT(run_scheduler(store, NULL).next_at, T_EPOCH + 4 * MINUTE);
    OK(ph_queue_pause(store, PH_OWN_TX, PH_JOB_RUNS, NULL, 0, &t_err));
    CHECK_INT(run_scheduler(store, NULL).next_at, T_EPOCH + 5 * MINUTE);
    OK(ph_timer_cancel(store, PH_OWN_TX, timer, 0, NULL, &t_err));
    CHECK_INT(run_scheduler(store, NULL).next_at, T_EPOCH + 6 * MINUTE + 40 * T_SECOND);
    OK(ph_job_pause(store, PH_OWN_TX, "j", 0, &t_err));
    CHECK_INT(run_scheduler(store, NULL).next_at, 0);
}

/* ---------------------------------------------------------------------- idle */

/* Nobody else can write until the transaction ends. */
static void forbid_writing(struct t_conn *conn)
{
    t_begin(conn);
    if (t_is_pg())
        t_sql(conn, "LOCK TABLE {t}message, {t}pending, {t}lease, {t}done, {t}dead, {t}queue, "
                    "{t}job, {t}job_run, {t}join_head IN SHARE ROW EXCLUSIVE MODE");
}

TEST(an_idle_scheduler_writes_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_scheduler *scheduler = NULL;
    ph_schedule s = PH_SCHEDULE_INIT;
    long long before;

    t_clock_set(store, T_EPOCH);
    put_timer(store, "later", T_EPOCH + HOUR);
    put_timer(store, "done", T_EPOCH);
    put_job(store, "j", "@hourly");
    put_job(store, "paused", "* * * * * *");
    OK(ph_job_pause(store, PH_OWN_TX, "paused", 0, &t_err));
    put_job(store, "bad", "@daily");
    t_sql(conn, "UPDATE {t}job SET cron = 'nonsense' WHERE name = 'bad'");
    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, 0, &s, &t_err));
    CHECK_INT(s.timers, 1);
    CHECK_INT(s.problems, 1);
    before = t_is_pg() ? 0 : t_number(conn, "PRAGMA data_version");
    forbid_writing(conn);
    for (int i = 0; i < 10; i++) {
        OK(ph_scheduler_run(scheduler, 5000, &s, &t_err));
        REQ_INT("JOB-012", s.timers + s.runs + s.job_runs + s.joins + s.problems, 0);
        CHECK(!s.more);
        CHECK_INT(s.next_at, T_EPOCH + 46 * MINUTE + 40 * T_SECOND);
    }
    t_rollback(conn);
    if (!t_is_pg())
        CHECK_INT(t_number(conn, "PRAGMA data_version"), before);
    ph_scheduler_free(scheduler);
}

TEST(a_scheduler_on_an_empty_store_writes_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_scheduler *scheduler = NULL;
    ph_schedule s = PH_SCHEDULE_INIT;

    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    forbid_writing(conn);
    OK(ph_scheduler_run(scheduler, 5000, &s, &t_err));
    CHECK_INT(s.next_at, 0);
    CHECK(s.now > T_EPOCH);
    t_rollback(conn);
    ph_scheduler_free(scheduler);
}

/* ------------------------------------------------------------- many schedulers */

TEST(two_schedulers_make_one_run)
{
    ph_store *stores[2] = { t_open(NULL), t_open(NULL) };
    struct t_conn *conn = t_connect();
    ph_scheduler *schedulers[2];
    int64_t runs = 0, timers = 0;

    t_clock_set(stores[0], T_EPOCH);
    put_job(stores[0], "j", "*/10 * * * * *");
    for (int i = 0; i < 2; i++)
        OK(ph_scheduler_new(stores[i], NULL, &schedulers[i], &t_err));
    for (int turn = 0; turn < 20; turn++) {
        ph_schedule s = PH_SCHEDULE_INIT;

        put_timer(stores[0], "x", t_clock(stores[0]));
        for (int i = 0; i < 2; i++) {
            OK(ph_scheduler_run(schedulers[(turn + i) % 2], 0, &s, &t_err));
            runs += s.runs;
            timers += s.timers;
        }
        t_clock_advance(stores[0], 5 * T_SECOND);
    }
    for (int i = 0; i < 2; i++)
        ph_scheduler_free(schedulers[i]);
    CHECK_INT(timers, 20);
    REQ_INT("JOB-004", runs, 9);
    REQ_INT("JOB-004", run_count(conn), 9);
    CHECK_INT(t_number(conn, "SELECT count(DISTINCT scheduled_at) FROM {t}job_run"), 9);
    CHECK_INT(claimable(stores[0], 100), 29);
}

/* -------------------------------------------------------------- jobs with problems */

/* Makes a job past all checks, as whoever owns the tables can. */
static void put_bad_job(ph_store *store, struct t_conn *conn, const char *name, const char *cron,
                        const char *timezone)
{
    char sql[500];

    if (t_is_pg()) {
        snprintf(sql, sizeof(sql),
                 "SELECT {t}work_job_set('%s', 'work', '%s', NULL, '%s', 1::smallint, 100, "
                 "1::smallint, '')",
                 name, cron, timezone);
    } else {
        put_job(store, name, "@daily");
        snprintf(sql, sizeof(sql),
                 "UPDATE {t}job SET cron = '%s', timezone = '%s' WHERE name = '%s'", cron, timezone,
                 name);
    }
    t_sql(conn, sql);
}

TEST(one_bad_job_among_good_ones)
{
    ph_store *store = open_logging(PH_LOG_WARN);
    struct t_conn *conn = t_connect();
    const struct line *line;
    ph_schedule s;

    t_clock_set(store, T_EPOCH);
    put_job(store, "a", "* * * * *");
    put_bad_job(store, conn, "b", "61 * * * *", "UTC");
    put_job(store, "c", "* * * * *");
    s = run_scheduler(store, NULL);
    CHECK_INT(s.problems, 1);
    CHECK_INT(journal.count, 1);
    line = newest("job");
    CHECK(line != NULL);
    CHECK_INT(line->level, PH_LOG_ERROR);
    CHECK_STR(field(line, "job"), "b");
    CHECK_STR(field(line, "problem"), see_job(store, "b").problem);
    CHECK(strstr(line->text, "cannot be run") && strstr(line->text, "minute"));
    REQ("JOB-011", see_job(store, "b").has_problem);
    CHECK_INT(see_job(store, "b").next_at, 0);
    t_clock_advance(store, MINUTE);
    s = run_scheduler(store, NULL);
    CHECK_INT(s.problems, 0); /* once is enough */
    REQ_INT("JOB-011", s.runs, 2);
    CHECK_INT(journal.count, 1);
    CHECK(!see_job(store, "a").has_problem && !see_job(store, "c").has_problem);
    put_job(store, "b", "* * * * *");
    CHECK(!see_job(store, "b").has_problem);
    run_scheduler(store, NULL);
    t_clock_advance(store, MINUTE);
    CHECK_INT(run_scheduler(store, NULL).runs, 3);
}

TEST(problems_of_all_kinds)
{
    static const struct {
        const char *cron, *timezone, *says;
    } bad[] = {
        { "0 0 30 2 *", "UTC", "never fires" },
        { "nonsense", "UTC", "1 field" },
        { "@daily", "Nowhere/City", "there is no time zone \"Nowhere/City\"" },
        { "@daily", "../etc/passwd", "not the name of a time zone" },
        { "* * * *", "UTC", "4 fields" },
    };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    char name[8];
    size_t count = sizeof(bad) / sizeof(*bad);

    t_clock_set(store, T_EPOCH);
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "b%zu", i);
        put_bad_job(store, conn, name, bad[i].cron, bad[i].timezone);
    }
    put_job(store, "good", "* * * * *");
    CHECK_INT(run_scheduler(store, NULL).problems, (long long)count);
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "b%zu", i);
        printf("%s\n", see_job(store, name).problem);
        CHECK(strstr(see_job(store, name).problem, bad[i].says) != NULL);
    }
    t_clock_advance(store, MINUTE);
    CHECK_INT(run_scheduler(store, NULL).runs, 1);
}

TEST(a_bad_job_can_still_be_triggered_paused_and_deleted)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    bool deleted = false;

    put_bad_job(store, conn, "b", "nonsense", "UTC");
    run_scheduler(store, NULL);
    OK(ph_job_trigger(store, PH_OWN_TX, "b", 0, NULL, &t_err));
    CHECK_INT(run_scheduler(store, NULL).job_runs, 1);
    OK(ph_job_pause(store, PH_OWN_TX, "b", 0, &t_err));
    CHECK(see_job(store, "b").has_problem);
    OK(ph_job_resume(store, PH_OWN_TX, "b", 0, &t_err)); /* tries again */
    CHECK(!see_job(store, "b").has_problem);
    CHECK_INT(run_scheduler(store, NULL).problems, 1);
    CHECK(see_job(store, "b").has_problem);
    OK(ph_job_resume(store, PH_OWN_TX, "b", 0, &t_err)); /* also if it is not paused */
    CHECK(!see_job(store, "b").has_problem);
    OK(ph_job_delete(store, PH_OWN_TX, "b", 0, &deleted, &t_err));
    CHECK(deleted);
}

/* -------------------------------------------------------------------- doctor */

TEST(a_doctor_finds_every_timer_and_run_in_its_place)
{
    ph_store *store = t_open(NULL);
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_report *report = NULL;
    bool places = false;

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 4; i++) {
        ph_settlement items[2] = { { .verb = i == 1 ? PH_ACK : PH_FAIL },
                                   { .verb = i == 1 ? PH_ACK : PH_FAIL } };

        timers_door.make(store, "", "x");
        job_runs_door.make(store, "", "x");
        if (i == 3)
            break;
        items[0].lease = door_take_one(&timers_door, store, owner);
        items[1].lease = door_take_one(&job_runs_door, store, owner);
        if (i > 0) {
            OK(ph_timers_settle(store, PH_OWN_TX, owner, &items[0], 1, 0, NULL, &t_err));
            OK(ph_job_runs_settle(store, PH_OWN_TX, owner, &items[1], 1, 0, NULL, &t_err));
        }
    }
    opts.deep = true;
    OK(ph_doctor(store, &opts, 0, &report, &t_err));
    for (size_t i = 0; i < ph_report_count(report); i++) {
        const ph_finding *finding = ph_report_at(report, i);

        printf("%s: %s\n", finding->check, finding->text);
        if (strcmp(finding->check, "places") == 0) {
            places = true;
            CHECK_INT(finding->level, PH_FINDING_OK);
        }
    }
    CHECK(places);
    ph_report_free(report);
}
