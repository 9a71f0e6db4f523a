/* schedule.c - timers, jobs and the scheduler's part in PostgreSQL. */
#include "store/postgres/pg.h"

#include "core/error.h"

int ph__pg_timer_cancel(struct ph__call *call, ph_work_id timer, bool *ret_cancelled)
{
    struct ph__pg_params params = { 0 };
    int64_t cancelled = 0;
    int r;

    ph__pg_add_uuid(&params, timer.b);
    r = ph__pg_run_number(call, PG_TIMER_CANCEL, &params, PG_ONCE, &cancelled);
    if (r == 0)
        *ret_cancelled = cancelled != 0;
    return r;
}

/* ---------------------------------------------------------------------- jobs */

int ph__pg_job_set(struct ph__call *call, const struct ph__job *job, enum ph__job_was *ret_was)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_text(&params, job->name);
    ph__pg_add_text(&params, job->topic);
    ph__pg_add_text(&params, job->cron);
    if (job->payload)
        ph__pg_add_bytes(&params, job->payload, job->payload_length);
    else
        ph__pg_add_null(&params, PG_TEXT);
    ph__pg_add_text(&params, job->timezone);
    ph__pg_add_int2(&params, job->misfire);
    ph__pg_add_int4(&params, job->misfire_limit);
    ph__pg_add_int2(&params, job->overlap);
    ph__pg_add_text(&params, job->ns);
    r = ph__pg_run_row(call, PG_JOB_SET, &params, PG_ONCE, &result);
    if (r == 0 && PQgetisnull(result, 0, 0))
        *ret_was = PH__JOB_SAME;
    else if (r == 0)
        *ret_was = ph__pg_int(result, 0, 0) ? PH__JOB_MISSING : PH__JOB_OTHER;
    PQclear(result);
    return r;
}

int ph__pg_job_delete(struct ph__call *call, const char *name, bool *ret_deleted)
{
    struct ph__pg_params params = { 0 };
    int64_t deleted = 0;
    int r;

    ph__pg_add_text(&params, name);
    r = ph__pg_run_number(call, PG_JOB_DELETE, &params, PG_ONCE, &deleted);
    if (r == 0)
        *ret_deleted = deleted != 0;
    return r;
}

int ph__pg_job_trigger(struct ph__call *call, const char *name, ph_work_id *ret_run)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_text(&params, name);
    r = ph__pg_run_row(call, PG_JOB_TRIGGER, &params, PG_ONCE, &result);
    if (r == 0 && !ph__pg_id(result, 0, 0, ret_run->b))
        r = PH_ENOTFOUND;
    PQclear(result);
    return r;
}

int ph__pg_job_pause(struct ph__call *call, const char *name, bool paused)
{
    struct ph__pg_params params = { 0 };
    int64_t found = 0;
    int r;

    ph__pg_add_text(&params, name);
    ph__pg_add_bool(&params, paused);
    r = ph__pg_run_number(call, PG_JOB_PAUSE, &params, PG_REPEATABLE, &found);
    return r == 0 && !found ? PH_ENOTFOUND : r;
}

static bool read_job(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    ph_job_info *job = item;
    bool failed = false;

    *job = (ph_job_info){
        .name = ph__pg_text(arena, result, row, 0, &failed),
        .ns = ph__pg_text(arena, result, row, 1, &failed),
        .topic = ph__pg_text(arena, result, row, 2, &failed),
        .cron = ph__pg_text(arena, result, row, 3, &failed),
        .timezone = ph__pg_text(arena, result, row, 4, &failed),
        .payload = ph__pg_text(arena, result, row, 5, &failed),
        .misfire = (ph_misfire)ph__pg_int(result, row, 6),
        .misfire_limit = (int)ph__pg_int(result, row, 7),
        .overlap = (ph_overlap)ph__pg_int(result, row, 8),
        .paused = ph__pg_int(result, row, 9) != 0,
        .problem = ph__pg_text(arena, result, row, 10, &failed),
        .next_at = ph__pg_time(result, row, 11),
        .last_at = ph__pg_time(result, row, 12),
        .skipped = ph__pg_int(result, row, 14),
        .created_at = ph__pg_time(result, row, 15),
        .updated_at = ph__pg_time(result, row, 16),
    };
    (void)ph__pg_id(result, row, 13, job->last_run.b);
    return !failed;
}

int ph__pg_job_list(struct ph__call *call, const struct ph__job_query *query, ph_jobs *ret_list)
{
    struct ph__pg_params params = { 0 };

    ph__pg_add_text(&params, query->name);
    ph__pg_add_text(&params, query->ns);
    ph__pg_add_text(&params, query->after);
    ph__pg_add_int4(&params, query->limit);
    return PH__PG_RUN_LIST(call, PG_JOBS, &params, read_job, ret_list);
}

/* ----------------------------------------------------------------- scheduler */

/* The columns of work_tick: those of its first row, then those of each job. */
enum tick_column {
    TICK_NOW,
    TICK_TIMERS,
    TICK_JOB_RUNS,
    TICK_JOINS,
    TICK_JOIN_ENDS,
    TICK_NEXT_AT,
    TICK_MORE,
    TICK_NAMESPACES,
    TICK_NAME,
    TICK_CRON,
    TICK_TIMEZONE,
    TICK_GENERATION,
    TICK_JOB_NEXT_AT,
    TICK_ANCHOR_AT,
    TICK_MISFIRE,
    TICK_MISFIRE_LIMIT,
    TICK_OWED_FROM,
    TICK_OWED_CRON,
    TICK_OWED_TIMEZONE
};

static bool read_due_job(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    struct ph__due_job *job = item;
    bool failed = false;

    job->name = ph__pg_text(arena, result, row, TICK_NAME, &failed);
    job->cron = ph__pg_text(arena, result, row, TICK_CRON, &failed);
    job->timezone = ph__pg_text(arena, result, row, TICK_TIMEZONE, &failed);
    job->generation = ph__pg_int(result, row, TICK_GENERATION);
    job->next_at = ph__pg_time(result, row, TICK_JOB_NEXT_AT);
    job->anchor_at = ph__pg_time(result, row, TICK_ANCHOR_AT);
    job->misfire = (ph_misfire)ph__pg_int(result, row, TICK_MISFIRE);
    job->misfire_limit = (int)ph__pg_int(result, row, TICK_MISFIRE_LIMIT);
    job->owed_from = ph__pg_time(result, row, TICK_OWED_FROM);
    job->owed_cron = ph__pg_text(arena, result, row, TICK_OWED_CRON, &failed);
    job->owed_timezone = ph__pg_text(arena, result, row, TICK_OWED_TIMEZONE, &failed);
    return !failed;
}

static bool read_ticked(const PGresult *result, struct ph__ticked *to)
{
    to->now = ph__pg_time(result, 0, TICK_NOW);
    to->timers = ph__pg_int(result, 0, TICK_TIMERS);
    to->job_runs = ph__pg_int(result, 0, TICK_JOB_RUNS);
    to->joins = ph__pg_int(result, 0, TICK_JOINS);
    to->next_at = ph__pg_time(result, 0, TICK_NEXT_AT);
    to->more = ph__pg_int(result, 0, TICK_MORE) != 0;
    return ph__pg_read_rows(&to->arena, result, 1, read_due_job, sizeof(*to->jobs), &to->jobs,
                            &to->job_count);
}

int ph__pg_tick(struct ph__call *call, const struct ph__tick *tick, struct ph__ticked *ret_ticked)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_uuid(&params, tick->owner.b);
    ph__pg_add_int4(&params, tick->limit);
    ph__pg_add_bool(&params, tick->timers);
    ph__pg_add_bool(&params, tick->job_runs);
    r = ph__pg_run_row(call, PG_TICK, &params, PG_REPEATABLE, &result);
    if (r == 0 && !read_ticked(result, ret_ticked))
        /* it has happened: only a rollback can undo that */
        r = ph__fail_flags(call->err, ph__fail_memory(call->err),
                           call->connection ? PH_TX_DEAD : PH_UNKNOWN);
    if (r == 0 && !call->connection)
        ph__pg_ring_these(call, result, 0, TICK_NAMESPACES);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, TICK_JOIN_ENDS);
    PQclear(result);
    return r;
}

static void add_steps(struct ph__pg_params *p, const struct ph__job_step *steps, size_t count)
{
    int64_t instants = 0;

    PH__PG_ARRAY(p, TEXT, count, ph__pg_item_text(p, steps[i].name));
    PH__PG_ARRAY(p, INT8, count, ph__pg_item_int8(p, steps[i].generation));
    PH__PG_ARRAY(p, TIME, count, ph__pg_item_time(p, steps[i].old_next_at));
    PH__PG_ARRAY(p, TIME, count, ph__pg_item_time(p, steps[i].next_at));
    PH__PG_ARRAY(p, TEXT, count, ph__pg_item_text(p, steps[i].problem));
    PH__PG_ARRAY(p, INT8, count, ph__pg_item_int8(p, instants += (int64_t)steps[i].instant_count));
    ph__pg_array_begin(p, PG_TIMES, PG_TIME, (size_t)instants);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < steps[i].instant_count; k++)
            ph__pg_item_time(p, steps[i].instants[k]);
    }
    ph__pg_array_end(p);
}

int ph__pg_advance(struct ph__call *call, const struct ph__job_step *steps, size_t count,
                   int64_t *ret_runs)
{
    struct ph__pg_params params = { 0 };

    add_steps(&params, steps, count);
    return ph__pg_run_number(call, PG_ADVANCE, &params, PG_REPEATABLE, ret_runs);
}
