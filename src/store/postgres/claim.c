/* claim.c - messages out of PostgreSQL, alone or after settlements, and the hint where to
 * start looking. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "core/names.h"
#include "util/hash.h"

#include <string.h>
#include <time.h>

#define JOINS_COLUMN 15    /* joins that ended; in the last row, which then has nothing else */
#define ORIGIN_COLUMN 16   /* stream, seq, source */
#define OUTCOMES_COLUMN 19 /* of an exchange, whose first row has nothing else but joins */
#define WHOLE_LOOK_MIN_MS 1000
#define BURYING_MS 400      /* an empty claim that took longer may have stopped while it buried */
#define WHOLE_LOOK_SHARE 20 /* a look from the start may use a twentieth of the time */

static int64_t monotonic_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Bounds are good only for the same namespace and topics, behind one door. Never 0. */
static uint64_t bounds_key(const struct ph__claim *claim)
{
    uint64_t key = ph__hash64_text(PH__HASH64, claim->ns);

    for (size_t i = 0; claim->topics && i < claim->topic_count; i++)
        key = ph__hash64_text(ph__hash64(key, "", 1), claim->topics[i]); /* NUL: in no text */
    return key | 1;
}

/* True if the claim may start at the bounds. */
static bool bounds_apply(struct ph__pg_bounds *bounds, const struct ph__claim *claim)
{
    uint64_t key = bounds_key(claim);

    if (bounds->key != key) {
        *bounds = (struct ph__pg_bounds){ .key = key };
        return false;
    }
    for (int level = 0; level < PH__LEVELS; level++) {
        if (bounds->from_due[level])
            return monotonic_ms() < bounds->whole_look_next_ms;
    }
    return false;
}

/* Has a come into the batch behind the message before it, as a part of a run? Then its place in the
 * queue says nothing. */
static bool follows(const ph_delivery *before, const ph_delivery *a)
{
    return a->stream && before->stream && a->seq == before->seq + 1 &&
           strcmp(a->stream, before->stream) == 0;
}

static void bounds_learn(struct ph__pg_bounds *bounds, const struct ph__claim *claim,
                         const ph_batch *batch, bool whole_look, int64_t started_ms)
{
    int64_t now_ms = monotonic_ms();

    if (whole_look) {
        int64_t rest = (now_ms - started_ms) * WHOLE_LOOK_SHARE;

        bounds->whole_look_next_ms = now_ms + (rest > WHOLE_LOOK_MIN_MS ? rest : WHOLE_LOOK_MIN_MS);
    }
    if (batch->count < (size_t)claim->batch_size) {
        memset(bounds->from_due, 0, sizeof(bounds->from_due));
        return;
    }
    for (size_t i = batch->count; i-- > 0;) { /* backwards: the first of each level stays */
        const ph_delivery *d = &batch->items[i];
        int level;

        /* The place of a new message in the queue is known; that of one that came back is not. */
        if (d->attempts > 1 || (i > 0 && follows(d - 1, d)))
            continue;
        level = ph__level_of(d->priority);
        bounds->from_due[level] = d->due_at > d->created_at ? d->due_at : d->created_at;
        /* The next head of a stream may be older than the messages taken at the same instant. */
        bounds->from_id[level] = d->stream ? (ph_work_id){ { 0 } } : d->work_id;
    }
}

static void add_claim(struct ph__pg_params *p, const struct ph__claim *claim,
                      const struct ph__pg_bounds *bounds)
{
    ph__pg_add_int4(p, claim->lease_s);
    ph__pg_add_int4(p, claim->batch_size);
    ph__pg_add_text(p, claim->ns);
    if (claim->topics) {
        PH__PG_ARRAY(p, TEXT, claim->topic_count, ph__pg_item_text(p, claim->topics[i]));
    } else {
        ph__pg_add_null(p, PG_TEXTS);
    }
    if (bounds) {
        PH__PG_ARRAY(p, TIME, PH__LEVELS, ph__pg_item_time(p, bounds->from_due[i]));
        PH__PG_ARRAY(p, UUID, PH__LEVELS,
                     ph__pg_item_uuid(p, bounds->from_due[i] ? bounds->from_id[i].b : NULL));
    } else {
        ph__pg_add_null(p, PG_TIMES);
        ph__pg_add_null(p, PG_UUIDS);
    }
    ph__pg_add_int4(p, claim->partition_count);
    if (claim->max_partitions)
        ph__pg_add_int4(p, claim->max_partitions);
    else
        ph__pg_add_null(p, PG_INT4);
}

void ph__pg_read_delivery(struct ph__arena *arena, const PGresult *result, int row, ph_delivery *to,
                          bool *failed)
{
    const uint8_t *tenant = ph__pg_uuid(result, row, 5);

    memcpy(to->work_id.b, ph__pg_uuid(result, row, 0), sizeof(to->work_id.b));
    memcpy(to->message_id.b, ph__pg_uuid(result, row, 1), sizeof(to->message_id.b));
    to->fence = ph__pg_int(result, row, 2);
    to->topic = ph__pg_text(arena, result, row, 3, failed);
    to->payload = ph__pg_text(arena, result, row, 4, failed);
    to->payload_length = (size_t)PQgetlength(result, row, 4);
    if (tenant) {
        to->tenant_id = (const ph_tenant_id *)ph__arena_copy(arena, tenant, 16);
        *failed |= !to->tenant_id;
    }
    to->dedupe_key = ph__pg_text(arena, result, row, 6, failed);
    to->correlation_id = ph__pg_text(arena, result, row, 7, failed);
    to->headers = ph__pg_text(arena, result, row, 8, failed);
    to->attempts = (int)ph__pg_int(result, row, 9);
    to->retry_count = (int)ph__pg_int(result, row, 10);
    to->created_at = ph__pg_time(result, row, 11);
    to->due_at = ph__pg_time(result, row, 12);
    to->last_error = ph__pg_text(arena, result, row, 13, failed);
    to->priority = ph__priority_of(ph__pg_int(result, row, 14));
}

void ph__pg_read_origin(struct ph__arena *arena, const PGresult *result, int row, int column,
                        ph_delivery *to, bool *failed)
{
    to->stream = ph__pg_text(arena, result, row, column, failed);
    to->seq = ph__pg_int(result, row, column + 1);
    to->source = ph__pg_text(arena, result, row, column + 2, failed);
    if (to->source) {
        to->source_id = to->dedupe_key;
        to->dedupe_key = NULL;
    }
}

static int read_batch(const struct ph__claim *claim, const PGresult *result, int first, int last,
                      ph_batch *batch)
{
    int rows = last - first;
    bool failed = false;
    const char *ns = ph__arena_copy(&batch->arena, claim->ns, strlen(claim->ns));

    batch->items = ph__arena_alloc(&batch->arena, (size_t)rows * sizeof(*batch->items));
    if (!batch->items || !ns)
        return PH_ENOMEM;
    for (int row = 0; row < rows && !failed; row++) {
        ph__pg_read_delivery(&batch->arena, result, first + row, &batch->items[row], &failed);
        ph__pg_read_origin(&batch->arena, result, first + row, ORIGIN_COLUMN, &batch->items[row],
                           &failed);
        batch->items[row].ns = ns;
    }
    batch->count = (size_t)rows;
    return failed ? PH_ENOMEM : 0;
}

void ph__pg_claiming_begin(struct ph__pg_claiming *c, struct ph__call *call,
                           const struct ph__claim *claim, struct ph__pg_params *params)
{
    struct ph__pg_own *own = call->connection ? NULL : call->store->own;

    *c = (struct ph__pg_claiming){ .claim = claim, .started_ms = monotonic_ms() };
    if (own)
        c->bounds = &own->bounds[claim->door];
    c->bounded = own && bounds_apply(c->bounds, claim);
    add_claim(params, claim, c->bounded ? c->bounds : NULL);
}

int ph__pg_claiming_end(struct ph__pg_claiming *c, struct ph__call *call, const PGresult *result,
                        int first, int last, ph_batch *batch)
{
    size_t waits = call->ends.wait_count;
    int r = 0;

    if (last > first && PQgetisnull(result, last - 1, 0))
        r = ph__pg_read_joins(call, result, --last, JOINS_COLUMN);
    if (r == 0 && read_batch(c->claim, result, first, last, batch) < 0)
        /* the server has leased them: only a rollback can undo that */
        r = ph__fail_flags(call->err, ph__fail_memory(call->err),
                           call->connection ? PH_TX_DEAD : PH_UNKNOWN);
    /* A continuation that a claim sends when it buries a step is due, and not in its batch. */
    batch->more = batch->count == 0 &&
                  (monotonic_ms() - c->started_ms >= BURYING_MS || call->ends.wait_count > waits);
    if (r == 0 && c->bounds)
        bounds_learn(c->bounds, c->claim, batch, !c->bounded, c->started_ms);
    return r;
}

int ph__pg_exchange(struct ph__call *call, const struct ph__work_part *part)
{
    const struct ph__claim *claim = part->claim;
    size_t count = part->settle_count;
    struct ph__pg_claiming claiming;
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int first = count > 0 ? 1 : 0;
    int r;

    ph__pg_add_int2(&params, claim->door);
    ph__pg_add_uuid(&params, claim->owner.b);
    if (count > 0)
        ph__pg_add_settlements(&params, part->settle, count);
    ph__pg_claiming_begin(&claiming, call, claim, &params);
    if (count > 0)
        ph__pg_add_again(&params, call);
    r = ph__pg_run(call, count > 0 ? PG_EXCHANGE : PG_CLAIM, &params,
                   count > 0 ? PG_ONCE : PG_REPEATABLE, &result);
    ph__pg_params_free(&params);
    if (r == 0 && count > 0)
        r = ph__pg_read_outcomes(call, result, OUTCOMES_COLUMN, count, part->ret_settled);
    if (r == 0 && count > 0)
        r = ph__pg_read_joins(call, result, 0, JOINS_COLUMN);
    if (r == 0)
        r = ph__pg_claiming_end(&claiming, call, result, first, PQntuples(result), part->batch);
    PQclear(result);
    return r;
}

int ph__pg_claim(struct ph__call *call, const struct ph__claim *claim, ph_batch *batch)
{
    return ph__pg_exchange(call, &(struct ph__work_part){ .claim = claim, .batch = batch });
}
