/* schedule_scene.c - the verbs of timers, jobs and schedulers for the table in scene.c. */
#include "scene.h"

void scene_add_timers(struct scene *scene)
{
    for (int i = 0; i < SCENE_MESSAGES; i++) {
        ph_timer timer = PH_TIMER_INIT;

        timer.topic = "topic";
        timer.payload = "payload";
        timer.headers = "{\"a\": 1}";
        timer.ns = i ? "" : "other";
        timer.due_at = T_EPOCH;
        OK(ph_timer_schedule(scene->store, PH_OWN_TX, &timer, 0, &scene->ids[i], &t_err));
    }
}

static ph_job a_job(const char *name)
{
    ph_job job = PH_JOB_INIT;

    job.name = name;
    job.topic = "topic";
    job.payload = "payload";
    job.cron = "*/10 * * * * *";
    job.timezone = "Europe/Berlin";
    job.misfire = PH_MISFIRE_ALL;
    job.overlap = PH_OVERLAP_SKIP;
    return job;
}

static int run_scheduler(struct scene *scene, bool keep)
{
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_schedule done = PH_SCHEDULE_INIT;
    ph_scheduler *scheduler = NULL;
    int r;

    opts.keep_timers = opts.keep_job_runs = keep;
    r = ph_scheduler_new(scene->store, &opts, &scheduler, &t_err);
    CHECK(r == 0 || scheduler == NULL);
    if (r == 0)
        r = ph_scheduler_run(scheduler, 0, &done, &t_err);
    ph_scheduler_free(scheduler);
    return r;
}

/* Two jobs that are due, and runs that wait. */
void scene_add_jobs(struct scene *scene)
{
    ph_job first = a_job("first"), second = a_job("second");

    second.overlap = PH_OVERLAP_ALLOW;
    OK(ph_job_set(scene->store, PH_OWN_TX, &first, 0, NULL, &t_err));
    OK(ph_job_set(scene->store, PH_OWN_TX, &second, 0, NULL, &t_err));
    OK(run_scheduler(scene, true));
    for (int i = 0; i < SCENE_MESSAGES; i++)
        OK(ph_job_trigger(scene->store, PH_OWN_TX, "second", 0, &scene->ids[i], &t_err));
    t_clock_advance(scene->store, 25 * T_SECOND);
}

static int timer_schedule(struct scene *scene, ph_tx tx)
{
    ph_timer timer = PH_TIMER_INIT;

    timer.topic = "topic";
    timer.payload = "payload";
    timer.ns = "new";
    timer.headers = "{\"a\":1}";
    timer.correlation_id = "c";
    timer.due_at = T_EPOCH;
    return ph_timer_schedule(scene->store, tx, &timer, 0, NULL, &t_err);
}

static int timer_cancel(struct scene *scene, ph_tx tx)
{
    return ph_timer_cancel(scene->store, tx, scene->ids[1], 0, NULL, &t_err);
}

static int timers_claim(struct scene *scene, ph_tx tx)
{
    ph_batch *batch = NULL;
    int r = ph_timers_claim(scene->store, tx, scene->owner, NULL, 0, &batch, &t_err);

    CHECK(r == 0 || batch == NULL);
    ph_batch_free(batch);
    return r;
}

static int timers_list(struct scene *scene, ph_tx tx)
{
    ph_messages *list = NULL;
    int r = ph_timers_list(scene->store, tx, NULL, 0, &list, &t_err);

    CHECK(r == 0 || list == NULL);
    ph_messages_free(list);
    return r;
}

/* One tick: timers become messages. */
static int scheduler_timers(struct scene *scene, ph_tx tx)
{
    (void)tx;
    return run_scheduler(scene, false);
}

static int job_create(struct scene *scene, ph_tx tx)
{
    ph_job job = a_job("new");

    return ph_job_set(scene->store, tx, &job, 0, NULL, &t_err);
}

static int job_change(struct scene *scene, ph_tx tx)
{
    ph_job job = a_job("first");

    job.topic = "other";
    return ph_job_set(scene->store, tx, &job, 0, NULL, &t_err);
}

static int job_delete(struct scene *scene, ph_tx tx)
{
    return ph_job_delete(scene->store, tx, "second", 0, NULL, &t_err);
}

static int job_trigger(struct scene *scene, ph_tx tx)
{
    return ph_job_trigger(scene->store, tx, "first", 0, NULL, &t_err);
}

static int job_pause(struct scene *scene, ph_tx tx)
{
    return ph_job_pause(scene->store, tx, "first", 0, &t_err);
}

static int job_resume(struct scene *scene, ph_tx tx)
{
    return ph_job_resume(scene->store, tx, "second", 0, &t_err);
}

static int jobs_list(struct scene *scene, ph_tx tx)
{
    ph_jobs *list = NULL;
    int r = ph_job_list(scene->store, tx, NULL, 0, &list, &t_err);

    CHECK(r == 0 || list == NULL);
    ph_jobs_free(list);
    return r;
}

static int job_next(struct scene *scene, ph_tx tx)
{
    int64_t times[3];
    size_t count;

    (void)scene;
    (void)tx;
    return ph_job_next("0 3 * * *", "Europe/Berlin", T_EPOCH, 3, times, &count, &t_err);
}

/* A run that is handed out knows its job, whatever memory there was. */
static int job_runs_claim(struct scene *scene, ph_tx tx)
{
    ph_batch *batch = NULL;
    int r = ph_job_runs_claim(scene->store, tx, scene->owner, NULL, 0, &batch, &t_err);

    CHECK(r == 0 || batch == NULL);
    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        CHECK_STR(ph_batch_at(batch, i)->job, "second");
        CHECK_INT(ph_batch_at(batch, i)->scheduled_at, T_EPOCH);
    }
    ph_batch_free(batch);
    return r;
}

static int job_runs_find(struct scene *scene, ph_tx tx)
{
    ph_message_info *info = NULL;
    int r = ph_job_runs_find(scene->store, tx, scene->ids[0], 0, &info, &t_err);

    CHECK(r == 0 || info == NULL);
    CHECK(r < 0 || (info->message->job && info->message->scheduled_at == T_EPOCH));
    ph_message_info_free(info);
    return r;
}

/* A look, and an advance: runs are made, and stay runs. */
static int scheduler_jobs(struct scene *scene, ph_tx tx)
{
    (void)tx;
    return run_scheduler(scene, true);
}

const struct verb schedule_verbs[SCHEDULE_VERBS] = {
    { "timer_schedule", WITH_PENDING, false, timer_schedule },
    { "timer_cancel", WITH_TIMERS, false, timer_cancel },
    { "timers_claim", WITH_TIMERS, false, timers_claim },
    { "timers_list", WITH_TIMERS, false, timers_list },
    { "scheduler with timers", WITH_TIMERS, true, scheduler_timers },
    { "job_set of a new one", WITH_JOBS, false, job_create },
    { "job_set of an old one", WITH_JOBS, false, job_change },
    { "job_delete", WITH_JOBS, false, job_delete },
    { "job_trigger", WITH_JOBS, false, job_trigger },
    { "job_pause", WITH_JOBS, false, job_pause },
    { "job_resume", WITH_JOBS, false, job_resume },
    { "jobs_list", WITH_JOBS, false, jobs_list },
    { "job_next", WITH_JOBS, true, job_next },
    { "job_runs_claim", WITH_JOBS, false, job_runs_claim },
    { "job_runs_find", WITH_JOBS, false, job_runs_find },
    { "scheduler with jobs", WITH_JOBS, true, scheduler_jobs },
};
