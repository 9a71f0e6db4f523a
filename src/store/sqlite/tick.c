/* tick.c - the scheduler's look at the database: it ends joins past their deadline, turns due
 * timers and job runs into messages of the outbox, and names due jobs. */
#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/done_row.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/store_message.h"
#include "store/sqlite/verbs.h"
#include "util/order.h"

#include <string.h>

struct ticking {
    struct ph__sqlite_tx tx;
    const struct ph__tick *tick;
    struct ph__ticked *to;
    struct ph__message_writer storing; /* into the outbox */
    int64_t *ids;                      /* room for as many numbers as one queue may give */
};

/* A queue where something is due. */
struct due_queue {
    struct due_queue *next;
    int64_t id;
    const char *ns;
};

/* The earliest due time behind a door after a time; PH__JOB_NEVER: none. */
static int first_due(struct ticking *t, ph_door door, int64_t after, int64_t *ret_due)
{
    struct ph__query query = ph__query(&t->tx, PH__SQL_tick_first);
    int r;

    *ret_due = PH__JOB_NEVER;
    ph__query_int(&query, door);
    ph__query_int(&query, after);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    if (!ph__column_is_null(&query, 0))
        *ret_due = ph__column_int(&query, 0);
    ph__query_end(&query);
    return 0;
}

static bool works(const struct ticking *t, ph_door door)
{
    return door == PH_TIMERS ? t->tick->timers : t->tick->job_runs;
}

/* ------------------------------------------------ one queue into the outbox */

/* The columns of tick_walk. */
enum { DUE, ID, SALT, TOPIC, CORRELATION_ID, HEADERS, PAYLOAD };

/* The text of the present row, not copied. */
static int borrow(const struct ph__query *query, int column, const char **ret_text,
                  size_t *ret_length)
{
    *ret_text = NULL;
    if (ph__column_is_null(query, column))
        return 0;
    *ret_text = (const char *)sqlite3_column_text(query->stmt, column);
    if (!*ret_text)
        return ph__fail_memory(query->tx->call->err);
    if (ret_length)
        *ret_length = (size_t)sqlite3_column_bytes(query->stmt, column);
    return 0;
}

/* The message is written while the walk stands on the timer: the row that it adds to pending
 * belongs to another queue, which the walk does not reach. */
static int turn(struct ticking *t, const struct ph__query *query)
{
    ph_work_id id = ph__id_make(ph__column_int(query, ID), (uint64_t)ph__column_int(query, SALT));
    struct ph__message m = { .level = PH__LEVEL_DEFAULT };
    ph_message_id message_id;
    int r;

    memcpy(message_id.b, id.b, sizeof(message_id.b));
    m.message_id = &message_id;
    r = borrow(query, TOPIC, &m.topic, NULL);
    if (r == 0)
        r = borrow(query, CORRELATION_ID, &m.correlation_id, NULL);
    if (r == 0)
        r = borrow(query, HEADERS, &m.headers, NULL);
    if (r == 0)
        r = borrow(query, PAYLOAD, &m.payload, &m.payload_length);
    return r < 0 ? r : ph__store_message(&t->storing, &m, &id);
}

/* Turns up to limit due ones of a queue; *ret_due and the last of t->ids say how far it came. */
static int walk(struct ticking *t, const struct due_queue *queue, int64_t limit, int64_t *ret_count,
                int64_t *ret_due)
{
    struct ph__query query = ph__query(&t->tx, PH__SQL_tick_walk);
    int64_t count = 0;
    int r = 0;

    ph__query_int(&query, queue->id);
    ph__query_int(&query, t->tx.now);
    while (count < limit && (r = ph__query_row(&query)) > 0) {
        r = turn(t, &query);
        if (r < 0)
            break;
        *ret_due = ph__column_int(&query, DUE);
        t->ids[count++] = ph__column_int(&query, ID);
    }
    ph__query_end(&query);
    *ret_count = count;
    return r < 0 ? r : 0;
}

/* All up to the last one are gone from pending: every row was taken. */
static int delete_walked(struct ticking *t, const struct due_queue *queue, int64_t due, int64_t id)
{
    struct ph__query query = ph__query(&t->tx, PH__SQL_pending_delete_up_to);

    ph__query_int(&query, queue->id);
    ph__query_int(&query, PH__LEVEL_DEFAULT);
    ph__query_int(&query, due);
    ph__query_int(&query, id);
    return ph__query_run(&query);
}

static int turn_queue(struct ticking *t, const struct due_queue *queue, int64_t limit,
                      int64_t *ret_count)
{
    struct ph__queue_row row = { 0 };
    int64_t due = 0;
    int r = ph__store_queue(&t->storing, queue->ns);

    if (r == 0)
        r = walk(t, queue, limit, ret_count, &due);
    if (r < 0 || *ret_count == 0)
        return r;
    r = delete_walked(t, queue, due, t->ids[*ret_count - 1]);
    ph__sort_int64(t->ids, (size_t)*ret_count);
    if (r == 0)
        r = ph__queue_by_id(&t->tx, queue->id, &row);
    if (r == 0)
        r = ph__put_done(&t->tx, &row, &t->tick->owner, 0, t->ids, (size_t)*ret_count);
    return r;
}

/* ------------------------------------------------------------- one door */

/* They are listed before anything is changed. */
static int list_queues(struct ticking *t, ph_door door, struct ph__arena *arena,
                       struct due_queue **ret_first)
{
    struct ph__query query = ph__query(&t->tx, PH__SQL_tick_queues);
    struct due_queue **last = ret_first;
    int r;

    ph__query_int(&query, door);
    ph__query_int(&query, t->tx.now);
    while ((r = ph__query_row(&query)) > 0) {
        struct due_queue *queue = ph__arena_alloc(arena, sizeof(*queue));

        r = queue ? ph__column_text(&query, 1, arena, &queue->ns, NULL)
                  : ph__fail_memory(t->tx.call->err);
        if (r < 0)
            break;
        queue->id = ph__column_int(&query, 0);
        *last = queue;
        last = &queue->next;
    }
    ph__query_end(&query);
    return r;
}

static int turn_door(struct ticking *t, ph_door door, int64_t *total)
{
    struct ph__arena arena = { 0 };
    struct due_queue *queues = NULL;
    int r = list_queues(t, door, &arena, &queues);

    if (r == 0 && queues) {
        t->ids = ph__arena_alloc(&arena, (size_t)t->tick->limit * sizeof(*t->ids));
        if (!t->ids)
            r = ph__fail_memory(t->tx.call->err);
    }
    for (const struct due_queue *q = queues; r == 0 && q && *total < t->tick->limit; q = q->next) {
        int64_t count = 0;

        r = turn_queue(t, q, t->tick->limit - *total, &count);
        *total += count;
    }
    t->storing.ns = NULL; /* it was the arena's */
    ph__arena_free(&arena);
    return r;
}

/* ------------------------------------------------------ jobs and what is next */

static int add_job(const struct ph__query *query, struct ph__ticked *to)
{
    struct ph__due_job *job = &to->jobs[to->job_count];
    int r = ph__column_text(query, 0, &to->arena, &job->name, NULL);

    if (r == 0)
        r = ph__column_text(query, 1, &to->arena, &job->cron, NULL);
    if (r == 0)
        r = ph__column_text(query, 2, &to->arena, &job->timezone, NULL);
    job->generation = ph__column_int(query, 3);
    job->next_at = ph__column_int(query, 4);
    job->anchor_at = ph__column_int(query, 5);
    job->misfire = (ph_misfire)ph__column_int(query, 6);
    job->misfire_limit = (int)ph__column_int(query, 7);
    job->owed_from = ph__column_int(query, 8);
    if (r == 0)
        r = ph__column_text(query, 9, &to->arena, &job->owed_cron, NULL);
    if (r == 0)
        r = ph__column_text(query, 10, &to->arena, &job->owed_timezone, NULL);
    to->job_count++;
    return r;
}

static int list_jobs(struct ticking *t)
{
    struct ph__query query = ph__query(&t->tx, PH__SQL_tick_jobs);
    struct ph__ticked *to = t->to;
    int r;

    ph__query_int(&query, t->tx.now);
    ph__query_int(&query, t->tick->limit);
    while ((r = ph__query_row(&query)) > 0) {
        if (!to->jobs)
            to->jobs = ph__arena_alloc(&to->arena, (size_t)t->tick->limit * sizeof(*to->jobs));
        r = to->jobs ? add_job(&query, to) : ph__fail_memory(t->tx.call->err);
        if (r < 0)
            break;
    }
    ph__query_end(&query);
    return r;
}

/* Lowers *next to the time that a statement finds ahead of now. */
static int consider(struct ticking *t, enum ph__sqlite_statement which, int64_t *next)
{
    struct ph__query query = ph__query(&t->tx, which);
    int64_t found;
    int r;

    ph__query_int(&query, t->tx.now);
    r = ph__query_one(&query, &found, PH__JOB_NEVER);
    if (r == 0 && found < *next)
        *next = found;
    return r;
}

static int find_next(struct ticking *t)
{
    static const ph_door doors[] = { PH_TIMERS, PH_JOB_RUNS };
    int64_t next = PH__JOB_NEVER, due;
    int r = consider(t, PH__SQL_tick_next_job, &next);

    if (r == 0)
        r = consider(t, PH__SQL_tick_next_deadline, &next);
    for (size_t i = 0; r == 0 && i < sizeof(doors) / sizeof(*doors); i++) {
        if (!works(t, doors[i]))
            continue;
        r = first_due(t, doors[i], t->tx.now, &due);
        if (r == 0 && due < next)
            next = due;
    }
    if (r == 0)
        t->to->next_at = next == PH__JOB_NEVER ? 0 : next;
    return r;
}

static int report(struct ticking *t)
{
    struct ph__ticked *to = t->to;
    int r = list_jobs(t);

    if (r == 0)
        r = find_next(t);
    to->now = t->tx.now;
    to->more = to->timers >= t->tick->limit || to->job_runs >= t->tick->limit ||
               to->joins >= t->tick->limit || to->job_count >= (size_t)t->tick->limit;
    return r;
}

/* ------------------------------------------------------------------- tick */

/* Is a door worked here, and something due there? */
static int is_due(struct ticking *t, ph_door door)
{
    int64_t due;
    int r = works(t, door) ? first_due(t, door, INT64_MIN, &due) : 0;

    return r < 0 || !works(t, door) ? r : due <= t->tx.now;
}

static int is_needed(struct ticking *t)
{
    int r = ph__joins_expire_needed(&t->tx);

    if (r == 0)
        r = is_due(t, PH_TIMERS);
    return r != 0 ? r : is_due(t, PH_JOB_RUNS);
}

/* 1 if something must be written; otherwise the look was all. */
static int look_first(struct ticking *t, struct ph__call *call)
{
    int needed, r = ph__sqlite_begin_read(&t->tx, call);

    if (r < 0)
        return r;
    r = needed = is_needed(t);
    if (needed == 0)
        r = report(t);
    r = ph__sqlite_end(&t->tx, r < 0 ? r : 0);
    return r < 0 ? r : needed;
}

static int work(struct ticking *t)
{
    int r = ph__joins_expire(&t->tx, t->tick->limit, &t->to->joins);

    t->storing = (struct ph__message_writer){ .tx = &t->tx, .door = PH_OUTBOX };
    if (r == 0 && t->tick->timers)
        r = turn_door(t, PH_TIMERS, &t->to->timers);
    if (r == 0 && t->tick->job_runs)
        r = turn_door(t, PH_JOB_RUNS, &t->to->job_runs);
    return r < 0 ? r : report(t);
}

int ph__sqlite_tick(struct ph__call *call, const struct ph__tick *tick,
                    struct ph__ticked *ret_ticked)
{
    struct ticking t = { .tick = tick, .to = ret_ticked };
    int r = call->connection ? 1 : look_first(&t, call);

    if (r <= 0)
        return r;
    r = ph__sqlite_begin_write(&t.tx, call);
    return r < 0 ? r : ph__sqlite_end(&t.tx, work(&t));
}
