/* unclaimed.c - topics of which messages are due, and which no live instance claims. */
#include "core/error.h"
#include "store/sqlite/claimer.h"
#include "store/sqlite/long_read.h"
#include "store/sqlite/queue_row.h"
#include "store/sqlite/topics.h"
#include "store/sqlite/verbs.h"

#include <stdlib.h>

#define LOOK_MAX 100000 /* messages of a queue */

struct look {
    struct ph__sqlite_tx *tx;
    ph_door door;
    const char *ns;
    struct ph__unclaimed *to;
    bool all; /* some instance claims every topic */
    uint32_t *claimed;
    size_t claimed_count, claimed_room;
    uint32_t found[PH__UNCLAIMED_MAX];
    int64_t ids[PH__UNCLAIMED_MAX]; /* one message of each */
    int64_t looked;
};

static int add_claimed(struct look *look, const char *stored)
{
    const char *topic;
    size_t length;

    look->to->worked = true;
    look->all = look->all || !stored;
    while (stored && ph__claimer_topic(&stored, &topic, &length)) {
        uint32_t *hash =
            PH__ARENA_ADD(&look->to->arena, look->claimed, look->claimed_count, look->claimed_room);

        if (!hash)
            return ph__fail_memory(look->tx->call->err);
        *hash = ph__topic_hash_bytes(topic, length);
    }
    return 0;
}

static int load_claimed(struct look *look)
{
    struct ph__query query = ph__query(look->tx, PH__SQL_claimer_all);
    int r;

    ph__query_int(&query, look->door);
    ph__query_text(&query, look->ns);
    while ((r = ph__query_row(&query)) > 0) {
        r = add_claimed(look, (const char *)sqlite3_column_text(query.stmt, 0));
        if (r < 0)
            break;
    }
    ph__query_end(&query);
    return r;
}

static bool is_among(const uint32_t *hashes, size_t count, uint32_t hash, size_t *ret_at)
{
    for (*ret_at = 0; *ret_at < count; ++*ret_at) {
        if (hashes[*ret_at] == hash)
            return true;
    }
    return false;
}

/* A row of claim_look. */
static void note(struct look *look, const struct ph__query *row)
{
    uint32_t hash = ph__topic_of_stored(ph__column_int(row, 2));
    int64_t due = ph__column_int(row, 0);
    size_t at;

    if (is_among(look->claimed, look->claimed_count, hash, &at))
        return;
    if (!is_among(look->found, look->to->count, hash, &at)) {
        if (at == PH__UNCLAIMED_MAX)
            return;
        look->found[at] = hash;
        look->ids[at] = ph__column_int(row, 1);
        look->to->items[at].oldest = due;
        look->to->count++;
    }
    look->to->items[at].count++;
    if (due < look->to->items[at].oldest)
        look->to->items[at].oldest = due;
}

static int look_at_level(struct look *look, int64_t queue, int level)
{
    struct ph__query query = ph__query(look->tx, PH__SQL_claim_look);
    int r = 0;

    ph__query_int(&query, queue);
    ph__query_int(&query, level);
    ph__query_int(&query, look->tx->now - PH__UNCLAIMED_S * INT64_C(1000000));
    while (look->looked++ < LOOK_MAX && (r = ph__query_row(&query)) > 0)
        note(look, &query);
    ph__query_end(&query);
    return r < 0 ? r : 0;
}

static int load_topics(struct look *look)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < look->to->count; i++) {
        struct ph__query query = ph__query(look->tx, PH__SQL_message_topic);

        ph__query_int(&query, look->ids[i]);
        r = ph__query_row(&query);
        if (r <= 0)
            break;
        r = ph__column_text(&query, 0, &look->to->arena, &look->to->items[i].topic, NULL);
        ph__query_end(&query);
    }
    return r;
}

static int find(struct look *look)
{
    struct ph__queue_row queue;
    int r = load_claimed(look);

    if (r == 0)
        r = ph__queue_by_name(look->tx, look->door, look->ns, &queue);
    if (r < 0 || look->all || !queue.id || queue.paused)
        return r;
    for (int level = 0; r == 0 && level < PH__LEVELS; level++)
        r = look_at_level(look, queue.id, level);
    return r < 0 ? r : load_topics(look);
}

int ph__sqlite_unclaimed(struct ph__call *call, ph_door door, const char *ns,
                         struct ph__unclaimed *ret_unclaimed)
{
    struct ph__long_read read = { 0 };
    struct look look = { .tx = &read.tx, .door = door, .ns = ns, .to = ret_unclaimed };
    int r = ph__long_read_begin(&read, call);

    if (r < 0)
        return r;
    ret_unclaimed->now = read.tx.now;
    return ph__long_read_end(&read, find(&look));
}
