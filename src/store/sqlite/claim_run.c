/* claim_run.c - a claim and ordered streams: the messages behind a head, and those behind a dead
 * one. */
#include "core/error.h"
#include "store/sqlite/claiming.h"
#include "store/sqlite/moves.h"
#include "store/sqlite/stream_row.h"

#include <string.h>

static int fail_memory(struct ph__claiming *c)
{
    return ph__fail_memory(c->tx->call->err);
}

size_t ph__claim_room(const struct ph__claiming *c)
{
    size_t most = c->alone ? 1 : (size_t)c->claim->batch_size;
    size_t group = c->lost == 1 ? PH__LOST_GROUP_MAX : 1;

    if (c->full)
        return 0;
    return (c->lost > 0 && group < most ? group : most) - c->batch->count;
}

/* One stream cannot fill a batch while others wait. */
static size_t run_limit(const struct ph__claiming *c)
{
    return c->claim->batch_size >= 5 ? (size_t)c->claim->batch_size / 5 : 1;
}

/* 1: it may follow; 0: the run ends before it. */
static int fits(struct ph__claiming *c, const struct ph__claim_run *run,
                const struct ph__query *query)
{
    const char *topic = (const char *)sqlite3_column_text(query->stmt, PH__CLAIM_TOPIC);

    if (!topic)
        return fail_memory(c);
    return ph__column_int(query, PH__CLAIM_SEQ) == run->last_seq + 1 &&
           ph__column_int(query, PH__CLAIM_DUE_AT) <= c->tx->now &&
           (ph__column_is_null(query, PH__CLAIM_EXPIRES_AT) ||
            ph__column_int(query, PH__CLAIM_EXPIRES_AT) > c->tx->now) &&
           ph__topics_want(&c->topics, topic);
}

/* Takes the messages that follow a run, at most so many. */
static int follow(struct ph__claiming *c, struct ph__claim_run *run, size_t most)
{
    struct ph__query query;
    int r = 0;

    if (most == 0)
        return 0;
    query = ph__query(c->tx, PH__SQL_claim_follow);
    ph__query_int(&query, run->stream);
    ph__query_int(&query, run->last_seq);
    while (most-- > 0 && (r = ph__query_row(&query)) > 0) {
        r = fits(c, run, &query);
        if (r <= 0 || ph__claim_overflows(c, &query))
            break;
        r = ph__claim_take(c, &query, (int)ph__column_int(&query, PH__CLAIM_LEVEL));
        if (r < 0)
            break;
        c->batch->items[c->batch->count - 1].stream = run->key;
        run->last_seq++;
    }
    ph__query_end(&query);
    return r < 0 ? r : 0;
}

static int load_key(struct ph__claiming *c, const struct ph__query *row, struct ph__claim_run *run)
{
    const char *topic = (const char *)sqlite3_column_text(row->stmt, PH__CLAIM_TOPIC);
    struct ph__head head = { run->stream, ph__column_int(row, PH__CLAIM_DUE),
                             ph__topic_hash(topic) };
    struct ph__query query = ph__query(c->tx, PH__SQL_stream_by_id);
    int r;

    ph__query_int(&query, run->stream);
    r = ph__query_row(&query);
    if (r == 0)
        return ph__fail(c->tx->call->err, PH_ECORRUPT,
                        "the stream of a message is missing; restore a backup");
    if (r < 0)
        return r;
    r = ph__column_text(&query, 3, c->arena, &run->key, NULL);
    if (r == 0 && c->affinity.on)
        r = ph__affinity_took(&c->affinity, &head, ph__column_int(&query, 4));
    ph__query_end(&query);
    return r;
}

int ph__claim_run(struct ph__claiming *c, const struct ph__query *query, bool alone)
{
    struct ph__claim_run *run = PH__ARENA_ADD(c->arena, c->runs, c->run_count, c->run_room);
    size_t most = run_limit(c) - 1;
    int r;

    if (!run)
        return fail_memory(c);
    *run = (struct ph__claim_run){ .stream = ph__column_int(query, PH__CLAIM_STREAM),
                                   .first_seq = ph__column_int(query, PH__CLAIM_SEQ),
                                   .last_seq = ph__column_int(query, PH__CLAIM_SEQ),
                                   .first = c->batch->count - 1 };
    r = load_key(c, query, run);
    if (r < 0)
        return r;
    c->batch->items[run->first].stream = run->key;
    if (!alone)
        r = follow(c, run, most < ph__claim_room(c) ? most : ph__claim_room(c));
    run->count = c->batch->count - run->first;
    return r;
}

/* A message that came later moves to the end of its run. */
static int arrange(struct ph__claiming *c, size_t before)
{
    size_t count = c->batch->count, to = 0, from = 0;
    ph_delivery *old = c->batch->items;
    ph_delivery *items = ph__arena_alloc(c->arena, count * sizeof(*items));

    if (!items)
        return fail_memory(c);
    for (size_t i = 0; i < c->run_count; i++) {
        struct ph__claim_run *run = &c->runs[i];
        size_t end = run->first + run->count;

        memcpy(items + to, old + from, (end - from) * sizeof(*items));
        to += end - from;
        from = end;
        memcpy(items + to, old + run->more_first, run->more_count * sizeof(*items));
        to += run->more_count;
        run->count += run->more_count;
        run->first = to - run->count;
    }
    memcpy(items + to, old + from, (before - from) * sizeof(*items));
    c->batch->items = items;
    c->capacity = count;
    return 0;
}

int ph__claim_extend(struct ph__claiming *c)
{
    size_t before = c->batch->count;
    int r = 0;

    for (size_t i = 0; r == 0 && i < c->run_count && ph__claim_room(c) > 0; i++) {
        struct ph__claim_run *run = &c->runs[i];

        run->more_first = c->batch->count;
        r = follow(c, run, ph__claim_room(c));
        run->more_count = c->batch->count - run->more_first;
    }
    return r < 0 || c->batch->count == before ? r : arrange(c, before);
}

int ph__claim_bury(struct ph__claiming *c, const struct ph__unfit *unfit)
{
    struct ph__attempt_entry entry = { .id = unfit->id,
                                       .attempt = unfit->attempts,
                                       .kind = PH__EXPIRED };
    int r = unfit->expired ? ph__log_attempt(c->tx, &entry) : 0;

    if (r < 0)
        return r;
    return ph__bury(c->tx, unfit->id, c->queue.id,
                    unfit->expired ? PH__DEAD_EXPIRED : PH__DEAD_ATTEMPTS, NULL);
}

/* Would this claim bury the message if it were the head? */
static bool has_expired(const struct ph__claiming *c, const struct ph__stream_next *next)
{
    return next->row.due <= c->tx->now && next->expires_at && next->expires_at <= c->tx->now &&
           ph__topics_may_want(&c->topics, next->row.topic);
}

/* Not every level is still ahead of the walk. */
static void note_head(struct ph__claiming *c, const struct ph__pending_row *head)
{
    if (head->due > c->tx->now)
        return;
    if (head->level == c->level)
        c->again = true;
    else if (c->walked & 1U << head->level)
        c->batch->more = true;
}

int ph__claim_bury_head(struct ph__claiming *c, const struct ph__unfit *unfit)
{
    struct ph__pending_row dead = { .queue = c->queue.id,
                                    .level = c->level,
                                    .id = unfit->id,
                                    .topic = unfit->topic,
                                    .stream = unfit->stream };
    struct ph__stream_next next = { .seq = unfit->seq };
    int r;

    if (c->queue.dead_head == PH_DEAD_HEAD_BLOCK)
        return ph__stream_head_died(c->tx, PH_DEAD_HEAD_BLOCK, &dead, unfit->seq);
    while ((r = ph__stream_next(c->tx, unfit->stream, next.seq, &next)) > 0) {
        struct ph__unfit another = { .id = next.row.id, .expired = true };

        if (c->buried >= PH__BURY_MAX || !has_expired(c, &next))
            break;
        r = ph__claim_bury(c, &another);
        if (r < 0)
            return r;
        if (++c->buried == PH__BURY_MAX)
            c->batch->more = c->stop = true;
    }
    if (r <= 0)
        return r < 0 ? r : ph__stream_go_on(c->tx, unfit->stream, next.seq);
    note_head(c, &next.row);
    return ph__put_pending(c->tx, &next.row);
}

void ph__claim_pack_runs(const struct ph__claiming *c, uint16_t *places, struct ph__buffer *to)
{
    for (size_t i = 0; i < c->run_count; i++) {
        const struct ph__claim_run *run = &c->runs[i];
        struct ph__lease_run packed = { .stream = run->stream,
                                        .first_seq = run->first_seq,
                                        .count = run->count,
                                        .places = places + run->first };

        ph__pack_run(to, &packed);
    }
}
