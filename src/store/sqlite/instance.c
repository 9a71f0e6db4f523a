#include "store/sqlite/instance.h"

#include "store/sqlite/reap.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/verbs.h"

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)
#define BEATS_PER_THRESHOLD 10

/* The stored part of an instance. */
struct stored {
    int state; /* 0: it is not known */
    int64_t heartbeat_at, stale_s;
    bool same; /* as it says that it is */
};

static struct ph__query instance_query(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which,
                                       const struct ph__instance *instance)
{
    struct ph__query query = ph__query(tx, which);

    ph__query_id(&query, instance->id.b);
    ph__query_text(&query, instance->service);
    ph__query_text(&query, instance->host);
    ph__query_int(&query, instance->process_id);
    ph__query_text(&query, instance->metadata);
    ph__query_int(&query, instance->lease_s);
    ph__query_int(&query, instance->stale_s);
    ph__query_int(&query, instance->partition_count);
    return query;
}

static int load(struct ph__sqlite_tx *tx, const struct ph__instance *instance,
                struct stored *ret_stored)
{
    struct ph__query query = instance_query(tx, PH__SQL_instance_get, instance);
    int r;

    *ret_stored = (struct stored){ 0 };
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    *ret_stored = (struct stored){ .state = (int)ph__column_int(&query, 0),
                                   .heartbeat_at = ph__column_int(&query, 1),
                                   .stale_s = ph__column_int(&query, 2),
                                   .same = ph__column_int(&query, 3) != 0 };
    ph__query_end(&query);
    return 0;
}

static bool beat_is_due(const struct ph__sqlite_tx *tx, const struct stored *stored)
{
    int64_t rest = stored->stale_s * SECOND / BEATS_PER_THRESHOLD;
    int64_t least = stored->stale_s > 1 ? SECOND : SECOND / 2; /* below the threshold in any case */

    return !stored->same || tx->now - stored->heartbeat_at > (rest > least ? rest : least);
}

/* 1 if there is a stale one other than this. */
static int find_stale(struct ph__sqlite_tx *tx, const ph_owner *but, ph_owner *ret_id)
{
    struct ph__query query = ph__query(tx, PH__SQL_instance_stale);
    int r;

    ph__query_id(&query, but->b);
    ph__query_int(&query, tx->now);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    (void)ph__column_id(&query, 0, ret_id->b);
    ph__query_end(&query);
    return 1;
}

int ph__instance_look(struct ph__sqlite_tx *tx, const struct ph__instance *instance)
{
    struct stored stored;
    ph_owner stale;
    int r = load(tx, instance, &stored);

    if (r < 0)
        return r;
    if (stored.state > PH_INSTANCE_LIVE)
        return PH_EEVICTED;
    if (stored.state == 0 || beat_is_due(tx, &stored))
        return 1;
    return find_stale(tx, &instance->id, &stale);
}

/* Registers it, or writes its heartbeat. */
static int write(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which,
                 const struct ph__instance *instance)
{
    struct ph__query query = instance_query(tx, which, instance);

    ph__query_int(&query, tx->now);
    return ph__query_run(&query);
}

static int end(struct ph__sqlite_tx *tx, const ph_owner *id, ph_instance_state state)
{
    struct ph__query query = ph__query(tx, PH__SQL_instance_end);

    ph__query_id(&query, id->b);
    ph__query_int(&query, state);
    ph__query_int(&query, tx->now);
    return ph__query_run(&query);
}

static int evict_all(struct ph__sqlite_tx *tx, const ph_owner *but, int *count, ph_owner *ret_one)
{
    ph_owner stale;
    int64_t messages = 0;
    int r;

    while ((r = find_stale(tx, but, &stale)) > 0) {
        r = end(tx, &stale, PH_INSTANCE_EVICTED);
        if (r == 0)
            r = ph__reap_owner(tx, stale, &messages);
        if (r < 0)
            break;
        ++*count;
        *ret_one = stale;
    }
    tx->call->ends.reaped += messages;
    return r;
}

int ph__instance_beat(struct ph__sqlite_tx *tx, const struct ph__instance *instance,
                      bool *ret_registered, int *ret_evicted, ph_owner *ret_one)
{
    struct stored stored;
    int evicted = 0;
    int r = load(tx, instance, &stored);

    if (r == 0 && stored.state > PH_INSTANCE_LIVE)
        r = PH_EEVICTED;
    if (r == 0 && stored.state == 0)
        r = write(tx, PH__SQL_instance_insert, instance);
    else if (r == 0 && beat_is_due(tx, &stored))
        r = write(tx, PH__SQL_instance_beat, instance);
    if (r == 0)
        r = evict_all(tx, &instance->id, &evicted, ret_one);
    if (r < 0)
        return r;
    *ret_registered = stored.state == 0;
    *ret_evicted = evicted;
    return 0;
}

int ph__sqlite_instance_leave(struct ph__call *call, ph_owner id, bool *ret_left)
{
    struct ph__sqlite_tx tx;
    struct stored stored;
    int64_t messages = 0;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    r = load(&tx, &(struct ph__instance){ .id = id }, &stored);
    if (r == 0 && stored.state == PH_INSTANCE_LIVE) {
        r = end(&tx, &id, PH_INSTANCE_LEFT);
        if (r == 0)
            r = ph__release_owner(&tx, id, &messages);
    }
    r = ph__sqlite_end(&tx, r);
    if (r == 0)
        *ret_left = stored.state == PH_INSTANCE_LIVE;
    return r;
}

/* The columns of instance_list. */
/* clang-format off */
enum { ID, SERVICE, HOST, PROCESS_ID, METADATA, STATE, STARTED_AT, HEARTBEAT_AT, ENDED_AT, LEASE_S,
       STALE_S, IN_PROGRESS, PARTITIONS };
/* clang-format on */

static int load_info(const struct ph__query *query, const struct ph__rows *rows, void *item)
{
    ph_instance_info *info = item;
    int r = ph__column_text(query, SERVICE, rows->arena, &info->service, NULL);

    if (r == 0)
        r = ph__column_text(query, HOST, rows->arena, &info->host, NULL);
    if (r == 0)
        r = ph__column_text(query, METADATA, rows->arena, &info->metadata, NULL);
    (void)ph__column_id(query, ID, info->id.b);
    info->process_id = (int)ph__column_int(query, PROCESS_ID);
    info->state = (ph_instance_state)ph__column_int(query, STATE);
    info->started_at = ph__column_int(query, STARTED_AT);
    info->last_heartbeat_at = ph__column_int(query, HEARTBEAT_AT);
    info->ended_at = ph__column_int(query, ENDED_AT);
    info->lease_s = (int)ph__column_int(query, LEASE_S);
    info->stale_threshold_s = (int)ph__column_int(query, STALE_S);
    info->in_progress = ph__column_int(query, IN_PROGRESS);
    info->partition_count = (int)ph__column_int(query, PARTITIONS);
    return r;
}

static int load_list(struct ph__sqlite_tx *tx, const char *service, bool all, ph_instances *list)
{
    struct ph__query query = ph__query(tx, PH__SQL_instance_list);

    ph__query_text(&query, service);
    ph__query_int_or_null(&query, all ? tx->now - DAY : 0);
    return PH__ROWS_LOAD(&query, list, load_info, NULL);
}

int ph__sqlite_instance_list(struct ph__call *call, const char *service, bool all,
                             ph_instances *ret_list)
{
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_read(&tx, call);

    return r < 0 ? r : ph__sqlite_end(&tx, load_list(&tx, service, all, ret_list));
}
