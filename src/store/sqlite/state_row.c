#include "store/sqlite/state_row.h"

#include "core/error.h"
#include "core/id.h"
#include "core/names.h"

#include <string.h>

/* The columns of state_get. */
/* clang-format off */
enum { SALT, DOOR, NAMESPACE, LEVEL, TOPIC, PAYLOAD, MESSAGE_ID, TENANT_ID, DEDUPE_KEY,
       CORRELATION_ID, HEADERS, CREATED_AT, DUE_AT, EXPIRES_AT, MAX_ATTEMPTS, STATUS, ATTEMPTS,
       RETRY_COUNT, LAST_ERROR, NEXT_DUE, FENCE, LOCKED_UNTIL, OWNER, PROCESSED_AT, UPDATED_AT,
       REASON, RETRIED_AS, WAITS_FOR, STREAM, SEQ, SOURCE, DUE };
/* clang-format on */

static int load_body(const struct ph__query *query, struct ph__arena *arena, ph_delivery *m)
{
    int r = ph__column_text(query, PAYLOAD, arena, &m->payload, &m->payload_length);

    return r < 0 ? r : ph__column_text(query, HEADERS, arena, &m->headers, NULL);
}

static int measure_body(const struct ph__query *query, ph_delivery *m)
{
    if (!sqlite3_column_text(query->stmt, PAYLOAD)) /* in UTF-8, whatever the file has */
        return ph__fail_memory(query->tx->call->err);
    m->payload_length = (size_t)sqlite3_column_bytes(query->stmt, PAYLOAD);
    return 0;
}

static int load_texts(const struct ph__query *query, struct ph__arena *arena, ph_delivery *m)
{
    int r = ph__column_text(query, NAMESPACE, arena, &m->ns, NULL);

    if (r == 0)
        r = ph__column_text(query, TOPIC, arena, &m->topic, NULL);
    if (r == 0)
        r = ph__column_text(query, DEDUPE_KEY, arena, &m->dedupe_key, NULL);
    if (r == 0)
        r = ph__column_text(query, CORRELATION_ID, arena, &m->correlation_id, NULL);
    if (r == 0)
        r = ph__column_text(query, LAST_ERROR, arena, &m->last_error, NULL);
    if (r == 0)
        r = ph__column_text(query, STREAM, arena, &m->stream, NULL);
    if (r == 0)
        r = ph__column_text(query, SOURCE, arena, &m->source, NULL);
    if (m->source) {
        m->source_id = m->dedupe_key;
        m->dedupe_key = NULL;
    }
    return r;
}

static int load_message(const struct ph__query *query, const struct ph__state_wanted *wanted,
                        int64_t number, ph_message_info *info)
{
    ph_delivery *m = ph__arena_alloc(wanted->arena, sizeof(*m));
    ph_tenant_id *tenant = ph__arena_alloc(wanted->arena, sizeof(*tenant));
    int r;

    if (!m || !tenant)
        return ph__fail_memory(query->tx->call->err);
    m->work_id = ph__id_make(number, (uint64_t)ph__column_int(query, SALT));
    if (!ph__column_id(query, MESSAGE_ID, m->message_id.b))
        memcpy(m->message_id.b, m->work_id.b, sizeof(m->message_id.b));
    m->tenant_id = ph__column_id(query, TENANT_ID, tenant->b) ? tenant : NULL;
    m->fence = ph__column_int(query, FENCE);
    m->priority = ph__priority_of(ph__column_int(query, LEVEL));
    m->attempts = (int)ph__column_int(query, ATTEMPTS);
    m->retry_count = (int)ph__column_int(query, RETRY_COUNT);
    m->created_at = ph__column_int(query, CREATED_AT);
    m->due_at = ph__column_int(query, DUE);
    m->seq = ph__column_int(query, SEQ);
    info->message = m;
    r = wanted->with_payload ? load_body(query, wanted->arena, m) : measure_body(query, m);
    return r < 0 ? r : load_texts(query, wanted->arena, m);
}

static int load_state(const struct ph__query *query, ph_message_info *info)
{
    if (ph__column_is_null(query, STATUS))
        return ph__fail(query->tx->call->err, PH_ECORRUPT,
                        "the message is in no state; restore a backup");
    info->state = (ph_message_state)ph__column_int(query, STATUS);
    info->max_attempts = (int)ph__column_int(query, MAX_ATTEMPTS);
    info->requested_due_at = ph__column_int(query, DUE_AT);
    info->expires_at = ph__column_int(query, EXPIRES_AT);
    info->locked_until = ph__column_int(query, LOCKED_UNTIL);
    (void)ph__column_id(query, OWNER, info->owner.b);
    info->processed_at = ph__column_int(query, PROCESSED_AT);
    info->updated_at = ph__column_int(query, UPDATED_AT);
    info->next_attempt_at = ph__column_int(query, NEXT_DUE);
    if (!ph__column_is_null(query, REASON))
        info->dead_reason = ph__dead_reason_text((int)ph__column_int(query, REASON));
    (void)ph__column_id(query, RETRIED_AS, info->retried_as.b);
    if (!ph__column_is_null(query, WAITS_FOR) &&
        ph_id_parse((const char *)sqlite3_column_text(query->stmt, WAITS_FOR), info->waits_for.b))
        return ph__fail_memory(query->tx->call->err);
    return 0;
}

bool ph__state_overflows(struct ph__state_wanted *wanted, const ph_message_info *info, size_t count)
{
    const ph_delivery *m = info->message;
    size_t bytes = m->payload ? m->payload_length : 0;

    bytes += m->headers ? strlen(m->headers) : 0;
    if (count > 0 && wanted->bytes + bytes > PH_CLAIM_BYTES_MAX)
        return true;
    wanted->bytes += bytes;
    return false;
}

int ph__state_load(const struct ph__state_wanted *wanted, int64_t number, ph_message_info *ret_info)
{
    struct ph__query query = ph__query(wanted->tx, PH__SQL_state_get);
    int r;

    ph__query_int(&query, number);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    if (ph__column_int(&query, DOOR) == wanted->door) {
        r = load_message(&query, wanted, number, ret_info);
        if (r == 0)
            r = load_state(&query, ret_info);
        if (r == 0)
            r = 1;
    } else {
        r = 0;
    }
    ph__query_end(&query);
    return r;
}
