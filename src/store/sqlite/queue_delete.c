/* queue_delete.c - deletes an empty queue. There is one writer, and an enqueue looks the queue up
 * under the write lock: so the row can simply go. */
#include "store/sqlite/operate.h"
#include "store/sqlite/queue_row.h"
#include "store/sqlite/verbs.h"

static int look_inside(struct ph__sqlite_tx *tx, int64_t queue, ph_door door, const char *ns,
                       struct ph__queue_contents *contents)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    struct ph__query query = ph__query(tx, PH__SQL_queue_contents);
    int r;

    ph__query_int(&query, queue);
    r = ph__query_row(&query);
    if (r < 0)
        return r;
    contents->messages = ph__column_int(&query, 0);
    contents->keys = ph__column_int(&query, 1);
    contents->streams = ph__column_int(&query, 2);
    ph__query_end(&query);

    r = ph__count_within(tx, door, ns, &counts);
    contents->messages +=
        counts.ready + counts.scheduled + counts.in_progress + counts.parked + counts.waiting;
    return r;
}

static int look_who_comes(struct ph__sqlite_tx *tx, ph_door door, const char *ns,
                          struct ph__queue_contents *contents)
{
    struct ph__query query = ph__query(tx, PH__SQL_queue_coming);
    int r;

    ph__query_int(&query, door);
    ph__query_text(&query, ns);
    r = ph__query_row(&query);
    if (r < 0)
        return r;
    contents->coming = ph__column_int(&query, 0);
    contents->jobs = ph__column_int(&query, 1);
    ph__query_end(&query);
    return 0;
}

static int delete_row(struct ph__sqlite_tx *tx, int64_t id)
{
    struct ph__query query = ph__query(tx, PH__SQL_queue_delete);

    ph__query_int(&query, id);
    return ph__query_run(&query);
}

int ph__sqlite_queue_delete(struct ph__call *call, ph_door door, const char *ns,
                            struct ph__queue_contents *contents, bool *ret_deleted)
{
    struct ph__queue_row queue = { 0 };
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_write(&tx, call);
    bool empty = false;

    if (r < 0)
        return r;
    r = ph__queue_by_name(&tx, door, ns, &queue);
    if (r == 0 && queue.id)
        r = look_inside(&tx, queue.id, door, ns, contents);
    if (r == 0 && queue.id)
        r = look_who_comes(&tx, door, ns, contents);
    if (r == 0)
        empty = queue.id && ph__queue_is_empty(contents);
    if (r == 0 && empty)
        r = delete_row(&tx, queue.id);
    r = ph__sqlite_end(&tx, r);
    if (r == 0)
        *ret_deleted = empty;
    return r;
}
