#include "core/error.h"
#include "core/id.h"
#include "core/names.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/verbs.h"

#include <string.h>

/* The columns of state_get. */
/* clang-format off */
enum { SALT, DOOR, NAMESPACE, LEVEL, TOPIC, PAYLOAD, MESSAGE_ID, TENANT_ID, DEDUPE_KEY,
       CORRELATION_ID, HEADERS, CREATED_AT, DUE_AT, EXPIRES_AT, MAX_ATTEMPTS, STATUS, ATTEMPTS,
       RETRY_COUNT, LAST_ERROR, NEXT_DUE, FENCE, LOCKED_UNTIL, OWNER, PROCESSED_AT, UPDATED_AT,
       REASON, RETRIED_AS, DUE };
/* clang-format on */

static int load_texts(const struct ph__query *query, struct ph__arena *arena, ph_delivery *m)
{
    int r = ph__column_text(query, NAMESPACE, arena, &m->ns, NULL);

    if (r == 0)
        r = ph__column_text(query, TOPIC, arena, &m->topic, NULL);
    if (r == 0)
        r = ph__column_text(query, PAYLOAD, arena, &m->payload, &m->payload_length);
    if (r == 0)
        r = ph__column_text(query, DEDUPE_KEY, arena, &m->dedupe_key, NULL);
    if (r == 0)
        r = ph__column_text(query, CORRELATION_ID, arena, &m->correlation_id, NULL);
    if (r == 0)
        r = ph__column_text(query, HEADERS, arena, &m->headers, NULL);
    if (r == 0)
        r = ph__column_text(query, LAST_ERROR, arena, &m->last_error, NULL);
    return r;
}

static int load_message(const struct ph__query *query, ph_work_id id, struct ph__info *info)
{
    ph_delivery *m = ph__arena_alloc(&info->arena, sizeof(*m));
    ph_tenant_id *tenant = ph__arena_alloc(&info->arena, sizeof(*tenant));

    if (!m || !tenant)
        return ph__fail_memory(query->tx->call->err);
    m->work_id = id;
    if (!ph__column_id(query, MESSAGE_ID, m->message_id.b))
        memcpy(m->message_id.b, id.b, sizeof(m->message_id.b));
    m->tenant_id = ph__column_id(query, TENANT_ID, tenant->b) ? tenant : NULL;
    m->fence = ph__column_int(query, FENCE);
    m->priority = (ph_priority)(ph__column_int(query, LEVEL) + 1);
    m->attempts = (int)ph__column_int(query, ATTEMPTS);
    m->retry_count = (int)ph__column_int(query, RETRY_COUNT);
    m->created_at = ph__column_int(query, CREATED_AT);
    m->due_at = ph__column_int(query, DUE);
    info->info.message = m;
    return load_texts(query, &info->arena, m);
}

static int load_state(const struct ph__query *query, ph_message_info *info)
{
    if (ph__column_is_null(query, STATUS))
        return ph__fail(query->tx->call->err, PH_ECORRUPT,
                        "the message is in no state; restore a backup");
    info->status = (ph_message_status)ph__column_int(query, STATUS);
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
    return 0;
}

static int load_row(struct ph__sqlite_tx *tx, enum ph__door door, ph_work_id id, int64_t number,
                    uint64_t salt, struct ph__info *info)
{
    struct ph__query query = ph__query(tx, PH__SQL_state_get);
    int r;

    ph__query_int(&query, number);
    r = ph__query_row(&query);
    if (r <= 0)
        return r < 0 ? r : PH_ENOTFOUND;
    if ((uint64_t)ph__column_int(&query, SALT) != salt || ph__column_int(&query, DOOR) != door)
        r = PH_ENOTFOUND;
    else
        r = load_message(&query, id, info);
    if (r == 0)
        r = load_state(&query, &info->info);
    ph__query_end(&query);
    return r;
}

static int add_attempt(const struct ph__query *query, struct ph__info *info, ph_attempt **list,
                       size_t *capacity)
{
    size_t count = info->info.history_count;
    ph_attempt *entry;

    if (count == *capacity) {
        size_t more = *capacity ? *capacity * 2 : 8;
        ph_attempt *longer = ph__arena_alloc(&info->arena, more * sizeof(*longer));

        if (!longer)
            return ph__fail_memory(query->tx->call->err);
        if (count)
            memcpy(longer, *list, count * sizeof(*longer));
        *list = longer;
        *capacity = more;
    }
    entry = &(*list)[count];
    entry->attempt = (int)ph__column_int(query, 0);
    entry->kind = ph__attempt_kind_text((int)ph__column_int(query, 1));
    entry->at = ph__column_int(query, 3);
    (void)ph__column_id(query, 4, entry->owner.b);
    entry->next_due_at = ph__column_int(query, 5);
    info->info.history = *list;
    info->info.history_count = count + 1;
    return ph__column_text(query, 2, &info->arena, &entry->error, NULL);
}

static int load_history(struct ph__sqlite_tx *tx, int64_t number, struct ph__info *info)
{
    struct ph__query query = ph__query(tx, PH__SQL_attempt_log_get);
    ph_attempt *list = NULL;
    size_t capacity = 0;
    int r;

    ph__query_int(&query, number);
    while ((r = ph__query_row(&query)) > 0) {
        r = add_attempt(&query, info, &list, &capacity);
        if (r < 0)
            break;
    }
    ph__query_end(&query);
    return r;
}

int ph__sqlite_find(struct ph__call *call, enum ph__door door, ph_work_id id, struct ph__info *info)
{
    struct ph__sqlite_tx tx;
    int64_t number;
    uint64_t salt;
    int r;

    if (!ph__id_split(id, &number, &salt))
        return PH_ENOTFOUND;
    r = ph__sqlite_begin_read(&tx, call);
    if (r < 0)
        return r;
    r = load_row(&tx, door, id, number, salt, info);
    if (r == 0)
        r = load_history(&tx, number, info);
    return ph__sqlite_end(&tx, r);
}
