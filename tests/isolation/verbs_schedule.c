/* verbs_schedule.c - the verbs of timers, jobs and schedulers.
 *
 * A scheduler's run is two transactions: the tick, which turns what is due into messages and names
 * due jobs, and the advance, which makes runs. Races lie between them, so a spec can do each by
 * itself, through the seam. */
#include "turn.h"
#include "verbs.h"

#include "core/call.h"
#include "schedule/fire.h"

#include <stdlib.h>

/* --------------------------------------------------------------------- timers */

/* timer NAME… [due=SECONDS] */
static int verb_timer(struct turn *turn)
{
    const char *names[ITEMS_MAX];
    size_t count = iso_names_of(turn->command, 1, names);
    int64_t now = 0;
    int r = ph_clock(turn->actor->store, turn->tx, 0, &now, &turn->err);

    for (size_t i = 0; r == 0 && i < count; i++) {
        ph_timer timer = PH_TIMER_INIT;
        ph_work_id id;

        timer.topic = "topic";
        timer.payload = names[i];
        timer.ns = turn->actor->world->ns;
        timer.due_at = now + iso_option_number(turn->command, "due", 0) * T_SECOND;
        r = ph_timer_schedule(turn->actor->store, turn->tx, &timer, 0, &id, &turn->err);
        if (r == 0) {
            iso_world_name(turn->actor->world, names[i], id, (ph_message_id){ { 0 } });
            iso_result_add(turn->result, "%s:new", names[i]);
        }
    }
    return r;
}

static int verb_timer_cancel(struct turn *turn)
{
    const char *name = iso_word_at(turn, 1);
    bool cancelled = false;
    int r = ph_timer_cancel(turn->actor->store, turn->tx, iso_world_id(turn->actor->world, name), 0,
                            &cancelled, &turn->err);

    if (r == 0)
        iso_result_add(turn->result, "%s:%s", name, cancelled ? "cancelled" : "not_cancelled");
    return r;
}

/* ----------------------------------------------------------------------- jobs */

/* job NAME CRON [topic= overlap=skip]: CRON is one word, such as @hourly. */
static int verb_job(struct turn *turn)
{
    const char *topic = iso_option(turn->command, "topic");
    ph_job job = PH_JOB_INIT;
    bool is_new = false;
    int r;

    job.name = iso_word_at(turn, 1);
    job.cron = iso_word_at(turn, 2);
    job.topic = topic ? topic : "topic";
    job.ns = turn->actor->world->ns;
    job.overlap = iso_option(turn->command, "overlap") ? PH_OVERLAP_SKIP : PH_OVERLAP_ALLOW;
    r = ph_job_set(turn->actor->store, turn->tx, &job, 0, &is_new, &turn->err);
    if (r == 0)
        iso_result_add(turn->result, "%s:%s", job.name, is_new ? "created" : "changed");
    return r;
}

static int verb_job_delete(struct turn *turn)
{
    bool deleted = false;
    int r =
        ph_job_delete(turn->actor->store, turn->tx, iso_word_at(turn, 1), 0, &deleted, &turn->err);

    if (r == 0)
        iso_result_add(turn->result, "%s:%s", iso_word_at(turn, 1),
                       deleted ? "deleted" : "not_deleted");
    return r;
}

/* job_trigger JOB NAME: the run is called NAME. */
static int verb_job_trigger(struct turn *turn)
{
    ph_work_id run;
    int r = ph_job_trigger(turn->actor->store, turn->tx, iso_word_at(turn, 1), 0, &run, &turn->err);

    if (r < 0)
        return r;
    iso_world_name(turn->actor->world, iso_word_at(turn, 2), run, (ph_message_id){ { 0 } });
    iso_result_add(turn->result, "%s:new", iso_word_at(turn, 2));
    return 0;
}

static int verb_job_pause(struct turn *turn)
{
    return ph_job_pause(turn->actor->store, turn->tx, iso_word_at(turn, 1), 0, &turn->err);
}

static int verb_job_resume(struct turn *turn)
{
    return ph_job_resume(turn->actor->store, turn->tx, iso_word_at(turn, 1), 0, &turn->err);
}

/* ------------------------------------------------------------------ schedulers */

/* The whole run of a scheduler, in transactions of its own. */
static int verb_schedule(struct turn *turn)
{
    ph_schedule done = PH_SCHEDULE_INIT;
    ph_scheduler *scheduler = NULL;
    int r = ph_scheduler_new(turn->actor->store, NULL, &scheduler, &turn->err);

    if (r == 0)
        r = ph_scheduler_run(scheduler, 0, &done, &turn->err);
    ph_scheduler_free(scheduler);
    if (r == 0)
        iso_result_add(turn->result, "timers=%d runs=%d job_runs=%d", (int)done.timers,
                       (int)done.runs, (int)done.job_runs);
    return r;
}

static void remember_due(struct turn *turn, const struct ph__ticked *ticked)
{
    struct iso_actor *actor = turn->actor;

    CHECK(ticked->job_count <= ISO_DUE_MAX);
    actor->due_count = ticked->job_count;
    actor->due_now = ticked->now;
    for (size_t i = 0; i < ticked->job_count; i++) {
        const struct ph__due_job *job = &ticked->jobs[i];

        snprintf(actor->due[i].name, sizeof(actor->due[i].name), "%s", job->name);
        snprintf(actor->due[i].cron, sizeof(actor->due[i].cron), "%s", job->cron);
        actor->due[i].generation = job->generation;
        actor->due[i].next_at = job->next_at;
        actor->due[i].anchor_at = job->anchor_at;
        iso_result_add(turn->result, "%s:due", job->name);
    }
}

/* tick [keep]: the first half. keep: timers and job runs stay what they are. */
static int verb_tick(struct turn *turn)
{
    bool keep = iso_has_word(turn->command, "keep");
    struct ph__tick wanted = {
        .owner = iso_owner("scheduler"), .limit = 1000, .timers = !keep, .job_runs = !keep
    };
    struct ph__ticked ticked = { 0 };
    PH__CALL(call);
    int r = ph__call_begin(&call, turn->actor->store, turn->tx, 0, &turn->err);

    r = ph__call_connect(&call, r);
    if (r == 0)
        r = turn->actor->store->backend->tick(&call, &wanted, &ticked);
    if (r == 0) {
        iso_result_add(turn->result, "timers=%d job_runs=%d", (int)ticked.timers,
                       (int)ticked.job_runs);
        remember_due(turn, &ticked);
    }
    ph__arena_free(&ticked.arena);
    ph__arena_free(&call.ends.arena);
    return r;
}

/* What a scheduler makes of the job: the latest instant that is due, and the next one. */
static struct ph__job_step step_of(const struct iso_actor *actor, size_t index, int64_t *instant)
{
    struct ph__job_step step = { .name = actor->due[index].name,
                                 .generation = actor->due[index].generation,
                                 .old_next_at = actor->due[index].next_at,
                                 .instants = instant };
    struct ph__zone *zone = NULL;
    struct ph__cron cron;
    int64_t from = step.old_next_at ? step.old_next_at : actor->due[index].anchor_at + 1;

    CHECK(ph__zone_load(NULL, &zone, NULL) == 0);
    CHECK(ph__cron_parse(actor->due[index].cron, &cron, NULL) == 0);
    step.instant_count = ph__fire_latest(&cron, zone, from, actor->due_now, 1, instant);
    CHECK(ph__fire_next(&cron, zone, actor->due_now, &step.next_at));
    ph__zone_free(zone);
    return step;
}

/* make_runs: the second half, for the jobs that this session's last tick named. */
static int verb_make_runs(struct turn *turn)
{
    struct ph__job_step steps[ISO_DUE_MAX];
    int64_t instants[ISO_DUE_MAX], runs = 0;
    PH__CALL(call);
    int r = ph__call_begin(&call, turn->actor->store, turn->tx, 0, &turn->err);

    r = ph__call_connect(&call, r);
    for (size_t i = 0; i < turn->actor->due_count; i++)
        steps[i] = step_of(turn->actor, i, &instants[i]);
    if (r == 0 && turn->actor->due_count > 0)
        r = turn->actor->store->backend->advance(&call, steps, turn->actor->due_count, &runs);
    if (r == 0)
        iso_result_add(turn->result, "runs=%d", (int)runs);
    return r;
}

const struct iso_verb iso_schedule_verbs[] = {
    { "timer", verb_timer },
    { "timer_cancel", verb_timer_cancel },
    { "job", verb_job },
    { "job_delete", verb_job_delete },
    { "job_trigger", verb_job_trigger },
    { "job_pause", verb_job_pause },
    { "job_resume", verb_job_resume },
    { "schedule", verb_schedule },
    { "tick", verb_tick },
    { "make_runs", verb_make_runs },
};
const size_t iso_schedule_verb_count = sizeof(iso_schedule_verbs) / sizeof(*iso_schedule_verbs);
