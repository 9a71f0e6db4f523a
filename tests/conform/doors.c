#include "doors.h"

#include "util/time_text.h"

static ph_work_id make_message(ph_store *store, const char *ns, const char *payload)
{
    ph_message m = a_message("work", payload);

    m.ns = ns;
    return put(store, &m).work_id;
}

/* Each has an id of its own at its source. */
static ph_work_id make_received(ph_store *store, const char *ns, const char *payload)
{
    static int number;
    ph_inbox_message m = PH_INBOX_MESSAGE_INIT;
    ph_received received = { 0 };
    char id[24];

    snprintf(id, sizeof(id), "%d", ++number);
    m.source = "elsewhere";
    m.source_id = id;
    m.topic = "work";
    m.payload = payload;
    m.ns = ns;
    OK(ph_inbox_receive(store, PH_OWN_TX, &m, 0, &received, &t_err));
    CHECK(received.is_new);
    return received.work_id;
}

static ph_work_id make_timer(ph_store *store, const char *ns, const char *payload)
{
    ph_timer timer = PH_TIMER_INIT;
    ph_work_id id = { { 0 } };

    timer.topic = "work";
    timer.payload = payload;
    timer.ns = ns;
    timer.due_at = PH_TIMER_MIN;
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, &id, &t_err));
    return id;
}

/* Of one and the same job, which is changed for each. */
static ph_work_id make_run(ph_store *store, const char *ns, const char *payload)
{
    ph_job job = a_job("job", "@yearly");
    ph_work_id id = { { 0 } };

    job.payload = payload;
    job.ns = ns;
    set_job(store, &job);
    OK(ph_job_trigger(store, PH_OWN_TX, "job", 0, &id, &t_err));
    return id;
}

const struct door outbox_door = {
    "outbox",          PH_OUTBOX,       make_message,           ph_outbox_claim,
    ph_outbox_settle,  ph_outbox_ack,   ph_outbox_abandon,      ph_outbox_fail,
    ph_outbox_release, ph_outbox_renew, ph_outbox_reap_expired, ph_outbox_find,
    ph_outbox_count,   ph_outbox_list,
};
const struct door inbox_door = {
    "inbox",          PH_INBOX,       make_received,         ph_inbox_claim,
    ph_inbox_settle,  ph_inbox_ack,   ph_inbox_abandon,      ph_inbox_fail,
    ph_inbox_release, ph_inbox_renew, ph_inbox_reap_expired, ph_inbox_find,
    ph_inbox_count,   ph_inbox_list,
};
const struct door timers_door = {
    "timers",
    PH_TIMERS,
    make_timer,
    ph_timers_claim,
    ph_timers_settle,
    ph_timers_ack,
    ph_timers_abandon,
    ph_timers_fail,
    ph_timers_release,
    ph_timers_renew,
    ph_timers_reap_expired,
    ph_timers_find,
    ph_timers_count,
    ph_timers_list,
};
const struct door job_runs_door = {
    "job_runs",
    PH_JOB_RUNS,
    make_run,
    ph_job_runs_claim,
    ph_job_runs_settle,
    ph_job_runs_ack,
    ph_job_runs_abandon,
    ph_job_runs_fail,
    ph_job_runs_release,
    ph_job_runs_renew,
    ph_job_runs_reap_expired,
    ph_job_runs_find,
    ph_job_runs_count,
    ph_job_runs_list,
};

ph_batch *door_claim(const struct door *door, ph_store *store, ph_owner owner, const char *ns,
                     int n)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;

    opts.batch_size = n;
    opts.lease_s = 30;
    opts.ns = ns;
    OK(door->claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err));
    return batch;
}

ph_lease_ref door_take_one(const struct door *door, ph_store *store, ph_owner owner)
{
    ph_batch *batch = door_claim(door, store, owner, NULL, 1);
    ph_lease_ref ref;

    CHECK_INT(ph_batch_count(batch), 1);
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    return ref;
}

size_t door_claimable(const struct door *door, ph_store *store)
{
    ph_batch *batch = door_claim(door, store, ph_owner_new(), NULL, 1000);
    size_t count = ph_batch_count(batch);

    ph_batch_free(batch);
    return count;
}

ph_queue_counts door_counts(const struct door *door, ph_store *store, const char *ns)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;

    OK(door->count(store, PH_OWN_TX, ns, 0, &counts, &t_err));
    return counts;
}

ph_work_id put_timer(ph_store *store, const char *payload, int64_t due_at)
{
    ph_timer timer = PH_TIMER_INIT;
    ph_work_id id = { { 0 } };

    timer.topic = "remind";
    timer.payload = payload;
    timer.due_at = due_at;
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, &id, &t_err));
    return id;
}

/* ---------------------------------------------------------------------- jobs */

ph_job a_job(const char *name, const char *cron)
{
    ph_job job = PH_JOB_INIT;

    job.name = name;
    job.topic = "work";
    job.cron = cron;
    return job;
}

void set_job(ph_store *store, const ph_job *job)
{
    OK(ph_job_set(store, PH_OWN_TX, job, 0, NULL, &t_err));
}

void put_job(ph_store *store, const char *name, const char *cron)
{
    ph_job job = a_job(name, cron);

    set_job(store, &job);
}

static struct job_seen copy_job(const ph_job_info *info)
{
    struct job_seen s = { .there = true,
                          .paused = info->paused,
                          .has_payload = info->payload != NULL,
                          .has_problem = info->problem != NULL,
                          .misfire = info->misfire,
                          .overlap = info->overlap,
                          .misfire_limit = info->misfire_limit,
                          .next_at = info->next_at,
                          .last_at = info->last_at,
                          .skipped = info->skipped,
                          .created_at = info->created_at,
                          .updated_at = info->updated_at,
                          .last_run = info->last_run };

    snprintf(s.name, sizeof(s.name), "%s", info->name);
    snprintf(s.ns, sizeof(s.ns), "%s", info->ns);
    snprintf(s.topic, sizeof(s.topic), "%s", info->topic);
    snprintf(s.cron, sizeof(s.cron), "%s", info->cron);
    snprintf(s.timezone, sizeof(s.timezone), "%s", info->timezone);
    snprintf(s.payload, sizeof(s.payload), "%s", info->payload ? info->payload : "");
    snprintf(s.problem, sizeof(s.problem), "%s", info->problem ? info->problem : "");
    return s;
}

struct job_seen see_job(ph_store *store, const char *name)
{
    ph_job_list_opts opts = PH_JOB_LIST_OPTS_INIT;
    struct job_seen seen = { 0 };
    ph_jobs *list = NULL;

    opts.name = name;
    OK(ph_job_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK(ph_jobs_count(list) <= 1);
    if (ph_jobs_count(list) == 1)
        seen = copy_job(ph_jobs_at(list, 0));
    ph_jobs_free(list);
    return seen;
}

/* ---------------------------------------------------------------- schedulers */

ph_schedule run_scheduler(ph_store *store, const ph_scheduler_opts *opts)
{
    ph_schedule schedule = PH_SCHEDULE_INIT;
    ph_scheduler *scheduler = NULL;

    OK(ph_scheduler_new(store, opts, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, 0, &schedule, &t_err));
    ph_scheduler_free(scheduler);
    return schedule;
}

ph_schedule make_runs(ph_store *store)
{
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;

    opts.keep_job_runs = true;
    return run_scheduler(store, &opts);
}

const char *runs_of(struct t_conn *conn, const char *job)
{
    char sql[500];

    snprintf(sql, sizeof(sql),
             t_is_pg()
                 ? "SELECT string_agg(CAST(extract(epoch FROM scheduled_at) * 1000000 AS "
                   "bigint)::text, ' ' ORDER BY scheduled_at) FROM {t}job_run WHERE job = '%s'"
                 : "SELECT group_concat(scheduled_at, ' ') FROM (SELECT scheduled_at FROM "
                   "{t}job_run WHERE job = '%s' ORDER BY scheduled_at)",
             job);
    return t_value(conn, sql);
}

long long run_count(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(*) FROM {t}job_run");
}

int64_t instant(const char *text)
{
    int64_t time = 0;
    bool zoned;

    CHECK(ph__time_parse(text, &time, &zoned));
    return time;
}
