/* retention.c - deletes what has been kept long enough, the oldest first. */
#include "core/error.h"
#include "store/sqlite/lease_row.h"
#include "store/sqlite/moves.h"
#include "store/sqlite/verbs.h"

static struct ph__query retention_query(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which,
                                        int64_t limit)
{
    struct ph__query query = ph__query(tx, which);

    ph__query_int(&query, tx->now);
    ph__query_int(&query, limit);
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
static int delete_from_first(struct ph__sqlite_tx *tx, int64_t limit, int64_t *ret_deleted)
{
    struct ph__query query = retention_query(tx, PH__SQL_retention_done, 1);
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

static int delete_settled(struct ph__sqlite_tx *tx, int64_t limit, int64_t *count)
{
    int64_t deleted = 1;
    int r = 0;

    while (r == 0 && limit > 0 && deleted > 0) {
        r = delete_from_first(tx, limit, &deleted);
        limit -= deleted;
        *count += deleted;
    }
    return r;
}

static int delete_dead(struct ph__sqlite_tx *tx, int64_t limit, int64_t *count)
{
    int r = 0;

    while (r == 0 && limit-- > 0) {
        struct ph__query query = retention_query(tx, PH__SQL_retention_dead, 1);
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

static int delete_all(struct ph__sqlite_tx *tx, int limit, int64_t *count)
{
    struct ph__query query;
    int r = delete_settled(tx, limit, count);

    if (r == 0)
        r = delete_dead(tx, limit, count);
    if (r == 0)
        r = delete_joins(tx, limit, count);
    if (r == 0) { /* last: the keys of what was just deleted may go too */
        query = retention_query(tx, PH__SQL_retention_dedupe, limit);
        r = ph__query_run(&query);
    }
    if (r == 0) {
        query = retention_query(tx, PH__SQL_retention_claimer, limit);
        r = ph__query_run(&query);
    }
    if (r == 0) {
        query = retention_query(tx, PH__SQL_retention_instance, limit);
        r = ph__query_run(&query);
    }
    return r;
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

/* 1 if it is a minute or more since this was asked with that answer. */
static int take_turn(struct ph__sqlite_tx *tx)
{
    struct ph__query query = ph__query(tx, PH__SQL_retention_turn);
    int64_t due;
    int r;

    ph__query_int(&query, tx->now);
    r = ph__query_one(&query, &due, 0);
    if (r < 0 || !due)
        return r;
    query = ph__query(tx, PH__SQL_retention_taken);
    ph__query_int(&query, tx->now);
    r = ph__query_run(&query);
    return r < 0 ? r : 1;
}

int ph__sqlite_retention_in_turn(struct ph__call *call, int limit)
{
    struct ph__sqlite_tx tx;
    int64_t count = 0;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    r = take_turn(&tx);
    if (r > 0)
        r = delete_all(&tx, limit, &count);
    return ph__sqlite_end(&tx, r);
}
