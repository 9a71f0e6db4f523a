#include "store/sqlite/job_run.h"

#include "core/id.h"

#include <string.h>

static int make_headers(struct ph__sqlite_tx *tx, const char *job, int64_t instant,
                        struct ph__arena *arena, const char **ret_headers)
{
    struct ph__query query = ph__query(tx, PH__SQL_job_run_headers);
    int r;

    ph__query_text(&query, job);
    ph__query_int(&query, instant);
    r = ph__query_row(&query);
    if (r > 0)
        r = ph__column_text(&query, 0, arena, ret_headers, NULL);
    ph__query_end(&query);
    return r;
}

static int insert_run(struct ph__sqlite_tx *tx, ph_work_id run, const char *job, int64_t instant,
                      bool triggered)
{
    struct ph__query query = ph__query(tx, PH__SQL_job_run_insert);
    int64_t number = 0;
    uint64_t salt;

    tx->any.job_runs = true;
    (void)ph__id_split(run, &number, &salt);
    ph__query_int(&query, number);
    ph__query_text(&query, job);
    ph__query_int(&query, instant);
    ph__query_int(&query, triggered);
    return ph__query_run(&query);
}

static int note_last(struct ph__sqlite_tx *tx, const char *job, int64_t instant, ph_work_id run)
{
    struct ph__query query = ph__query(tx, PH__SQL_job_ran);

    ph__query_text(&query, job);
    ph__query_int(&query, instant);
    ph__query_id(&query, run.b);
    return ph__query_run(&query);
}

static int store_run(struct ph__message_writer *s, const ph_job_info *job, int64_t instant,
                     const char *headers, ph_work_id *ret_run)
{
    struct ph__message m = { .topic = job->topic,
                             .payload = job->payload ? job->payload : "",
                             .headers = headers,
                             .level = PH__LEVEL_DEFAULT,
                             .due_at = instant };
    int r = ph__store_queue(s, job->ns);

    s->ns = NULL;
    m.payload_length = strlen(m.payload);
    return r < 0 ? r : ph__store_message(s, &m, ret_run);
}

int ph__job_run_make(struct ph__message_writer *s, const ph_job_info *job, int64_t instant,
                     bool triggered, ph_work_id *ret_run)
{
    struct ph__arena arena = { 0 };
    const char *headers = NULL;
    int r = make_headers(s->tx, job->name, instant, &arena, &headers);

    if (r == 0)
        r = store_run(s, job, instant, headers, ret_run);
    if (r == 0)
        r = insert_run(s->tx, *ret_run, job->name, instant, triggered);
    if (r == 0)
        r = note_last(s->tx, job->name, instant, *ret_run);
    ph__arena_free(&arena);
    return r;
}

int ph__job_run_exists(struct ph__sqlite_tx *tx, const char *job, int64_t instant)
{
    struct ph__query query = ph__query(tx, PH__SQL_job_run_exists);
    int r;

    ph__query_text(&query, job);
    ph__query_int(&query, instant);
    r = ph__query_row(&query);
    if (r > 0)
        ph__query_end(&query);
    return r;
}

/* A scheduler has turned the run into a message, or an operator has put it back: then that one
 * tells, otherwise the run itself. */
static int is_open(struct ph__sqlite_tx *tx, ph_work_id run)
{
    struct ph__query query = ph__query(tx, PH__SQL_job_run_message);
    int64_t number, newest, status;
    uint64_t salt;
    int r;

    if (!ph__id_split(run, &number, &salt))
        return 0;
    ph__query_id(&query, run.b);
    r = ph__query_one(&query, &newest, number);
    if (r < 0)
        return r;
    query = ph__query(tx, PH__SQL_message_status);
    ph__query_int(&query, newest);
    r = ph__query_one(&query, &status, PH_DONE);
    return r < 0 ? r : status == PH_READY || status == PH_IN_PROGRESS;
}

/* 1: there was one that may be open, and it was; 0: it was not, or there is none: *ret_number. */
static int look_at_newest(struct ph__sqlite_tx *tx, const char *job, int64_t *ret_number)
{
    struct ph__query query = ph__query(tx, PH__SQL_job_run_open);
    ph_work_id run;
    int r;

    *ret_number = 0;
    ph__query_text(&query, job);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    *ret_number = ph__column_int(&query, 0);
    run = ph__id_make(*ret_number, (uint64_t)ph__column_int(&query, 1));
    ph__query_end(&query);
    return is_open(tx, run);
}

int ph__job_is_running(struct ph__sqlite_tx *tx, const ph_job_info *job)
{
    int64_t number;
    int r;

    while ((r = look_at_newest(tx, job->name, &number)) == 0 && number) {
        struct ph__query query = ph__query(tx, PH__SQL_job_run_mark);

        ph__query_int(&query, number);
        ph__query_int(&query, false);
        r = ph__query_run(&query);
        if (r < 0)
            break;
    }
    /* With delete_on_ack a run goes when it is turned into a message: the job still knows it. */
    return r == 0 ? is_open(tx, job->last_run) : r;
}
