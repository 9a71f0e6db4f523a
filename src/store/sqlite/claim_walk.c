/* claim_walk.c - finds the rows of pending that a claim of certain topics, or not of all streams,
 * may want.
 *
 * It walks through all rows, which is fastest while most of them are wanted. When it has passed over
 * too many of other topics, it goes on in the index of topics, from where it stands. There each
 * topic has a stretch per level, in the order of claiming; those of several topics are merged, so
 * that the order is that of the walk, but no row of another topic is looked at, however many lie
 * between. Each stretch is read in portions, since a statement runs only once at a time. */
#include "core/error.h"
#include "store/sqlite/claiming.h"
#include "util/assert.h"

#define PASS_MAX 50        /* rows of other topics, before it uses the index */
#define STRETCHES_MAX 1000 /* a claim of more topics walks through all rows */

struct ph__stretch {
    uint32_t topic;
    struct ph__found *rows; /* of the present portion */
    size_t at, count;
    bool more; /* behind these */
};

struct ph__query ph__level_query(struct ph__claiming *c, enum ph__sqlite_statement which, int level)
{
    struct ph__query query = ph__query(c->tx, which);

    ph__query_int(&query, c->queue.id);
    ph__query_int(&query, level);
    ph__query_int(&query, c->tx->now);
    return query;
}

/* --------------------------------------------------------- the stretches */

static bool comes_before(const struct ph__stretch *one, const struct ph__stretch *other)
{
    const struct ph__found *a = &one->rows[one->at], *b = &other->rows[other->at];

    return a->due < b->due || (a->due == b->due && a->id < b->id);
}

/* Reads the next portion of a stretch: behind the last row of the present one or of the walk. */
static int read_portion(struct ph__walk *walk, struct ph__stretch *s)
{
    struct ph__claiming *c = walk->c;
    const struct ph__found *last = s->count ? &s->rows[s->count - 1] : &walk->last;
    int64_t due = last->due, id = last->id;
    struct ph__query query =
        ph__query(c->tx, c->more_columns ? PH__SQL_claim_topic_more : PH__SQL_claim_topic);
    int r;

    ph__query_int(&query, c->queue.id);
    ph__query_int(&query, walk->level);
    ph__query_int(&query, s->topic);
    ph__query_int(&query, c->tx->now);
    ph__query_int(&query, due);
    ph__query_int(&query, id);
    ph__query_int(&query, (int64_t)walk->portion);
    s->at = s->count = 0;
    while ((r = ph__query_row(&query)) > 0) {
        PH__ASSERT(s->count < walk->portion);
        s->rows[s->count++] = (struct ph__found){ .due = ph__column_int(&query, 0),
                                                  .id = ph__column_int(&query, 1),
                                                  .stream = ph__column_int(&query, 2),
                                                  .topic = s->topic };
    }
    s->more = s->count == walk->portion;
    return r;
}

/* The stretch at a place has another next row than before: it moves behind those that now come
 * before it. */
static void put_in_order(struct ph__walk *walk, size_t at)
{
    struct ph__stretch *moved = walk->first[at];

    for (; at + 1 < walk->left && comes_before(walk->first[at + 1], moved); at++)
        walk->first[at] = walk->first[at + 1];
    walk->first[at] = moved;
}

static int begin_stretches(struct ph__walk *walk)
{
    struct ph__claiming *c = walk->c;
    size_t count = c->topics.hash_count;
    struct ph__found *found;
    int r = 0;

    ph__query_end(&walk->query);
    walk->portion = walk->rows / count + 1;
    walk->stretches = ph__arena_alloc(&walk->arena, count * sizeof(*walk->stretches));
    walk->first = ph__arena_alloc(&walk->arena, count * sizeof(*walk->first));
    found = ph__arena_alloc(&walk->arena, count * walk->portion * sizeof(*found));
    if (!walk->stretches || !walk->first || !found)
        return ph__fail_memory(c->tx->call->err);
    for (size_t i = count; r == 0 && i-- > 0;) {
        struct ph__stretch *s = &walk->stretches[i];

        *s = (struct ph__stretch){ .topic = c->topics.hashes[i], .rows = found };
        found += walk->portion;
        r = read_portion(walk, s);
        if (r < 0 || s->count == 0)
            continue;
        walk->first[walk->left++] = s;
    }
    for (size_t i = walk->left; i-- > 0;)
        put_in_order(walk, i);
    return r;
}

static int next_of_stretches(struct ph__walk *walk, struct ph__found *ret_found)
{
    struct ph__stretch *s;
    int r = 0;

    if (walk->left == 0)
        return 0;
    s = walk->first[0];
    *ret_found = s->rows[s->at++];
    if (s->at == s->count && s->more)
        r = read_portion(walk, s);
    if (r < 0)
        return r;
    if (s->at == s->count) {
        for (size_t i = 1; i < walk->left; i++)
            walk->first[i - 1] = walk->first[i];
        walk->left--;
    } else {
        put_in_order(walk, 0);
    }
    return 1;
}

/* --------------------------------------------------------------- the walk */

static int next_of_all(struct ph__walk *walk, struct ph__found *ret_found)
{
    int r = ph__query_row(&walk->query);

    if (r <= 0)
        return r;
    *ret_found = (struct ph__found){
        .due = ph__column_int(&walk->query, 0),
        .id = ph__column_int(&walk->query, 1),
        .topic = ph__topic_of_stored(ph__column_int(&walk->query, 2)),
        .stream = walk->c->more_columns ? ph__column_int(&walk->query, 3) : 0,
    };
    return 1;
}

/* Is it the head of a stream that the claim leaves to others? */
static int is_for_others(struct ph__claiming *c, const struct ph__found *found)
{
    struct ph__head head = { found->stream, found->due, found->topic };

    return c->affinity.on && found->stream ? ph__affinity_passes(&c->affinity, &head) : 0;
}

/* Were so many rows of other topics passed over that the index is better, and is there one? */
static bool needs_index(const struct ph__walk *walk)
{
    const struct ph__claiming *c = walk->c;

    return walk->passed > PASS_MAX && c->queue.by_topic == PH__BY_TOPIC_YES &&
           c->topics.hash_count <= STRETCHES_MAX;
}

/* The next row, wanted or not. */
static int next_row(struct ph__walk *walk, struct ph__found *ret_found)
{
    int r = 0;

    if (!walk->stretches && needs_index(walk))
        r = begin_stretches(walk);
    if (r < 0)
        return r;
    return walk->stretches ? next_of_stretches(walk, ret_found) : next_of_all(walk, ret_found);
}

void ph__walk_begin(struct ph__walk *walk, struct ph__claiming *c, int level, size_t rows)
{
    *walk = (struct ph__walk){ .c = c, .level = level, .rows = rows };
    walk->query =
        ph__level_query(c, c->more_columns ? PH__SQL_claim_look_more : PH__SQL_claim_look, level);
    c->affinity.passed = 0;
}

int ph__walk_next(struct ph__walk *walk, struct ph__found *ret_found)
{
    struct ph__claiming *c = walk->c;
    int r;

    while ((r = next_row(walk, ret_found)) > 0) {
        walk->last = *ret_found;
        if (!ph__topics_may_want(&c->topics, ret_found->topic)) {
            walk->left_some = true;
            walk->passed++;
            continue;
        }
        r = is_for_others(c, ret_found);
        if (r <= 0)
            return r < 0 ? r : 1;
        walk->left_some = true;
        if (c->affinity.passed >= PH__AFFINITY_PASS_MAX)
            return 0;
    }
    return r;
}

void ph__walk_end(struct ph__walk *walk)
{
    ph__query_end(&walk->query);
    ph__arena_free(&walk->arena);
}
