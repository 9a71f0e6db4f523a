#include "store/sqlite/stream_row.h"

#include "core/partition.h"
#include "store/sqlite/topics.h"
#include "util/assert.h"

static int run_with(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which, int64_t number)
{
    struct ph__query query = ph__query(tx, which);

    ph__query_int(&query, number);
    return ph__query_run(&query);
}

/* Runs a query with the columns of stream_get: 1 if there is a row. */
static int load(struct ph__query *query, struct ph__stream_row *ret)
{
    int r = ph__query_row(query);

    if (r <= 0)
        return r;
    *ret = (struct ph__stream_row){ .id = ph__column_int(query, 0),
                                    .last_seq = ph__column_int(query, 1),
                                    .busy = ph__column_int(query, 2) != 0 };
    ph__query_end(query);
    return 1;
}

int ph__stream_by_id(struct ph__sqlite_tx *tx, int64_t id, struct ph__stream_row *ret_stream)
{
    struct ph__query query = ph__query(tx, PH__SQL_stream_by_id);

    ph__query_int(&query, id);
    return load(&query, ret_stream);
}

static int insert(struct ph__sqlite_tx *tx, struct ph__queue_row *queue, const char *key,
                  struct ph__stream_row *ret)
{
    struct ph__query query = ph__query(tx, PH__SQL_stream_insert);
    int r;

    ph__query_int(&query, queue->id);
    ph__query_text(&query, key);
    ph__query_int(&query, ph__stream_hash(key));
    ph__query_int(&query, tx->now);
    r = ph__query_run(&query);
    *ret = (struct ph__stream_row){ .id = sqlite3_last_insert_rowid(tx->db) };
    tx->any.streams = true;
    if (r < 0 || queue->has_streams)
        return r;
    queue->has_streams = true;
    return run_with(tx, PH__SQL_queue_has_streams, queue->id);
}

int ph__stream_obtain(struct ph__sqlite_tx *tx, struct ph__queue_row *queue, const char *key,
                      struct ph__stream_row *ret_stream)
{
    struct ph__query query = ph__query(tx, PH__SQL_stream_get);
    int r;

    ph__query_int(&query, queue->id);
    ph__query_text(&query, key);
    r = load(&query, ret_stream);
    if (r == 0)
        r = insert(tx, queue, key, ret_stream);
    return r < 0 ? r : 0;
}

int ph__stream_write(struct ph__sqlite_tx *tx, const struct ph__stream_row *stream)
{
    struct ph__query query = ph__query(tx, PH__SQL_stream_update);

    PH__ASSERT(tx->writes && stream->id > 0 && stream->last_seq >= 0);
    ph__query_int(&query, stream->id);
    ph__query_int(&query, stream->last_seq);
    ph__query_int(&query, stream->busy);
    return ph__query_run(&query);
}

int ph__stream_next(struct ph__sqlite_tx *tx, int64_t stream, int64_t seq,
                    struct ph__stream_next *ret_next)
{
    struct ph__query query = ph__query(tx, PH__SQL_stream_next);
    int r;

    ph__query_int(&query, stream);
    ph__query_int(&query, seq);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    *ret_next = (struct ph__stream_next){
        .seq = ph__column_int(&query, 3),
        .due_at = ph__column_int(&query, 4),
        .expires_at = ph__column_int(&query, 5),
        .row = { .queue = ph__column_int(&query, 1),
                 .level = (int)ph__column_int(&query, 2),
                 .id = ph__column_int(&query, 0),
                 .topic = ph__topic_hash((const char *)sqlite3_column_text(query.stmt, 6)),
                 .stream = stream },
    };
    ret_next->row.due = ret_next->due_at > tx->now ? ret_next->due_at : tx->now;
    ph__query_end(&query);
    return 1;
}

int ph__stream_go_on(struct ph__sqlite_tx *tx, int64_t stream, int64_t seq)
{
    struct ph__stream_next next;
    int r = ph__stream_next(tx, stream, seq, &next);

    PH__ASSERT(tx->writes && stream > 0);
    PH__ASSERT(r <= 0 || next.seq > seq);
    if (r < 0)
        return r;
    return r > 0 ? ph__put_pending(tx, &next.row) : run_with(tx, PH__SQL_stream_idle, stream);
}

int ph__stream_head_died(struct ph__sqlite_tx *tx, ph_dead_head policy,
                         const struct ph__pending_row *head, int64_t seq)
{
    struct ph__pending_row row = *head;

    PH__ASSERT(head->stream > 0 && seq > 0);
    if (policy != PH_DEAD_HEAD_BLOCK)
        return ph__stream_go_on(tx, head->stream, seq);
    row.due = PH__DUE_BLOCKED;
    row.attempts = row.lost = 0;
    return ph__put_pending(tx, &row);
}

static int delete_token(struct ph__sqlite_tx *tx, const struct ph__pending_row *row)
{
    struct ph__query query = ph__query(tx, PH__SQL_pending_delete);

    ph__query_int(&query, row->queue);
    ph__query_int(&query, row->level);
    ph__query_int(&query, row->due);
    ph__query_int(&query, row->id);
    return ph__query_run(&query);
}

int ph__stream_unblock(struct ph__sqlite_tx *tx, int64_t stream, int64_t dead)
{
    struct ph__query query = ph__query(tx, PH__SQL_stream_token);
    struct ph__pending_row row;
    int r;

    ph__query_int(&query, stream);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    row = (struct ph__pending_row){ .queue = ph__column_int(&query, 0),
                                    .level = (int)ph__column_int(&query, 1),
                                    .due = ph__column_int(&query, 2),
                                    .id = ph__column_int(&query, 3) };
    ph__query_end(&query);
    if (row.due != PH__DUE_BLOCKED || row.id != dead)
        return 0;
    r = delete_token(tx, &row);
    return r < 0 ? r : 1;
}

/* 1 if there was one. */
static int unblock_first(struct ph__sqlite_tx *tx, int64_t queue)
{
    struct ph__query query = ph__query(tx, PH__SQL_stream_blocked);
    struct ph__pending_row row = { .queue = queue };
    int64_t seq;
    int r;

    ph__query_int(&query, queue);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    row.stream = ph__column_int(&query, 0);
    row.level = (int)ph__column_int(&query, 1);
    row.due = ph__column_int(&query, 2);
    row.id = ph__column_int(&query, 3);
    seq = ph__column_int(&query, 4);
    ph__query_end(&query);
    r = delete_token(tx, &row);
    if (r == 0)
        r = ph__stream_go_on(tx, row.stream, seq);
    return r < 0 ? r : 1;
}

int ph__stream_unblock_all(struct ph__sqlite_tx *tx, int64_t queue)
{
    int r;

    do
        r = unblock_first(tx, queue);
    while (r > 0);
    return r;
}

int ph__stream_delete_unused(struct ph__sqlite_tx *tx, int64_t stream)
{
    return run_with(tx, PH__SQL_stream_delete, stream);
}
