/* outbox.c - the verbs of producers and workers. */
#include "core/error.h"
#include "extension/arguments.h"
#include "extension/json_text.h"
#include "extension/message.h"
#include "extension/verbs.h"
#include "util/buffer.h"

#include <stdio.h>
#include <string.h>

#define JSON_SUBTYPE 'J' /* what SQLite's own JSON functions mark their results with */

/* ------------------------------------------------------------------ enqueue */

static int enqueue(struct ph__ext_call *call, sqlite3_context *result)
{
    char work_id[PH_ID_TEXT_SIZE], message_id[PH_ID_TEXT_SIZE], *answer;
    ph_message message = PH_MESSAGE_INIT;
    ph_enqueued enqueued;
    const char *options;
    int r = ph__arg_text(call, 0, &message.topic);

    if (r == 0)
        r = ph__arg_text(call, 1, &message.payload);
    if (r == 0)
        r = ph__arg_json(call, 2, JSON_OBJECT, PH__EXT_JSON_FLAGS, &options);
    if (r == 0 && call->json)
        r = ph__ext_message_load(call, call->json, options, false, &message);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_enqueue(call->ext->store, call->tx, &message, 0, &enqueued, &call->err);
    if (r < 0)
        return r;
    answer = sqlite3_mprintf("{\"work_id\":\"%s\",\"message_id\":\"%s\",\"is_new\":%s}",
                             ph_id_text(enqueued.work_id.b, work_id),
                             ph_id_text(enqueued.message_id.b, message_id),
                             enqueued.is_new ? "true" : "false");
    if (!answer)
        return ph__fail_memory(&call->err);
    sqlite3_result_text(result, answer, -1, sqlite3_free);
    sqlite3_result_subtype(result, JSON_SUBTYPE);
    return 0;
}

static int message_of(struct ph__ext_call *call, const json_t *element, const char *text,
                      size_t index, ph_message *message)
{
    ph_error plain;
    int r;

    *message = (ph_message)PH_MESSAGE_INIT;
    r = json_is_object(element) ? ph__ext_message_load(call, element, text, true, message)
                                : ph__fail(&call->err, PH_EINVAL, "is not a JSON object");
    if (r == 0)
        return 0;
    plain = call->err;
    return ph__fail(&call->err, plain.code, "message %zu: %s", index, plain.message);
}

static int enqueue_many(struct ph__ext_call *call, struct ph__answer *answer)
{
    ph_enqueued *enqueued = NULL;
    ph_message *messages = NULL;
    const char *text, *at;
    json_t *element;
    size_t count, i;
    int r = ph__arg_json(call, 0, JSON_ARRAY, PH__EXT_JSON_FLAGS, &text);

    if (r < 0)
        return r;
    count = json_array_size(call->json);
    if (count == 0)
        return 0;
    if (count > PH_BATCH_MAX)
        return ph__fail(&call->err, PH_EINVAL, "%zu messages; at most %d are allowed", count,
                        PH_BATCH_MAX);
    messages = ph__arena_alloc(&call->arena, count * sizeof(*messages));
    enqueued = ph__arena_alloc(&answer->arena, count * sizeof(*enqueued));
    if (!messages || !enqueued)
        return ph__fail_memory(&call->err);
    at = ph__json_first(text);
    json_array_foreach(call->json, i, element)
    {
        r = message_of(call, element, at, i, &messages[i]);
        if (r < 0)
            return r;
        at = ph__json_next(at);
    }
    r = ph__ext_begin(call);
    if (r == 0)
        r = ph_enqueue_many(call->ext->store, call->tx, messages, count, 0, enqueued, &call->err);
    answer->items = enqueued;
    answer->count = count;
    return r;
}

static void enqueued_column(const struct ph__answer *answer, size_t row, int column,
                            sqlite3_context *result)
{
    const ph_enqueued *enqueued = (const ph_enqueued *)answer->items + row;

    if (column == 0)
        ph__result_id(result, enqueued->work_id.b);
    else if (column == 1)
        ph__result_id(result, enqueued->message_id.b);
    else
        sqlite3_result_int(result, enqueued->is_new);
}

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
    r = ph_outbox_claim(call->ext->store, call->tx, owner, &opts, 0, &answer->batch, &call->err);
    answer->count = ph_batch_count(answer->batch);
    return r;
}

/* clang-format off */
enum claim_column { WORK_ID, MESSAGE_ID, FENCE, TOPIC, PAYLOAD, TENANT_ID, DEDUPE_KEY,
                    CORRELATION_ID, STREAM, HEADERS, ATTEMPTS, RETRY_COUNT, CREATED_AT, DUE_AT,
                    LAST_ERROR, CLAIM_COLUMNS };
/* clang-format on */

static const char claim_columns[] =
    "work_id TEXT, message_id TEXT, fence INTEGER, topic TEXT, payload TEXT, tenant_id TEXT, "
    "dedupe_key TEXT, correlation_id TEXT, stream TEXT, headers TEXT, attempts INTEGER, "
    "retry_count INTEGER, created_at TEXT, due_at TEXT, last_error TEXT";

static const char *claim_text(const ph_delivery *m, enum claim_column column)
{
    switch (column) {
    case TOPIC:
        return m->topic;
    case DEDUPE_KEY:
        return m->dedupe_key;
    case CORRELATION_ID:
        return m->correlation_id;
    case HEADERS:
        return m->headers;
    case LAST_ERROR:
        return m->last_error;
    default: /* there are no streams yet */
        return NULL;
    }
}

static void claim_column(const struct ph__answer *answer, size_t row, int column,
                         sqlite3_context *result)
{
    const ph_delivery *m = ph_batch_at(answer->batch, row);

    switch ((enum claim_column)column) {
    case WORK_ID:
        ph__result_id(result, m->work_id.b);
        break;
    case MESSAGE_ID:
        ph__result_id(result, m->message_id.b);
        break;
    case TENANT_ID:
        if (m->tenant_id)
            ph__result_id(result, m->tenant_id->b);
        break;
    case PAYLOAD:
        sqlite3_result_text64(result, m->payload, m->payload_length, SQLITE_TRANSIENT, SQLITE_UTF8);
        break;
    case FENCE:
        sqlite3_result_int64(result, m->fence);
        break;
    case ATTEMPTS:
        sqlite3_result_int(result, m->attempts);
        break;
    case RETRY_COUNT:
        sqlite3_result_int(result, m->retry_count);
        break;
    case CREATED_AT:
        ph__result_time(result, m->created_at);
        break;
    case DUE_AT:
        ph__result_time(result, m->due_at);
        break;
    default:
        ph__result_text(result, claim_text(m, (enum claim_column)column));
    }
}

/* ------------------------------------------------------------------- settle */

struct outcome {
    ph_work_id work_id;
    ph_outcome outcome;
};

static void outcome_column(const struct ph__answer *answer, size_t row, int column,
                           sqlite3_context *result)
{
    const struct outcome *outcome = (const struct outcome *)answer->items + row;

    if (column == 0)
        ph__result_id(result, outcome->work_id.b);
    else
        ph__result_text(result, ph_outcome_text(outcome->outcome));
}

/* What one call settles. */
struct settling {
    ph_owner owner;
    ph_lease_ref *leases;
    ph_outcome *outcomes;
    size_t count;
};

/* owner and work_ids come first in every verb. */
static int settling_load(struct ph__ext_call *call, int fences_index, struct settling *to)
{
    int r = ph__arg_owner(call, 0, &to->owner);

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

    if (!outcomes)
        return ph__fail_memory(&call->err);
    for (size_t i = 0; i < from->count; i++)
        outcomes[i] = (struct outcome){ from->leases[i].work_id, from->outcomes[i] };
    answer->items = outcomes;
    answer->count = from->count;
    return 0;
}

static int ack(struct ph__ext_call *call, struct ph__answer *answer)
{
    struct settling s;
    int r = settling_load(call, 2, &s);

    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_outbox_ack(call->ext->store, call->tx, s.owner, s.leases, s.count, 0, s.outcomes,
                          &call->err);
    return r < 0 ? r : settling_answer(call, &s, answer);
}

static int abandon(struct ph__ext_call *call, struct ph__answer *answer)
{
    int64_t delay_ms = PH_DELAY_POLICY;
    struct settling s;
    const char *error;
    int r = settling_load(call, 4, &s);

    if (r == 0)
        r = ph__arg_text(call, 2, &error);
    if (r == 0)
        r = ph__arg_seconds(call, 3, &delay_ms);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_outbox_abandon(call->ext->store, call->tx, s.owner, s.leases, s.count, error,
                              delay_ms, 0, s.outcomes, &call->err);
    return r < 0 ? r : settling_answer(call, &s, answer);
}

static int fail(struct ph__ext_call *call, struct ph__answer *answer)
{
    struct settling s;
    const char *error;
    int r = settling_load(call, 3, &s);

    if (r == 0)
        r = ph__arg_text(call, 2, &error);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_outbox_fail(call->ext->store, call->tx, s.owner, s.leases, s.count, error, 0,
                           s.outcomes, &call->err);
    return r < 0 ? r : settling_answer(call, &s, answer);
}

static int release(struct ph__ext_call *call, struct ph__answer *answer)
{
    struct settling s;
    int r = settling_load(call, 2, &s);

    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_outbox_release(call->ext->store, call->tx, s.owner, s.leases, s.count, 0, s.outcomes,
                              &call->err);
    return r < 0 ? r : settling_answer(call, &s, answer);
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
        r = ph_outbox_renew(call->ext->store, call->tx, s.owner, s.leases, s.count, (int)lease_s, 0,
                            s.outcomes, &call->err);
    return r < 0 ? r : settling_answer(call, &s, answer);
}

static int reap_expired(struct ph__ext_call *call, sqlite3_context *result)
{
    int64_t count = 0;
    int r = ph__ext_begin(call);

    if (r == 0)
        r = ph_outbox_reap_expired(call->ext->store, call->tx, 0, &count, &call->err);
    sqlite3_result_int64(result, count);
    return r;
}

/* ----------------------------------------------------------------- the table */

const struct ph__scalar_verb ph__outbox_scalars[] = {
    { { "posthorn_enqueue", 2, { "topic", "payload", "options" } }, enqueue },
    { { "posthorn_outbox_reap_expired", 0, { NULL } }, reap_expired },
    { { NULL, 0, { NULL } }, NULL },
};
const struct ph__scalar_verb *const ph__enqueue_verb = &ph__outbox_scalars[0];

static const char outcome_columns[] = "work_id TEXT, outcome TEXT";
static const char enqueued_columns[] = "work_id TEXT, message_id TEXT, is_new INTEGER";

/* clang-format off */
const struct ph__rows_verb ph__outbox_rows[] = {
    { { "posthorn_enqueue_many", 1, { "messages" } },
      enqueued_columns, 3, false, enqueue_many, enqueued_column },
    { { "posthorn_outbox_claim", 3,
        { "owner", "lease_seconds", "batch_size", "namespace", "topics" } },
      claim_columns, CLAIM_COLUMNS, true, claim, claim_column },
    { { "posthorn_outbox_ack", 2, { "owner", "work_ids", "fences" } },
      outcome_columns, 2, true, ack, outcome_column },
    { { "posthorn_outbox_abandon", 2, { "owner", "work_ids", "error", "delay_seconds", "fences" } },
      outcome_columns, 2, true, abandon, outcome_column },
    { { "posthorn_outbox_fail", 2, { "owner", "work_ids", "error", "fences" } },
      outcome_columns, 2, true, fail, outcome_column },
    { { "posthorn_outbox_release", 2, { "owner", "work_ids", "fences" } },
      outcome_columns, 2, true, release, outcome_column },
    { { "posthorn_outbox_renew", 3, { "owner", "work_ids", "lease_seconds", "fences" } },
      outcome_columns, 2, true, renew, outcome_column },
    { { NULL, 0, { NULL } }, NULL, 0, false, NULL, NULL },
};
/* clang-format on */
