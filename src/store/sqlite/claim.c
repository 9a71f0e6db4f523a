/* claim.c - takes due messages out of pending, under one new lease row. */
#include "core/error.h"
#include "core/id.h"
#include "core/names.h"
#include "store/sqlite/by_topic.h"
#include "store/sqlite/claimer.h"
#include "store/sqlite/claiming.h"
#include "store/sqlite/under_lock.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/reap.h"
#include "store/sqlite/verbs.h"
#include "util/assert.h"
#include "util/order.h"

#include <stdlib.h>
#include <string.h>

#define REAP_LEASES_MAX 20
#define EXPIRE_JOINS_MAX 20
#define BURY_MS 500 /* beyond PH__BURY_MAX, if there was nothing else */
#define REVERSE_EVERY 16

static int fail_memory(struct ph__claiming *c)
{
    return ph__fail_memory(c->tx->call->err);
}

/* Room for one more item. */
static int grow(struct ph__claiming *c)
{
    size_t capacity = c->capacity ? c->capacity * 4 : 64;
    ph_delivery *items;
    int64_t *dues;

    if (c->batch->count < c->capacity)
        return 0;
    if (capacity > (size_t)c->claim->batch_size)
        capacity = (size_t)c->claim->batch_size;
    items = ph__arena_alloc(c->arena, capacity * sizeof(*items));
    dues = ph__arena_alloc(c->arena, capacity * sizeof(*dues));
    if (!items || !dues)
        return fail_memory(c);
    if (c->batch->count) {
        memcpy(items, c->batch->items, c->batch->count * sizeof(*items));
        memcpy(dues, c->dues, c->batch->count * sizeof(*dues));
    }
    c->batch->items = items;
    c->dues = dues;
    c->capacity = capacity;
    return 0;
}

static int load_tenant(struct ph__claiming *c, const struct ph__query *query, ph_delivery *item)
{
    ph_tenant_id tenant, *copy;

    if (!ph__column_id(query, PH__CLAIM_TENANT_ID, tenant.b))
        return 0;
    copy = ph__arena_alloc(c->arena, sizeof(*copy));
    if (!copy)
        return fail_memory(c);
    *copy = tenant;
    item->tenant_id = copy;
    return 0;
}

/* The parts that not every queue has. */
static int load_more(struct ph__claiming *c, const struct ph__query *query, ph_delivery *item)
{
    int r = ph__column_text(query, PH__CLAIM_SOURCE, c->arena, &item->source, NULL);

    item->seq = ph__column_int(query, PH__CLAIM_SEQ);
    if (item->source) {
        item->source_id = item->dedupe_key;
        item->dedupe_key = NULL;
    }
    return r;
}

static size_t bytes_of(const struct ph__query *query)
{
    return (size_t)sqlite3_column_bytes(query->stmt, PH__CLAIM_PAYLOAD) +
           (size_t)sqlite3_column_bytes(query->stmt, PH__CLAIM_HEADERS);
}

bool ph__claim_overflows(struct ph__claiming *c, const struct ph__query *query)
{
    if (c->batch->count > 0 && c->bytes + bytes_of(query) > PH_CLAIM_BYTES_MAX)
        c->full = c->batch->more = true;
    return c->full;
}

int ph__claim_take(struct ph__claiming *c, const struct ph__query *query, int level)
{
    ph_delivery *item;
    int r = grow(c);

    if (r < 0)
        return r;
    item = &c->batch->items[c->batch->count];
    item->work_id = ph__id_make(ph__column_int(query, PH__CLAIM_ID),
                                (uint64_t)ph__column_int(query, PH__CLAIM_SALT));
    if (!ph__column_id(query, PH__CLAIM_MESSAGE_ID, item->message_id.b))
        memcpy(item->message_id.b, item->work_id.b, sizeof(item->message_id.b));
    item->priority = ph__priority_of(level);
    item->attempts = (int)ph__column_int(query, PH__CLAIM_ATTEMPTS) + 1;
    item->created_at = ph__column_int(query, PH__CLAIM_CREATED_AT);
    item->due_at = ph__column_is_null(query, PH__CLAIM_DUE_AT)
                       ? item->created_at
                       : ph__column_int(query, PH__CLAIM_DUE_AT);
    c->dues[c->batch->count] = ph__column_int(query, PH__CLAIM_DUE);
    c->bytes += bytes_of(query);
    r = load_tenant(c, query, item);
    if (r == 0)
        r = ph__column_text(query, PH__CLAIM_TOPIC, c->arena, &item->topic, NULL);
    if (r == 0)
        r = ph__column_text(query, PH__CLAIM_PAYLOAD, c->arena, &item->payload,
                            &item->payload_length);
    if (r == 0)
        r = ph__column_text(query, PH__CLAIM_DEDUPE_KEY, c->arena, &item->dedupe_key, NULL);
    if (r == 0)
        r = ph__column_text(query, PH__CLAIM_CORRELATION_ID, c->arena, &item->correlation_id, NULL);
    if (r == 0)
        r = ph__column_text(query, PH__CLAIM_HEADERS, c->arena, &item->headers, NULL);
    if (r == 0 && c->more_columns)
        r = load_more(c, query, item);
    if (r == 0)
        c->batch->count++;
    return r;
}

/* Of a stream. */
static bool is_head(const struct ph__claiming *c, const struct ph__query *query)
{
    return c->more_columns && !ph__column_is_null(query, PH__CLAIM_STREAM);
}

static int set_aside(struct ph__claiming *c, const struct ph__query *query, bool expired)
{
    struct ph__unfit *unfit;

    if (!c->unfit)
        c->unfit = ph__arena_alloc(c->arena, PH__BURY_MAX * sizeof(*c->unfit));
    if (!c->unfit)
        return fail_memory(c);
    unfit = &c->unfit[c->unfit_count++];
    *unfit = (struct ph__unfit){
        .id = ph__column_int(query, PH__CLAIM_ID),
        .due = ph__column_int(query, PH__CLAIM_DUE),
        .attempts = (int)ph__column_int(query, PH__CLAIM_ATTEMPTS),
        .expired = expired,
    };
    if (is_head(c, query)) {
        unfit->stream = ph__column_int(query, PH__CLAIM_STREAM);
        unfit->seq = ph__column_int(query, PH__CLAIM_SEQ);
        unfit->topic =
            ph__topic_hash((const char *)sqlite3_column_text(query->stmt, PH__CLAIM_TOPIC));
    }
    if (++c->buried == PH__BURY_MAX)
        c->batch->more = c->stop = true;
    return 0;
}

/* Does a row not go with those taken? Those with the same past go together, a last attempt alone. */
static bool must_wait(struct ph__claiming *c, int lost, bool last)
{
    if (last && c->claim->last == PH__LAST_NOT)
        c->batch->last_waits = true;
    return c->batch->last_waits || (c->batch->count > 0 && (last || lost != c->lost));
}

/* Looks at one due row whose topic is wanted: 1 if it leaves pending, 0 if the
 * walk stops before it. */
static int visit(struct ph__claiming *c, const struct ph__query *query, int level)
{
    int attempts = (int)ph__column_int(query, PH__CLAIM_ATTEMPTS);
    int own_max = (int)ph__column_int(query, PH__CLAIM_MAX_ATTEMPTS);
    int lost = (int)ph__column_int(query, PH__CLAIM_LOST);
    int max = own_max ? own_max : c->queue.max_attempts;
    bool last = c->claim->last != PH__LAST_ANY && attempts + 1 >= max;
    int r;

    if (!ph__column_is_null(query, PH__CLAIM_EXPIRES_AT) &&
        ph__column_int(query, PH__CLAIM_EXPIRES_AT) <= c->tx->now) {
        r = set_aside(c, query, true);
    } else if (attempts >= max) {
        r = set_aside(c, query, false);
    } else if (must_wait(c, lost, last) || ph__claim_overflows(c, query)) {
        c->stop = true;
        return 0;
    } else {
        c->lost = lost;
        c->alone = c->batch->more = c->batch->last = last;
        r = ph__claim_take(c, query, level);
        if (r == 0 && is_head(c, query))
            r = ph__claim_run(c, query, lost > 0 || last);
        c->stop = ph__claim_room(c) == 0;
    }
    return r < 0 ? r : 1;
}

/* Visits a row that was found; 1 also if its topic is not wanted after all. */
static int visit_found(struct ph__claiming *c, struct ph__walk *walk, const struct ph__found *found)
{
    struct ph__query query =
        ph__query(c->tx, c->more_columns ? PH__SQL_claim_one_more : PH__SQL_claim_one);
    const char *topic;
    int r;

    ph__query_int(&query, c->queue.id);
    ph__query_int(&query, walk->level);
    ph__query_int(&query, found->due);
    ph__query_int(&query, found->id);
    r = ph__query_row(&query);
    if (r <= 0)
        return r < 0 ? r : 1;
    topic = (const char *)sqlite3_column_text(query.stmt, PH__CLAIM_TOPIC);
    if (!topic)
        r = fail_memory(c);
    else if (ph__topics_want(&c->topics, topic))
        r = visit(c, &query, walk->level);
    else
        walk->left_some = true;
    ph__query_end(&query);
    return r;
}

static int delete_pending(struct ph__claiming *c, enum ph__sqlite_statement which, int level,
                          int64_t due, int64_t id)
{
    struct ph__query query = ph__query(c->tx, which);

    ph__query_int(&query, c->queue.id);
    ph__query_int(&query, level);
    ph__query_int(&query, due);
    ph__query_int(&query, id);
    return ph__query_run(&query);
}

static int64_t number_of(const ph_delivery *item)
{
    int64_t number = 0;
    uint64_t salt;

    (void)ph__id_split(item->work_id, &number, &salt);
    return number;
}

/* Where rows were left between those that were taken: one by one. Of a run the first item has a
 * row. */
static int delete_scattered(struct ph__claiming *c, int level, size_t first, size_t run)
{
    int r = 0;

    for (size_t i = first; r == 0 && i < c->batch->count; i++) {
        r = delete_pending(c, PH__SQL_pending_delete, level, c->dues[i],
                           number_of(&c->batch->items[i]));
        if (run < c->run_count && c->runs[run].first == i)
            i += c->runs[run++].count - 1;
    }
    for (size_t i = 0; r == 0 && i < c->unfit_count; i++)
        r = delete_pending(c, PH__SQL_pending_delete, level, c->unfit[i].due, c->unfit[i].id);
    return r;
}

static int bury_unfit(struct ph__claiming *c)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < c->unfit_count; i++) {
        r = ph__claim_bury(c, &c->unfit[i]);
        if (r == 0 && c->unfit[i].stream)
            r = ph__claim_bury_head(c, &c->unfit[i]);
    }
    c->unfit_count = 0;
    return r;
}

/* All rows of a level up to the last one that was visited leave pending. */
static int delete_up_to(struct ph__claiming *c, int level, const struct ph__found *last)
{
    return delete_pending(c, PH__SQL_pending_delete_up_to, level, last->due, last->id);
}

/* Of one level, the messages with certain topics, or not of all streams. */
static int claim_some(struct ph__claiming *c, int level)
{
    size_t first = c->batch->count, run = c->run_count;
    struct ph__walk walk;
    struct ph__found found, last = { 0 };
    int r = 0;

    ph__walk_begin(&walk, c, level, ph__claim_room(c));
    while (!c->stop && (r = ph__walk_next(&walk, &found)) > 0) {
        r = visit_found(c, &walk, &found);
        if (r <= 0)
            break;
        last = found;
    }
    ph__walk_end(&walk);
    if (r < 0 || !last.id)
        return r < 0 ? r : 0;
    return walk.left_some ? delete_scattered(c, level, first, run) : delete_up_to(c, level, &last);
}

/* Of one level, any topic: all rows up to the last one visited leave pending. */
static int claim_any(struct ph__claiming *c, int level)
{
    struct ph__query query =
        ph__level_query(c, c->more_columns ? PH__SQL_claim_walk_more : PH__SQL_claim_walk, level);
    struct ph__found last = { 0 };
    int r = 0;

    while (!c->stop && (r = ph__query_row(&query)) > 0) {
        r = visit(c, &query, level);
        if (r <= 0)
            break;
        last.due = ph__column_int(&query, PH__CLAIM_DUE);
        last.id = ph__column_int(&query, PH__CLAIM_ID);
    }
    ph__query_end(&query);
    if (r < 0 || !last.id)
        return r < 0 ? r : 0;
    return delete_up_to(c, level, &last);
}

/* An empty batch would look like an empty queue. */
static bool goes_on(struct ph__claiming *c)
{
    if (!c->batch->more || c->batch->count > 0 || ph__deadline_left_ms(c->bury_until) == 0)
        return false;
    c->stop = c->batch->more = false;
    c->buried = 0;
    return true;
}

static int claim_level(struct ph__claiming *c, int level)
{
    bool some = c->topics.sorted || c->affinity.on;
    int r;

    c->level = level;
    do {
        c->again = false;
        r = some ? claim_some(c, level) : claim_any(c, level);
        if (r == 0)
            r = bury_unfit(c);
    } while (r == 0 && (goes_on(c) || (c->again && !c->stop)));
    c->walked |= 1U << level;
    return r;
}

static int claim_levels(struct ph__claiming *c)
{
    struct ph__query query = ph__query(c->tx, PH__SQL_fence_last);
    int64_t last;
    int r = ph__query_one(&query, &last, 0);
    bool reverse = r == 0 && (last + 1) % REVERSE_EVERY == 0;

    for (int i = 0; r == 0 && i < PH__LEVELS && !c->stop; i++)
        r = claim_level(c, reverse ? PH__LEVELS - 1 - i : i);
    return r < 0 || c->stop ? r : ph__claim_extend(c);
}

/* The parts that only messages with a past have. */
static int load_past(struct ph__claiming *c, ph_delivery *item)
{
    struct ph__query query;
    int r;

    if (item->attempts == 1)
        return 0;
    query = ph__query(c->tx, PH__SQL_attempt_facts);
    ph__query_int(&query, number_of(item));
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    item->retry_count = (int)ph__column_int(&query, 0);
    r = ph__column_text(&query, 1, c->arena, &item->last_error, NULL);
    ph__query_end(&query);
    return r;
}

struct numbered {
    int64_t id;   /* first: they are sorted by it */
    size_t index; /* in the batch */
};

/* The batch as its lease has it. */
struct listed {
    int64_t *ids;     /* ascending */
    int *attempts;    /* beside them; NULL: all are 1 */
    uint16_t *places; /* of each item in ids; NULL: there are no runs */
};

static int list_items(struct ph__claiming *c, struct listed *ret)
{
    size_t count = c->batch->count;
    bool sorted = true, past = false;
    struct numbered *order = ph__arena_alloc(c->arena, count * sizeof(*order));
    uint16_t *places = ph__arena_alloc(c->arena, count * sizeof(*places));

    ret->ids = ph__arena_alloc(c->arena, count * sizeof(*ret->ids));
    ret->attempts = ph__arena_alloc(c->arena, count * sizeof(*ret->attempts));
    if (!order || !places || !ret->ids || !ret->attempts)
        return fail_memory(c);
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct numbered){ number_of(&c->batch->items[i]), i };
        sorted = sorted && (i == 0 || order[i].id > order[i - 1].id);
        past = past || c->batch->items[i].attempts > 1;
    }
    if (!sorted)
        qsort(order, count, sizeof(*order), ph__order_int64);
    for (size_t i = 0; i < count; i++) {
        ret->ids[i] = order[i].id;
        ret->attempts[i] = c->batch->items[order[i].index].attempts;
        places[order[i].index] = (uint16_t)i;
    }
    ret->attempts = past ? ret->attempts : NULL;
    ret->places = c->run_count ? places : NULL;
    return 0;
}

static int insert_lease(struct ph__claiming *c, const struct listed *listed)
{
    struct ph__query query = ph__query(c->tx, PH__SQL_lease_insert);
    struct ph__buffer ids = { 0 }, attempts = { 0 }, runs = { 0 };
    size_t count = c->batch->count;
    int r;

    PH__ASSERT(count > 0 && count <= (size_t)c->claim->batch_size);
    PH__ASSERT(ph__ascend(listed->ids, count));
    ph__pack_ids(&ids, listed->ids, count);
    if (listed->attempts)
        ph__pack_attempts(&attempts, listed->attempts, count);
    if (listed->places)
        ph__claim_pack_runs(c, listed->places, &runs);
    ph__query_id(&query, c->claim->owner.b);
    ph__query_int(&query, c->queue.id);
    ph__query_int(&query, c->tx->now);
    ph__query_int(&query, c->tx->now + (int64_t)c->claim->lease_s * 1000000);
    ph__query_int(&query, c->lost);
    ph__query_int(&query, (int64_t)count);
    ph__query_int(&query, listed->ids[0]);
    ph__query_int(&query, listed->ids[count - 1]);
    ph__query_text(&query, attempts.data);
    ph__query_text(&query, ids.data);
    ph__query_text(&query, runs.data);
    r = ids.failed || attempts.failed || runs.failed ? fail_memory(c) : ph__query_run(&query);
    ph__buffer_free(&ids);
    ph__buffer_free(&attempts);
    ph__buffer_free(&runs);
    return r;
}

static int lease_items(struct ph__claiming *c)
{
    struct listed listed = { 0 };
    int64_t fence;
    char *ns;
    int r;

    if (c->batch->count == 0)
        return 0;
    ns = ph__arena_copy(c->arena, c->claim->ns, strlen(c->claim->ns));
    r = ns ? list_items(c, &listed) : fail_memory(c);
    if (r == 0)
        r = insert_lease(c, &listed);
    fence = sqlite3_last_insert_rowid(c->tx->db);
    PH__ASSERT(r < 0 || fence > 0);
    for (size_t i = 0; r == 0 && i < c->batch->count; i++) {
        c->batch->items[i].fence = fence;
        c->batch->items[i].ns = ns;
        r = load_past(c, &c->batch->items[i]);
    }
    return r;
}

/* The queue: 1 if there is one that is not paused. */
static int enter(struct ph__claiming *c)
{
    int r = ph__queue_by_name(c->tx, c->claim->door, c->claim->ns, &c->queue);

    if (r < 0 || !c->queue.id || c->queue.paused)
        return r;
    c->more_columns = c->queue.has_streams || c->claim->door == PH_INBOX;
    return 1;
}

static int load_affinity(struct ph__claiming *c)
{
    if (!c->queue.has_streams)
        return 0;
    return ph__affinity_load(&c->affinity, c->tx, c->claim, c->queue.affinity_grace_ms, c->arena);
}

static bool is_of_instance(const struct ph__claiming *c)
{
    return c->claim->partition_count > 0;
}

static int look_at_level(struct ph__claiming *c, int level)
{
    struct ph__walk walk;
    struct ph__found found;
    int r;

    ph__walk_begin(&walk, c, level, 1);
    r = ph__walk_next(&walk, &found);
    ph__walk_end(&walk);
    return r;
}

/* Does it name topics in a queue that is still to turn to its topics? */
static bool must_turn(const struct ph__claiming *c)
{
    return c->topics.sorted && c->queue.by_topic != PH__BY_TOPIC_YES;
}

/* 1 if a claim would find something to do. Takes no lock. */
static int look(struct ph__claiming *c)
{
    int r = is_of_instance(c) ? ph__claimer_is_known(c->tx, c->claim) : 1;

    if (r <= 0)
        return r < 0 ? r : 1;
    r = enter(c);
    if (r > 0)
        r = load_affinity(c) < 0 ? c->tx->call->err->code : 1;
    if (r <= 0)
        return r;
    r = must_turn(c) ? 1 : ph__reap_needed(c->tx, c->claim->door);
    if (r == 0 && c->claim->door == PH_OUTBOX)
        r = ph__joins_expire_needed(c->tx);
    for (int level = 0; r == 0 && level < PH__LEVELS; level++)
        r = look_at_level(c, level);
    return r;
}

static int look_first(struct ph__claiming *c, struct ph__call *call)
{
    int r = ph__sqlite_begin_read(c->tx, call), found;

    if (r < 0)
        return r;
    found = look(c);
    r = ph__sqlite_end(c->tx, found < 0 ? found : 0);
    return r < 0 ? r : found;
}

/* Buried messages may have been steps. A continuation that this sent was not looked at. */
static int count_steps(struct ph__claiming *c)
{
    const struct ph__join_ends *ends = &c->tx->call->ends;
    size_t waits = ends->wait_count;
    int r = ph__steps_count(c->tx);

    for (; waits < ends->wait_count; waits++)
        c->batch->more |= !ph_id_is_zero(ends->waits[waits].continuation.b);
    return r;
}

static int claim_under_lock(struct ph__claiming *c)
{
    int64_t reaped = 0, joins;
    int r = is_of_instance(c) ? ph__claimer_comes(c->tx, c->claim) : 0;

    if (r == 0)
        r = enter(c);
    if (r <= 0)
        return r;
    r = must_turn(c) ? ph__by_topic_turn(c->tx, &c->queue) : 0;
    if (r == 0 && c->claim->door == PH_OUTBOX)
        r = ph__joins_expire(c->tx, EXPIRE_JOINS_MAX, &joins);
    if (r == 0)
        r = ph__reap_leases(c->tx, c->claim->door, REAP_LEASES_MAX, &reaped);
    c->tx->call->ends.reaped += reaped;
    if (r == 0 && reaped > 0 && is_of_instance(c)) /* one of them may have been its own */
        r = ph__claimer_comes(c->tx, c->claim);
    if (r == 0)
        r = load_affinity(c);
    if (r == 0)
        r = claim_levels(c);
    if (r == 0)
        r = count_steps(c);
    return r < 0 ? r : lease_items(c);
}

static int set_up(struct ph__claiming *c, struct ph__sqlite_tx *tx, struct ph__call *call,
                  const struct ph__claim *claim, ph_batch *batch)
{
    *c = (struct ph__claiming){ .tx = tx,
                                .claim = claim,
                                .batch = batch,
                                .arena = &batch->arena,
                                .bury_until = ph__deadline_in(BURY_MS) };
    PH__ASSERT(batch->count == 0);
    if (!ph__topics_load(&c->topics, claim->topics, claim->topic_count, c->arena))
        return ph__fail_memory(call->err);
    return 0;
}

int ph__claim_under_lock(struct ph__sqlite_tx *tx, const struct ph__claim *claim, ph_batch *batch)
{
    struct ph__claiming c;
    int r = set_up(&c, tx, tx->call, claim, batch);

    return r < 0 ? r : claim_under_lock(&c);
}

int ph__claim_look(struct ph__sqlite_tx *tx, const struct ph__claim *claim, ph_batch *batch)
{
    struct ph__claiming c;
    int r = set_up(&c, tx, tx->call, claim, batch);

    return r < 0 ? r : look(&c);
}

int ph__sqlite_claim(struct ph__call *call, const struct ph__claim *claim, ph_batch *batch)
{
    struct ph__sqlite_tx tx;
    struct ph__claiming c;
    int r = set_up(&c, &tx, call, claim, batch);

    if (r == 0)
        r = call->connection ? 1 : look_first(&c, call);
    if (r <= 0)
        return r;
    r = ph__sqlite_begin_write(&tx, call);
    return r < 0 ? r : ph__sqlite_end(&tx, claim_under_lock(&c));
}
