#include "store/sqlite/by_topic.h"

#include "util/assert.h"

/* A place in the order of pending's key, within a queue. */
struct place {
    int64_t level, line, due, id;
};

void ph__by_topic_note(struct ph__sqlite_tx *tx, const struct ph__queue_row *queue)
{
    tx->by_topic.queue = queue->id;
    tx->by_topic.on = queue->by_topic != PH__BY_TOPIC_NO;
}

int ph__by_topic(struct ph__sqlite_tx *tx, int64_t queue, bool *ret_on)
{
    struct ph__queue_row row = { 0 };
    int r = tx->by_topic.queue == queue ? 0 : ph__queue_by_id(tx, queue, &row);

    if (r < 0)
        return r;
    PH__ASSERT(tx->by_topic.queue == queue);
    *ret_on = tx->by_topic.on;
    return 0;
}

static void bind(struct ph__query *query, const struct place *place)
{
    ph__query_int(query, place->level);
    ph__query_int(query, place->line);
    ph__query_int(query, place->due);
    ph__query_int(query, place->id);
}

/* Runs a query for a place: 1, or 0 if there is none. */
static int find(struct ph__query *query, struct place *ret_place)
{
    int r = ph__query_row(query);

    if (r <= 0)
        return r;
    *ret_place = (struct place){ ph__column_int(query, 0), ph__column_int(query, 1),
                                 ph__column_int(query, 2), ph__column_int(query, 3) };
    ph__query_end(query);
    return 1;
}

/* The next portion, from one place (not included) to another: 1, or 0 if it is the last one. */
static int find_portion(struct ph__sqlite_tx *tx, int64_t queue, struct place *ret_from,
                        struct place *ret_to)
{
    struct ph__query query = ph__query(tx, PH__SQL_turn_begin);
    int r;

    *ret_to = (struct place){ .level = PH__LEVELS };
    ph__query_int(&query, queue);
    r = find(&query, ret_from);
    if (r <= 0)
        return r;
    query = ph__query(tx, PH__SQL_turn_end);
    ph__query_int(&query, queue);
    bind(&query, ret_from);
    ph__query_int(&query, PH__TURN_ROWS);
    return find(&query, ret_to);
}

static int turn_rows(struct ph__sqlite_tx *tx, int64_t queue, const struct place *from,
                     const struct place *to)
{
    struct ph__query query = ph__query(tx, PH__SQL_turn_rows);

    ph__query_int(&query, queue);
    bind(&query, from);
    bind(&query, to);
    return ph__query_run(&query);
}

static int write_place(struct ph__sqlite_tx *tx, int64_t queue, const struct place *place)
{
    struct ph__query query = ph__query(tx, PH__SQL_turn_up_to);

    ph__query_int(&query, queue);
    bind(&query, place);
    return ph__query_run(&query);
}

static int write_state(struct ph__sqlite_tx *tx, struct ph__queue_row *queue,
                       enum ph__by_topic state)
{
    struct ph__query query = ph__query(tx, PH__SQL_queue_by_topic);

    if (queue->by_topic == state)
        return 0;
    queue->by_topic = state;
    ph__by_topic_note(tx, queue);
    ph__query_int(&query, queue->id);
    ph__query_int(&query, state);
    return ph__query_run(&query);
}

int ph__by_topic_turn(struct ph__sqlite_tx *tx, struct ph__queue_row *queue)
{
    struct place from = { 0 }, to = { 0 };
    int r, more;

    PH__ASSERT(tx->writes && queue->id > 0);
    if (queue->by_topic == PH__BY_TOPIC_YES)
        return 0;
    more = find_portion(tx, queue->id, &from, &to);
    r = more < 0 ? more : turn_rows(tx, queue->id, &from, &to);
    if (r == 0 && more > 0)
        r = write_place(tx, queue->id, &to);
    if (r == 0)
        r = write_state(tx, queue, more > 0 ? PH__BY_TOPIC_TURNING : PH__BY_TOPIC_YES);
    return r;
}
