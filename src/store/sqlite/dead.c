/* dead.c - the verbs of operators for dead messages: retry and discard. */
#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/stream_row.h"
#include "store/sqlite/topics.h"
#include "store/sqlite/verbs.h"
#include "util/alloc.h"
#include "util/order.h"
#include "util/random.h"

#include <stdlib.h>
#include <string.h>

struct dead_message {
    size_t at;                          /* in the list that was given */
    int64_t number, queue, stream, seq; /* stream 0: none */
    int level;
    ph_message_id message_id;
    uint32_t topic;
    bool retried;
};

/* 1 if the id is that of a dead message. */
static int load(struct ph__sqlite_tx *tx, ph_work_id id, struct dead_message *ret)
{
    struct ph__query query;
    uint64_t salt;
    int r;

    if (!ph__id_split(id, &ret->number, &salt))
        return 0;
    query = ph__query(tx, PH__SQL_dead_get);
    ph__query_int(&query, ret->number);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    r = (uint64_t)ph__column_int(&query, 0) == salt;
    ret->queue = ph__column_int(&query, 1);
    ret->level = (int)ph__column_int(&query, 2);
    if (!ph__column_id(&query, 3, ret->message_id.b))
        memcpy(ret->message_id.b, id.b, sizeof(ret->message_id.b));
    ret->topic = ph__topic_hash((const char *)sqlite3_column_text(query.stmt, 4));
    ret->retried = ph__column_int(&query, 5) != 0;
    ret->stream = ph__column_int(&query, 6);
    ret->seq = ph__column_int(&query, 7);
    ph__query_end(&query);
    return r;
}

/* The copy belongs to the same door as the original: its salt says which. */
static uint64_t salt_like(const struct ph__sqlite_tx *tx, ph_work_id original)
{
    return ph__id_salt(original.b[8] >> 4 & 3, tx->store_id, (uint32_t)ph__random_u64());
}

static int insert_copy(struct ph__sqlite_tx *tx, const struct dead_message *dead, uint64_t salt,
                       int64_t seq)
{
    struct ph__query query = ph__query(tx, PH__SQL_message_copy);

    ph__query_int(&query, dead->number);
    ph__query_int(&query, (int64_t)salt);
    ph__query_id(&query, dead->message_id.b);
    ph__query_int(&query, tx->now);
    ph__query_int_or_null(&query, seq);
    return ph__query_run(&query);
}

/* Where the copy comes in its stream: in place of a dead head that blocks it, or at the end.
 * *ret_seq 0: it has no stream; *ret_parked: it is not the head. */
static int enter_stream(struct ph__sqlite_tx *tx, const struct dead_message *dead, int64_t *ret_seq,
                        bool *ret_parked)
{
    struct ph__stream_row stream;
    int r;

    *ret_seq = dead->seq;
    *ret_parked = false;
    if (!dead->stream)
        return 0;
    r = ph__stream_unblock(tx, dead->stream, dead->number);
    if (r != 0)
        return r < 0 ? r : 0;
    r = ph__stream_by_id(tx, dead->stream, &stream);
    if (r <= 0)
        return r < 0 ? r
                     : ph__fail(tx->call->err, PH_ECORRUPT,
                                "the stream of a message is missing; restore a backup");
    *ret_seq = ++stream.last_seq;
    *ret_parked = stream.busy;
    stream.busy = true;
    return ph__stream_write(tx, &stream);
}

/* The key goes along, so that it lives as long as the copy. */
static int move_key(struct ph__sqlite_tx *tx, const struct dead_message *dead, int64_t copy,
                    uint64_t salt)
{
    struct ph__query query = ph__query(tx, PH__SQL_dedupe_move);

    ph__query_int(&query, dead->number);
    ph__query_int(&query, copy);
    ph__query_int(&query, (int64_t)salt);
    ph__query_id(&query, dead->message_id.b);
    return ph__query_run(&query);
}

/* A job run that was put back runs again: the overlap policy must look at it anew. */
static int reopen_run(struct ph__sqlite_tx *tx, const ph_message_id *message_id)
{
    struct ph__query query;
    ph_work_id run;
    int64_t number;
    uint64_t salt;

    memcpy(run.b, message_id->b, sizeof(run.b));
    if (!ph__id_split(run, &number, &salt) || (salt >> 60 & 3) != PH_JOB_RUNS)
        return 0;
    query = ph__query(tx, PH__SQL_job_run_mark);
    ph__query_int(&query, number);
    ph__query_int(&query, true);
    return ph__query_run(&query);
}

static int retry_one(struct ph__sqlite_tx *tx, const struct dead_message *dead, ph_work_id id,
                     ph_work_id *ret_new_id)
{
    uint64_t salt = salt_like(tx, id);
    struct ph__pending_row row;
    struct ph__query query;
    int64_t seq = 0;
    bool parked;
    int r = enter_stream(tx, dead, &seq, &parked);

    if (r == 0)
        r = insert_copy(tx, dead, salt, seq);
    if (r < 0)
        return r;
    row = (struct ph__pending_row){ .queue = dead->queue,
                                    .level = dead->level,
                                    .due = tx->now,
                                    .id = sqlite3_last_insert_rowid(tx->db),
                                    .topic = dead->topic,
                                    .stream = dead->stream };
    *ret_new_id = ph__id_make(row.id, salt);
    if (!parked)
        r = ph__put_pending(tx, &row);
    if (r == 0)
        r = move_key(tx, dead, row.id, salt);
    if (r == 0)
        r = reopen_run(tx, &dead->message_id);
    if (r < 0)
        return r;
    query = ph__query(tx, PH__SQL_dead_mark);
    ph__query_int(&query, dead->number);
    ph__query_id(&query, ret_new_id->b);
    return ph__query_run(&query);
}

/* Messages of one stream in their old order, whatever order they were given in. */
static int by_stream(const void *a, const void *b)
{
    const struct dead_message *one = a, *other = b;
    int r = ph__order(one->stream, other->stream);

    r = r ? r : ph__order(one->seq, other->seq);
    r = r ? r : ph__order(one->number, other->number);
    return r ? r : ph__order((int64_t)one->at, (int64_t)other->at);
}

/* Those that can be put back, each once, in order; *ret_count: how many. */
static int load_all(struct ph__sqlite_tx *tx, const ph_work_id *ids, size_t count,
                    struct dead_message *ret_dead, size_t *ret_count)
{
    size_t found = 0, kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct dead_message *dead = &ret_dead[found];
        int r = load(tx, ids[i], dead);

        if (r < 0)
            return r;
        dead->at = i;
        found += r > 0 && !dead->retried;
    }
    qsort(ret_dead, found, sizeof(*ret_dead), by_stream);
    for (size_t i = 0; i < found; i++) {
        if (kept == 0 || ret_dead[kept - 1].number != ret_dead[i].number)
            ret_dead[kept++] = ret_dead[i];
    }
    *ret_count = kept;
    return 0;
}

int ph__sqlite_dead_retry(struct ph__call *call, const ph_work_id *ids, size_t count,
                          ph_work_id *ret_new_ids)
{
    struct dead_message *dead = ph__alloc_zero(count, sizeof(*dead));
    struct ph__sqlite_tx tx;
    size_t found = 0;
    int r = dead ? ph__sqlite_begin_write(&tx, call) : ph__fail_memory(call->err);

    if (r < 0) {
        ph__dealloc(dead);
        return r;
    }
    memset(ret_new_ids, 0, count * sizeof(*ret_new_ids));
    r = load_all(&tx, ids, count, dead, &found);
    for (size_t i = 0; r == 0 && i < found; i++)
        r = retry_one(&tx, &dead[i], ids[dead[i].at], &ret_new_ids[dead[i].at]);
    ph__dealloc(dead);
    return ph__sqlite_end(&tx, r);
}

static int discard_one(struct ph__sqlite_tx *tx, ph_work_id id, int64_t *count)
{
    struct dead_message dead;
    int r = load(tx, id, &dead);

    if (r <= 0)
        return r;
    r = ph__delete_dead(tx, dead.number);
    ++*count;
    return r;
}

int ph__sqlite_dead_discard(struct ph__call *call, const ph_work_id *ids, size_t count,
                            int64_t *ret_count)
{
    struct ph__sqlite_tx tx;
    int64_t deleted = 0;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = discard_one(&tx, ids[i], &deleted);
    r = ph__sqlite_end(&tx, r);
    if (r == 0)
        *ret_count = deleted;
    return r;
}
