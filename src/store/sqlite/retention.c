/* retention.c - deletes messages that were kept long enough, the oldest first. */
#include "core/error.h"
#include "store/sqlite/lease_row.h"
#include "store/sqlite/moves.h"
#include "store/sqlite/verbs.h"

/* Numbers of queues, from first to last. */
struct queues {
    int64_t first, last;
};
static const struct queues all_queues = { INT64_MIN, INT64_MAX };

static struct ph__query retention_query(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which,
                                        int64_t limit)
{
    struct ph__query query = ph__query(tx, which);

    ph__query_int(&query, tx->now);
    ph__query_int(&query, limit);
    return query;
}

static struct ph__query queues_query(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which,
                                     struct queues queues, int64_t limit)
{
    struct ph__query query = retention_query(tx, which, limit);

    ph__query_int(&query, queues.first);
    ph__query_int(&query, queues.last);
    return query;
}

/* Takes the first ids out of a row of done; the row goes with its last one. */
static int shorten_done(struct ph__sqlite_tx *tx, int64_t row, const int64_t *ids, size_t count,
                        size_t gone)
{
    struct ph__buffer packed = { 0 };
    struct ph__query query =
        ph__query(tx, gone == count ? PH__SQL_done_delete : PH__SQL_done_shorten);
    int r;

    ph__query_int(&query, row);
    if (gone < count) {
        ph__pack_ids(&packed, ids + gone, count - gone);
        ph__query_int(&query, ids[gone]);
        ph__query_text(&query, packed.data);
    }
    r = packed.failed ? ph__fail_memory(tx->call->err) : ph__query_run(&query);
    ph__buffer_free(&packed);
    return r;
}

/* Deletes up to limit messages of the oldest row of done whose time is over;
 * *ret_deleted is 0 if there is none. The row is read whole before anything is changed. */
static int delete_from_first(struct ph__sqlite_tx *tx, struct queues queues, int64_t limit,
                             int64_t *ret_deleted)
{
    struct ph__query query = queues_query(tx, PH__SQL_retention_done, queues, 1);
    struct ph__arena arena = { 0 };
    const int64_t *ids;
    size_t count, gone;
    int64_t row;
    int r = ph__query_row(&query);

    *ret_deleted = 0;
    if (r <= 0)
        return r;
    row = ph__column_int(&query, 0);
    r = ph__unpack_ids(&query, 1, &arena, &ids, &count);
    ph__query_end(&query);
    if (r == 0) {
        gone = (int64_t)count > limit ? (size_t)limit : count;
        r = ph__delete_done(tx, ids, gone);
        if (r == 0)
            r = shorten_done(tx, row, ids, count, gone);
        *ret_deleted = (int64_t)gone;
    }
    ph__arena_free(&arena);
    return r;
}

static int delete_settled(struct ph__sqlite_tx *tx, struct queues queues, int64_t limit,
                          int64_t *count)
{
    int64_t deleted = 1;
    int r = 0;

    while (r == 0 && limit > 0 && deleted > 0) {
        r = delete_from_first(tx, queues, limit, &deleted);
        limit -= deleted;
        *count += deleted;
    }
    return r;
}

static int delete_dead(struct ph__sqlite_tx *tx, struct queues queues, int64_t limit,
                       int64_t *count)
{
    int r = 0;

    while (r == 0 && limit-- > 0) {
        struct ph__query query = queues_query(tx, PH__SQL_retention_dead, queues, 1);
        int64_t id;

        r = ph__query_one(&query, &id, 0);
        if (r < 0 || id == 0)
            break;
        r = ph__delete_dead(tx, id);
        ++*count;
    }
    return r;
}

/* A join goes with all its steps; when many of those have gone, the rest waits for the next run. */
static int delete_joins(struct ph__sqlite_tx *tx, int64_t limit, int64_t *count)
{
    static const enum ph__sqlite_statement steps[] = { PH__SQL_members_delete,
                                                       PH__SQL_join_delete };
    int64_t number = 1, before = sqlite3_total_changes64(tx->db);
    int r = 0;

    while (r == 0 && sqlite3_total_changes64(tx->db) - before < limit) {
        struct ph__query query = retention_query(tx, PH__SQL_retention_join, 1);

        r = ph__query_one(&query, &number, 0);
        if (r < 0 || number == 0)
            break;
        for (size_t i = 0; r == 0 && i < sizeof(steps) / sizeof(*steps); i++) {
            query = ph__query(tx, steps[i]);
            ph__query_int(&query, number);
            r = ph__query_run(&query);
        }
        ++*count;
    }
    return r;
}

/* Dedupe keys of messages that are gone. */
static int delete_keys(struct ph__sqlite_tx *tx, struct queues queues, int64_t limit,
                       int64_t *count)
{
    struct ph__query query = queues_query(tx, PH__SQL_retention_dedupe, queues, limit);
    int64_t before = sqlite3_total_changes64(tx->db);
    int r = ph__query_run(&query);

    *count += sqlite3_total_changes64(tx->db) - before;
    return r;
}

static int delete_instances(struct ph__sqlite_tx *tx, int64_t limit)
{
    struct ph__query query = retention_query(tx, PH__SQL_retention_claimer, limit);
    int r = ph__query_run(&query);

    if (r < 0)
        return r;
    query = retention_query(tx, PH__SQL_retention_instance, limit);
    return ph__query_run(&query);
}

static int delete_all(struct ph__sqlite_tx *tx, int limit, int64_t *count)
{
    int64_t keys = 0;
    int r = delete_settled(tx, all_queues, limit, count);

    if (r == 0)
        r = delete_dead(tx, all_queues, limit, count);
    if (r == 0)
        r = delete_joins(tx, limit, count);
    if (r == 0) /* last: the keys of messages just deleted may go, too */
        r = delete_keys(tx, all_queues, limit, &keys);
    return r < 0 ? r : delete_instances(tx, limit);
}

int ph__sqlite_retention(struct ph__call *call, int limit, int64_t *ret_count)
{
    struct ph__sqlite_tx tx;
    int64_t count = 0;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    r = ph__sqlite_end(&tx, delete_all(&tx, limit, &count));
    if (r == 0)
        *ret_count = count;
    return r;
}

/* ----------------------------------------------------------------- in small bites */

#define BITE 500 /* messages and keys, and steps of joins */
#define BITE_MS 10
#define PAUSE_US (60 * INT64_C(1000000))
#define SHORT_PAUSE_US INT64_C(1000000) /* if there was more */

struct bite {
    ph__deadline until;
    int64_t left, next; /* how many: still allowed, and with the next step */
    bool is_over;
};

/* One step after the other, each twice as large, until the queue has no more. */
static int bite_queue(struct ph__sqlite_tx *tx, struct bite *bite, int64_t queue)
{
    static int (*const kinds[])(struct ph__sqlite_tx *, struct queues, int64_t,
                                int64_t *) = { delete_settled, delete_dead, delete_keys };
    struct queues one = { queue, queue };
    int64_t deleted;
    int r = 0;

    do {
        int64_t most = bite->next < bite->left ? bite->next : bite->left;

        deleted = 0;
        for (size_t i = 0; r == 0 && deleted == 0 && i < sizeof(kinds) / sizeof(*kinds); i++)
            r = kinds[i](tx, one, most, &deleted);
        bite->left -= deleted;
        bite->next = bite->next < BITE ? bite->next * 2 : BITE;
        bite->is_over = bite->left <= 0 || ph__deadline_left_ms(bite->until) == 0;
    } while (r == 0 && deleted > 0 && !bite->is_over);
    return r;
}

/* The queue after that one, behind the last the first again; 0: there is none. */
static int queue_after(struct ph__sqlite_tx *tx, int64_t queue, int64_t *ret_next)
{
    struct ph__query query = ph__query(tx, PH__SQL_retention_queue);
    int r;

    ph__query_int(&query, queue);
    r = ph__query_one(&query, ret_next, 0);
    return r < 0 || *ret_next || !queue ? r : queue_after(tx, 0, ret_next);
}

/* Each queue once, as long as the bite is not over, beginning behind *at, which becomes the last. */
static int bite_queues(struct ph__sqlite_tx *tx, struct bite *bite, int64_t *at)
{
    int64_t first, queue;
    int r = queue_after(tx, *at, &first);

    for (queue = first; r == 0 && queue;) {
        *at = queue;
        r = bite_queue(tx, bite, queue);
        if (r == 0)
            r = queue_after(tx, queue, &queue);
        if (bite->is_over || queue == first)
            break;
    }
    return r;
}

static int take_bite(struct ph__sqlite_tx *tx, int64_t *at, bool *ret_is_over)
{
    struct bite bite = { .until = ph__deadline_in(BITE_MS), .left = BITE, .next = 1 };
    int64_t before, joins = 0;
    int r = bite_queues(tx, &bite, at);

    if (r < 0)
        return r;
    before = sqlite3_total_changes64(tx->db);
    r = delete_joins(tx, BITE, &joins);
    *ret_is_over = bite.is_over || sqlite3_total_changes64(tx->db) - before >= BITE;
    return r < 0 ? r : delete_instances(tx, BITE);
}

static int take_turn(struct ph__sqlite_tx *tx)
{
    struct ph__query query = ph__query(tx, PH__SQL_retention_turn);
    bool is_over = false;
    int64_t at;
    int r;

    ph__query_int(&query, tx->now);
    r = ph__query_one(&query, &at, -1);
    if (r < 0 || at < 0)
        return r;
    r = take_bite(tx, &at, &is_over);
    if (r < 0)
        return r;
    query = ph__query(tx, PH__SQL_retention_taken);
    ph__query_int(&query, tx->now + (is_over ? SHORT_PAUSE_US : PAUSE_US));
    ph__query_int(&query, at);
    return ph__query_run(&query);
}

int ph__sqlite_retention_in_turn(struct ph__call *call)
{
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_write(&tx, call);

    return r < 0 ? r : ph__sqlite_end(&tx, take_turn(&tx));
}
