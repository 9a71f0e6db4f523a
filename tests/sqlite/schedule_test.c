/* schedule_test.c - timers, jobs and the scheduler, as far as SQLite differs: the caller's
 * transaction and its rollback, the write lock, and what the views and tables show. */
#include "seam.h"
#include "util/alloc.h"

#define SECOND INT64_C(1000000)
#define NOON (INT64_C(1767268800) * SECOND) /* 2026-01-01T12:00:00Z */
#define HOUR (3600 * SECOND)

static ph_work_id schedule(ph_store *store, ph_tx tx, const char *ns, int64_t due_at)
{
    ph_timer timer = PH_TIMER_INIT;
    ph_work_id id;

    timer.topic = "topic";
    timer.payload = "payload";
    timer.ns = ns;
    timer.correlation_id = "correlation";
    timer.headers = "{\"a\": 1}";
    timer.due_at = due_at;
    OK(ph_timer_schedule(store, tx, &timer, 0, &id, &t_err));
    return id;
}

static bool cancel(ph_store *store, ph_tx tx, ph_work_id timer)
{
    bool cancelled = false;

    OK(ph_timer_cancel(store, tx, timer, 0, &cancelled, &t_err));
    return cancelled;
}

static bool set_job(ph_store *store, ph_tx tx, const char *name, ph_overlap overlap)
{
    ph_job job = PH_JOB_INIT;
    bool is_new = false;

    job.name = name;
    job.topic = "job topic";
    job.payload = "job payload";
    job.cron = "@hourly";
    job.overlap = overlap;
    OK(ph_job_set(store, tx, &job, 0, &is_new, &t_err));
    return is_new;
}

static ph_work_id trigger(ph_store *store, const char *name)
{
    ph_work_id run;

    OK(ph_job_trigger(store, PH_OWN_TX, name, 0, &run, &t_err));
    return run;
}

static ph_schedule run_with(ph_store *store, const ph_scheduler_opts *opts, int timeout_ms)
{
    ph_schedule schedule = PH_SCHEDULE_INIT;
    ph_scheduler *scheduler = NULL;

    OK(ph_scheduler_new(store, opts, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, timeout_ms, &schedule, &t_err));
    ph_scheduler_free(scheduler);
    return schedule;
}

static ph_schedule run(ph_store *store)
{
    return run_with(store, NULL, 0);
}

static ph_store *open_at_noon(void)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, NOON);
    return store;
}

/* ------------------------------------------------------------ transactions */

TEST(timers_and_jobs_are_part_of_the_callers_transaction)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_work_id kept = schedule(store, PH_OWN_TX, NULL, NOON + HOUR), run_id;

    CHECK(set_job(store, PH_OWN_TX, "kept", PH_OVERLAP_DEFAULT));
    t_begin(conn);
    schedule(store, t_tx(conn), "elsewhere", NOON + HOUR);
    CHECK(cancel(store, t_tx(conn), kept));
    CHECK(!cancel(store, t_tx(conn), kept));
    CHECK(set_job(store, t_tx(conn), "gone", PH_OVERLAP_DEFAULT));
    CHECK(!set_job(store, t_tx(conn), "gone", PH_OVERLAP_SKIP));
    OK(ph_job_trigger(store, t_tx(conn), "gone", 0, &run_id, &t_err));
    OK(ph_job_pause(store, t_tx(conn), "kept", 0, &t_err));
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}jobs"), 2);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job_runs WHERE job = 'gone'"), 1);
    t_rollback(conn);
    CHECK_STR(t_value(conn, "SELECT group_concat(name) FROM {t}jobs WHERE NOT paused"), "kept");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}timers"), 1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job_run"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}queues"), 2); /* outbox and timers */
    CHECK(cancel(store, PH_OWN_TX, kept));
    t_check_places(conn);
}

TEST(a_failed_call_leaves_the_callers_transaction_usable)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_work_id run_id;

    t_begin(conn);
    CHECK_INT(ph_job_trigger(store, t_tx(conn), "nobody", 0, &run_id, &t_err), PH_ENOTFOUND);
    CHECK_INT(ph_job_pause(store, t_tx(conn), "nobody", 0, &t_err), PH_ENOTFOUND);
    CHECK_INT(ph_job_resume(store, t_tx(conn), "nobody", 0, &t_err), PH_ENOTFOUND);
    schedule(store, t_tx(conn), NULL, NOON);
    t_commit(conn);
    CHECK_INT(run(store).timers, 1);
}

TEST(a_tick_inside_a_transaction_is_undone_with_it)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    struct ph__tick wanted = { .owner = ph_owner_new(), .limit = 10, .timers = true };
    struct ph__ticked ticked = { 0 };
    PH__CALL(call);

    schedule(store, PH_OWN_TX, NULL, NOON);
    t_begin(conn);
    OK(ph__call_begin(&call, store, t_tx(conn), 0, &t_err));
    OK(store->backend->tick(&call, &wanted, &ticked));
    CHECK_INT(ticked.timers, 1);
    CHECK(!ticked.more);
    ph__arena_free(&ticked.arena);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 1);
    t_rollback(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 0);
    CHECK_STR(t_value(conn, "SELECT status FROM {t}timers"), "ready");
    t_check_places(conn);
}

/* ------------------------------------------------------------------- locks */

TEST(an_idle_scheduler_takes_no_lock_and_writes_nothing)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_schedule schedule_;
    long long before;

    set_job(store, PH_OWN_TX, "hourly", PH_OVERLAP_DEFAULT);
    schedule(store, PH_OWN_TX, NULL, NOON + 90 * 60 * SECOND);
    schedule_ = run(store); /* computes the next instant */
    CHECK_INT(schedule_.next_at, NOON + HOUR);
    before = t_number(conn, "PRAGMA data_version");
    t_begin(conn); /* somebody holds the write lock */
    for (int i = 0; i < 10; i++) {
        schedule_ = run_with(store, NULL, 50);
        CHECK_INT(schedule_.next_at, NOON + HOUR);
        CHECK_INT(schedule_.now, NOON);
        CHECK(!schedule_.more);
    }
    t_rollback(conn);
    CHECK_INT(t_number(conn, "PRAGMA data_version"), before);
}

TEST(a_scheduler_that_cannot_have_the_lock_changes_nothing)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_schedule result = PH_SCHEDULE_INIT;
    ph_scheduler *scheduler = NULL;

    schedule(store, PH_OWN_TX, NULL, NOON);
    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    t_begin(conn);
    CHECK_INT(ph_scheduler_run(scheduler, 50, &result, &t_err), PH_EBUSY);
    CHECK(t_err.flags & PH_RETRY);
    t_rollback(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending"), 1);
    OK(ph_scheduler_run(scheduler, 0, &result, &t_err));
    CHECK_INT(result.timers, 1);
    ph_scheduler_free(scheduler);
}

/* --------------------------------------------------------------- what is kept */

TEST(a_timer_becomes_a_message_and_is_done)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_work_id timer = schedule(store, PH_OWN_TX, "ns", NOON + SECOND);
    char text[PH_ID_TEXT_SIZE];

    CHECK_INT(run(store).timers, 0);
    CHECK_STR(t_value(conn, "SELECT due_time_utc || status || next_attempt_at FROM {t}timers"),
              "2026-01-01T12:00:01.000000Zready2026-01-01T12:00:01.000000Z");
    t_clock_advance(store, SECOND);
    CHECK_INT(run(store).timers, 1);
    CHECK(!cancel(store, PH_OWN_TX, timer));
    CHECK_STR(t_value(conn, "SELECT message_id FROM {t}outbox WHERE namespace = 'ns'"),
              ph_id_text(timer.b, text));
    CHECK_STR(t_value(conn,
                      "SELECT topic || payload || correlation_id || headers || priority || status"
                      "  FROM {t}outbox"),
              "topicpayloadcorrelation{\"a\": 1}1ready");
    CHECK_STR(t_value(conn, "SELECT status || is_processed || attempts FROM {t}timers"), "done11");
    CHECK_INT(t_number(conn, "SELECT processed_by IS NOT NULL FROM {t}timers"), 1);
    CHECK_STR(t_value(conn, "SELECT group_concat(door || ' ' || namespace)"
                            "  FROM (SELECT * FROM {t}queues ORDER BY door, namespace)"),
              "outbox ,outbox ns,timers ns");
    t_check_places(conn);
}

TEST(batches_are_cut_at_the_limit_and_the_rest_follows)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_schedule result;

    opts.batch_size = 3;
    for (int i = 0; i < 8; i++)
        schedule(store, PH_OWN_TX, i % 2 ? "odd" : "even", NOON + (7 - i) * SECOND);
    t_clock_advance(store, 10 * SECOND);
    result = run_with(store, &opts, 0);
    CHECK_INT(result.timers, 3);
    CHECK(result.more);
    t_check_places(conn);
    CHECK_INT(run_with(store, &opts, 0).timers, 3);
    result = run_with(store, &opts, 0);
    CHECK_INT(result.timers, 2);
    CHECK(!result.more);
    CHECK_INT(t_number(conn, "SELECT count(DISTINCT message_id) FROM {t}outbox"), 8);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}timers WHERE status = 'done'"), 8);
    t_check_places(conn);
}

TEST(a_queue_may_delete_its_timers_and_a_paused_one_keeps_them)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.delete_on_ack = 1;
    OK(ph_queue_set(store, PH_OWN_TX, PH_TIMERS, "", &settings, 0, &t_err));
    OK(ph_queue_pause(store, PH_OWN_TX, PH_TIMERS, "paused", 0, &t_err));
    schedule(store, PH_OWN_TX, NULL, NOON);
    schedule(store, PH_OWN_TX, "paused", NOON);
    CHECK_INT(run(store).timers, 1);
    CHECK_INT(run(store).timers, 0);
    CHECK_STR(t_value(conn, "SELECT group_concat(namespace || status) FROM {t}timers"),
              "pausedready");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}done"), 0);
    t_check_places(conn);
}

TEST(a_cancelled_timer_leaves_no_row_behind)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_work_id timer = schedule(store, PH_OWN_TX, NULL, NOON);
    ph_batch *batch = NULL;
    ph_lease_ref ref;
    ph_outcome outcome;

    OK(ph_timers_claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 1);
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    CHECK(!cancel(store, PH_OWN_TX, timer)); /* it is claimed */
    OK(ph_timers_abandon(store, PH_OWN_TX, owner, &ref, 1, "later", 5000, 0, &outcome, &t_err));
    CHECK(cancel(store, PH_OWN_TX, timer)); /* with a history */
    CHECK_INT(t_number(conn, "SELECT (SELECT count(*) FROM {t}message)"
                             " + (SELECT count(*) FROM {t}pending)"
                             " + (SELECT count(*) FROM {t}attempt_log)"),
              0);
}

/* A work id names its door: other doors do not know it. */
TEST(an_id_of_another_door_is_not_found)
{
    ph_store *store = open_at_noon();
    ph_work_id timer = schedule(store, PH_OWN_TX, NULL, NOON + HOUR);
    ph_work_id message = t_enqueue(store, "topic", "payload").work_id;
    ph_message_info *info = NULL;

    CHECK_INT(ph_outbox_find(store, PH_OWN_TX, timer, 0, &info, &t_err), PH_ENOTFOUND);
    CHECK_INT(ph_job_runs_find(store, PH_OWN_TX, timer, 0, &info, &t_err), PH_ENOTFOUND);
    CHECK_INT(ph_timers_find(store, PH_OWN_TX, message, 0, &info, &t_err), PH_ENOTFOUND);
    CHECK(!cancel(store, PH_OWN_TX, message));
    OK(ph_timers_find(store, PH_OWN_TX, timer, 0, &info, &t_err));
    CHECK_INT(info->next_attempt_at, NOON + HOUR);
    ph_message_info_free(info);
}

/* -------------------------------------------------------------------- jobs */

TEST(a_job_shows_in_its_view_and_its_runs_in_theirs)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;

    opts.keep_job_runs = true;
    set_job(store, PH_OWN_TX, "a \"job\"", PH_OVERLAP_DEFAULT);
    CHECK_STR(t_value(conn, "SELECT coalesce(next_at, 'unknown') FROM {t}jobs"), "unknown");
    CHECK_INT(run_with(store, &opts, 0).runs, 0);
    CHECK_STR(t_value(conn, "SELECT next_at || misfire || misfire_limit || overlap || skipped"
                            "  FROM {t}jobs"),
              "2026-01-01T13:00:00.000000Zonce100allow0");
    t_clock_advance(store, HOUR);
    CHECK_INT(run_with(store, &opts, 0).runs, 1);
    CHECK_INT(run_with(store, &opts, 0).runs, 0);
    CHECK_STR(t_value(conn,
                      "SELECT job || scheduled_at || triggered || status || payload || headers"
                      "  FROM {t}job_runs"),
              "a \"job\"2026-01-01T13:00:00.000000Z0readyjob payload"
              "{\"job\": \"a \\\"job\\\"\", \"scheduled_at\": \"2026-01-01T13:00:00.000000Z\"}");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}jobs j JOIN {t}job_runs r ON r.id = last_run"
                             " WHERE j.last_at = '2026-01-01T13:00:00.000000Z'"),
              1);
    OK(ph_job_pause(store, PH_OWN_TX, "a \"job\"", 0, &t_err));
    CHECK_STR(t_value(conn, "SELECT paused || coalesce(next_at, 'paused') FROM {t}jobs"),
              "1paused");
    OK(ph_job_delete(store, PH_OWN_TX, "a \"job\"", 0, NULL, &t_err));
    CHECK_INT(t_number(conn, "SELECT (SELECT count(*) FROM {t}job_run)"
                             " + (SELECT count(*) FROM {t}message)"),
              0);
}

TEST(a_run_that_an_operator_put_back_is_under_way_again)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;
    ph_work_id dead, again;
    ph_lease_ref ref;
    ph_outcome outcome;

    opts.keep_job_runs = true;
    set_job(store, PH_OWN_TX, "job", PH_OVERLAP_SKIP);
    run_with(store, &opts, 0);
    dead = trigger(store, "job");
    OK(ph_job_runs_claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &t_err));
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    t_clock_advance(store, HOUR); /* the claim is not over: the run is left out */
    CHECK_INT(run_with(store, &opts, 0).runs, 0);
    OK(ph_job_runs_fail(store, PH_OWN_TX, owner, &ref, 1, "broken", 0, &outcome, &t_err));
    t_clock_advance(store, HOUR);
    CHECK_INT(run_with(store, &opts, 0).runs, 1);
    OK(ph_job_runs_claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &t_err));
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    OK(ph_job_runs_ack(store, PH_OWN_TX, owner, &ref, 1, 0, &outcome, &t_err));
    OK(ph_dead_retry(store, PH_OWN_TX, &dead, 1, 0, &again, &t_err));
    t_clock_advance(store, HOUR);
    CHECK_INT(run_with(store, &opts, 0).runs, 0);
    CHECK_INT(t_number(conn, "SELECT skipped FROM {t}jobs"), 2);
    CHECK_STR(t_value(conn, "SELECT job || triggered || status FROM {t}job_runs ORDER BY id DESC"),
              "job1ready");
    t_check_places(conn);
}

/* The run's row goes when it becomes a message; the message still counts. */
TEST(overlap_is_noticed_although_runs_are_deleted)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();

    settings.delete_on_ack = 1;
    OK(ph_queue_set(store, PH_OWN_TX, PH_JOB_RUNS, "", &settings, 0, &t_err));
    set_job(store, PH_OWN_TX, "job", PH_OVERLAP_SKIP);
    run(store);
    t_clock_advance(store, HOUR);
    CHECK_INT(run(store).job_runs, 1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job_run"), 0);
    t_clock_advance(store, HOUR);
    CHECK_INT(run(store).runs, 0);
    t_ack_all(store, owner, t_claim(store, owner, 1));
    t_clock_advance(store, HOUR);
    CHECK_INT(run(store).runs, 1);
    CHECK_INT(t_number(conn, "SELECT skipped FROM {t}jobs"), 1);
}

/* What a scheduler has seen of the old job must not be done to the new one. */
TEST(a_job_that_was_deleted_and_set_again_is_another_one)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    struct ph__tick wanted = { .limit = 10 };
    struct ph__ticked ticked = { 0 };
    struct ph__job_step step = { .name = "job", .next_at = NOON + 1 };
    PH__CALL(call);
    int64_t runs = -1;

    set_job(store, PH_OWN_TX, "job", PH_OVERLAP_DEFAULT);
    OK(ph__call_own(&call, store, 0, &t_err));
    ph__call_end(&call); /* others use the store in between */
    OK(store->backend->tick(&call, &wanted, &ticked));
    CHECK_INT(ticked.job_count, 1);
    step.generation = ticked.jobs[0].generation;
    ph__arena_free(&ticked.arena);
    OK(ph_job_delete(store, PH_OWN_TX, "job", 0, NULL, &t_err));
    CHECK(set_job(store, PH_OWN_TX, "job", PH_OVERLAP_DEFAULT));
    OK(store->backend->advance(&call, &step, 1, &runs));
    CHECK_INT(runs, 0);
    CHECK_STR(t_value(conn, "SELECT coalesce(next_at, 'unknown') FROM {t}jobs"), "unknown");
}

TEST(a_job_without_a_next_instant_is_never_due)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    struct ph__tick wanted = { .limit = 10 };
    struct ph__ticked ticked = { 0 };
    struct ph__job_step step = { .name = "job" };
    PH__CALL(call);
    ph_jobs *list = NULL;
    int64_t runs;

    set_job(store, PH_OWN_TX, "job", PH_OVERLAP_DEFAULT);
    OK(ph__call_own(&call, store, 0, &t_err));
    ph__call_end(&call); /* others use the store in between */
    OK(store->backend->tick(&call, &wanted, &ticked));
    step.generation = ticked.jobs[0].generation;
    ph__arena_free(&ticked.arena);
    OK(store->backend->advance(&call, &step, 1, &runs));
    ticked = (struct ph__ticked){ 0 };
    OK(store->backend->tick(&call, &wanted, &ticked));
    CHECK_INT(ticked.job_count, 0);
    CHECK_INT(ticked.next_at, 0);
    ph__arena_free(&ticked.arena);
    OK(ph_job_list(store, PH_OWN_TX, NULL, 0, &list, &t_err));
    CHECK_INT(ph_jobs_at(list, 0)->next_at, 0);
    ph_jobs_free(list);
    CHECK_STR(t_value(conn, "SELECT coalesce(next_at, 'never') FROM {t}jobs"), "never");
}

TEST(retention_covers_timers_and_runs)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    int64_t count = 0;

    set_job(store, PH_OWN_TX, "job", PH_OVERLAP_DEFAULT);
    schedule(store, PH_OWN_TX, NULL, NOON);
    trigger(store, "job");
    CHECK_INT(run(store).timers, 1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job_run"), 1);
    t_clock_advance(store, 8 * 24 * HOUR);
    OK(ph_retention_run(store, PH_OWN_TX, 100, 0, &count, &t_err));
    CHECK_INT(count, 2);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job_run"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 2);
    t_check_places(conn);
}

/* ------------------------------------------------------------------ memory */

/* Every allocation of a round fails once; what was done before it stays done. */
TEST(a_scheduler_without_memory_loses_nothing_and_does_nothing_twice)
{
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    ph_scheduler *scheduler = NULL;
    long n = 0;
    int r;

    set_job(store, PH_OWN_TX, "job", PH_OVERLAP_SKIP);
    run(store);
    for (int i = 0; i < 3; i++)
        schedule(store, PH_OWN_TX, i % 2 ? "ns" : NULL, NOON + SECOND);
    t_clock_advance(store, HOUR);
    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    do {
        ph__alloc_fail_after = n++;
        r = ph_scheduler_run(scheduler, 0, NULL, &t_err);
        ph__alloc_fail_after = -1;
        CHECK(r == 0 || r == PH_ENOMEM);
        t_check_places(conn);
    } while (r < 0);
    CHECK(n > 5);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 4);
    CHECK_INT(t_number(conn, "SELECT count(DISTINCT message_id) FROM {t}outbox"), 4);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job_runs WHERE status = 'done'"), 1);
    ph_scheduler_free(scheduler);
}

static int set_again(ph_store *store)
{
    ph_job job = PH_JOB_INIT;

    job.name = "job";
    job.topic = "other topic";
    job.cron = "@daily";
    return ph_job_set(store, PH_OWN_TX, &job, 0, NULL, &t_err);
}

static int trigger_again(ph_store *store)
{
    ph_work_id id;

    return ph_job_trigger(store, PH_OWN_TX, "job", 0, &id, &t_err);
}

static int pause_job(ph_store *store)
{
    return ph_job_pause(store, PH_OWN_TX, "job", 0, &t_err);
}

static int list_jobs(ph_store *store)
{
    ph_jobs *jobs = NULL;
    int r = ph_job_list(store, PH_OWN_TX, NULL, 0, &jobs, &t_err);

    ph_jobs_free(jobs);
    return r;
}

static int delete_job(ph_store *store)
{
    return ph_job_delete(store, PH_OWN_TX, "job", 0, NULL, &t_err);
}

#define JOB_STATE                                                                                  \
    "SELECT (SELECT json_group_array(name || topic || generation) FROM {t}job)"                    \
    " || (SELECT count(*) FROM {t}message) || (SELECT count(*) FROM {t}job_run)"

TEST(verbs_of_jobs_without_memory_change_nothing)
{
    static int (*const verbs[])(ph_store *) = { set_again, trigger_again, pause_job, list_jobs,
                                                delete_job };
    ph_store *store = open_at_noon();
    struct t_conn *conn = t_connect();
    char before[200];

    set_job(store, PH_OWN_TX, "job", PH_OVERLAP_SKIP);
    trigger(store, "job");
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        int r;

        snprintf(before, sizeof(before), "%s", t_value(conn, JOB_STATE));
        for (long n = 0;; n++) {
            ph__alloc_fail_after = n;
            r = verbs[i](store);
            ph__alloc_fail_after = -1;
            if (r == 0)
                break;
            CHECK_INT(r, PH_ENOMEM);
            CHECK_STR(t_value(conn, JOB_STATE), before);
        }
    }
    CHECK_STR(t_value(conn, JOB_STATE), "[]00");
}
