/* door.c - the verbs of workers, which outbox, inbox, timers and job runs have alike: call->door
 * says which door is meant. */
#include "core/door.h"

#include "core/error.h"
#include "extension/arguments.h"
#include "extension/delivery.h"
#include "util/buffer.h"

/* -------------------------------------------------------------------- claim */

static int claim(struct ph__ext_call *call, struct ph__answer *answer)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    int64_t lease_s = 0, batch_size = 0;
    ph_owner owner;
    int r = ph__arg_owner(call, 0, &owner);

    if (r == 0)
        r = ph__arg_number(call, 1, 1, PH_LEASE_MAX_S, &lease_s);
    if (r == 0)
        r = ph__arg_number(call, 2, 1, PH_BATCH_MAX, &batch_size);
    if (r == 0)
        r = ph__arg_text(call, 3, &opts.ns);
    if (r == 0)
        r = ph__arg_texts(call, 4, &opts.topics, &opts.topic_count);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r < 0)
        return r;
    opts.lease_s = (int)lease_s;
    opts.batch_size = (int)batch_size;
    r = ph__door_claim(call->door, call->ext->store, call->tx, owner, &opts, 0, &answer->batch,
                       &call->err);
    answer->count = ph_batch_count(answer->batch);
    return r;
}

static void claim_column(const struct ph__answer *answer, size_t row, int column,
                         sqlite3_context *result)
{
    ph__delivery_column(ph_batch_at(answer->batch, row), column, result);
}

/* ------------------------------------------------------------------- settle */

struct outcome {
    ph_work_id work_id;
    ph_outcome outcome;
    const char *joins; /* those that the call has ended, as JSON; NULL: none */
};

static void outcome_column(const struct ph__answer *answer, size_t row, int column,
                           sqlite3_context *result)
{
    const struct outcome *outcome = (const struct outcome *)answer->items + row;

    if (column == 0)
        ph__result_id(result, outcome->work_id.b);
    else
        ph__result_text(result, column == 1 ? ph_outcome_text(outcome->outcome) : outcome->joins);
}

/* The settlements of one call. */
struct settling {
    ph_owner owner;
    ph_lease_ref *leases;
    ph_outcome *outcomes;
    size_t count;
    struct ph__buffer joins; /* the ids of those it has ended, each in quotes */
};

static void note_join(void *context, const ph_join_end *join)
{
    struct settling *s = context;
    char id[PH_ID_TEXT_SIZE];

    ph__buffer_printf(&s->joins, "%c\"%s\"", s->joins.length ? ',' : '[',
                      ph_id_text(join->id.b, id));
}

/* owner and work_ids come first in every verb. */
static int settling_load(struct ph__ext_call *call, int fences_index, struct settling *to)
{
    int r = ph__arg_owner(call, 0, &to->owner);

    to->joins = (struct ph__buffer){ 0 };

    if (r == 0)
        r = ph__arg_leases(call, 1, fences_index, &to->leases, &to->count);
    if (r < 0)
        return r;
    to->outcomes = ph__arena_alloc(&call->arena, (to->count + 1) * sizeof(*to->outcomes));
    return to->outcomes ? 0 : ph__fail_memory(&call->err);
}

static int settling_answer(struct ph__ext_call *call, const struct settling *from,
                           struct ph__answer *answer)
{
    struct outcome *outcomes =
        ph__arena_alloc(&answer->arena, (from->count + 1) * sizeof(*outcomes));
    const char *joins = NULL;

    if (outcomes && from->joins.length)
        joins = ph__arena_copy(&answer->arena, from->joins.data, from->joins.length);
    if (!outcomes || from->joins.failed || (from->joins.length && !joins))
        return ph__fail_memory(&call->err);
    for (size_t i = 0; i < from->count; i++)
        outcomes[i] = (struct outcome){ from->leases[i].work_id, from->outcomes[i], joins };
    answer->items = outcomes;
    answer->count = from->count;
    return 0;
}

static int settle(struct ph__ext_call *call, struct settling *s, const ph_settlement *like,
                  struct ph__answer *answer)
{
    ph_store *store = call->ext->store;
    int r = ph__ext_begin(call);

    if (r == 0) {
        store->opts.join_ended = note_join;
        store->opts.join_context = s;
        r = ph__door_settle_alike(call->door, store, call->tx, s->owner, s->leases, s->count, like,
                                  0, s->outcomes, &call->err);
        store->opts.join_ended = NULL;
    }
    if (s->joins.length)
        ph__buffer_text(&s->joins, "]");
    if (r == 0)
        r = settling_answer(call, s, answer);
    ph__buffer_free(&s->joins);
    return r;
}

static int ack(struct ph__ext_call *call, struct ph__answer *answer)
{
    const ph_settlement like = { .verb = PH_ACK };
    struct settling s;
    int r = settling_load(call, 2, &s);

    return r < 0 ? r : settle(call, &s, &like, answer);
}

static int abandon(struct ph__ext_call *call, struct ph__answer *answer)
{
    ph_settlement like = { .verb = PH_ABANDON, .delay_ms = PH_DELAY_POLICY };
    struct settling s;
    int r = settling_load(call, 4, &s);

    if (r == 0)
        r = ph__arg_text(call, 2, &like.error);
    if (r == 0)
        r = ph__arg_seconds(call, 3, &like.delay_ms);
    return r < 0 ? r : settle(call, &s, &like, answer);
}

static int fail(struct ph__ext_call *call, struct ph__answer *answer)
{
    ph_settlement like = { .verb = PH_FAIL };
    struct settling s;
    int r = settling_load(call, 3, &s);

    if (r == 0)
        r = ph__arg_text(call, 2, &like.error);
    return r < 0 ? r : settle(call, &s, &like, answer);
}

static int release(struct ph__ext_call *call, struct ph__answer *answer)
{
    const ph_settlement like = { .verb = PH_RELEASE };
    struct settling s;
    int r = settling_load(call, 2, &s);

    return r < 0 ? r : settle(call, &s, &like, answer);
}

static int renew(struct ph__ext_call *call, struct ph__answer *answer)
{
    struct settling s;
    int64_t lease_s = 0;
    int r = settling_load(call, 3, &s);

    if (r == 0)
        r = ph__arg_number(call, 2, 1, PH_LEASE_MAX_S, &lease_s);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph__door_renew(call->door, call->ext->store, call->tx, s.owner, s.leases, s.count,
                           (int)lease_s, 0, s.outcomes, &call->err);
    return r < 0 ? r : settling_answer(call, &s, answer);
}

static int reap_expired(struct ph__ext_call *call, sqlite3_context *result)
{
    int64_t count = 0;
    int r = ph__ext_begin(call);

    if (r == 0)
        r = ph__door_reap_expired(call->door, call->ext->store, call->tx, 0, &count, &call->err);
    sqlite3_result_int64(result, count);
    return r;
}

/* ----------------------------------------------------------------- the tables */

/* clang-format off */
#define REAP(name, which)                                                                          \
    { { "posthorn_" name "_reap_expired", 0, { NULL } }, reap_expired, which }

const struct ph__scalar_verb ph__door_scalars[] = {
    REAP("outbox", PH_OUTBOX),
    REAP("inbox", PH_INBOX),
    REAP("timers", PH_TIMERS),
    REAP("job_runs", PH_JOB_RUNS),
    { .run = NULL },
};

#define SETTLES outcome_columns, 2, true, false, 0, 0
#define ENDS ending_columns, 3, true, false, 0, 0
#define CLAIMS PH__DELIVERY_COLUMNS, PH__DELIVERY_COLUMN_COUNT, true, true, 0, 0
#define CLAIMS_INBOX PH__INBOX_COLUMNS, PH__INBOX_COLUMN_COUNT, true, true, 0, 0
#define VERBS_OF_DOOR(name, which, claims)                                                         \
    { { "posthorn_" name "_claim", 3,                                                              \
        { "owner", "lease_seconds", "batch_size", "namespace", "topics" } },                       \
      claims, claim, claim_column, which },                                                        \
    { { "posthorn_" name "_ack", 2, { "owner", "work_ids", "fences" } },                           \
      ENDS, ack, outcome_column, which },                                                          \
    { { "posthorn_" name "_abandon", 2,                                                            \
        { "owner", "work_ids", "error", "delay_seconds", "fences" } },                             \
      ENDS, abandon, outcome_column, which },                                                      \
    { { "posthorn_" name "_fail", 2, { "owner", "work_ids", "error", "fences" } },                 \
      ENDS, fail, outcome_column, which },                                                         \
    { { "posthorn_" name "_release", 2, { "owner", "work_ids", "fences" } },                       \
      SETTLES, release, outcome_column, which },                                                   \
    { { "posthorn_" name "_renew", 3, { "owner", "work_ids", "lease_seconds", "fences" } },        \
      SETTLES, renew, outcome_column, which }

static const char outcome_columns[] = "work_id TEXT, outcome TEXT";
static const char ending_columns[] = "work_id TEXT, outcome TEXT, joins TEXT";

const struct ph__rows_verb ph__door_rows[] = {
    VERBS_OF_DOOR("outbox", PH_OUTBOX, CLAIMS),
    VERBS_OF_DOOR("inbox", PH_INBOX, CLAIMS_INBOX),
    VERBS_OF_DOOR("timers", PH_TIMERS, CLAIMS),
    VERBS_OF_DOOR("job_runs", PH_JOB_RUNS, CLAIMS),
    { .run = NULL },
};
/* clang-format on */
