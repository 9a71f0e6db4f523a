/* schedule.c - timers, jobs and the scheduler's part in PostgreSQL. */
#include "store/postgres/pg.h"

#include "core/error.h"

#include <string.h>

/* Runs a statement about one thing that answers one field. */
static int run_one(struct ph__call *call, enum ph__pg_statement statement,
                   struct ph__pg_params *params, enum ph__pg_repeat repeat, PGresult **ret_result)
{
    int r = ph__pg_run(call, statement, params, repeat, ret_result);

    ph__pg_params_free(params);
    if (r == 0 && PQntuples(*ret_result) < 1)
        r = ph__fail(call->err, PH_EDATABASE, "the schema's functions do not fit this library");
    return r;
}

int ph__pg_timer_cancel(struct ph__call *call, ph_work_id timer, bool *ret_cancelled)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_uuid(&params, timer.b);
    r = run_one(call, PG_TIMER_CANCEL, &params, PG_ONCE, &result);
    if (r == 0)
        *ret_cancelled = ph__pg_int(result, 0, 0) != 0;
    PQclear(result);
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
    r = run_one(call, PG_JOB_SET, &params, PG_ONCE, &result);
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
    PGresult *result = NULL;
    int r;

    ph__pg_add_text(&params, name);
    r = run_one(call, PG_JOB_DELETE, &params, PG_ONCE, &result);
    if (r == 0)
        *ret_deleted = ph__pg_int(result, 0, 0) != 0;
    PQclear(result);
    return r;
}

int ph__pg_job_trigger(struct ph__call *call, const char *name, ph_work_id *ret_run)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    const uint8_t *run;
    int r;

    ph__pg_add_text(&params, name);
    r = run_one(call, PG_JOB_TRIGGER, &params, PG_ONCE, &result);
    run = r == 0 ? ph__pg_uuid(result, 0, 0) : NULL;
    if (run)
        memcpy(ret_run->b, run, sizeof(ret_run->b));
    else if (r == 0)
        r = PH_ENOTFOUND;
    PQclear(result);
    return r;
}

int ph__pg_job_pause(struct ph__call *call, const char *name, bool paused)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_text(&params, name);
    ph__pg_add_bool(&params, paused);
    r = run_one(call, PG_JOB_PAUSE, &params, PG_REPEATABLE, &result);
    if (r == 0 && !ph__pg_int(result, 0, 0))
        r = PH_ENOTFOUND;
    PQclear(result);
    return r;
}

static bool read_job(struct ph__arena *arena, const PGresult *result, int row, ph_job_info *job)
{
    const uint8_t *last_run = ph__pg_uuid(result, row, 13);
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
    if (last_run)
        memcpy(job->last_run.b, last_run, sizeof(job->last_run.b));
    return !failed;
}

int ph__pg_job_list(struct ph__call *call, const struct ph__job_query *query, ph_jobs *ret_list)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    bool failed;
    int r, rows;

    ph__pg_add_text(&params, query->name);
    ph__pg_add_text(&params, query->ns);
    ph__pg_add_text(&params, query->after);
    ph__pg_add_int4(&params, query->limit);
    r = ph__pg_run(call, PG_JOBS, &params, PG_READS, &result);
    ph__pg_params_free(&params);
    if (r < 0)
        return r;
    rows = PQntuples(result);
    ret_list->items = ph__arena_alloc(&ret_list->arena, (size_t)rows * sizeof(*ret_list->items));
    failed = !ret_list->items;
    for (int row = 0; row < rows && !failed; row++)
        failed = !read_job(&ret_list->arena, result, row, &ret_list->items[row]);
    ret_list->count = failed ? 0 : (size_t)rows;
    PQclear(result);
    return failed ? ph__fail_memory(call->err) : 0;
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

static bool read_due_job(struct ph__arena *arena, const PGresult *result, int row,
                         struct ph__due_job *job)
{
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
    size_t jobs = (size_t)PQntuples(result) - 1;
    bool failed;

    to->now = ph__pg_time(result, 0, TICK_NOW);
    to->timers = ph__pg_int(result, 0, TICK_TIMERS);
    to->job_runs = ph__pg_int(result, 0, TICK_JOB_RUNS);
    to->joins = ph__pg_int(result, 0, TICK_JOINS);
    to->next_at = ph__pg_time(result, 0, TICK_NEXT_AT);
    to->more = ph__pg_int(result, 0, TICK_MORE) != 0;
    to->jobs = ph__arena_alloc(&to->arena, jobs * sizeof(*to->jobs));
    failed = !to->jobs;
    for (size_t i = 0; i < jobs && !failed; i++)
        failed = !read_due_job(&to->arena, result, (int)i + 1, &to->jobs[i]);
    to->job_count = failed ? 0 : jobs;
    return !failed;
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
    r = run_one(call, PG_TICK, &params, PG_REPEATABLE, &result);
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

/* One array parameter: item appends the element of step s. */
#define COLUMN(array, element, item)                                                               \
    do {                                                                                           \
        ph__pg_array_begin(p, array, element, count);                                              \
        for (const struct ph__job_step *s = steps; s < steps + count; s++)                         \
            item;                                                                                  \
        ph__pg_array_end(p);                                                                       \
    } while (0)

static void add_steps(struct ph__pg_params *p, const struct ph__job_step *steps, size_t count)
{
    int64_t instants = 0;

    COLUMN(PG_TEXTS, PG_TEXT, ph__pg_item_text(p, s->name));
    COLUMN(PG_INT8S, PG_INT8, ph__pg_item_int8(p, s->generation));
    COLUMN(PG_TIMES, PG_TIME, ph__pg_item_time(p, s->old_next_at));
    COLUMN(PG_TIMES, PG_TIME, ph__pg_item_time(p, s->next_at));
    COLUMN(PG_TEXTS, PG_TEXT, ph__pg_item_text(p, s->problem));
    COLUMN(PG_INT8S, PG_INT8, ph__pg_item_int8(p, instants += (int64_t)s->instant_count));
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
    PGresult *result = NULL;
    int r;

    add_steps(&params, steps, count);
    r = run_one(call, PG_ADVANCE, &params, PG_REPEATABLE, &result);
    if (r == 0)
        *ret_runs = ph__pg_int(result, 0, 0);
    PQclear(result);
    return r;
}
