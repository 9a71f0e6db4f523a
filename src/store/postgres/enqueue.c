/* enqueue.c - messages into PostgreSQL: one through work_enqueue, many through
 * work_enqueue_many, which takes columns. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "core/join.h"

#include <string.h>

static void read_enqueued(const PGresult *result, int row, ph_enqueued *to)
{
    const uint8_t *work_id = ph__pg_uuid(result, row, 0);
    const uint8_t *message_id = ph__pg_uuid(result, row, 1);

    memset(to, 0, sizeof(*to));
    if (work_id && message_id) {
        memcpy(to->work_id.b, work_id, sizeof(to->work_id.b));
        memcpy(to->message_id.b, message_id, sizeof(to->message_id.b));
    }
    to->is_new = ph__pg_int(result, row, 2) != 0;
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

/* Values that hardly any message has: a list without any is not sent. */
struct extras {
    bool join, stream;
};

static struct extras find_extras(const struct ph__message *messages, size_t n)
{
    struct extras found = { 0 };

    for (size_t i = 0; i < n; i++) {
        found.join |= messages[i].join_id != NULL;
        found.stream |= messages[i].stream != NULL;
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

static void add_no_messages(struct ph__pg_params *p)
{
    static const enum ph__pg_oid types[] = { PG_TEXTS, PG_TEXTS, PG_TEXTS,  PG_UUIDS,
                                             PG_TEXTS, PG_TEXTS, PG_TEXTS,  PG_INT2S,
                                             PG_TIMES, PG_TIMES, PG_JSONBS, PG_UUIDS,
                                             PG_INT2S, PG_UUIDS, PG_TEXTS,  PG_BOOLS };

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        ph__pg_add_null(p, types[i]);
}

static void add_attempts(struct ph__pg_params *p, int max_attempts)
{
    if (max_attempts)
        ph__pg_item_int2(p, max_attempts);
    else
        ph__pg_item_null(p);
}

void ph__pg_add_messages(struct ph__pg_params *p, const struct ph__message *messages, size_t n)
{
    struct extras extras;

    if (n == 0) {
        add_no_messages(p);
        return;
    }
    extras = find_extras(messages, n);
    PH__PG_ARRAY(p, TEXT, n, ph__pg_item_text(p, messages[i].ns));
    PH__PG_ARRAY(p, TEXT, n, ph__pg_item_text(p, messages[i].topic));
    PH__PG_ARRAY(p, TEXT, n, ph__pg_item_bytes(p, messages[i].payload, messages[i].payload_length));
    PH__PG_ARRAY(p, UUID, n, ph__pg_item_uuid(p, tenant_of(&messages[i])));
    PH__PG_ARRAY(p, TEXT, n, ph__pg_item_text(p, messages[i].dedupe_key));
    PH__PG_ARRAY(p, TEXT, n, ph__pg_item_text(p, messages[i].correlation_id));
    if (extras.stream)
        PH__PG_ARRAY(p, TEXT, n, ph__pg_item_text(p, messages[i].stream));
    else
        ph__pg_add_null(p, PG_TEXTS);
    PH__PG_ARRAY(p, INT2, n, ph__pg_item_int2(p, messages[i].level));
    PH__PG_ARRAY(p, TIME, n, ph__pg_item_time(p, messages[i].due_at));
    PH__PG_ARRAY(p, TIME, n, ph__pg_item_time(p, messages[i].expires_at));
    PH__PG_ARRAY(p, JSONB, n, ph__pg_item_jsonb(p, messages[i].headers));
    PH__PG_ARRAY(p, UUID, n, ph__pg_item_uuid(p, message_id_of(&messages[i])));
    PH__PG_ARRAY(p, INT2, n, add_attempts(p, messages[i].max_attempts));
    if (extras.join)
        PH__PG_ARRAY(p, UUID, n, ph__pg_item_uuid(p, join_of(&messages[i])));
    else
        ph__pg_add_null(p, PG_UUIDS);
    if (messages->source) {
        PH__PG_ARRAY(p, TEXT, n, ph__pg_item_text(p, messages[i].source));
        PH__PG_ARRAY(p, BOOL, n, ph__pg_item_bool(p, messages[i].handled));
    } else {
        ph__pg_add_null(p, PG_TEXTS);
        ph__pg_add_null(p, PG_BOOLS);
    }
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

/* Why nothing was stored: of one message, or of that with the index in the result. */
static int read_problem(struct ph__call *call, const PGresult *result,
                        const struct ph__message *messages, size_t count)
{
    const struct ph__pg_message_problem problem = {
        .at = (size_t)ph__pg_int(result, 0, 4),
        .words = PQgetvalue(result, 0, 3),
        .join_problem = (int)ph__pg_int(result, 0, 5),
        .message = ph__pg_uuid(result, 0, 1),
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
    else if ((size_t)PQntuples(result) != count)
        r = ph__pg_misfit(call);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, 6);
    for (size_t i = 0; r == 0 && i < count; i++)
        read_enqueued(result, (int)i, &ret_enqueued[i]);
    PQclear(result);
    if (r < 0 || door > PH_INBOX)
        return r; /* no dispatcher listens at the other doors: schedulers look when something is due */
    if (!call->connection)
        ph__pg_ring_after(call, messages, count, ret_enqueued);
    else if (call->store->lends)
        ph__pg_ring_owe(call->store->own, messages, count, ret_enqueued);
    return r;
}
