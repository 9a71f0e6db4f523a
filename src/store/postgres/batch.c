/* batch.c - the one exchange in PostgreSQL: one statement, whose first row tells of the parts
 * before the claims. Without results of receptors and consumers and without new messages it is a
 * leaner one. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "util/alloc.h"

#include <stdlib.h>
#include <string.h>

#define JOINS_COLUMN 15
#define SEQ_COLUMN 17
#define ORPHAN_COLUMN 19
#define DOOR_COLUMN 20 /* null: the first row */

/* The columns of the first row. */
enum head {
    REGISTERED = DOOR_COLUMN + 1,
    EVICTED,
    EVICTED_ONE,
    ENDED_AT,
    SETTLED,               /* of the outbox, then of the inbox */
    RENEWED = SETTLED + 2, /* likewise */
    STORED = RENEWED + 2,  /* three of each: work ids, message ids, are they new? */
    PART = STORED + 6,     /* the problem, if any */
    AT,
    RESULT_PROBLEM,
    JOIN_PROBLEM,
    PROBLEM_MESSAGE,
    PROBLEM
};
enum { PART_RECEPTORS = 1, PART_CHECKPOINTS, PART_OUTBOX, PART_INBOX };

/* --------------------------------------------------------------------- asking */

static void add_settlements(struct ph__pg_params *p, const struct ph__work_part *part)
{
    if (part->settle_count == 0) {
        ph__pg_add_null(p, PG_ROW);
        return;
    }
    ph__pg_row_begin(p);
    ph__pg_add_settlements(p, part->settle, part->settle_count);
    ph__pg_row_end(p);
}

static void add_renewals(struct ph__pg_params *p, const struct ph__work_part *part)
{
    if (part->renew_count == 0) {
        ph__pg_add_null(p, PG_ROW);
        return;
    }
    ph__pg_row_begin(p);
    ph__pg_add_leases(p, part->renew, part->renew_count);
    ph__pg_row_end(p);
}

static void add_last(struct ph__pg_params *p, const struct ph__claim *claim)
{
    if (claim->last != PH__LAST_ANY)
        ph__pg_add_int2(p, claim->last == PH__LAST_ALONE);
    else
        ph__pg_add_null(p, PG_INT2);
}

static void add_claim(struct ph__pg_params *p, struct ph__call *call,
                      const struct ph__work_part *part, struct ph__pg_claiming *claiming)
{
    if (!part->claim) {
        ph__pg_add_null(p, PG_ROW);
        return;
    }
    ph__pg_row_begin(p);
    ph__pg_claiming_begin(claiming, call, part->claim, p);
    add_last(p, part->claim);
    ph__pg_row_end(p);
}

static void add_results(struct ph__pg_params *p, const struct ph__work_batch *batch)
{
    if (batch->receptor_count > 0) {
        ph__pg_row_begin(p);
        ph__pg_add_receptors(p, batch->receptors, batch->receptor_count);
        ph__pg_row_end(p);
    } else {
        ph__pg_add_null(p, PG_ROW);
    }
    if (batch->checkpoint_count > 0) {
        ph__pg_row_begin(p);
        ph__pg_add_checkpoints(p, batch->checkpoints, batch->checkpoint_count);
        ph__pg_row_end(p);
    } else {
        ph__pg_add_null(p, PG_ROW);
    }
}

static void add_instance(struct ph__pg_params *p, const struct ph__instance *instance)
{
    ph__pg_row_begin(p);
    ph__pg_add_uuid(p, instance->id.b);
    ph__pg_add_text(p, instance->service);
    ph__pg_add_text(p, instance->host);
    ph__pg_add_int4(p, instance->process_id);
    ph__pg_add_jsonb(p, instance->metadata);
    ph__pg_add_int4(p, instance->lease_s);
    ph__pg_add_int4(p, instance->stale_s);
    ph__pg_add_int4(p, instance->partition_count);
    ph__pg_row_end(p);
}

static bool has_results_or_messages(const struct ph__work_batch *batch)
{
    return batch->receptor_count > 0 || batch->checkpoint_count > 0 ||
           batch->outbox.message_count > 0 || batch->inbox.message_count > 0;
}

static int ask(struct ph__call *call, const struct ph__work_batch *batch,
               struct ph__pg_claiming claiming[2], PGresult **ret_result)
{
    bool whole = has_results_or_messages(batch);
    bool once = whole || batch->outbox.settle_count > 0 || batch->inbox.settle_count > 0;
    struct ph__pg_params params = { 0 };
    int r;

    add_instance(&params, &batch->instance);
    ph__pg_add_bool(&params, batch->keep);
    ph__pg_add_again(&params, call);
    add_settlements(&params, &batch->outbox);
    add_settlements(&params, &batch->inbox);
    add_renewals(&params, &batch->outbox);
    add_renewals(&params, &batch->inbox);
    if (whole) {
        add_results(&params, batch);
        ph__pg_add_messages(&params, batch->outbox.messages, batch->outbox.message_count);
        ph__pg_add_messages(&params, batch->inbox.messages, batch->inbox.message_count);
    }
    add_claim(&params, call, &batch->outbox, &claiming[PH_OUTBOX]);
    add_claim(&params, call, &batch->inbox, &claiming[PH_INBOX]);
    r = ph__pg_run(call, whole ? PG_WORK_BATCH_WHOLE : PG_WORK_BATCH, &params,
                   once ? PG_ONCE : PG_REPEATABLE, ret_result);
    ph__pg_params_free(&params);
    return r;
}

/* -------------------------------------------------------------------- the answer */

/* Why nothing was done. */
static int read_problem(struct ph__call *call, const PGresult *result,
                        const struct ph__work_batch *batch)
{
    const struct ph__pg_message_problem problem = {
        .at = (size_t)ph__pg_int(result, 0, AT),
        .words = PQgetvalue(result, 0, PROBLEM),
        .join_problem = (int)ph__pg_int(result, 0, JOIN_PROBLEM),
        .message = ph__pg_uuid(result, 0, PROBLEM_MESSAGE),
    };
    enum ph__result_problem wrong = (enum ph__result_problem)ph__pg_int(result, 0, RESULT_PROBLEM);
    int where = (int)ph__pg_int(result, 0, PART);
    const struct ph__work_part *part = where == PART_OUTBOX ? &batch->outbox : &batch->inbox;

    switch (where) {
    case PART_RECEPTORS:
        return ph__result_problem(call->err, wrong, problem.at, batch->receptor_count);
    case PART_CHECKPOINTS:
        return ph__result_problem(call->err, wrong, problem.at, batch->checkpoint_count);
    default:
        return ph__pg_message_problem(call, part->messages, part->message_count, &problem);
    }
}

/* The outcomes of a door's parts before its claim. */
static int read_part(struct ph__call *call, const PGresult *result, ph_door door,
                     const struct ph__work_part *part)
{
    int r = ph__pg_read_outcomes(call, result, SETTLED + (int)door, part->settle_count,
                                 part->ret_settled);

    if (r == 0)
        r = ph__pg_read_outcomes(call, result, RENEWED + (int)door, part->renew_count,
                                 part->ret_renewed);
    return r < 0 ? r
                 : ph__pg_read_enqueued(call, result, STORED + 3 * (int)door, part->message_count,
                                        part->ret_enqueued);
}

/* The work ids of the messages that this call stored, in the order given, in which they rise. NULL
 * when memory is out; freed by ph__dealloc. */
static ph_work_id *new_ids(const struct ph__work_part *part, size_t *ret_count)
{
    ph_work_id *ids = ph__alloc(part->message_count * sizeof(*ids) + 1);
    size_t count = 0;

    for (size_t i = 0; ids && i < part->message_count; i++) {
        if (part->ret_enqueued[i].is_new)
            ids[count++] = part->ret_enqueued[i].work_id;
    }
    *ret_count = count;
    return ids;
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(ph_work_id));
}

static int mark(struct ph__call *call, const PGresult *result, int first,
                const struct ph__work_part *part)
{
    size_t count;
    ph_work_id *ids = new_ids(part, &count);

    if (!ids)
        return ph__fail_flags(call->err, ph__fail_memory(call->err),
                              call->connection ? PH_TX_DEAD : PH_UNKNOWN);
    for (size_t i = 0; i < part->batch->count; i++) {
        ph_delivery *item = &part->batch->items[i];

        if (count > 0 && bsearch(&item->work_id, ids, count, sizeof(*ids), compare_ids))
            item->flags |= PH_WORK_NEW;
        if (ph__pg_int(result, first + (int)i, ORPHAN_COLUMN))
            item->flags |= PH_WORK_ORPHAN;
        if (item->retry_count > 0)
            item->flags |= PH_WORK_RETRY;
    }
    ph__dealloc(ids);
    return 0;
}

/* The messages that were left where they are: those of too many bytes, and last attempts. */
static void read_last_row(const PGresult *result, int row, ph_batch *batch)
{
    bool told = !PQgetisnull(result, row, ORPHAN_COLUMN);
    bool alone = told && ph__pg_int(result, row, ORPHAN_COLUMN) != 0;

    batch->more |= alone || !PQgetisnull(result, row, SEQ_COLUMN);
    batch->last = alone;
    batch->last_waits = told && !alone;
}

/* The rows of a door's claim begin at *row, which moves behind them. */
static int read_claim(struct ph__call *call, const PGresult *result, ph_door door,
                      const struct ph__work_part *part, struct ph__pg_claiming *claiming, int *row)
{
    int first = *row, r;

    if (!part->claim)
        return 0;
    while (*row < PQntuples(result) && ph__pg_int(result, *row, DOOR_COLUMN) == (int)door)
        ++*row;
    r = ph__pg_claiming_end(claiming, call, result, first, *row, part->batch);
    if (r == 0 && *row > first && PQgetisnull(result, *row - 1, 0))
        read_last_row(result, *row - 1, part->batch);
    return r < 0 ? r : mark(call, result, first, part);
}

static int read_answer(struct ph__call *call, const PGresult *result, struct ph__work_batch *batch,
                       struct ph__pg_claiming claiming[2])
{
    int row = 1;
    int r;

    if (PQntuples(result) < 1)
        return ph__pg_misfit(call);
    if (ph__pg_time(result, 0, ENDED_AT))
        return PH_EEVICTED;
    if (has_results_or_messages(batch) && !PQgetisnull(result, 0, PART))
        return read_problem(call, result, batch);
    r = read_part(call, result, PH_OUTBOX, &batch->outbox);
    if (r == 0)
        r = read_part(call, result, PH_INBOX, &batch->inbox);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, JOINS_COLUMN);
    if (r == 0)
        r = read_claim(call, result, PH_OUTBOX, &batch->outbox, &claiming[PH_OUTBOX], &row);
    if (r == 0)
        r = read_claim(call, result, PH_INBOX, &batch->inbox, &claiming[PH_INBOX], &row);
    batch->ret_registered = ph__pg_int(result, 0, REGISTERED) != 0;
    batch->ret_evicted = (int)ph__pg_int(result, 0, EVICTED);
    if (ph__pg_uuid(result, 0, EVICTED_ONE))
        memcpy(batch->ret_evicted_one.b, ph__pg_uuid(result, 0, EVICTED_ONE),
               sizeof(batch->ret_evicted_one.b));
    return r;
}

int ph__pg_work_batch(struct ph__call *call, struct ph__work_batch *batch)
{
    struct ph__pg_claiming claiming[2];
    PGresult *result = NULL;
    int r;

    if (!batch->instance.service)
        return ph__pg_exchange(call, &batch->outbox); /* fewer parts, a leaner statement */
    r = ph__pg_check_volume(batch->outbox.messages, batch->outbox.message_count, call->err);
    if (r == 0)
        r = ph__pg_check_volume(batch->inbox.messages, batch->inbox.message_count, call->err);
    if (r == 0)
        r = ask(call, batch, claiming, &result);
    if (r == 0)
        r = read_answer(call, result, batch, claiming);
    PQclear(result);
    if (r == 0 && (batch->outbox.message_count > 0 || batch->inbox.message_count > 0))
        ph__pg_ring_parts(call, &batch->outbox, &batch->inbox);
    return r;
}
