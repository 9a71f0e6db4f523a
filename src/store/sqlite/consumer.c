#include "store/sqlite/consumer.h"

#include "core/error.h"
#include "store/sqlite/ranges.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/verbs.h"

#include <string.h>

/* A checkpoint that is being worked on: results of one call mostly share it. */
struct consumer {
    struct ph__sqlite_tx *tx;
    size_t count; /* of results that are kept */
    struct ph__arena arena;
    const struct ph__stream *stream; /* borrowed; NULL: none yet */
    const char *name;                /* borrowed */
    int64_t id, last_seq;            /* of the stream */
    int64_t seq, error_seq, error_at, rewound_at;
    const char *error;
    struct ph__ranges ahead;
    bool changed;
};

int ph__stream_by_name(struct ph__sqlite_tx *tx, const struct ph__stream *stream, int64_t *ret_id,
                       int64_t *ret_last_seq)
{
    struct ph__query query = ph__query(tx, PH__SQL_stream_by_name);
    int r;

    ph__query_int(&query, stream->door);
    ph__query_text(&query, stream->ns);
    ph__query_text(&query, stream->key);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    *ret_id = ph__column_int(&query, 0);
    *ret_last_seq = ph__column_int(&query, 1);
    ph__query_end(&query);
    return 1;
}

static int load_row(struct consumer *c)
{
    struct ph__query query = ph__query(c->tx, PH__SQL_consumer_get);
    int r;

    ph__query_int(&query, c->id);
    ph__query_text(&query, c->name);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    c->seq = ph__column_int(&query, 0);
    c->error_seq = ph__column_int(&query, 3);
    c->error_at = ph__column_int(&query, 4);
    c->rewound_at = ph__column_int(&query, 5);
    r = ph__ranges_load(&query, 1, &c->arena, &c->ahead);
    if (r == 0)
        r = ph__column_text(&query, 2, &c->arena, &c->error, NULL);
    ph__query_end(&query);
    return r;
}

static int write_row(struct consumer *c)
{
    struct ph__query query = ph__query(c->tx, PH__SQL_consumer_put);
    struct ph__buffer ahead = { 0 };
    int r;

    ph__ranges_pack(&ahead, &c->ahead);
    ph__query_int(&query, c->id);
    ph__query_text(&query, c->name);
    ph__query_int(&query, c->seq);
    ph__query_text(&query, ahead.data);
    ph__query_text(&query, c->error);
    ph__query_int_or_null(&query, c->error_seq);
    ph__query_int_or_null(&query, c->error_at);
    ph__query_int(&query, c->tx->now);
    ph__query_int_or_null(&query, c->rewound_at);
    r = ahead.failed ? ph__fail_memory(c->tx->call->err) : ph__query_run(&query);
    ph__buffer_free(&ahead);
    return r;
}

/* Writes what has changed, and forgets it. */
static int finish(struct consumer *c, int r)
{
    if (r == 0 && c->changed)
        r = write_row(c);
    ph__arena_free(&c->arena);
    *c = (struct consumer){ .tx = c->tx, .count = c->count };
    return r;
}

static bool is_at(const struct consumer *c, const struct ph__stream *stream, const char *name)
{
    return c->stream && c->stream->door == stream->door && strcmp(c->stream->ns, stream->ns) == 0 &&
           strcmp(c->stream->key, stream->key) == 0 && strcmp(c->name, name) == 0;
}

/* Goes to a consumer's checkpoint; one that never was stands at 0. index is of the result. */
static int go_to(struct consumer *c, const struct ph__stream *stream, const char *name,
                 size_t index)
{
    int r;

    if (is_at(c, stream, name))
        return 0;
    r = finish(c, 0);
    if (r == 0)
        r = ph__stream_by_name(c->tx, stream, &c->id, &c->last_seq);
    if (r <= 0)
        return r < 0 ? r
                     : ph__result_problem(c->tx->call->err, PH__RESULT_NO_STREAM, index, c->count);
    c->stream = stream;
    c->name = name;
    return load_row(c);
}

/* 1 if there are messages between the checkpoint and the first result ahead. */
static int has_gap(struct consumer *c)
{
    int64_t first = c->ahead.items[0].from, any;
    struct ph__query query;
    int r;

    if (first == c->seq + 1)
        return 0;
    query = ph__query(c->tx, PH__SQL_stream_between);
    ph__query_int(&query, c->id);
    ph__query_int(&query, c->seq);
    ph__query_int(&query, first);
    r = ph__query_one(&query, &any, 0);
    return r < 0 ? r : any != 0;
}

/* As far as there is no gap. */
static int advance(struct consumer *c)
{
    int r = 0;

    while (c->ahead.count > 0) {
        r = has_gap(c);
        if (r != 0)
            break;
        c->seq = c->ahead.items[0].to;
        ph__ranges_drop_first(&c->ahead);
    }
    return r < 0 ? r : 0;
}

static int complete(struct consumer *c, int64_t seq, size_t index)
{
    int64_t before = c->seq;
    int r;

    if (seq <= c->seq)
        return 0;
    if (!ph__ranges_have(&c->ahead, seq))
        c->changed = true;
    if (!ph__ranges_add(&c->ahead, seq, &c->arena))
        return ph__fail_memory(c->tx->call->err);
    r = advance(c);
    c->changed |= c->seq != before;
    if (r == 0 && c->ahead.count > PH_CHECKPOINT_AHEAD_MAX)
        r = ph__result_problem(c->tx->call->err, PH__RESULT_TOO_MANY, index, c->count);
    if (r == 0 && c->error_seq && (c->seq >= c->error_seq || seq == c->error_seq)) {
        c->changed = true;
        c->error = NULL;
        c->error_seq = c->error_at = 0;
    }
    return r;
}

static void record_failure(struct consumer *c, const struct ph__checkpoint *result)
{
    if (result->seq <= c->seq)
        return;
    c->error = result->error;
    c->error_seq = result->seq;
    c->error_at = c->tx->now;
    c->changed = true;
}

static int keep_one(struct consumer *c, const struct ph__checkpoint *result, size_t index)
{
    int r = go_to(c, &result->stream, result->consumer, index);

    if (r == 0 && result->seq > c->last_seq)
        r = ph__result_problem(c->tx->call->err, PH__RESULT_BEYOND, index, c->count);
    if (r == 0 && result->failed)
        record_failure(c, result);
    else if (r == 0)
        r = complete(c, result->seq, index);
    return r;
}

int ph__checkpoints_keep(struct ph__sqlite_tx *tx, const struct ph__checkpoint *results,
                         size_t count)
{
    struct consumer c = { .tx = tx, .count = count };
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = keep_one(&c, &results[i], i);
    return finish(&c, r);
}

int ph__sqlite_checkpoint_report(struct ph__call *call, const struct ph__checkpoint *results,
                                 size_t count)
{
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_write(&tx, call);

    return r < 0 ? r : ph__sqlite_end(&tx, ph__checkpoints_keep(&tx, results, count));
}

int ph__sqlite_checkpoint_rewind(struct ph__call *call, const struct ph__stream *stream,
                                 const char *consumer, int64_t seq, int64_t *ret_old)
{
    struct ph__sqlite_tx tx;
    struct consumer c = { .tx = &tx };
    int64_t old;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    r = go_to(&c, stream, consumer, 0);
    if (r == 0 && seq > c.last_seq)
        r = ph__result_problem(call->err, PH__RESULT_BEYOND, 0, 1);
    old = c.seq;
    c.seq = seq;
    c.ahead.count = 0;
    c.error = NULL;
    c.error_seq = c.error_at = 0;
    c.rewound_at = tx.now;
    c.changed = true;
    r = ph__sqlite_end(&tx, finish(&c, r));
    if (r == 0)
        *ret_old = old;
    return r;
}

/* --------------------------------------------------------------- the list */

/* The columns of consumer_list. */
enum { CONSUMER, SEQ, AHEAD, ERROR, ERROR_SEQ, ERROR_AT, UPDATED_AT, REWOUND_AT, LAG };

static int load_info(const struct ph__query *query, const struct ph__rows *rows, void *item)
{
    ph_checkpoint_info *info = item;
    struct ph__ranges ahead = { 0 };
    int r = ph__ranges_load(query, AHEAD, rows->arena, &ahead);

    if (r == 0)
        r = ph__column_text(query, CONSUMER, rows->arena, &info->consumer, NULL);
    if (r == 0)
        r = ph__column_text(query, ERROR, rows->arena, &info->error, NULL);
    info->seq = ph__column_int(query, SEQ);
    info->ahead = ph__ranges_total(&ahead);
    info->lag = ph__column_int(query, LAG);
    info->error_seq = ph__column_int(query, ERROR_SEQ);
    info->error_at = ph__column_int(query, ERROR_AT);
    info->updated_at = ph__column_int(query, UPDATED_AT);
    info->rewound_at = ph__column_int(query, REWOUND_AT);
    return r;
}

static int load_list(struct ph__sqlite_tx *tx, int64_t stream, const char *consumer,
                     ph_checkpoints *list)
{
    struct ph__query query = ph__query(tx, PH__SQL_consumer_list);

    ph__query_int(&query, stream);
    ph__query_text(&query, consumer);
    return PH__ROWS_LOAD(&query, list, load_info, NULL);
}

int ph__sqlite_checkpoint_list(struct ph__call *call, const struct ph__stream *stream,
                               const char *consumer, ph_checkpoints *ret_list)
{
    struct ph__sqlite_tx tx;
    int64_t id, last_seq;
    int r = ph__sqlite_begin_read(&tx, call);

    if (r < 0)
        return r;
    r = ph__stream_by_name(&tx, stream, &id, &last_seq);
    if (r > 0)
        r = load_list(&tx, id, consumer, ret_list);
    return ph__sqlite_end(&tx, r);
}
