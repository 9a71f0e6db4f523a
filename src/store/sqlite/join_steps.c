/* join_steps.c - counts messages that have ended in the joins of which they are steps.
 *
 * A call gathers the messages that it moves to done and to dead, and counts at its end: one look
 * into the index of steps tells whether any of them is a step at all. The rows of steps stay as
 * they are; only the joins change, one update each. */
#include "core/error.h"
#include "store/sqlite/joins.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "util/order.h"

#define NARROW 8 /* numbers per message: up to here all steps between are read in one go */

/* A mark is the number of a message, doubled, plus one if it failed: marks sort by number. */
static int64_t number_of(int64_t mark)
{
    return mark >> 1;
}

static bool has_failed(int64_t mark)
{
    return mark & 1;
}

/* A step that was found: its join, doubled and marked in the same way. */
struct found {
    int64_t *marks;
    size_t count, room;
};

static int make_room(struct ph__sqlite_tx *tx, int64_t **marks, size_t *room, size_t needed)
{
    int64_t *larger = ph__grow(*marks, needed, room, sizeof(*larger));

    if (!larger && needed > 0)
        return ph__fail_memory(tx->call->err);
    *marks = larger;
    return 0;
}

int ph__steps_ended(struct ph__sqlite_tx *tx, const int64_t *ids, size_t count, bool failed)
{
    struct ph__ended *ended = &tx->ended;
    int r = make_room(tx, &ended->marks, &ended->room, ended->count + count);

    PH__ASSERT(tx->writes);
    for (size_t i = 0; r == 0 && i < count; i++)
        ended->marks[ended->count++] = ids[i] * 2 + failed;
    return r;
}

void ph__steps_free(struct ph__ended *ended)
{
    ph__dealloc(ended->marks);
    *ended = (struct ph__ended){ 0 };
}

static struct ph__query steps_between(struct ph__sqlite_tx *tx, int64_t first, int64_t last)
{
    struct ph__query query = ph__query(tx, PH__SQL_steps_between);

    ph__query_int(&query, first);
    ph__query_int(&query, last);
    return query;
}

/* Steps and marks go up side by side. If the numbers lie wide apart, the steps of messages that do
 * not concern us are jumped over. */
static int find_steps(struct ph__sqlite_tx *tx, const struct ph__ended *ended, struct found *found)
{
    int64_t last;
    bool narrow;
    const int64_t *mark = ended->marks;
    int r;

    PH__ASSERT(ended->count > 0 && ended->count <= ended->room);
    last = number_of(ended->marks[ended->count - 1]);
    narrow = last - number_of(ended->marks[0]) < (int64_t)ended->count * NARROW;
    do {
        struct ph__query query = steps_between(tx, number_of(*mark), last);

        while ((r = ph__query_row(&query)) > 0) {
            int64_t number = ph__column_int(&query, 0);

            while (number_of(*mark) < number)
                mark++;
            if (number_of(*mark) > number && !narrow)
                break;
            if (number_of(*mark) > number)
                continue;
            r = make_room(tx, &found->marks, &found->room, found->count + 1);
            if (r < 0)
                break;
            PH__ASSERT(found->count < found->room);
            found->marks[found->count++] = ph__column_int(&query, 1) * 2 + has_failed(*mark);
        }
        ph__query_end(&query);
    } while (r > 0);
    return r;
}

int ph__steps_count_in(struct ph__sqlite_tx *tx, int64_t join, int completed, int failed)
{
    struct ph__join_head head;
    int r = ph__join_head_open(tx, join, &head);

    if (r <= 0)
        return r;
    head.completed += completed;
    head.failed += failed;
    head.updated_at = tx->now;
    return ph__join_write(tx, &head);
}

/* One change per join, the oldest first. */
static int count_found(struct ph__sqlite_tx *tx, struct found *found)
{
    int r = 0;

    ph__sort_int64(found->marks, found->count);
    for (size_t i = 0, j = 0; r == 0 && i < found->count; i = j) {
        int64_t join = number_of(found->marks[i]);
        int counts[2] = { 0, 0 };

        for (; j < found->count && number_of(found->marks[j]) == join; j++)
            counts[has_failed(found->marks[j])]++;
        r = ph__steps_count_in(tx, join, counts[0], counts[1]);
    }
    return r;
}

/* Several messages may have the message id of a step: the first that ends is the one that counts. */
static int take_given(struct ph__sqlite_tx *tx, const struct ph__ended *ended)
{
    struct ph__query query = ph__query(tx, PH__SQL_steps_given_any);
    int r = ph__query_row(&query);

    if (r <= 0)
        return r;
    ph__query_end(&query);
    r = 0;
    for (size_t i = 0; r == 0 && i < ended->count; i++) {
        query = ph__query(tx, PH__SQL_steps_given_take);
        ph__query_int(&query, number_of(ended->marks[i]));
        r = ph__query_run(&query);
    }
    return r;
}

int ph__steps_count(struct ph__sqlite_tx *tx)
{
    struct found found = { 0 };
    int r;

    if (tx->ended.count == 0)
        return 0;
    ph__sort_int64(tx->ended.marks, tx->ended.count);
    r = take_given(tx, &tx->ended);
    if (r == 0)
        r = find_steps(tx, &tx->ended, &found);
    tx->ended.count = 0;
    if (r == 0)
        r = count_found(tx, &found);
    ph__dealloc(found.marks);
    return r;
}

int ph__steps_keep(struct ph__sqlite_tx *tx, const int64_t *ids, size_t count, enum ph__step shown)
{
    struct ph__query query = steps_between(tx, ids[0], ids[count - 1]);
    int r = ph__query_row(&query);

    if (r <= 0)
        return r;
    ph__query_end(&query);
    r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        query = ph__query(tx, PH__SQL_steps_keep_message);
        ph__query_int(&query, ids[i]);
        ph__query_int(&query, shown);
        r = ph__query_run(&query);
    }
    return r;
}
