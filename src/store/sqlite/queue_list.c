/* queue_list.c - the queues of a door, with settings and counts. */
#include "store/sqlite/long_read.h"
#include "store/sqlite/operate.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/verbs.h"

/* The columns of queue_list. */
/* clang-format off */
enum { NAMESPACE, PAUSED, MAX_ATTEMPTS, BACKOFF, BACKOFF_BASE_MS, BACKOFF_MAX_MS, RETENTION_S,
       DEAD_RETENTION_S, DEDUPE_RETENTION_S, MAX_PAYLOAD_BYTES, MAX_LEASE_S, DELETE_ON_ACK,
       JOIN_WAIT_TOPIC, DEAD_HEAD, AFFINITY_GRACE_MS };
/* clang-format on */

static ph_queue_settings settings_of(const struct ph__query *query)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.max_attempts = (int)ph__column_int(query, MAX_ATTEMPTS);
    settings.backoff = (ph_backoff)ph__column_int(query, BACKOFF);
    settings.backoff_base_ms = ph__column_int(query, BACKOFF_BASE_MS);
    settings.backoff_max_ms = ph__column_int(query, BACKOFF_MAX_MS);
    settings.retention_s = ph__column_int(query, RETENTION_S);
    settings.dead_retention_s = ph__column_int(query, DEAD_RETENTION_S);
    settings.dedupe_retention_s = ph__column_int(query, DEDUPE_RETENTION_S);
    settings.max_payload_bytes = ph__column_int(query, MAX_PAYLOAD_BYTES);
    settings.max_lease_s = (int)ph__column_int(query, MAX_LEASE_S);
    settings.delete_on_ack = ph__column_int(query, DELETE_ON_ACK) ? 1 : -1;
    settings.dead_head = (ph_dead_head)ph__column_int(query, DEAD_HEAD);
    settings.affinity_grace_ms = (int)ph__column_int(query, AFFINITY_GRACE_MS);
    return settings;
}

static int load_info(const struct ph__query *query, const struct ph__rows *rows, void *item)
{
    const ph_door *door = rows->context;
    ph_queue_info *info = item;
    int r = ph__column_text(query, NAMESPACE, rows->arena, &info->ns, NULL);

    if (r < 0)
        return r;
    info->paused = ph__column_int(query, PAUSED) != 0;
    info->settings = settings_of(query);
    r = ph__column_text(query, JOIN_WAIT_TOPIC, rows->arena, &info->settings.join_wait_topic, NULL);
    if (r < 0)
        return r;
    info->counts = (ph_queue_counts)PH_QUEUE_COUNTS_INIT;
    return ph__count_within(query->tx, *door, info->ns, &info->counts);
}

static int load_list(struct ph__sqlite_tx *tx, ph_door door, const char *ns, ph_queues *list)
{
    struct ph__query query = ph__query(tx, PH__SQL_queue_list);

    ph__query_int(&query, door);
    ph__query_text(&query, ns);
    return PH__ROWS_LOAD(&query, list, load_info, &door);
}

int ph__sqlite_queue_list(struct ph__call *call, ph_door door, const char *ns, ph_queues *ret_list)
{
    struct ph__long_read read = { 0 };
    int r = ph__long_read_begin(&read, call);

    return r < 0 ? r : ph__long_read_end(&read, load_list(&read.tx, door, ns, ret_list));
}
