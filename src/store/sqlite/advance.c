/* advance.c - makes the runs of due jobs, and sets their next instants. Any number of schedulers
 * may try: the second one finds that the job has changed since it looked, and leaves it. */
#include "store/sqlite/job_row.h"
#include "store/sqlite/job_run.h"
#include "store/sqlite/verbs.h"

static int mark_problem(struct ph__sqlite_tx *tx, const struct ph__job_step *step)
{
    struct ph__query query = ph__query(tx, PH__SQL_job_problem);

    ph__query_text(&query, step->name);
    ph__query_text(&query, step->problem);
    return ph__query_run(&query);
}

static int write_next(struct ph__sqlite_tx *tx, const struct ph__job_step *step, int64_t skipped)
{
    struct ph__query query = ph__query(tx, PH__SQL_job_advance);

    ph__query_text(&query, step->name);
    ph__query_int(&query, step->next_at ? step->next_at : PH__JOB_NEVER);
    ph__query_int(&query, skipped);
    return ph__query_run(&query);
}

/* 1 if a run was made. */
static int run_instant(struct ph__message_writer *s, const ph_job_info *job, int64_t instant)
{
    ph_work_id run;
    int r = ph__job_run_exists(s->tx, job->name, instant);

    if (r != 0)
        return r < 0 ? r : 0;
    r = ph__job_run_make(s, job, instant, false, &run);
    return r < 0 ? r : 1;
}

/* With the overlap policy skip, a run that is made here is under way for the instants after it. */
static int run_instants(struct ph__message_writer *s, const ph_job_info *job,
                        const struct ph__job_step *step, int64_t *runs)
{
    bool alone = job->overlap == PH_OVERLAP_SKIP;
    int64_t skipped = 0;
    int running = 0, r = 0;

    if (alone && step->instant_count > 0)
        r = running = ph__job_is_running(s->tx, job);
    for (size_t i = 0; r >= 0 && i < step->instant_count; i++) {
        if (alone && running) {
            skipped++;
            continue;
        }
        r = run_instant(s, job, step->instants[i]);
        if (r > 0) {
            running = 1;
            ++*runs;
        }
    }
    return r < 0 ? r : write_next(s->tx, step, skipped);
}

static int advance_one(struct ph__message_writer *s, const struct ph__job_step *step, int64_t *runs)
{
    struct ph__arena arena = { 0 };
    struct ph__job_row job;
    int r = ph__job_get(s->tx, step->name, &arena, &job);

    if (r > 0) {
        if (job.generation != step->generation || job.next_at != step->old_next_at)
            r = 0;
        else if (step->problem)
            r = mark_problem(s->tx, step);
        else
            r = run_instants(s, &job.info, step, runs);
    }
    ph__arena_free(&arena);
    return r;
}

int ph__sqlite_advance(struct ph__call *call, const struct ph__job_step *steps, size_t count,
                       int64_t *ret_runs)
{
    struct ph__sqlite_tx tx;
    struct ph__message_writer storing = { .tx = &tx, .door = PH_JOB_RUNS };
    int64_t runs = 0;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = advance_one(&storing, &steps[i], &runs);
    r = ph__sqlite_end(&tx, r);
    if (r == 0)
        *ret_runs = runs;
    return r;
}
