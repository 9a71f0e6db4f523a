/* job_test.c - jobs: set, change, delete, trigger, pause, list. When they run is job_run_test.c. */
#include "doors.h"

#define HOUR (3600 * T_SECOND)

static bool delete_job(ph_store *store, const char *name)
{
    bool deleted = false;

    OK(ph_job_delete(store, PH_OWN_TX, name, 0, &deleted, &t_err));
    return deleted;
}

static ph_work_id trigger(ph_store *store, const char *name)
{
    ph_work_id run = { { 0 } };

    OK(ph_job_trigger(store, PH_OWN_TX, name, 0, &run, &t_err));
    return run;
}

/* ----------------------------------------------------------------------- set */

TEST(a_new_job_has_what_it_was_given)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("nightly", "0 3 * * *");
    struct job_seen s;
    bool is_new = false;

    t_clock_set(store, T_EPOCH);
    job.payload = "do it, not this";
    job.payload_length = 5;
    job.timezone = "Europe/Berlin";
    job.misfire = PH_MISFIRE_ALL;
    job.misfire_limit = 7;
    job.overlap = PH_OVERLAP_SKIP;
    job.ns = "night";
    OK(ph_job_set(store, PH_OWN_TX, &job, 0, &is_new, &t_err));
    REQ("JOB-001", is_new);
    s = see_job(store, "nightly");
    CHECK(s.there && !s.paused && !s.has_problem);
    CHECK_STR(s.name, "nightly");
    CHECK_STR(s.ns, "night");
    CHECK_STR(s.topic, "work");
    CHECK_STR(s.cron, "0 3 * * *");
    CHECK_STR(s.timezone, "Europe/Berlin");
    CHECK_STR(s.payload, "do it");
    CHECK_INT(s.misfire, PH_MISFIRE_ALL);
    CHECK_INT(s.misfire_limit, 7);
    CHECK_INT(s.overlap, PH_OVERLAP_SKIP);
    CHECK_INT(s.next_at, 0); /* not computed yet */
    CHECK_INT(s.last_at, 0);
    CHECK(ph_id_is_zero(s.last_run.b));
    CHECK_INT(s.skipped, 0);
    CHECK_INT(s.created_at, T_EPOCH);
    CHECK_INT(s.updated_at, T_EPOCH);
}

TEST(a_job_has_defaults)
{
    ph_store *store = t_open(NULL);
    struct job_seen s;

    put_job(store, "plain", "@daily");
    s = see_job(store, "plain");
    CHECK_STR(s.ns, "");
    CHECK_STR(s.timezone, "UTC");
    CHECK_STR(s.cron, "@daily");
    CHECK(!s.has_payload);
    CHECK_INT(s.misfire, PH_MISFIRE_ONCE);
    CHECK_INT(s.misfire_limit, 100);
    CHECK_INT(s.overlap, PH_OVERLAP_ALLOW);
}

TEST(an_empty_payload_is_not_none)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("empty", "@daily");

    job.payload = "";
    set_job(store, &job);
    CHECK(see_job(store, "empty").has_payload);
    job.payload = NULL;
    set_job(store, &job);
    CHECK(!see_job(store, "empty").has_payload);
}

TEST(setting_a_job_anew_changes_all_of_it_and_its_future)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_job job = a_job("j", "0 * * * *");
    struct job_seen s;
    bool is_new = true;
    int64_t begin = instant("2024-05-01T00:30:00");

    t_clock_set(store, begin);
    job.payload = "old";
    job.ns = "a";
    job.overlap = PH_OVERLAP_SKIP;
    job.misfire = PH_MISFIRE_SKIP;
    job.misfire_limit = 5;
    job.timezone = "Asia/Tokyo";
    set_job(store, &job);
    make_runs(store);
    CHECK_INT(see_job(store, "j").next_at, instant("2024-05-01T01:00:00"));
    t_clock_set(store, instant("2024-05-01T01:00:00"));
    CHECK_INT(make_runs(store).runs, 1);

    job = a_job("j", "15 * * * *");
    job.topic = "other";
    t_clock_advance(store, T_SECOND);
    OK(ph_job_set(store, PH_OWN_TX, &job, 0, &is_new, &t_err));
    REQ("JOB-001", !is_new);
    s = see_job(store, "j");
    CHECK_STR(s.topic, "other");
    CHECK_STR(s.cron, "15 * * * *");
    CHECK_STR(s.ns, "");
    CHECK_STR(s.timezone, "UTC");
    CHECK(!s.has_payload);
    CHECK_INT(s.misfire, PH_MISFIRE_ONCE);
    CHECK_INT(s.misfire_limit, 100);
    CHECK_INT(s.overlap, PH_OVERLAP_ALLOW);
    CHECK_INT(s.next_at, 0);
    CHECK_INT(s.created_at, begin);
    CHECK_INT(s.updated_at, instant("2024-05-01T01:00:01"));
    CHECK_INT(s.last_at, instant("2024-05-01T01:00:00"));
    CHECK(!ph_id_is_zero(s.last_run.b));

    CHECK_INT(make_runs(store).runs, 0);
    REQ_INT("JOB-001", see_job(store, "j").next_at, instant("2024-05-01T01:15:00"));
    CHECK_INT(run_count(conn), 1); /* the run that there is stays as it is */
    CHECK_INT(door_counts(&job_runs_door, store, "a").ready, 1);
    CHECK_STR(t_value(conn, "SELECT payload FROM {t}message"), "old");
    t_clock_set(store, instant("2024-05-01T01:15:00"));
    CHECK_INT(make_runs(store).runs, 1);
    CHECK_INT(door_counts(&job_runs_door, store, "").ready, 1);
}

/* A service that declares its jobs at every start, and was down at three. */
TEST(a_job_that_is_declared_again_after_a_missed_instant_runs)
{
    ph_store *store = t_open(NULL);
    bool is_new = true;
    ph_job job = a_job("nightly", "0 3 * * *");

    job.payload = "all";
    job.misfire = PH_MISFIRE_ONCE;
    t_clock_set(store, instant("2024-05-01T12:00:00"));
    set_job(store, &job);
    make_runs(store);
    t_clock_set(store, instant("2024-05-04T08:00:00"));
    OK(ph_job_set(store, PH_OWN_TX, &job, 0, &is_new, &t_err));
    CHECK(!is_new);
    CHECK_INT(see_job(store, "nightly").next_at, instant("2024-05-02T03:00:00"));
    CHECK_INT(see_job(store, "nightly").updated_at, instant("2024-05-01T12:00:00"));
    REQ_INT("JOB-007", make_runs(store).runs, 1);
    CHECK_INT(see_job(store, "nightly").last_at, instant("2024-05-04T03:00:00"));
    set_job(store, &job);
    CHECK_INT(make_runs(store).runs, 0);
    CHECK_INT(see_job(store, "nightly").next_at, instant("2024-05-05T03:00:00"));
}

/* Neither when its first instant has not been computed: no scheduler ran between two starts. */
TEST(a_job_that_no_scheduler_has_seen_is_declared_again)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, instant("2024-05-01T00:30:00"));
    put_job(store, "j", "0 * * * *");
    t_clock_set(store, instant("2024-05-01T01:30:00"));
    put_job(store, "j", "0 * * * *");
    CHECK_INT(make_runs(store).runs, 1);
    CHECK_INT(see_job(store, "j").last_at, instant("2024-05-01T01:00:00"));
}

TEST(a_job_that_changes_all_but_its_times_keeps_its_next_instant)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("j", "0 * * * *");
    ph_batch *batch;

    t_clock_set(store, instant("2024-05-01T00:30:00"));
    set_job(store, &job);
    make_runs(store);
    t_clock_set(store, instant("2024-05-01T03:30:00"));
    job.payload = "new";
    job.misfire = PH_MISFIRE_ALL;
    set_job(store, &job);
    CHECK_INT(see_job(store, "j").next_at, instant("2024-05-01T01:00:00"));
    CHECK_INT(make_runs(store).runs, 3);
    batch = door_claim(&job_runs_door, store, ph_owner_new(), NULL, 10);
    CHECK_INT(ph_batch_count(batch), 3);
    CHECK_STR(ph_batch_at(batch, 0)->payload, "new");
    CHECK_INT(ph_batch_at(batch, 0)->scheduled_at, instant("2024-05-01T01:00:00"));
    ph_batch_free(batch);
}

/* A job of the small hours gets another expression at half past three. */
struct change {
    ph_misfire misfire;
    const char *before, *after;
    int64_t looked_at; /* when a scheduler looks, in minutes of the day */
    const char *ran;   /* the instants that it makes runs of */
};

/* The instants of a job's runs, as hour:minute. */
static const char *instants_of_runs(ph_store *store)
{
    static char text[200];
    ph_batch *batch = door_claim(&job_runs_door, store, ph_owner_new(), NULL, 10);

    text[0] = '\0';
    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        int64_t at = ph_batch_at(batch, i)->scheduled_at - instant("2024-05-01T00:00:00");
        int minute = (int)(at / (60 * T_SECOND));
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, "%s%d:%02d", i ? " " : "", minute / 60,
                 minute % 60);
    }
    ph_batch_free(batch);
    return text;
}

/* seen: a scheduler has computed the first instant before. */
static void check_change(const struct change *change, bool seen)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("j", change->before);

    job.misfire = change->misfire;
    t_clock_set(store, instant("2024-05-01T00:30:00"));
    set_job(store, &job);
    if (seen)
        make_runs(store);
    t_clock_set(store, instant("2024-05-01T03:30:00"));
    job.cron = change->after;
    set_job(store, &job);
    CHECK_INT(see_job(store, "j").next_at, 0);
    t_clock_set(store, instant("2024-05-01T00:00:00") + change->looked_at * 60 * T_SECOND);
    make_runs(store);
    CHECK_STR(instants_of_runs(store), change->ran);
    CHECK_INT(make_runs(store).runs, 0);
}

TEST(what_was_due_when_a_job_got_another_expression_still_runs)
{
    static const struct change changes[] = {
        { PH_MISFIRE_ONCE, "0 3 * * *", "0 5 * * *", 210, "3:00" },
        { PH_MISFIRE_ONCE, "0 3 * * *", "0 5 * * *", 360, "5:00" }, /* the latest of all */
        { PH_MISFIRE_ALL, "0 3 * * *", "0 5 * * *", 360, "3:00 5:00" },
        { PH_MISFIRE_ALL, "0 * * * *", "15 * * * *", 270, "1:00 2:00 3:00 4:15" },
        { PH_MISFIRE_SKIP, "0 3 * * *", "0 5 * * *", 210, "" },
        { PH_MISFIRE_SKIP, "30 3 * * *", "0 5 * * *", 210, "3:30" },
        { PH_MISFIRE_SKIP, "0 3 * * *", "0 5 * * *", 300, "5:00" },
        { PH_MISFIRE_ONCE, "0 4 * * *", "0 5 * * *", 250, "" }, /* was not due */
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        for (int seen = 0; seen < 2; seen++) {
            t_start_over();
            check_change(&changes[i], seen);
        }
    }
    REQ("JOB-001", true);
}

/* Two releases within one outage. */
TEST(what_was_due_survives_two_changes)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, instant("2024-05-01T00:30:00"));
    put_job(store, "j", "0 3 * * *");
    make_runs(store);
    t_clock_set(store, instant("2024-05-01T03:30:00"));
    put_job(store, "j", "0 5 * * *");
    put_job(store, "j", "0 6 * * *");
    CHECK_INT(make_runs(store).runs, 1);
    CHECK_INT(see_job(store, "j").last_at, instant("2024-05-01T03:00:00"));
    CHECK_INT(see_job(store, "j").next_at, instant("2024-05-01T06:00:00"));
}

TEST(what_passed_while_a_job_was_paused_is_not_due_after_a_change)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, instant("2024-05-01T00:30:00"));
    put_job(store, "j", "0 3 * * *");
    make_runs(store);
    t_clock_set(store, instant("2024-05-01T03:00:10"));
    put_job(store, "j", "0 4 * * *");
    OK(ph_job_pause(store, PH_OWN_TX, "j", 0, &t_err));
    t_clock_set(store, instant("2024-05-01T04:30:00"));
    put_job(store, "j", "0 5 * * *");
    OK(ph_job_resume(store, PH_OWN_TX, "j", 0, &t_err));
    CHECK_INT(make_runs(store).runs, 0);
    CHECK_INT(see_job(store, "j").next_at, instant("2024-05-01T05:00:00"));
}

TEST(a_job_whose_first_instant_passes_before_any_scheduler_looks_runs)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, instant("2024-05-01T00:59:59"));
    put_job(store, "j", "0 * * * *");
    t_clock_set(store, instant("2024-05-01T01:00:01"));
    CHECK_INT(make_runs(store).runs, 1);
    CHECK_INT(see_job(store, "j").last_at, instant("2024-05-01T01:00:00"));
    CHECK_INT(see_job(store, "j").next_at, instant("2024-05-01T02:00:00"));
}

TEST(a_job_that_is_set_at_its_instant_runs_at_the_next)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, instant("2024-05-01T01:00:00"));
    put_job(store, "j", "0 * * * *");
    CHECK_INT(make_runs(store).runs, 0);
    CHECK_INT(see_job(store, "j").next_at, instant("2024-05-01T02:00:00"));
}

TEST(setting_a_job_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_job job = a_job("j", "@daily");

    CHECK_INT(ph_job_set(store, t_tx(conn), &job, 0, NULL, &t_err), PH_ENOTX);
    t_begin(conn);
    OK(ph_job_set(store, t_tx(conn), &job, 0, NULL, &t_err));
    t_rollback(conn);
    CHECK(!see_job(store, "j").there);
    t_begin(conn);
    OK(ph_job_set(store, t_tx(conn), &job, 0, NULL, &t_err));
    CHECK(!see_job(store, "j").there); /* not yet, for others */
    t_commit(conn);
    CHECK(see_job(store, "j").there);
}

/* -------------------------------------------------------------------- delete */

TEST(deleting_a_job_removes_the_runs_that_wait_and_no_others)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_work_id done, leased, waiting, turned, other;
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    put_job(store, "j", "@daily");
    put_job(store, "other", "@daily");
    done = trigger(store, "j");
    ref = door_take_one(&job_runs_door, store, owner);
    OK(ph_job_runs_ack(store, PH_OWN_TX, owner, &ref, 1, 0, NULL, &t_err));
    turned = trigger(store, "j");
    CHECK_INT(run_scheduler(store, NULL).job_runs, 1);
    leased = trigger(store, "j");
    ref = door_take_one(&job_runs_door, store, owner);
    waiting = trigger(store, "j");
    other = trigger(store, "other");
    CHECK(delete_job(store, "j"));
    CHECK(!see_job(store, "j").there);
    CHECK(see_job(store, "other").there);
    REQ("JOB-002", !see_by(ph_job_runs_find, store, waiting).there);
    CHECK_INT(see_by(ph_job_runs_find, store, done).status, PH_DONE);
    CHECK_INT(see_by(ph_job_runs_find, store, turned).status, PH_DONE);
    CHECK_INT(see_by(ph_job_runs_find, store, leased).status, PH_IN_PROGRESS);
    CHECK_INT(see_by(ph_job_runs_find, store, other).status, PH_READY);
    CHECK_INT(claimable(store, 10), 1); /* the message that was made of one */
    OK(ph_job_runs_ack(store, PH_OWN_TX, owner, &ref, 1, 0, NULL, &t_err));
    CHECK_INT(see_by(ph_job_runs_find, store, leased).status, PH_DONE);
    CHECK(!delete_job(store, "j"));
    t_clock_advance(store, 48 * HOUR);
    CHECK_INT(make_runs(store).runs, 1); /* of the other one */
    t_check_places(conn);
}

TEST(a_run_that_is_abandoned_after_its_job_was_deleted_is_still_worked)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    put_job(store, "j", "@daily");
    trigger(store, "j");
    ref = door_take_one(&job_runs_door, store, owner);
    CHECK(delete_job(store, "j"));
    OK(ph_job_runs_abandon(store, PH_OWN_TX, owner, &ref, 1, "later", 0, 0, NULL, &t_err));
    CHECK_INT(door_take_one(&job_runs_door, store, owner).attempts, 2);
}

TEST(a_deleted_job_can_be_made_anew)
{
    ph_store *store = t_open(NULL);
    bool is_new = false;
    ph_job job = a_job("j", "@daily");

    set_job(store, &job);
    OK(ph_job_pause(store, PH_OWN_TX, "j", 0, &t_err));
    trigger(store, "j");
    CHECK(delete_job(store, "j"));
    OK(ph_job_set(store, PH_OWN_TX, &job, 0, &is_new, &t_err));
    CHECK(is_new);
    CHECK(!see_job(store, "j").paused);
    CHECK_INT(see_job(store, "j").last_at, 0);
    CHECK_INT(door_counts(&job_runs_door, store, NULL).ready, 0);
}

TEST(deleting_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id run;
    bool deleted = false;

    put_job(store, "j", "@daily");
    run = trigger(store, "j");
    t_begin(conn);
    OK(ph_job_delete(store, t_tx(conn), "j", 0, &deleted, &t_err));
    CHECK(deleted);
    t_rollback(conn);
    CHECK(see_job(store, "j").there);
    CHECK_INT(see_by(ph_job_runs_find, store, run).status, PH_READY);
    t_begin(conn);
    OK(ph_job_delete(store, t_tx(conn), "j", 0, &deleted, &t_err));
    t_commit(conn);
    CHECK(!see_job(store, "j").there);
    CHECK(!see_by(ph_job_runs_find, store, run).there);
}

/* ------------------------------------------------------------------- trigger */

TEST(a_trigger_leaves_the_cadence_alone)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id run;

    t_clock_set(store, instant("2024-05-01T00:30:00"));
    put_job(store, "j", "0 * * * *");
    make_runs(store);
    t_clock_set(store, instant("2024-05-01T00:45:00"));
    run = trigger(store, "j");
    REQ_INT("JOB-003", see_job(store, "j").next_at, instant("2024-05-01T01:00:00"));
    CHECK_INT(see_job(store, "j").last_at, instant("2024-05-01T00:45:00"));
    CHECK(same_id(see_job(store, "j").last_run.b, run.b));
    CHECK_INT(see_job(store, "j").updated_at, instant("2024-05-01T00:30:00"));
    t_clock_set(store, instant("2024-05-01T01:00:00"));
    trigger(store, "j"); /* at the very instant: both are made */
    CHECK_INT(make_runs(store).runs, 1);
    trigger(store, "j");
    CHECK_INT(run_count(conn), 4);
    CHECK_INT(see_job(store, "j").next_at, instant("2024-05-01T02:00:00"));
}

TEST(a_triggered_run_stands_for_now)
{
    ph_store *store = t_open(NULL);
    ph_batch *batch;
    ph_work_id run;
    const ph_delivery *d;

    t_clock_set(store, T_EPOCH + 5);
    put_job(store, "j", "@yearly");
    run = trigger(store, "j");
    batch = door_claim(&job_runs_door, store, ph_owner_new(), NULL, 10);
    CHECK_INT(ph_batch_count(batch), 1);
    d = ph_batch_at(batch, 0);
    CHECK(same_id(d->work_id.b, run.b));
    CHECK_STR(d->job, "j");
    CHECK_INT(d->scheduled_at, T_EPOCH + 5);
    CHECK_STR(d->payload, "");
    ph_batch_free(batch);
}

TEST(a_trigger_works_on_paused_and_overlapping_jobs)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("j", "@yearly");

    job.overlap = PH_OVERLAP_SKIP;
    set_job(store, &job);
    OK(ph_job_pause(store, PH_OWN_TX, "j", 0, &t_err));
    trigger(store, "j");
    trigger(store, "j");
    CHECK_INT(door_counts(&job_runs_door, store, NULL).ready, 2);
    CHECK_INT(see_job(store, "j").skipped, 0);
    CHECK(see_job(store, "j").paused);
}

TEST(triggering_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id run = { { 0 } };

    put_job(store, "j", "@daily");
    t_begin(conn);
    OK(ph_job_trigger(store, t_tx(conn), "j", 0, &run, &t_err));
    t_rollback(conn);
    CHECK(!see_by(ph_job_runs_find, store, run).there);
    CHECK_INT(run_count(conn), 0);
    CHECK_INT(see_job(store, "j").last_at, 0);
    t_begin(conn);
    OK(ph_job_trigger(store, t_tx(conn), "j", 0, &run, &t_err));
    t_commit(conn);
    CHECK_INT(see_by(ph_job_runs_find, store, run).status, PH_READY);
    t_check_places(conn);
}

/* ------------------------------------------------------------- pause, resume */

TEST(a_paused_job_makes_no_runs_and_makes_up_for_none)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, instant("2024-05-01T00:30:00"));
    put_job(store, "j", "0 * * * *");
    make_runs(store);
    OK(ph_job_pause(store, PH_OWN_TX, "j", 0, &t_err));
    CHECK(see_job(store, "j").paused);
    CHECK_INT(see_job(store, "j").next_at, 0);
    t_clock_set(store, instant("2024-05-01T05:00:10"));
    CHECK_INT(make_runs(store).runs, 0);
    OK(ph_job_pause(store, PH_OWN_TX, "j", 0, &t_err)); /* again: harmless */
    OK(ph_job_resume(store, PH_OWN_TX, "j", 0, &t_err));
    CHECK_INT(make_runs(store).runs, 0);
    CHECK(!see_job(store, "j").paused);
    CHECK_INT(see_job(store, "j").next_at, instant("2024-05-01T06:00:00"));
    t_clock_set(store, instant("2024-05-01T06:00:00"));
    CHECK_INT(make_runs(store).runs, 1);
    CHECK_INT(run_count(conn), 1);
}

TEST(resuming_a_job_that_is_not_paused_changes_nothing)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, instant("2024-05-01T00:30:00"));
    put_job(store, "j", "0 * * * *");
    make_runs(store);
    t_clock_set(store, instant("2024-05-01T01:00:10"));
    OK(ph_job_resume(store, PH_OWN_TX, "j", 0, &t_err));
    CHECK_INT(see_job(store, "j").next_at, instant("2024-05-01T01:00:00"));
    CHECK_INT(make_runs(store).runs, 1);
}

TEST(a_paused_job_that_is_set_anew_stays_paused)
{
    ph_store *store = t_open(NULL);

    put_job(store, "j", "@hourly");
    OK(ph_job_pause(store, PH_OWN_TX, "j", 0, &t_err));
    put_job(store, "j", "@daily");
    CHECK(see_job(store, "j").paused);
    CHECK_STR(see_job(store, "j").cron, "@daily");
}

TEST(pausing_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    put_job(store, "j", "@hourly");
    t_begin(conn);
    OK(ph_job_pause(store, t_tx(conn), "j", 0, &t_err));
    t_rollback(conn);
    CHECK(!see_job(store, "j").paused);
    t_begin(conn);
    OK(ph_job_pause(store, t_tx(conn), "j", 0, &t_err));
    t_commit(conn);
    CHECK(see_job(store, "j").paused);
    t_begin(conn);
    OK(ph_job_resume(store, t_tx(conn), "j", 0, &t_err));
    t_rollback(conn);
    CHECK(see_job(store, "j").paused);
}

/* ---------------------------------------------------------------------- list */

/* The names of a page, joined by blanks. */
static const char *names(ph_store *store, const ph_job_list_opts *opts)
{
    static char text[1000];
    ph_jobs *list = NULL;

    text[0] = '\0';
    OK(ph_job_list(store, PH_OWN_TX, opts, 0, &list, &t_err));
    for (size_t i = 0; i < ph_jobs_count(list); i++) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "", ph_jobs_at(list, i)->name);
    }
    CHECK(ph_jobs_at(list, ph_jobs_count(list)) == NULL);
    ph_jobs_free(list);
    return text;
}

TEST(jobs_are_listed_by_name_in_pages)
{
    static const char *const all[] = { "b", "a", "B", "\xc3\xa9", "aa", "c" };
    ph_store *store = t_open(NULL);
    ph_job_list_opts opts = PH_JOB_LIST_OPTS_INIT;

    CHECK_STR(names(store, NULL), "");
    for (int i = 0; i < 6; i++) {
        ph_job job = a_job(all[i], "@daily");

        job.ns = i % 2 ? "odd" : "even";
        set_job(store, &job);
    }
    CHECK_STR(names(store, NULL), "B a aa b c \xc3\xa9");
    opts.limit = 2;
    CHECK_STR(names(store, &opts), "B a");
    opts.after = "a";
    CHECK_STR(names(store, &opts), "aa b");
    opts.after = "c";
    CHECK_STR(names(store, &opts), "\xc3\xa9");
    opts.after = "\xc3\xa9";
    CHECK_STR(names(store, &opts), "");
    opts.after = "ab"; /* need not exist */
    CHECK_STR(names(store, &opts), "b c");
    opts = (ph_job_list_opts)PH_JOB_LIST_OPTS_INIT;
    opts.ns = "odd";
    CHECK_STR(names(store, &opts), "a c \xc3\xa9");
    opts.after = "b";
    CHECK_STR(names(store, &opts), "c \xc3\xa9");
    opts.after = NULL;
    opts.name = "c";
    CHECK_STR(names(store, &opts), "c");
    opts.name = "b";
    CHECK_STR(names(store, &opts), "");
    opts.ns = NULL;
    opts.name = "nobody";
    CHECK_STR(names(store, &opts), "");
}

TEST(a_page_of_jobs_has_fifty_unless_asked)
{
    ph_store *store = t_open(NULL);
    ph_jobs *list = NULL;
    char name[16];

    for (int i = 0; i < 52; i++) {
        snprintf(name, sizeof(name), "job %02d", i);
        put_job(store, name, "@daily");
    }
    OK(ph_job_list(store, PH_OWN_TX, NULL, 0, &list, &t_err));
    CHECK_INT(ph_jobs_count(list), 50);
    CHECK_STR(ph_jobs_at(list, 49)->name, "job 49");
    ph_jobs_free(list);
    ph_jobs_free(NULL);
}

TEST(a_list_of_jobs_sees_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_job job = a_job("j", "@daily");
    ph_jobs *list = NULL;

    t_begin(conn);
    OK(ph_job_set(store, t_tx(conn), &job, 0, NULL, &t_err));
    OK(ph_job_list(store, t_tx(conn), NULL, 0, &list, &t_err));
    CHECK_INT(ph_jobs_count(list), 1);
    ph_jobs_free(list);
    t_rollback(conn);
}
