/* schedule.c - timers, jobs, and a run of the scheduler. */
#include "core/error.h"
#include "core/scheduler.h"
#include "extension/arguments.h"
#include "extension/message.h"
#include "extension/verbs.h"
#include "util/time_text.h"

#include <string.h>

#define NEXT_COUNT 5

/* ------------------------------------------------------------------- timers */

static int timer_schedule(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_timer timer = PH_TIMER_INIT;
    ph_work_id id;
    int r = ph__arg_text(call, 0, &timer.topic);

    if (r == 0)
        r = ph__arg_text(call, 1, &timer.payload);
    if (r == 0)
        r = ph__arg_time(call, 2, &timer.due_at);
    if (r == 0)
        r = ph__arg_text(call, 3, &timer.ns);
    if (r == 0)
        r = ph__arg_text(call, 4, &timer.correlation_id);
    if (r == 0)
        r = ph__arg_text(call, 5, &timer.headers);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_timer_schedule(call->ext->store, call->tx, &timer, 0, &id, &call->err);
    if (r == 0)
        ph__result_id(result, id.b);
    return r;
}

static int timer_cancel(struct ph__ext_call *call, sqlite3_context *result)
{
    bool cancelled = false;
    ph_work_id id;
    int r = ph__arg_id(call, 0, id.b);

    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_timer_cancel(call->ext->store, call->tx, id, 0, &cancelled, &call->err);
    sqlite3_result_int(result, cancelled);
    return r;
}

/* --------------------------------------------------------------------- jobs */

static int policies_load(struct ph__ext_call *call, ph_job *job)
{
    static const struct ph__word misfires[] = { { "once", PH_MISFIRE_ONCE },
                                                { "skip", PH_MISFIRE_SKIP },
                                                { "all", PH_MISFIRE_ALL },
                                                { NULL, 0 } };
    static const struct ph__word overlaps[] = { { "allow", PH_OVERLAP_ALLOW },
                                                { "skip", PH_OVERLAP_SKIP },
                                                { NULL, 0 } };
    int misfire = PH_MISFIRE_DEFAULT, overlap = PH_OVERLAP_DEFAULT;
    int64_t limit = 0;
    int r = ph__arg_word(call, 5, misfires, &misfire);

    if (r == 0)
        r = ph__arg_number(call, 6, 1, PH_MISFIRE_LIMIT_MAX, &limit);
    if (r == 0)
        r = ph__arg_word(call, 7, overlaps, &overlap);
    job->misfire = (ph_misfire)misfire;
    job->misfire_limit = (int)limit;
    job->overlap = (ph_overlap)overlap;
    return r;
}

static int job_set(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_job job = PH_JOB_INIT;
    const char **texts[] = { &job.name, &job.topic, &job.cron, &job.payload, &job.timezone };
    int r = 0;

    (void)result; /* NULL */
    for (int i = 0; r == 0 && i < (int)(sizeof(texts) / sizeof(*texts)); i++)
        r = ph__arg_text(call, i, texts[i]);
    if (r == 0)
        r = policies_load(call, &job);
    if (r == 0)
        r = ph__arg_text(call, 8, &job.ns);
    if (r == 0)
        r = ph__ext_begin(call);
    return r < 0 ? r : ph_job_set(call->ext->store, call->tx, &job, 0, NULL, &call->err);
}

/* The name of a job; then begins. */
static int job_named(struct ph__ext_call *call, const char **ret_name)
{
    int r = ph__arg_text(call, 0, ret_name);

    return r < 0 ? r : ph__ext_begin(call);
}

static int job_delete(struct ph__ext_call *call, sqlite3_context *result)
{
    bool deleted = false;
    const char *name;
    int r = job_named(call, &name);

    if (r == 0)
        r = ph_job_delete(call->ext->store, call->tx, name, 0, &deleted, &call->err);
    sqlite3_result_int(result, deleted);
    return r;
}

static int job_trigger(struct ph__ext_call *call, sqlite3_context *result)
{
    const char *name;
    ph_work_id run;
    int r = job_named(call, &name);

    if (r == 0)
        r = ph_job_trigger(call->ext->store, call->tx, name, 0, &run, &call->err);
    if (r == 0)
        ph__result_id(result, run.b);
    return r;
}

static int job_pause(struct ph__ext_call *call, sqlite3_context *result)
{
    const char *name;
    int r = job_named(call, &name);

    (void)result;
    return r < 0 ? r : ph_job_pause(call->ext->store, call->tx, name, 0, &call->err);
}

static int job_resume(struct ph__ext_call *call, sqlite3_context *result)
{
    const char *name;
    int r = job_named(call, &name);

    (void)result;
    return r < 0 ? r : ph_job_resume(call->ext->store, call->tx, name, 0, &call->err);
}

/* Needs no tables, unless it must ask for the time. */
static int job_next(struct ph__ext_call *call, struct ph__answer *answer)
{
    int64_t count = NEXT_COUNT, after = 0, *times = NULL;
    const char *cron, *timezone;
    int r = ph__arg_text(call, 0, &cron);

    if (r == 0)
        r = ph__arg_text(call, 1, &timezone);
    if (r == 0)
        r = ph__arg_number(call, 2, 1, PH_BATCH_MAX, &count);
    if (r == 0)
        r = ph__arg_time(call, 3, &after);
    if (r == 0 && after == 0) {
        r = ph__ext_begin_read(call);
        if (r == 0)
            r = ph_clock(call->ext->store, call->tx, 0, &after, &call->err);
    }
    if (r < 0)
        return r;
    times = ph__arena_alloc(&answer->arena, (size_t)count * sizeof(*times));
    if (!times)
        return ph__fail_memory(&call->err);
    answer->items = times;
    return ph_job_next(cron, timezone, after, (size_t)count, times, &answer->count, &call->err);
}

static void next_column(const struct ph__answer *answer, size_t row, int column,
                        sqlite3_context *result)
{
    (void)column;
    ph__result_time(result, ((const int64_t *)answer->items)[row]);
}

/* ---------------------------------------------------------------- scheduler */

static int flag_load(struct ph__ext_call *call, const char *name, const json_t *value, bool *to)
{
    if (!json_is_boolean(value))
        return ph__fail(&call->err, PH_EINVAL, "%s is not true or false", name);
    *to = json_is_true(value);
    return 0;
}

static int scheduler_opts_load(struct ph__ext_call *call, ph_scheduler_opts *opts)
{
    int64_t batch_size = 0;
    const char *name;
    json_t *value;
    int r = 0;

    json_object_foreach(call->json, name, value)
    {
        if (json_is_null(value))
            continue;
        if (strcmp(name, "keep_timers") == 0)
            r = flag_load(call, name, value, &opts->keep_timers);
        else if (strcmp(name, "keep_job_runs") == 0)
            r = flag_load(call, name, value, &opts->keep_job_runs);
        else if (strcmp(name, "batch_size") == 0)
            r = ph__ext_whole(call, name, value, 1, PH_BATCH_MAX, &batch_size);
        else
            r = ph__fail(&call->err, PH_EINVAL, "there is no option \"%s\"", name);
        if (r < 0)
            return r;
    }
    opts->batch_size = (int)batch_size;
    return 0;
}

static int schedule_result(struct ph__ext_call *call, const ph_schedule *done,
                           sqlite3_context *result)
{
    char now[PH__TIME_TEXT_SIZE], next[PH__TIME_TEXT_SIZE];
    char *next_at = done->next_at ? sqlite3_mprintf("\"%s\"", ph__time_text(done->next_at, next))
                                  : sqlite3_mprintf("null");
    char *json = NULL;

    if (next_at)
        json =
            sqlite3_mprintf("{\"timers\":%lld,\"runs\":%lld,\"job_runs\":%lld,\"joins\":%lld,"
                            "\"problems\":%lld,\"now\":\"%s\",\"next_at\":%s,\"more\":%s}",
                            done->timers, done->runs, done->job_runs, done->joins, done->problems,
                            ph__time_text(done->now, now), next_at, done->more ? "true" : "false");
    sqlite3_free(next_at);
    return ph__result_json(call, result, json);
}

static int schedule_run(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_schedule done = PH_SCHEDULE_INIT;
    ph_scheduler *scheduler = NULL;
    int r = ph__arg_json(call, 0, JSON_OBJECT, PH__EXT_JSON_FLAGS, NULL);

    if (r == 0 && call->json)
        r = scheduler_opts_load(call, &opts);
    if (r == 0)
        r = ph_scheduler_new(call->ext->store, &opts, &scheduler, &call->err);
    if (r == 0)
        r = ph__ext_begin_steps(call);
    if (r == 0)
        r = ph__scheduler_run_in(scheduler, call->tx, 0, &done, &call->err);
    ph_scheduler_free(scheduler);
    return r < 0 ? r : schedule_result(call, &done, result);
}

/* --------------------------------------------------------------- the tables */

const struct ph__scalar_verb ph__schedule_scalars[] = {
    { { "posthorn_timer_schedule",
        3,
        { "topic", "payload", "due_at", "namespace", "correlation_id", "headers" } },
      .run = timer_schedule },
    { { "posthorn_timer_cancel", 1, { "timer_id" } }, .run = timer_cancel },
    { { "posthorn_job_set",
        3,
        { "name", "topic", "cron", "payload", "timezone", "misfire", "misfire_limit", "overlap",
          "namespace" } },
      .run = job_set },
    { { "posthorn_job_delete", 1, { "name" } }, .run = job_delete },
    { { "posthorn_job_trigger", 1, { "name" } }, .run = job_trigger },
    { { "posthorn_job_pause", 1, { "name" } }, .run = job_pause },
    { { "posthorn_job_resume", 1, { "name" } }, .run = job_resume },
    { { "posthorn_schedule_run", 0, { "options" } }, .run = schedule_run },
    { .run = NULL },
};

const struct ph__rows_verb ph__schedule_rows[] = {
    { { "posthorn_job_next", 1, { "cron", "timezone", "count", "after" } },
      .columns = "scheduled_at TEXT",
      .column_count = 1,
      .repeats = true,
      .run = job_next,
      .column = next_column },
    { .run = NULL },
};
