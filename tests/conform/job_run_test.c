/* job_run_test.c - what runs a job makes: one for each instant, what they know, instants that were
 * missed, and those that come while a run is under way. */
#include "doors.h"

#define MINUTE (60 * T_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* 2024-05-01T00:00:00Z */
#define BEGIN INT64_C(1714521600000000)

/* ------------------------------------------------------------------ one each */

TEST(each_instant_makes_one_run)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_schedule s;

    t_clock_set(store, BEGIN + MINUTE);
    put_job(store, "j", "0 * * * *");
    s = make_runs(store);
    CHECK_INT(s.runs, 0);
    CHECK_INT(s.next_at, BEGIN + HOUR);
    CHECK_INT(see_job(store, "j").next_at, BEGIN + HOUR);
    t_clock_set(store, BEGIN + HOUR - 1);
    CHECK_INT(make_runs(store).runs, 0);
    t_clock_advance(store, 1);
    s = make_runs(store);
    REQ_INT("JOB-004", s.runs, 1);
    CHECK_INT(s.next_at, BEGIN + 2 * HOUR);
    CHECK_INT(make_runs(store).runs, 0);
    CHECK_INT(run_count(conn), 1);
    CHECK_INT(see_job(store, "j").last_at, BEGIN + HOUR);
    CHECK_INT(see_job(store, "j").next_at, BEGIN + 2 * HOUR);
    t_clock_set(store, BEGIN + 2 * HOUR);
    CHECK_INT(make_runs(store).runs, 1);
    CHECK_STR(runs_of(conn, "j"), "1714525200000000 1714528800000000");
}

/* The database's clock goes back: what has run does not run again. */
TEST(an_instant_runs_once_although_it_comes_again)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, BEGIN);
    put_job(store, "j", "0 * * * *");
    make_runs(store);
    t_clock_set(store, BEGIN + HOUR);
    CHECK_INT(make_runs(store).runs, 1);
    t_clock_set(store, BEGIN + HOUR - T_SECOND);
    CHECK_INT(make_runs(store).runs, 0);
    t_clock_set(store, BEGIN + HOUR);
    CHECK_INT(make_runs(store).runs, 0);
    t_clock_set(store, BEGIN + HOUR - T_SECOND);
    put_job(store, "j", "@hourly"); /* another expression: from now on, which is before it */
    make_runs(store);
    CHECK_INT(see_job(store, "j").next_at, BEGIN + HOUR);
    t_clock_set(store, BEGIN + HOUR);
    CHECK_INT(make_runs(store).runs, 0);
    CHECK_INT(see_job(store, "j").next_at, BEGIN + 2 * HOUR);
    REQ_INT("JOB-004", run_count(conn), 1);
}

TEST(a_run_knows_its_job_its_instant_and_its_attempt)
{
    static const char name[] = "say \"hi\" \\ \xe2\x82\xac\n'x'";
    ph_store *store = t_open(NULL);
    ph_job job = a_job(name, "0 * * * *");
    ph_owner owner = ph_owner_new();
    ph_message_info *info = NULL;
    const ph_delivery *d;
    ph_lease_ref ref;
    ph_batch *batch;

    t_clock_set(store, BEGIN);
    job.payload = "body";
    job.ns = "a";
    set_job(store, &job);
    make_runs(store);
    t_clock_set(store, BEGIN + HOUR + 5 * T_SECOND);
    CHECK_INT(make_runs(store).runs, 1);
    for (int attempt = 1; attempt <= 2; attempt++) {
        batch = door_claim(&job_runs_door, store, owner, "a", 10);
        CHECK_INT(ph_batch_count(batch), 1);
        d = ph_batch_at(batch, 0);
        REQ_STR("JOB-006", d->job, name);
        REQ_INT("JOB-006", d->scheduled_at, BEGIN + HOUR);
        REQ_INT("JOB-006", d->attempts, attempt);
        CHECK_INT(d->created_at, BEGIN + HOUR + 5 * T_SECOND);
        CHECK_STR(d->topic, "work");
        CHECK_STR(d->payload, "body");
        CHECK(same_id(see_job(store, name).last_run.b, d->work_id.b));
        ref = ph_lease_ref_of(d);
        ph_batch_free(batch);
        OK(ph_job_runs_abandon(store, PH_OWN_TX, owner, &ref, 1, "e", 0, 0, NULL, &t_err));
    }
    OK(ph_job_runs_find(store, PH_OWN_TX, ref.work_id, 0, &info, &t_err));
    CHECK_STR(info->message->job, name);
    CHECK_INT(info->message->scheduled_at, BEGIN + HOUR);
    CHECK_INT(info->requested_due_at, BEGIN + HOUR);
    CHECK_INT(info->message->retry_count, 2);
    ph_message_info_free(info);
}

TEST(a_run_that_an_operator_puts_back_still_knows_its_job)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    put_job(store, "j", "@yearly");
    OK(ph_job_trigger(store, PH_OWN_TX, "j", 0, NULL, &t_err));
    ref = door_take_one(&job_runs_door, store, owner);
    OK(ph_job_runs_fail(store, PH_OWN_TX, owner, &ref, 1, "e", 0, NULL, &t_err));
    t_clock_advance(store, T_SECOND);
    OK(ph_dead_retry(store, PH_OWN_TX, &ref.work_id, 1, 0, NULL, &t_err));
    batch = door_claim(&job_runs_door, store, owner, NULL, 10);
    CHECK_INT(ph_batch_count(batch), 1);
    CHECK_STR(ph_batch_at(batch, 0)->job, "j");
    CHECK_INT(ph_batch_at(batch, 0)->scheduled_at, T_EPOCH);
    CHECK(same_id(ph_batch_at(batch, 0)->message_id.b, ref.work_id.b));
    ph_batch_free(batch);
}

TEST(a_run_becomes_a_message_that_knows_its_job)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_job job = a_job("nightly", "0 * * * *");
    const ph_delivery *d;
    struct job_seen seen;
    ph_schedule s;
    ph_batch *batch;

    t_clock_set(store, BEGIN);
    job.payload = "body";
    job.ns = "a";
    set_job(store, &job);
    run_scheduler(store, NULL);
    t_clock_set(store, BEGIN + HOUR);
    s = run_scheduler(store, NULL);
    CHECK_INT(s.runs, 1);
    CHECK_INT(s.job_runs, 1); /* in the same call */
    seen = see_job(store, "nightly");
    CHECK_INT(see_by(ph_job_runs_find, store, seen.last_run).status, PH_DONE);
    CHECK_INT(see_by(ph_job_runs_find, store, seen.last_run).processed_at, BEGIN + HOUR);
    CHECK(!ph_id_is_zero(see_by(ph_job_runs_find, store, seen.last_run).owner.b));
    batch = door_claim(&outbox_door, store, ph_owner_new(), "a", 10);
    CHECK_INT(ph_batch_count(batch), 1);
    d = ph_batch_at(batch, 0);
    CHECK_STR(d->topic, "work");
    CHECK_STR(d->payload, "body");
    CHECK_STR(d->headers,
              "{\"job\": \"nightly\", \"scheduled_at\": \"2024-05-01T01:00:00.000000Z\"}");
    CHECK(same_id(d->message_id.b, seen.last_run.b));
    CHECK(!same_id(d->work_id.b, seen.last_run.b));
    CHECK_INT(d->priority, PH_PRIORITY_NORMAL);
    CHECK_INT(d->due_at, BEGIN + HOUR);
    ph_batch_free(batch);
    t_check_places(conn);
}

TEST(a_large_payload_of_a_job_does_not_hold_up_a_scheduler)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("large", "0 * * * *");
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_schedule s;

    t_clock_set(store, BEGIN);
    settings.max_payload_bytes = 5;
    OK(ph_queue_set(store, PH_OWN_TX, PH_JOB_RUNS, "", &settings, 0, &t_err));
    OK(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, "", &settings, 0, &t_err));
    job.payload = "above the limit of the queue";
    set_job(store, &job);
    put_job(store, "other", "0 * * * *");
    run_scheduler(store, NULL);
    t_clock_set(store, BEGIN + HOUR);
    s = run_scheduler(store, NULL);
    CHECK_INT(s.runs, 2);
    CHECK_INT(s.job_runs, 2);
    CHECK_INT(claimable(store, 10), 2);
}

/* ------------------------------------------------------------------- misfires */

static struct job_seen down_for(ph_store *store, const ph_job *job, int64_t time)
{
    t_clock_set(store, BEGIN);
    set_job(store, job);
    make_runs(store);
    t_clock_set(store, BEGIN + time);
    make_runs(store);
    return see_job(store, job->name);
}

TEST(down_for_two_weeks_with_a_job_of_five_seconds)
{
    static const struct {
        ph_misfire misfire;
        int limit, runs;
    } cases[] = { { PH_MISFIRE_ONCE, 0, 1 }, { PH_MISFIRE_DEFAULT, 0, 1 },
                  { PH_MISFIRE_SKIP, 0, 0 }, { PH_MISFIRE_ALL, 0, 100 },
                  { PH_MISFIRE_ALL, 1, 1 },  { PH_MISFIRE_ALL, 1000, 1000 } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ph_store *store = t_open(NULL);
        struct t_conn *conn = t_connect();
        ph_job job = a_job("j", "*/5 * * * * *");
        struct job_seen s;

        printf("misfire %d, limit %d\n", (int)cases[i].misfire, cases[i].limit);
        job.misfire = cases[i].misfire;
        job.misfire_limit = cases[i].limit;
        s = down_for(store, &job, 14 * DAY + 3 * T_SECOND);
        REQ_INT("JOB-007", run_count(conn), cases[i].runs);
        CHECK_INT(s.last_at, cases[i].runs ? BEGIN + 14 * DAY : 0);
        CHECK_INT(s.next_at, BEGIN + 14 * DAY + 5 * T_SECOND);
        CHECK_INT(t_number(conn, "SELECT count(DISTINCT scheduled_at) FROM {t}job_run"),
                  cases[i].runs);
        t_clock_set(store, BEGIN + 14 * DAY + 5 * T_SECOND); /* and on it goes */
        CHECK_INT(make_runs(store).runs, 1);
        t_start_over();
    }
}

TEST(all_missed_instants_are_made_up_to_the_limit)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_job job = a_job("j", "0 * * * *");

    job.misfire = PH_MISFIRE_ALL;
    job.misfire_limit = 3;
    down_for(store, &job, 5 * HOUR + MINUTE);
    CHECK_STR(runs_of(conn, "j"), "1714532400000000 1714536000000000 1714539600000000");
}

TEST(a_minute_late_is_not_a_misfire)
{
    ph_job job = a_job("j", "0 * * * *");
    ph_store *store = t_open(NULL);

    job.misfire = PH_MISFIRE_SKIP;
    CHECK_INT(down_for(store, &job, HOUR + MINUTE).last_at, BEGIN + HOUR);
    t_start_over();
    store = t_open(NULL);
    CHECK_INT(down_for(store, &job, HOUR + MINUTE + 1).last_at, 0);
    CHECK_INT(see_job(store, "j").next_at, BEGIN + 2 * HOUR);
}

/* Several instants within the minute: the latest, or with "all" each of them. */
TEST(within_the_minute_the_latest_instant_runs)
{
    static const struct {
        ph_misfire misfire;
        int runs;
    } cases[] = { { PH_MISFIRE_ONCE, 1 }, { PH_MISFIRE_SKIP, 1 }, { PH_MISFIRE_ALL, 6 } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ph_store *store = t_open(NULL);
        struct t_conn *conn = t_connect();
        ph_job job = a_job("j", "*/10 * * * * *");

        job.misfire = cases[i].misfire;
        CHECK_INT(down_for(store, &job, 65 * T_SECOND).last_at, BEGIN + MINUTE);
        CHECK_INT(run_count(conn), cases[i].runs);
        t_start_over();
    }
}

TEST(a_job_that_was_never_looked_at_has_its_misfires_too)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_job job = a_job("j", "0 * * * *");

    t_clock_set(store, BEGIN);
    job.misfire = PH_MISFIRE_ALL;
    set_job(store, &job);
    t_clock_set(store, BEGIN + 3 * HOUR);
    CHECK_INT(make_runs(store).runs, 3);
    CHECK_STR(runs_of(conn, "j"), "1714525200000000 1714528800000000 1714532400000000");
}

/* Else the runs of all jobs would be one transaction, which may never end in time. */
TEST(missed_instants_of_many_jobs_are_made_in_batches)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_schedule s;

    opts.keep_job_runs = true;
    opts.batch_size = 20;
    t_clock_set(store, BEGIN);
    for (int i = 0; i < 5; i++) {
        char name[] = { 'a' + (char)i, 0 };
        ph_job job = a_job(name, "* * * * * *");

        job.misfire = PH_MISFIRE_ALL;
        job.misfire_limit = 15;
        set_job(store, &job);
    }
    t_clock_set(store, BEGIN + DAY);
    for (int made = 30; made <= 60; made += 30) {
        s = run_scheduler(store, &opts);
        CHECK_INT(s.runs, 30); /* of two jobs: those of one do not fill a batch */
        CHECK(s.more);
        CHECK_INT(run_count(conn), made);
    }
    s = run_scheduler(store, &opts);
    CHECK_INT(s.runs, 15);
    CHECK(!s.more);
    CHECK_INT(run_scheduler(store, &opts).runs, 0);
}

/* ------------------------------------------------------------------- overlap */

/* A job every hour with the policy skip, whose first run was made at BEGIN + HOUR. */
static ph_work_id first_run(ph_store *store, const ph_scheduler_opts *opts)
{
    ph_job job = a_job("j", "0 * * * *");

    t_clock_set(store, BEGIN);
    job.overlap = PH_OVERLAP_SKIP;
    set_job(store, &job);
    run_scheduler(store, opts);
    t_clock_set(store, BEGIN + HOUR);
    CHECK_INT(run_scheduler(store, opts).runs, 1);
    return see_job(store, "j").last_run;
}

/* The next instant comes: is it left out, and counted? */
static bool next_is_skipped(ph_store *store, const ph_scheduler_opts *opts)
{
    struct job_seen before = see_job(store, "j"), after;
    int64_t runs;

    t_clock_set(store, before.next_at);
    runs = run_scheduler(store, opts).runs;
    after = see_job(store, "j");
    CHECK_INT(after.next_at, before.next_at + HOUR);
    CHECK_INT(after.skipped - before.skipped, runs ? 0 : 1);
    CHECK_INT(after.last_at, runs ? before.next_at : before.last_at);
    return runs == 0;
}

/* Claims what is behind the door and settles it so; a lease of a day. */
static ph_lease_ref claim_it(const struct door *door, ph_store *store, ph_owner owner)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    ph_lease_ref ref;

    opts.lease_s = PH_LEASE_MAX_S;
    OK(door->claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 1);
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    return ref;
}

/* Both ways of working runs: claimed behind their own door, or as messages of the outbox. */
static void overlaps(const struct door *door, const ph_scheduler_opts *opts)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    first_run(store, opts);
    REQ("JOB-008", next_is_skipped(store, opts)); /* pending */
    ref = claim_it(door, store, owner);
    REQ("JOB-008", next_is_skipped(store, opts)); /* leased */
    OK(door->abandon(store, PH_OWN_TX, owner, &ref, 1, "e", 0, 0, NULL, &t_err));
    CHECK(next_is_skipped(store, opts)); /* pending again */
    ref = claim_it(door, store, owner);
    OK(door->ack(store, PH_OWN_TX, owner, &ref, 1, 0, NULL, &t_err));
    REQ("JOB-008", !next_is_skipped(store, opts)); /* done */
    ref = claim_it(door, store, owner);
    OK(door->fail(store, PH_OWN_TX, owner, &ref, 1, "e", 0, NULL, &t_err));
    OK(ph_dead_retry(store, PH_OWN_TX, &ref.work_id, 1, 0, NULL, &t_err));
    CHECK(next_is_skipped(store, opts)); /* dead, but put back */
    ref = claim_it(door, store, owner);
    OK(door->fail(store, PH_OWN_TX, owner, &ref, 1, "e", 0, NULL, &t_err));
    CHECK(!next_is_skipped(store, opts)); /* dead */
    CHECK_INT(see_job(store, "j").skipped, 4);
    CHECK_INT(run_count(conn), 3);
    t_check_places(conn);
}

TEST(an_instant_is_left_out_while_a_run_is_under_way)
{
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;

    opts.keep_job_runs = true;
    overlaps(&job_runs_door, &opts);
}

TEST(an_instant_is_left_out_while_the_message_of_a_run_is_under_way)
{
    overlaps(&outbox_door, NULL);
}

TEST(a_message_of_a_run_that_is_gone_has_ended)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    first_run(store, NULL);
    CHECK(next_is_skipped(store, NULL));
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, 10)), 1);
    CHECK(!next_is_skipped(store, NULL));
    OK(ph_queue_set(store, PH_OWN_TX, PH_JOB_RUNS, NULL, &settings, 0, &t_err));
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, 10)), 1);
    CHECK(!next_is_skipped(store, NULL)); /* from here on the runs are deleted, too */
    CHECK(next_is_skipped(store, NULL));  /* but what became of the last one is known */
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, 10)), 1);
    CHECK(!next_is_skipped(store, NULL));
}

TEST(a_triggered_run_is_under_way_as_well)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("j", "0 * * * *");

    t_clock_set(store, BEGIN);
    job.overlap = PH_OVERLAP_SKIP;
    set_job(store, &job);
    make_runs(store);
    OK(ph_job_trigger(store, PH_OWN_TX, "j", 0, NULL, &t_err));
    t_clock_set(store, BEGIN + HOUR);
    CHECK_INT(make_runs(store).runs, 0);
    CHECK_INT(see_job(store, "j").skipped, 1);
}

TEST(of_several_missed_instants_the_first_leaves_out_the_others)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_job job = a_job("j", "0 * * * *");

    job.misfire = PH_MISFIRE_ALL;
    job.overlap = PH_OVERLAP_SKIP;
    CHECK_INT(down_for(store, &job, 5 * HOUR).skipped, 4);
    CHECK_STR(runs_of(conn, "j"), "1714525200000000");
}

TEST(other_jobs_do_not_overlap)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("other", "0 * * * *");

    job.overlap = PH_OVERLAP_SKIP;
    first_run(store, NULL);
    set_job(store, &job);
    t_clock_set(store, BEGIN + 2 * HOUR);
    CHECK_INT(run_scheduler(store, NULL).runs, 1);
    CHECK_INT(see_job(store, "other").skipped, 0);
    CHECK_INT(see_job(store, "j").skipped, 1);
}

TEST(by_default_runs_may_overlap)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, BEGIN);
    put_job(store, "j", "0 * * * *");
    make_runs(store);
    for (int i = 1; i <= 3; i++) {
        t_clock_set(store, BEGIN + i * HOUR);
        CHECK_INT(make_runs(store).runs, 1);
    }
    CHECK_INT(run_count(conn), 3);
    CHECK_INT(see_job(store, "j").skipped, 0);
}
