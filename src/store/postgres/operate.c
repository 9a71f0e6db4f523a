/* operate.c - look, count, retry, discard, set, pause and clean up in PostgreSQL. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "core/names.h"

#include <string.h>

/* ---------------------------------------------------------------------- find */

#define ORIGIN_COLUMN 28
/* Only lists have it: there the payload itself may have been left out. */
#define LENGTH_COLUMN 31

bool ph__pg_read_info(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    ph_message_info *info = item;
    ph_delivery *message = ph__arena_alloc(arena, sizeof(*message));
    bool failed = false;

    if (!message)
        return false;
    ph__pg_read_delivery(arena, result, row, message, &failed);
    ph__pg_read_origin(arena, result, row, ORIGIN_COLUMN, message, &failed);
    message->ns = ph__pg_text(arena, result, row, 15, &failed);
    if (PQnfields(result) > LENGTH_COLUMN)
        message->payload_length = (size_t)ph__pg_int(result, row, LENGTH_COLUMN);
    info->message = message;
    info->state = (ph_message_state)ph__pg_int(result, row, 16);
    info->max_attempts = (int)ph__pg_int(result, row, 17);
    info->requested_due_at = ph__pg_time(result, row, 18);
    info->expires_at = ph__pg_time(result, row, 19);
    info->locked_until = ph__pg_time(result, row, 20);
    (void)ph__pg_id(result, row, 21, info->owner.b);
    info->processed_at = ph__pg_time(result, row, 22);
    info->updated_at = ph__pg_time(result, row, 23);
    info->next_attempt_at = ph__pg_time(result, row, 24);
    info->dead_reason = ph__pg_text(arena, result, row, 25, &failed);
    (void)ph__pg_id(result, row, 26, info->retried_as.b);
    (void)ph__pg_id(result, row, 27, info->waits_for.b);
    return !failed;
}

static bool read_attempt(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    ph_attempt *to = item;
    bool failed = false;

    to->attempt = (int)ph__pg_int(result, row, 0);
    to->kind = ph__attempt_kind_text((int)ph__pg_int(result, row, 1));
    to->error = ph__pg_text(arena, result, row, 2, &failed);
    to->at = ph__pg_time(result, row, 3);
    (void)ph__pg_id(result, row, 4, to->owner.b);
    to->next_due_at = ph__pg_time(result, row, 5);
    return !failed;
}

int ph__pg_find(struct ph__call *call, ph_door door, ph_work_id id, struct ph__info *info)
{
    struct ph__pg_params params = { 0 }, of_history = { 0 };
    PGresult *result = NULL, *history = NULL;
    int r;

    ph__pg_add_uuid(&params, id.b);
    ph__pg_add_int2(&params, door);
    ph__pg_add_uuid(&of_history, id.b);
    r = ph__pg_run(call, PG_FIND, &params, PG_READS, &result);
    if (r == 0 && PQntuples(result) == 0)
        r = PH_ENOTFOUND;
    if (r == 0)
        r = ph__pg_run(call, PG_HISTORY, &of_history, PG_READS, &history);
    if (r == 0 &&
        !(ph__pg_read_info(&info->arena, result, 0, &info->info) &&
          ph__pg_read_rows(&info->arena, history, 0, read_attempt, sizeof(*info->info.history),
                           &info->info.history, &info->info.history_count)))
        r = ph__fail_memory(call->err);
    ph__pg_params_free(&params);
    ph__pg_params_free(&of_history);
    PQclear(result);
    PQclear(history);
    return r;
}

int ph__pg_count(struct ph__call *call, ph_door door, const char *ns, ph_queue_counts *ret_counts)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_int2(&params, door);
    ph__pg_add_text(&params, ns);
    r = ph__pg_run(call, PG_COUNT, &params, PG_READS, &result);
    ph__pg_params_free(&params);
    if (r < 0)
        return r;
    ret_counts->ready = ph__pg_int(result, 0, 0);
    ret_counts->scheduled = ph__pg_int(result, 0, 1);
    ret_counts->in_progress = ph__pg_int(result, 0, 2);
    ret_counts->dead = ph__pg_int(result, 0, 3);
    ret_counts->expired_leases = ph__pg_int(result, 0, 4);
    ret_counts->oldest_ready_ms = ph__pg_int(result, 0, 5);
    ret_counts->parked = ph__pg_int(result, 0, 6);
    ret_counts->waiting = ph__pg_int(result, 0, 7);
    PQclear(result);
    return 0;
}

/* -------------------------------------------------------------- dead letters */

static void add_ids(struct ph__pg_params *params, const ph_work_id *ids, size_t count)
{
    PH__PG_ARRAY(params, UUID, count, ph__pg_item_uuid(params, ids[i].b));
}

int ph__pg_dead_retry(struct ph__call *call, const ph_work_id *ids, size_t count,
                      ph_work_id *ret_new_ids)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    add_ids(&params, ids, count);
    r = ph__pg_run(call, PG_DEAD_RETRY, &params, PG_ONCE, &result);
    ph__pg_params_free(&params);
    for (int row = 0; r == 0 && row < PQntuples(result); row++) {
        for (size_t i = 0; i < count; i++) {
            if (memcmp(ids[i].b, ph__pg_uuid(result, row, 0), 16) == 0) {
                (void)ph__pg_id(result, row, 1, ret_new_ids[i].b);
                break; /* given once more, it is one that was retried already */
            }
        }
    }
    PQclear(result);
    return r;
}

int ph__pg_dead_discard(struct ph__call *call, const ph_work_id *ids, size_t count,
                        int64_t *ret_count)
{
    struct ph__pg_params params = { 0 };

    add_ids(&params, ids, count);
    return ph__pg_run_number(call, PG_DEAD_DISCARD, &params, PG_ONCE, ret_count);
}

/* ------------------------------------------------------------------- queues */

static void setting(struct ph__buffer *json, const char *name, int64_t value)
{
    if (value)
        ph__buffer_printf(json, "%s\"%s\":%lld", json->length > 1 ? "," : "", name,
                          (long long)value);
}

static void settings_json(struct ph__buffer *json, const ph_queue_settings *s)
{
    static const char *const policies[] = { "", "exponential", "equal-jitter" };
    static const char *const dead_heads[] = { "", "skip", "block" };

    ph__buffer_text(json, "{");
    setting(json, "max_attempts", s->max_attempts);
    setting(json, "backoff_base_ms", s->backoff_base_ms);
    setting(json, "backoff_max_ms", s->backoff_max_ms);
    setting(json, "retention_s", s->retention_s);
    setting(json, "dead_retention_s", s->dead_retention_s);
    setting(json, "dedupe_retention_s", s->dedupe_retention_s);
    setting(json, "max_payload_bytes", s->max_payload_bytes);
    setting(json, "max_lease_s", s->max_lease_s);
    setting(json, "affinity_grace_ms", s->affinity_grace_ms);
    if (s->dead_head)
        ph__buffer_printf(json, "%s\"dead_head\":\"%s\"", json->length > 1 ? "," : "",
                          dead_heads[s->dead_head]);
    if (s->delete_on_ack)
        ph__buffer_printf(json, "%s\"delete_on_ack\":%s", json->length > 1 ? "," : "",
                          s->delete_on_ack > 0 ? "true" : "false");
    if (s->backoff)
        ph__buffer_printf(json, "%s\"backoff\":\"%s\"", json->length > 1 ? "," : "",
                          policies[s->backoff]);
    ph__buffer_text(json, "}");
}

int ph__pg_queue_set(struct ph__call *call, ph_door door, const char *ns,
                     const ph_queue_settings *settings)
{
    struct ph__pg_params params = { 0 };
    struct ph__buffer json = { 0 };
    PGresult *result = NULL;
    int r;

    settings_json(&json, settings);
    if (json.failed)
        return ph__fail_memory(call->err);
    ph__pg_add_text(&params, ph_door_text(door));
    ph__pg_add_text(&params, ns);
    ph__pg_add_jsonb(&params, json.data);
    ph__pg_add_text(&params, settings->join_wait_topic);
    r = ph__pg_run(call, PG_QUEUE_SET, &params, PG_REPEATABLE, &result);
    ph__pg_params_free(&params);
    ph__buffer_free(&json);
    PQclear(result);
    return r;
}

int ph__pg_queue_pause(struct ph__call *call, ph_door door, const char *ns, bool paused)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_text(&params, ph_door_text(door));
    ph__pg_add_text(&params, ns);
    r = ph__pg_run(call, paused ? PG_QUEUE_PAUSE : PG_QUEUE_RESUME, &params, PG_REPEATABLE,
                   &result);
    ph__pg_params_free(&params);
    PQclear(result);
    return r;
}

int ph__pg_queue_delete(struct ph__call *call, ph_door door, const char *ns,
                        struct ph__queue_contents *contents, bool *ret_deleted)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_int2(&params, (int)door);
    ph__pg_add_text(&params, ns);
    r = ph__pg_run(call, PG_QUEUE_DELETE, &params, PG_ONCE, &result);
    ph__pg_params_free(&params);
    if (r == 0) {
        *ret_deleted = ph__pg_int(result, 0, 0) != 0;
        *contents = (struct ph__queue_contents){
            .messages = ph__pg_int(result, 0, 1),
            .keys = ph__pg_int(result, 0, 2),
            .streams = ph__pg_int(result, 0, 3),
            .coming = ph__pg_int(result, 0, 4),
            .jobs = ph__pg_int(result, 0, 5),
        };
    }
    PQclear(result);
    return r;
}

int ph__pg_retention(struct ph__call *call, int limit, int64_t *ret_count)
{
    struct ph__pg_params params = { 0 };

    ph__pg_add_int4(&params, limit);
    return ph__pg_run_number(call, PG_RETENTION, &params, PG_ONCE, ret_count);
}
