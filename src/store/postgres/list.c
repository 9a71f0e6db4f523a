/* list.c - lists of messages and queues from PostgreSQL. */
#include "store/postgres/pg.h"

#include "core/error.h"

int ph__pg_list(struct ph__call *call, const struct ph__list *list, ph_messages *ret_list)
{
    struct ph__pg_params params = { 0 };

    ph__pg_add_int2(&params, list->door);
    ph__pg_add_text(&params, list->ns);
    ph__pg_add_text(&params, list->topic);
    ph__pg_add_int4(&params, list->state);
    ph__pg_add_bool(&params, list->oldest_first);
    ph__pg_add_int4(&params, list->limit);
    ph__pg_add_uuid(&params, list->after.b);
    ph__pg_add_bool(&params, list->with_payload);
    return PH__PG_RUN_LIST(call, PG_LIST, &params, ph__pg_read_info, ret_list);
}

static bool read_queue(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    ph_queue_info *to = item;
    bool failed = false;

    to->ns = ph__pg_text(arena, result, row, 0, &failed);
    to->paused = ph__pg_int(result, row, 1) != 0;
    to->settings = (ph_queue_settings){
        .size = sizeof(to->settings),
        .max_attempts = (int)ph__pg_int(result, row, 2),
        .backoff = (ph_backoff)ph__pg_int(result, row, 3),
        .backoff_base_ms = ph__pg_int(result, row, 4),
        .backoff_max_ms = ph__pg_int(result, row, 5),
        .retention_s = ph__pg_int(result, row, 6),
        .dead_retention_s = ph__pg_int(result, row, 7),
        .dedupe_retention_s = ph__pg_int(result, row, 8),
        .max_payload_bytes = ph__pg_int(result, row, 9),
        .max_lease_s = (int)ph__pg_int(result, row, 10),
        .delete_on_ack = ph__pg_int(result, row, 11) ? 1 : -1,
        .join_wait_topic = ph__pg_text(arena, result, row, 18, &failed),
        .dead_head = (ph_dead_head)ph__pg_int(result, row, 20),
        .affinity_grace_ms = (int)ph__pg_int(result, row, 21),
    };
    to->counts = (ph_queue_counts){
        .size = sizeof(to->counts),
        .ready = ph__pg_int(result, row, 12),
        .scheduled = ph__pg_int(result, row, 13),
        .in_progress = ph__pg_int(result, row, 14),
        .dead = ph__pg_int(result, row, 15),
        .expired_leases = ph__pg_int(result, row, 16),
        .oldest_ready_ms = ph__pg_int(result, row, 17),
        .parked = ph__pg_int(result, row, 19),
        .waiting = ph__pg_int(result, row, 22),
    };
    return !failed;
}

int ph__pg_queue_list(struct ph__call *call, ph_door door, const char *ns, ph_queues *ret_list)
{
    struct ph__pg_params params = { 0 };

    ph__pg_add_int2(&params, door);
    ph__pg_add_text(&params, ns);
    return PH__PG_RUN_LIST(call, PG_QUEUES, &params, read_queue, ret_list);
}
