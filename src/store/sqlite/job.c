/* job.c - the verbs for jobs. A scheduler makes them run: tick.c, advance.c. */
#include "core/error.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/job_run.h"
#include "store/sqlite/long_read.h"
#include "store/sqlite/moves.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/verbs.h"

#include <string.h>

/* Runs to its end a statement that tells by a row whether it changed anything: 1, or 0. */
static int run_telling(struct ph__query *query)
{
    int changed = ph__query_row(query), r = changed;

    while (r > 0)
        r = ph__query_row(query);
    return r < 0 ? r : changed;
}

static struct ph__query job_query(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which,
                                  const struct ph__job *job)
{
    struct ph__query query = ph__query(tx, which);

    ph__query_text(&query, job->name);
    ph__query_text(&query, job->ns);
    ph__query_text(&query, job->topic);
    if (job->payload)
        ph__query_bytes(&query, job->payload, job->payload_length);
    else
        ph__query_null(&query);
    ph__query_text(&query, job->cron);
    ph__query_text(&query, job->timezone);
    ph__query_int(&query, job->misfire);
    ph__query_int(&query, job->misfire_limit);
    ph__query_int(&query, job->overlap);
    return query;
}

static int look_at_job(struct ph__sqlite_tx *tx, const struct ph__job *job,
                       enum ph__job_was *ret_was)
{
    struct ph__query query = job_query(tx, PH__SQL_job_same, job);
    int r = ph__query_row(&query);

    *ret_was = PH__JOB_MISSING;
    if (r <= 0)
        return r;
    *ret_was = ph__column_int(&query, 0) ? PH__JOB_SAME : PH__JOB_OTHER;
    ph__query_end(&query);
    return 0;
}

static int write_job(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which,
                     const struct ph__job *job)
{
    struct ph__query query = job_query(tx, which, job);

    ph__query_int(&query, tx->now);
    return ph__query_run(&query);
}

int ph__sqlite_job_set(struct ph__call *call, const struct ph__job *job, enum ph__job_was *ret_was)
{
    enum ph__job_was was = PH__JOB_MISSING;
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    r = look_at_job(&tx, job, &was);
    if (r == 0 && was != PH__JOB_SAME)
        r = write_job(&tx, was == PH__JOB_OTHER ? PH__SQL_job_update : PH__SQL_job_insert, job);
    r = ph__sqlite_end(&tx, r);
    if (r == 0)
        *ret_was = was;
    return r;
}

struct waiting_run {
    struct waiting_run *next;
    struct ph__pending_row row;
};

static int list_waiting(struct ph__sqlite_tx *tx, const char *name, struct ph__arena *arena,
                        struct waiting_run **ret_first)
{
    struct ph__query query = ph__query(tx, PH__SQL_job_pending_runs);
    int r;

    ph__query_text(&query, name);
    while ((r = ph__query_row(&query)) > 0) {
        struct waiting_run *run = ph__arena_alloc(arena, sizeof(*run));

        if (!run) {
            r = ph__fail_memory(tx->call->err);
            break;
        }
        *run = (struct waiting_run){ *ret_first,
                                     { .queue = ph__column_int(&query, 0),
                                       .level = (int)ph__column_int(&query, 1),
                                       .due = ph__column_int(&query, 2),
                                       .id = ph__column_int(&query, 3) } };
        *ret_first = run;
    }
    ph__query_end(&query);
    return r;
}

/* They are listed before anything is changed. */
static int delete_waiting(struct ph__sqlite_tx *tx, const char *name)
{
    struct ph__arena arena = { 0 };
    struct waiting_run *first = NULL;
    int r = list_waiting(tx, name, &arena, &first);

    for (const struct waiting_run *run = first; r == 0 && run; run = run->next)
        r = ph__delete_pending(tx, &run->row);
    ph__arena_free(&arena);
    return r;
}

int ph__sqlite_job_delete(struct ph__call *call, const char *name, bool *ret_deleted)
{
    struct ph__sqlite_tx tx;
    struct ph__query query;
    int known, r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    query = ph__query(&tx, PH__SQL_job_delete);
    ph__query_text(&query, name);
    r = known = run_telling(&query);
    if (known > 0)
        r = delete_waiting(&tx, name);
    r = ph__sqlite_end(&tx, r);
    if (r == 0)
        *ret_deleted = known > 0;
    return r;
}

int ph__sqlite_job_trigger(struct ph__call *call, const char *name, ph_work_id *ret_run)
{
    struct ph__sqlite_tx tx;
    struct ph__message_writer storing = { .tx = &tx, .door = PH_JOB_RUNS };
    struct ph__arena arena = { 0 };
    struct ph__job_row job;
    ph_work_id run;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    r = ph__job_get(&tx, name, &arena, &job);
    if (r == 0)
        r = PH_ENOTFOUND;
    if (r > 0)
        r = ph__job_run_make(&storing, &job.info, tx.now, true, &run);
    ph__arena_free(&arena);
    r = ph__sqlite_end(&tx, r);
    if (r == 0)
        *ret_run = run;
    return r;
}

static int set_paused(struct ph__sqlite_tx *tx, const char *name, bool paused)
{
    struct ph__query query = ph__query(tx, paused ? PH__SQL_job_pause : PH__SQL_job_resume);

    ph__query_text(&query, name);
    if (!paused)
        ph__query_int(&query, tx->now);
    return ph__query_run(&query);
}

int ph__sqlite_job_pause(struct ph__call *call, const char *name, bool paused)
{
    struct ph__sqlite_tx tx;
    struct ph__arena arena = { 0 };
    struct ph__job_row job;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    r = ph__job_get(&tx, name, &arena, &job);
    if (r >= 0)
        r = r == 0 ? PH_ENOTFOUND : set_paused(&tx, name, paused);
    ph__arena_free(&arena);
    return ph__sqlite_end(&tx, r);
}

static struct ph__query list_query(struct ph__sqlite_tx *tx, const struct ph__job_query *wanted)
{
    struct ph__query query = ph__query(tx, wanted->name ? PH__SQL_job_get : PH__SQL_job_list);

    if (wanted->name) {
        ph__query_text(&query, wanted->name);
        return query;
    }
    ph__query_text(&query, wanted->after ? wanted->after : ""); /* no name is empty */
    ph__query_text(&query, wanted->ns);
    ph__query_int(&query, wanted->limit);
    return query;
}

/* A single one, found by its name, may still be ruled out. */
static bool is_wanted(const ph_job_info *info, const struct ph__job_query *wanted)
{
    return (!wanted->ns || strcmp(info->ns, wanted->ns) == 0) &&
           (!wanted->after || strcmp(info->name, wanted->after) > 0);
}

static int load_info(const struct ph__query *query, const struct ph__rows *rows, void *item)
{
    struct ph__job_row job;
    int r = ph__job_load(query, rows->arena, &job);

    if (r < 0)
        return r;
    *(ph_job_info *)item = job.info;
    return is_wanted(&job.info, rows->context) ? 0 : 1;
}

static int load_list(struct ph__sqlite_tx *tx, struct ph__job_query wanted, ph_jobs *list)
{
    struct ph__query query = list_query(tx, &wanted);

    return PH__ROWS_LOAD(&query, list, load_info, &wanted);
}

int ph__sqlite_job_list(struct ph__call *call, const struct ph__job_query *query, ph_jobs *ret_list)
{
    struct ph__long_read read = { 0 };
    int r = ph__long_read_begin(&read, call);

    return r < 0 ? r : ph__long_read_end(&read, load_list(&read.tx, *query, ret_list));
}
