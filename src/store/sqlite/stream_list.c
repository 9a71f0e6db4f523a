/* stream_list.c - streams for operators: the state of each, its head, and its owner. */
#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/affinity.h"
#include "store/sqlite/long_read.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/verbs.h"

#include <string.h>

struct listing {
    struct ph__sqlite_tx *tx;
    const struct ph__stream_query *query;
    const char *service; /* the service whose instances own the partitions; NULL: none */
};

/* The columns of stream_list and stream_one, and of stream_shown. */
enum { NAMESPACE, KEY, ID, HASH, LAST_SEQ, BUSY, CREATED_AT };
enum { HEAD, SALT, SEQ, DUE, ATTEMPTS, OWNER, UNTIL, TOPIC };

/* A stream's token is a row of pending, which has a due time, or a run in a lease. */
static ph_stream_state state_of(const struct ph__query *token)
{
    int64_t due = ph__column_int(token, DUE);

    if (ph__column_is_null(token, DUE))
        return PH_STREAM_IN_PROGRESS;
    if (due == INT64_MAX)
        return PH_STREAM_BLOCKED;
    return due <= token->tx->now ? PH_STREAM_READY : PH_STREAM_SCHEDULED;
}

static void show_token(const struct ph__query *token, ph_stream_info *info)
{
    bool blocked, held;

    info->state = state_of(token);
    blocked = info->state == PH_STREAM_BLOCKED;
    held = info->state == PH_STREAM_IN_PROGRESS;
    if (!ph__column_is_null(token, HEAD)) {
        info->head =
            ph__id_make(ph__column_int(token, HEAD), (uint64_t)ph__column_int(token, SALT));
        info->next_seq = ph__column_int(token, SEQ) + blocked; /* a dead message is settled */
    }
    info->head_due_at = blocked || held ? 0 : ph__column_int(token, DUE);
    info->head_attempts = blocked ? 0 : (int)ph__column_int(token, ATTEMPTS);
    if (held)
        (void)ph__column_id(token, OWNER, info->owner.b);
    info->locked_until = ph__column_int(token, UNTIL);
}

/* *ret_topic: of its head, from the arena; as it was: there is none. */
static int load_token(struct ph__sqlite_tx *tx, int64_t id, struct ph__arena *arena,
                      ph_stream_info *info, const char **ret_topic)
{
    struct ph__query query = ph__query(tx, PH__SQL_stream_shown);
    int r;

    ph__query_int(&query, id);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    show_token(&query, info);
    r = ph__column_text(&query, TOPIC, arena, ret_topic, NULL);
    ph__query_end(&query);
    return r;
}

static int load_affinity(const struct listing *l, const char *topic, ph_stream_info *info)
{
    struct ph__partition partition = { l->service, info->partition, l->query->door, info->ns,
                                       topic };
    bool found = false;
    int r;

    if (!l->service)
        return 0;
    r = ph__partition_owner(l->tx, &partition, &info->affinity_owner, &found);
    if (r == 0 && found)
        info->affinity_service = l->service;
    return r;
}

static int load_info(const struct ph__query *query, const struct ph__rows *rows, void *item)
{
    const struct listing *l = rows->context;
    ph_stream_info *info = item;
    const char *topic = NULL;
    int r = ph__column_text(query, NAMESPACE, rows->arena, &info->ns, NULL);

    if (r == 0)
        r = ph__column_text(query, KEY, rows->arena, &info->stream, NULL);
    info->door = l->query->door;
    info->partition = (int)(ph__column_int(query, HASH) % l->query->partition_count);
    info->last_seq = ph__column_int(query, LAST_SEQ);
    info->next_seq = info->last_seq + 1;
    info->created_at = ph__column_int(query, CREATED_AT);
    if (r == 0 && ph__column_int(query, BUSY))
        r = load_token(l->tx, ph__column_int(query, ID), rows->arena, info, &topic);
    info->unsettled = info->last_seq - info->next_seq + 1;
    return r < 0 ? r : load_affinity(l, topic, info);
}

static int load_list(struct listing *l, ph_streams *list)
{
    const struct ph__stream_query *wanted = l->query;
    struct ph__query query =
        ph__query(l->tx, wanted->key ? PH__SQL_stream_one : PH__SQL_stream_list);

    ph__query_int(&query, wanted->door);
    ph__query_text(&query, wanted->ns);
    ph__query_int(&query, wanted->idle_too);
    ph__query_text(&query, wanted->after_ns);
    ph__query_text(&query, wanted->after_key);
    ph__query_int(&query, wanted->limit);
    if (wanted->key)
        ph__query_text(&query, wanted->key);
    return PH__ROWS_LOAD(&query, list, load_info, l);
}

int ph__sqlite_stream_list(struct ph__call *call, const struct ph__stream_query *query,
                           ph_streams *ret_list)
{
    struct ph__long_read read = { 0 };
    struct listing l = { .tx = &read.tx, .query = query };
    int r = ph__long_read_begin(&read, call);

    if (r < 0)
        return r;
    if (query->service)
        l.service = ph__arena_copy(&ret_list->arena, query->service, strlen(query->service));
    r = query->service && !l.service ? ph__fail_memory(call->err) : load_list(&l, ret_list);
    return ph__long_read_end(&read, r);
}
