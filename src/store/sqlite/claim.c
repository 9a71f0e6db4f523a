/* claim.c - takes due messages out of pending, under one new lease row. */
#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/exchange.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/lease_row.h"
#include "store/sqlite/moves.h"
#include "store/sqlite/queue_row.h"
#include "store/sqlite/reap.h"
#include "store/sqlite/topics.h"
#include "store/sqlite/verbs.h"

#include <stdlib.h>
#include <string.h>

#define REAP_LEASES_MAX 20
#define EXPIRE_JOINS_MAX 20
#define BURY_MAX 1000
#define BURY_MS 500 /* and further, for so long, if there was nothing else */
#define REVERSE_EVERY 16

/* A row of pending that the claim leaves to the dead. */
struct unfit {
    int64_t id, due;
    int attempts;
    bool expired; /* otherwise its attempts are spent */
};

struct claiming {
    struct ph__sqlite_tx *tx;
    const struct ph__claim *claim;
    ph_batch *batch;
    struct ph__arena *arena; /* the batch's */
    struct ph__queue_row queue;
    struct ph__topics topics;
    size_t capacity;     /* of batch->items */
    struct unfit *unfit; /* of the present level; NULL until needed */
    size_t unfit_count, buried;
    ph__deadline bury_until;
    int lost; /* > 0: the batch is one message whose worker died */
    bool stop;
};

/* The columns of claim_walk. */
/* clang-format off */
enum { DUE, ID, ATTEMPTS, LOST, SALT, TOPIC, MESSAGE_ID, TENANT_ID, DEDUPE_KEY, CORRELATION_ID,
       HEADERS, CREATED_AT, EXPIRES_AT, MAX_ATTEMPTS, PAYLOAD };
/* clang-format on */

static int fail_memory(struct claiming *c)
{
    return ph__fail_memory(c->tx->call->err);
}

static struct ph__query level_query(struct claiming *c, enum ph__sqlite_statement which, int level)
{
    struct ph__query query = ph__query(c->tx, which);

    ph__query_int(&query, c->queue.id);
    ph__query_int(&query, level);
    ph__query_int(&query, c->tx->now);
    return query;
}

/* Room for one more item. */
static int grow(struct claiming *c)
{
    size_t capacity = c->capacity ? c->capacity * 4 : 64;
    ph_delivery *items;

    if (c->batch->count < c->capacity)
        return 0;
    if (capacity > (size_t)c->claim->batch_size)
        capacity = (size_t)c->claim->batch_size;
    items = ph__arena_alloc(c->arena, capacity * sizeof(*items));
    if (!items)
        return fail_memory(c);
    if (c->batch->count)
        memcpy(items, c->batch->items, c->batch->count * sizeof(*items));
    c->batch->items = items;
    c->capacity = capacity;
    return 0;
}

static int load_tenant(struct claiming *c, const struct ph__query *query, ph_delivery *item)
{
    ph_tenant_id tenant, *copy;

    if (!ph__column_id(query, TENANT_ID, tenant.b))
        return 0;
    copy = ph__arena_alloc(c->arena, sizeof(*copy));
    if (!copy)
        return fail_memory(c);
    *copy = tenant;
    item->tenant_id = copy;
    return 0;
}

static int take(struct claiming *c, const struct ph__query *query, int level)
{
    ph_delivery *item;
    int r = grow(c);

    if (r < 0)
        return r;
    item = &c->batch->items[c->batch->count];
    item->work_id = ph__id_make(ph__column_int(query, ID), (uint64_t)ph__column_int(query, SALT));
    if (!ph__column_id(query, MESSAGE_ID, item->message_id.b))
        memcpy(item->message_id.b, item->work_id.b, sizeof(item->message_id.b));
    item->priority = (ph_priority)(level + 1);
    item->attempts = (int)ph__column_int(query, ATTEMPTS) + 1;
    item->created_at = ph__column_int(query, CREATED_AT);
    item->due_at = ph__column_int(query, DUE);
    r = load_tenant(c, query, item);
    if (r == 0)
        r = ph__column_text(query, TOPIC, c->arena, &item->topic, NULL);
    if (r == 0)
        r = ph__column_text(query, PAYLOAD, c->arena, &item->payload, &item->payload_length);
    if (r == 0)
        r = ph__column_text(query, DEDUPE_KEY, c->arena, &item->dedupe_key, NULL);
    if (r == 0)
        r = ph__column_text(query, CORRELATION_ID, c->arena, &item->correlation_id, NULL);
    if (r == 0)
        r = ph__column_text(query, HEADERS, c->arena, &item->headers, NULL);
    if (r == 0)
        c->batch->count++;
    return r;
}

static int set_aside(struct claiming *c, const struct ph__query *query, bool expired)
{
    if (!c->unfit)
        c->unfit = ph__arena_alloc(c->arena, BURY_MAX * sizeof(*c->unfit));
    if (!c->unfit)
        return fail_memory(c);
    c->unfit[c->unfit_count++] = (struct unfit){
        .id = ph__column_int(query, ID),
        .due = ph__column_int(query, DUE),
        .attempts = (int)ph__column_int(query, ATTEMPTS),
        .expired = expired,
    };
    c->batch->more = c->stop = ++c->buried == BURY_MAX;
    return 0;
}

/* Looks at one due row whose topic is wanted: 1 if it leaves pending, 0 if the
 * walk stops before it. */
static int visit(struct claiming *c, const struct ph__query *query, int level)
{
    int attempts = (int)ph__column_int(query, ATTEMPTS);
    int own_max = (int)ph__column_int(query, MAX_ATTEMPTS);
    int lost = (int)ph__column_int(query, LOST);
    int r;

    if (!ph__column_is_null(query, EXPIRES_AT) && ph__column_int(query, EXPIRES_AT) <= c->tx->now) {
        r = set_aside(c, query, true);
    } else if (attempts >= (own_max ? own_max : c->queue.max_attempts)) {
        r = set_aside(c, query, false);
    } else if (lost > 0 && c->batch->count > 0) {
        c->stop = true;
        return 0;
    } else {
        r = take(c, query, level);
        c->lost = lost;
        c->stop = lost > 0 || c->batch->count == (size_t)c->claim->batch_size;
    }
    return r < 0 ? r : 1;
}

/* The next row of claim_look whose topic may be wanted: 1, or 0 if there is none. */
static int look_further(const struct claiming *c, struct ph__query *query)
{
    int r;

    do
        r = ph__query_row(query);
    while (r > 0 && !ph__topics_may_want(&c->topics, (uint32_t)ph__column_int(query, 2)));
    return r;
}

/* Visits one row that claim_look has found; 1 also if its topic is not wanted after all. */
static int visit_found(struct claiming *c, const struct ph__query *found, int level)
{
    struct ph__query query = ph__query(c->tx, PH__SQL_claim_one);
    const char *topic;
    int r;

    ph__query_int(&query, c->queue.id);
    ph__query_int(&query, level);
    ph__query_int(&query, ph__column_int(found, 0));
    ph__query_int(&query, ph__column_int(found, 1));
    r = ph__query_row(&query);
    if (r <= 0)
        return r < 0 ? r : 1;
    topic = (const char *)sqlite3_column_text(query.stmt, TOPIC);
    if (!topic)
        r = fail_memory(c);
    else if (ph__topics_want(&c->topics, topic))
        r = visit(c, &query, level);
    ph__query_end(&query);
    return r;
}

static int delete_pending(struct claiming *c, enum ph__sqlite_statement which, int level,
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

/* The rows taken with a choice of topics lie scattered: one by one. */
static int delete_scattered(struct claiming *c, int level, size_t first)
{
    int r = 0;

    for (size_t i = first; r == 0 && i < c->batch->count; i++)
        r = delete_pending(c, PH__SQL_pending_delete, level, c->batch->items[i].due_at,
                           number_of(&c->batch->items[i]));
    for (size_t i = 0; r == 0 && i < c->unfit_count; i++)
        r = delete_pending(c, PH__SQL_pending_delete, level, c->unfit[i].due, c->unfit[i].id);
    return r;
}

static int bury_unfit(struct claiming *c)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < c->unfit_count; i++) {
        const struct unfit *u = &c->unfit[i];
        struct ph__attempt_entry entry = { .id = u->id,
                                           .attempt = u->attempts,
                                           .kind = PH__EXPIRED };

        if (u->expired)
            r = ph__log_attempt(c->tx, &entry);
        if (r == 0)
            r = ph__bury(c->tx, u->id, c->queue.id,
                         u->expired ? PH__DEAD_EXPIRED : PH__DEAD_ATTEMPTS, NULL);
    }
    c->unfit_count = 0;
    return r;
}

/* Of one level, the messages with certain topics. */
static int claim_some(struct claiming *c, int level)
{
    struct ph__query query = level_query(c, PH__SQL_claim_look, level);
    size_t first = c->batch->count;
    int r = 0;

    while (!c->stop && (r = look_further(c, &query)) > 0) {
        r = visit_found(c, &query, level);
        if (r <= 0)
            break;
    }
    ph__query_end(&query);
    return r < 0 ? r : delete_scattered(c, level, first);
}

/* Of one level, any: what leaves pending is everything up to the last row visited. */
static int claim_any(struct claiming *c, int level)
{
    struct ph__query query = level_query(c, PH__SQL_claim_walk, level);
    int64_t due = 0, id = 0;
    bool any = false;
    int r = 0;

    while (!c->stop && (r = ph__query_row(&query)) > 0) {
        r = visit(c, &query, level);
        if (r <= 0)
            break;
        any = true;
        due = ph__column_int(&query, DUE);
        id = ph__column_int(&query, ID);
    }
    ph__query_end(&query);
    if (r < 0 || !any)
        return r < 0 ? r : 0;
    return delete_pending(c, PH__SQL_pending_delete_up_to, level, due, id);
}

/* An empty batch would look like an empty queue. */
static bool goes_on(struct claiming *c)
{
    if (!c->batch->more || c->batch->count > 0 || ph__deadline_left_ms(c->bury_until) == 0)
        return false;
    c->stop = c->batch->more = false;
    c->buried = 0;
    return true;
}

static int claim_level(struct claiming *c, int level)
{
    int r;

    do {
        r = c->topics.sorted ? claim_some(c, level) : claim_any(c, level);
        if (r == 0)
            r = bury_unfit(c);
    } while (r == 0 && goes_on(c));
    return r;
}

static int claim_levels(struct claiming *c)
{
    struct ph__query query = ph__query(c->tx, PH__SQL_fence_last);
    int64_t last;
    int r = ph__query_one(&query, &last, 0);
    bool reverse = r == 0 && (last + 1) % REVERSE_EVERY == 0;

    for (int i = 0; r == 0 && i < PH__LEVELS && !c->stop; i++)
        r = claim_level(c, reverse ? PH__LEVELS - 1 - i : i);
    return r;
}

/* What only messages with a past have. */
static int load_past(struct claiming *c, ph_delivery *item)
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

static int compare_ids(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

/* The ids ascending, and their attempts beside them unless all are 1. */
static int list_items(struct claiming *c, int64_t **ret_ids, int **ret_attempts)
{
    size_t count = c->batch->count;
    bool sorted = true, past = false;
    struct {
        int64_t id;
        int attempts;
    } *pairs = ph__arena_alloc(c->arena, count * sizeof(*pairs));
    int64_t *ids = ph__arena_alloc(c->arena, count * sizeof(*ids));
    int *attempts = ph__arena_alloc(c->arena, count * sizeof(*attempts));

    if (!pairs || !ids || !attempts)
        return fail_memory(c);
    for (size_t i = 0; i < count; i++) {
        pairs[i].id = number_of(&c->batch->items[i]);
        pairs[i].attempts = c->batch->items[i].attempts;
        sorted = sorted && (i == 0 || pairs[i].id > pairs[i - 1].id);
        past = past || pairs[i].attempts > 1;
    }
    if (!sorted)
        qsort(pairs, count, sizeof(*pairs), compare_ids);
    for (size_t i = 0; i < count; i++) {
        ids[i] = pairs[i].id;
        attempts[i] = pairs[i].attempts;
    }
    *ret_ids = ids;
    *ret_attempts = past ? attempts : NULL;
    return 0;
}

static int insert_lease(struct claiming *c, const int64_t *ids, const int *attempts)
{
    struct ph__query query = ph__query(c->tx, PH__SQL_lease_insert);
    struct ph__buffer packed_ids = { 0 }, packed_attempts = { 0 };
    size_t count = c->batch->count;
    int r;

    ph__pack_ids(&packed_ids, ids, count);
    if (attempts)
        ph__pack_attempts(&packed_attempts, attempts, count);
    ph__query_id(&query, c->claim->owner.b);
    ph__query_int(&query, c->queue.id);
    ph__query_int(&query, c->tx->now);
    ph__query_int(&query, c->tx->now + (int64_t)c->claim->lease_s * 1000000);
    ph__query_int(&query, c->lost);
    ph__query_int(&query, (int64_t)count);
    ph__query_int(&query, ids[0]);
    ph__query_int(&query, ids[count - 1]);
    ph__query_text(&query, packed_attempts.data);
    ph__query_text(&query, packed_ids.data);
    r = packed_ids.failed || packed_attempts.failed ? fail_memory(c) : ph__query_run(&query);
    ph__buffer_free(&packed_ids);
    ph__buffer_free(&packed_attempts);
    return r;
}

static int lease_items(struct claiming *c)
{
    int64_t *ids = NULL, fence;
    int *attempts = NULL;
    char *ns;
    int r;

    if (c->batch->count == 0)
        return 0;
    ns = ph__arena_copy(c->arena, c->claim->ns, strlen(c->claim->ns));
    r = ns ? list_items(c, &ids, &attempts) : fail_memory(c);
    if (r == 0)
        r = insert_lease(c, ids, attempts);
    fence = sqlite3_last_insert_rowid(c->tx->db);
    for (size_t i = 0; r == 0 && i < c->batch->count; i++) {
        c->batch->items[i].fence = fence;
        c->batch->items[i].ns = ns;
        r = load_past(c, &c->batch->items[i]);
    }
    return r;
}

/* 1 if a claim would find something to do. Takes no lock. */
static int look(struct claiming *c)
{
    int r = ph__queue_by_name(c->tx, c->claim->door, c->claim->ns, &c->queue);

    if (r < 0 || !c->queue.id || c->queue.paused)
        return r;
    r = ph__reap_needed(c->tx, c->claim->door);
    if (r == 0 && c->claim->door == PH__OUTBOX)
        r = ph__joins_expire_needed(c->tx);
    for (int level = 0; r == 0 && level < PH__LEVELS; level++) {
        struct ph__query query = level_query(c, PH__SQL_claim_look, level);

        r = look_further(c, &query);
        if (r > 0)
            ph__query_end(&query);
    }
    return r;
}

static int look_first(struct claiming *c, struct ph__call *call)
{
    int r = ph__sqlite_begin_read(c->tx, call), found;

    if (r < 0)
        return r;
    found = look(c);
    r = ph__sqlite_end(c->tx, found < 0 ? found : 0);
    return r < 0 ? r : found;
}

/* What was buried may have been steps. A continuation that this sent was not looked at. */
static int count_steps(struct claiming *c)
{
    const struct ph__join_ends *ends = &c->tx->call->ends;
    size_t waits = ends->wait_count;
    int r = ph__steps_count(c->tx);

    for (; waits < ends->wait_count; waits++)
        c->batch->more |= !ph_id_is_zero(ends->waits[waits].continuation.b);
    return r;
}

static int claim_under_lock(struct claiming *c)
{
    int64_t reaped = 0, joins;
    int r = ph__queue_by_name(c->tx, c->claim->door, c->claim->ns, &c->queue);

    if (r < 0 || !c->queue.id || c->queue.paused)
        return r;
    if (c->claim->door == PH__OUTBOX)
        r = ph__joins_expire(c->tx, EXPIRE_JOINS_MAX, &joins);
    if (r == 0)
        r = ph__reap_leases(c->tx, c->claim->door, REAP_LEASES_MAX, &reaped);
    if (r == 0)
        r = claim_levels(c);
    if (r == 0)
        r = count_steps(c);
    return r < 0 ? r : lease_items(c);
}

static int set_up(struct claiming *c, struct ph__sqlite_tx *tx, struct ph__call *call,
                  const struct ph__claim *claim, ph_batch *batch)
{
    *c = (struct claiming){ .tx = tx,
                            .claim = claim,
                            .batch = batch,
                            .arena = &batch->arena,
                            .bury_until = ph__deadline_in(BURY_MS) };
    if (!ph__topics_load(&c->topics, claim->topics, claim->topic_count, c->arena))
        return ph__fail_memory(call->err);
    return 0;
}

int ph__claim_under_lock(struct ph__sqlite_tx *tx, const struct ph__claim *claim, ph_batch *batch)
{
    struct claiming c;
    int r = set_up(&c, tx, tx->call, claim, batch);

    return r < 0 ? r : claim_under_lock(&c);
}

int ph__sqlite_claim(struct ph__call *call, const struct ph__claim *claim, ph_batch *batch)
{
    struct ph__sqlite_tx tx;
    struct claiming c;
    int r = set_up(&c, &tx, call, claim, batch);

    if (r == 0)
        r = call->connection ? 1 : look_first(&c, call);
    if (r <= 0)
        return r;
    r = ph__sqlite_begin_write(&tx, call);
    return r < 0 ? r : ph__sqlite_end(&tx, claim_under_lock(&c));
}
