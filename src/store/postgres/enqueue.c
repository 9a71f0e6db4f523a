/* enqueue.c - messages into PostgreSQL: one through work_enqueue, many through
 * work_enqueue_many, which takes a row of lists. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "core/join.h"

#include <string.h>

static void read_enqueued(const PGresult *result, ph_enqueued *to)
{
    const uint8_t *work_id = ph__pg_uuid(result, 0, 0);
    const uint8_t *message_id = ph__pg_uuid(result, 0, 1);

    memset(to, 0, sizeof(*to));
    if (work_id && message_id) {
        memcpy(to->work_id.b, work_id, sizeof(to->work_id.b));
        memcpy(to->message_id.b, message_id, sizeof(to->message_id.b));
    }
    to->is_new = ph__pg_int(result, 0, 2) != 0;
}

int ph__pg_read_enqueued(struct ph__call *call, const PGresult *result, int column, size_t count,
                         ph_enqueued *ret_enqueued)
{
    bool same_ids = PQgetisnull(result, 0, column + 1);
    bool all_new = PQgetisnull(result, 0, column + 2);

    for (size_t i = 0; i < count; i++) {
        const uint8_t *work_id = ph__pg_uuid_at(result, 0, column, i);
        const uint8_t *message_id = same_ids ? work_id : ph__pg_uuid_at(result, 0, column + 1, i);
        ph_enqueued *to = &ret_enqueued[i];

        if (!work_id || !message_id)
            return ph__pg_misfit(call);
        *to = (ph_enqueued){ .is_new = all_new || ph__pg_bool_at(result, 0, column + 2, i) };
        memcpy(to->work_id.b, work_id, sizeof(to->work_id.b));
        memcpy(to->message_id.b, message_id, sizeof(to->message_id.b));
    }
    return 0;
}

static const uint8_t *tenant_of(const struct ph__message *m)
{
    return m->tenant_id ? m->tenant_id->b : NULL;
}

static const uint8_t *message_id_of(const struct ph__message *m)
{
    return m->message_id ? m->message_id->b : NULL;
}

static const uint8_t *join_of(const struct ph__message *m)
{
    return m->join_id ? m->join_id->b : NULL;
}

/* Which values some message has: a list without any is not sent. */
struct extras {
    bool tenant, key, correlation, stream, due, expires, headers, message_id, attempts, join;
};

static struct extras find_extras(const struct ph__message *messages, size_t n)
{
    struct extras found = { 0 };

    for (size_t i = 0; i < n; i++) {
        const struct ph__message *m = &messages[i];

        found.tenant |= m->tenant_id != NULL;
        found.key |= m->dedupe_key != NULL;
        found.correlation |= m->correlation_id != NULL;
        found.stream |= m->stream != NULL;
        found.due |= m->due_at != 0;
        found.expires |= m->expires_at != 0;
        found.headers |= m->headers != NULL;
        found.message_id |= m->message_id != NULL;
        found.attempts |= m->max_attempts != 0;
        found.join |= m->join_id != NULL;
    }
    return found;
}

static void add_one(struct ph__pg_params *p, ph_door door, const struct ph__message *m)
{
    ph__pg_add_int2(p, door);
    ph__pg_add_text(p, m->ns);
    ph__pg_add_text(p, m->topic);
    ph__pg_add_bytes(p, m->payload, m->payload_length);
    ph__pg_add_uuid(p, tenant_of(m));
    ph__pg_add_text(p, m->dedupe_key);
    ph__pg_add_text(p, m->correlation_id);
    ph__pg_add_text(p, m->stream);
    ph__pg_add_int2(p, m->level);
    ph__pg_add_time(p, m->due_at);
    ph__pg_add_time(p, m->expires_at);
    ph__pg_add_jsonb(p, m->headers);
    ph__pg_add_uuid(p, message_id_of(m));
    if (m->max_attempts)
        ph__pg_add_int2(p, m->max_attempts);
    else
        ph__pg_add_null(p, PG_INT2);
    ph__pg_add_uuid(p, join_of(m));
    ph__pg_add_text(p, m->source);
    ph__pg_add_bool(p, m->handled);
}

static void add_attempts(struct ph__pg_params *p, int max_attempts)
{
    if (max_attempts)
        ph__pg_item_int2(p, max_attempts);
    else
        ph__pg_item_null(p);
}

#define LIST_IF(has, params, type, count, item)                                                    \
    do {                                                                                           \
        if (has)                                                                                   \
            PH__PG_ARRAY(params, type, count, item);                                               \
        else                                                                                       \
            ph__pg_add_null(params, PG_##type##S);                                                 \
    } while (0)

void ph__pg_add_messages(struct ph__pg_params *p, const struct ph__message *messages, size_t n)
{
    const struct extras some = find_extras(messages, n);

    if (n == 0) {
        ph__pg_add_null(p, PG_ROW);
        return;
    }
    ph__pg_row_begin(p);
    PH__PG_ARRAY(p, TEXT, n, ph__pg_item_text(p, messages[i].ns));
    PH__PG_ARRAY(p, TEXT, n, ph__pg_item_text(p, messages[i].topic));
    PH__PG_ARRAY(p, TEXT, n, ph__pg_item_bytes(p, messages[i].payload, messages[i].payload_length));
    LIST_IF(some.tenant, p, UUID, n, ph__pg_item_uuid(p, tenant_of(&messages[i])));
    LIST_IF(some.key, p, TEXT, n, ph__pg_item_text(p, messages[i].dedupe_key));
    LIST_IF(some.correlation, p, TEXT, n, ph__pg_item_text(p, messages[i].correlation_id));
    LIST_IF(some.stream, p, TEXT, n, ph__pg_item_text(p, messages[i].stream));
    PH__PG_ARRAY(p, INT2, n, ph__pg_item_int2(p, messages[i].level));
    LIST_IF(some.due, p, TIME, n, ph__pg_item_time(p, messages[i].due_at));
    LIST_IF(some.expires, p, TIME, n, ph__pg_item_time(p, messages[i].expires_at));
    LIST_IF(some.headers, p, JSONB, n, ph__pg_item_jsonb(p, messages[i].headers));
    LIST_IF(some.message_id, p, UUID, n, ph__pg_item_uuid(p, message_id_of(&messages[i])));
    LIST_IF(some.attempts, p, INT2, n, add_attempts(p, messages[i].max_attempts));
    LIST_IF(some.join, p, UUID, n, ph__pg_item_uuid(p, join_of(&messages[i])));
    LIST_IF(messages->source, p, TEXT, n, ph__pg_item_text(p, messages[i].source));
    LIST_IF(messages->source, p, BOOL, n, ph__pg_item_bool(p, messages[i].handled));
    ph__pg_row_end(p);
}

int ph__pg_check_volume(const struct ph__message *messages, size_t count, ph_error *err)
{
    const size_t most = (size_t)512 * 1024 * 1024;
    size_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += messages[i].payload_length;
    if (sum > most)
        return ph__fail(err, PH_EINVAL,
                        "the payloads have %zu bytes together; at most %zu fit in one call", sum,
                        most);
    return 0;
}

int ph__pg_message_problem(struct ph__call *call, const struct ph__message *messages, size_t count,
                           const struct ph__pg_message_problem *p)
{
    ph_message_id message = { 0 };

    if (p->at >= count || (p->join_problem && !messages[p->at].join_id))
        return ph__pg_misfit(call);
    if (p->join_problem) {
        if (p->message)
            memcpy(message.b, p->message, sizeof(message.b));
        return ph__join_problem(call->err, (enum ph__join_problem)p->join_problem,
                                *messages[p->at].join_id, &message);
    }
    ph__fail(call->err, PH_EINVAL, "%s", p->words);
    return count == 1 ? PH_EINVAL : ph__item(call->err, PH_EINVAL, p->at);
}

/* Why nothing was stored: of one message, which tells of a join's message in its place, or of that
 * with the index in the result. */
static int read_problem(struct ph__call *call, const PGresult *result,
                        const struct ph__message *messages, size_t count)
{
    const struct ph__pg_message_problem problem = {
        .at = (size_t)ph__pg_int(result, 0, 4),
        .words = PQgetvalue(result, 0, 3),
        .join_problem = (int)ph__pg_int(result, 0, 5),
        .message = ph__pg_uuid(result, 0, count == 1 ? 1 : 7),
    };

    return ph__pg_message_problem(call, messages, count, &problem);
}

int ph__pg_enqueue(struct ph__call *call, ph_door door, const struct ph__message *messages,
                   size_t count, ph_enqueued *ret_enqueued)
{
    struct ph__pg_params params = { 0 };
    enum ph__pg_statement statement = count == 1 ? PG_ENQUEUE : PG_ENQUEUE_MANY;
    PGresult *result = NULL;
    int r = ph__pg_check_volume(messages, count, call->err);

    if (r < 0)
        return r;
    if (count == 1) {
        add_one(&params, door, messages);
    } else {
        ph__pg_add_int2(&params, door);
        ph__pg_add_messages(&params, messages, count);
    }
    r = ph__pg_run(call, statement, &params, PG_ONCE, &result);
    ph__pg_params_free(&params);
    if (r < 0)
        return r;
    if (PQntuples(result) > 0 && !(PQgetisnull(result, 0, 3) && PQgetisnull(result, 0, 5)))
        r = read_problem(call, result, messages, count);
    else if (PQntuples(result) != 1)
        r = ph__pg_misfit(call);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, 6);
    if (r == 0 && count == 1)
        read_enqueued(result, ret_enqueued);
    else if (r == 0)
        r = ph__pg_read_enqueued(call, result, 0, count, ret_enqueued);
    PQclear(result);
    if (r < 0 || door > PH_INBOX)
        return r; /* no dispatcher listens at the other doors: schedulers look when something is due */
    if (!call->connection)
        ph__pg_ring_after(call, messages, count, ret_enqueued);
    else if (call->store->lends)
        ph__pg_ring_owe(call->store->own, messages, count, ret_enqueued);
    return r;
}
