/* coordination.c - instances, streams, receptors and checkpoints in PostgreSQL. */
#include "store/postgres/pg.h"

#include "core/error.h"

#include <string.h>

/* ----------------------------------------------------------------- instances */

int ph__pg_instance_leave(struct ph__call *call, ph_owner id, bool *ret_left)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_uuid(&params, id.b);
    r = ph__pg_run_row(call, PG_INSTANCE_LEAVE, &params, PG_ONCE, &result);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, 1);
    if (r == 0)
        *ret_left = ph__pg_int(result, 0, 0) != 0;
    PQclear(result);
    return r;
}

static bool read_instance(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    ph_instance_info *to = item;
    bool failed = false;

    (void)ph__pg_id(result, row, 0, to->id.b);
    to->service = ph__pg_text(arena, result, row, 1, &failed);
    to->host = ph__pg_text(arena, result, row, 2, &failed);
    to->process_id = (int)ph__pg_int(result, row, 3);
    to->metadata = ph__pg_text(arena, result, row, 4, &failed);
    to->state = (ph_instance_state)ph__pg_int(result, row, 5);
    to->started_at = ph__pg_time(result, row, 6);
    to->last_heartbeat_at = ph__pg_time(result, row, 7);
    to->ended_at = ph__pg_time(result, row, 8);
    to->lease_s = (int)ph__pg_int(result, row, 9);
    to->stale_threshold_s = (int)ph__pg_int(result, row, 10);
    to->in_progress = ph__pg_int(result, row, 11);
    to->partition_count = (int)ph__pg_int(result, row, 12);
    return !failed;
}

int ph__pg_instance_list(struct ph__call *call, const char *service, bool all,
                         ph_instances *ret_list)
{
    struct ph__pg_params params = { 0 };

    ph__pg_add_text(&params, service);
    ph__pg_add_bool(&params, all);
    return PH__PG_RUN_LIST(call, PG_INSTANCES, &params, read_instance, ret_list);
}

int ph__pg_unclaimed(struct ph__call *call, ph_door door, const char *ns,
                     struct ph__unclaimed *ret_unclaimed)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    bool failed = false;
    int r;

    ph__pg_add_int2(&params, door);
    ph__pg_add_text(&params, ns);
    ph__pg_add_int4(&params, PH__UNCLAIMED_S);
    ph__pg_add_int4(&params, PH__UNCLAIMED_MAX);
    r = ph__pg_run(call, PG_UNCLAIMED, &params, PG_READS, &result);
    ph__pg_params_free(&params);
    for (int row = 0; r == 0 && row < PQntuples(result) && ret_unclaimed->count < PH__UNCLAIMED_MAX;
         row++) {
        size_t at = ret_unclaimed->count;

        ret_unclaimed->worked = ph__pg_int(result, row, 3) != 0;
        ret_unclaimed->now = ph__pg_time(result, row, 4);
        if (PQgetisnull(result, row, 0))
            continue;
        ret_unclaimed->items[at].topic =
            ph__pg_text(&ret_unclaimed->arena, result, row, 0, &failed);
        ret_unclaimed->items[at].count = ph__pg_int(result, row, 1);
        ret_unclaimed->items[at].oldest = ph__pg_time(result, row, 2);
        ret_unclaimed->count += !failed;
    }
    PQclear(result);
    return failed ? ph__fail_memory(call->err) : r;
}

/* ------------------------------------------------------------------- streams */

static bool read_stream(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    ph_stream_info *to = item;
    bool failed = false;

    to->ns = ph__pg_text(arena, result, row, 0, &failed);
    to->stream = ph__pg_text(arena, result, row, 1, &failed);
    to->state = (ph_stream_state)ph__pg_int(result, row, 2);
    to->partition = (int)ph__pg_int(result, row, 3);
    to->last_seq = ph__pg_int(result, row, 4);
    to->next_seq = ph__pg_int(result, row, 5);
    to->unsettled = ph__pg_int(result, row, 6);
    (void)ph__pg_id(result, row, 7, to->head.b);
    to->head_due_at = ph__pg_time(result, row, 8);
    to->head_attempts = (int)ph__pg_int(result, row, 9);
    (void)ph__pg_id(result, row, 10, to->owner.b);
    to->locked_until = ph__pg_time(result, row, 11);
    to->affinity_service = ph__pg_text(arena, result, row, 12, &failed);
    (void)ph__pg_id(result, row, 13, to->affinity_owner.b);
    to->created_at = ph__pg_time(result, row, 14);
    return !failed;
}

int ph__pg_stream_list(struct ph__call *call, const struct ph__stream_query *query,
                       ph_streams *ret_list)
{
    struct ph__pg_params params = { 0 };
    int r;

    ph__pg_add_int2(&params, query->door);
    ph__pg_add_text(&params, query->ns);
    ph__pg_add_text(&params, query->key);
    ph__pg_add_text(&params, query->service);
    ph__pg_add_text(&params, query->after_ns);
    ph__pg_add_text(&params, query->after_key);
    ph__pg_add_bool(&params, query->idle_too);
    ph__pg_add_int4(&params, query->partition_count);
    ph__pg_add_int4(&params, query->limit);
    r = PH__PG_RUN_LIST(call, PG_STREAMS, &params, read_stream, ret_list);
    for (size_t i = 0; r == 0 && i < ret_list->count; i++)
        ret_list->items[i].door = (ph_door)query->door;
    return r;
}

static void add_stream(struct ph__pg_params *params, const struct ph__stream *stream)
{
    ph__pg_add_int2(params, stream->door);
    ph__pg_add_text(params, stream->ns);
    ph__pg_add_text(params, stream->key);
}

int ph__pg_stream_read(struct ph__call *call, const struct ph__stream *stream, int64_t after,
                       int limit, ph_messages *ret_list)
{
    struct ph__pg_params params = { 0 };

    add_stream(&params, stream);
    ph__pg_add_int8(&params, after);
    ph__pg_add_int4(&params, limit);
    return PH__PG_RUN_LIST(call, PG_STREAM_READ, &params, ph__pg_read_info, ret_list);
}

/* ----------------------------------------------------------------- receptors */

void ph__pg_add_receptors(struct ph__pg_params *p, const ph_receptor_result *results, size_t count)
{
    PH__PG_ARRAY(p, UUID, count, ph__pg_item_uuid(p, results[i].work_id.b));
    PH__PG_ARRAY(p, TEXT, count, ph__pg_item_text(p, results[i].receptor));
    PH__PG_ARRAY(p, BOOL, count, ph__pg_item_bool(p, results[i].failed));
    PH__PG_ARRAY(p, TEXT, count, ph__pg_item_text(p, results[i].error));
}

/* Runs a report of count results, which answers (problem, index). */
static int report(struct ph__call *call, enum ph__pg_statement statement,
                  struct ph__pg_params *params, size_t count)
{
    PGresult *result = NULL;
    int r = ph__pg_run_row(call, statement, params, PG_ONCE, &result);

    if (r == 0)
        r = ph__result_problem(call->err, (enum ph__result_problem)ph__pg_int(result, 0, 0),
                               (size_t)ph__pg_int(result, 0, 1), count);
    PQclear(result);
    return r;
}

int ph__pg_receptor_report(struct ph__call *call, const ph_receptor_result *results, size_t count)
{
    struct ph__pg_params params = { 0 };

    ph__pg_add_receptors(&params, results, count);
    return report(call, PG_RECEPTOR_REPORT, &params, count);
}

static bool read_receptor(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    bool failed = false;

    *(ph_receptor_info *)item = (ph_receptor_info){
        .receptor = ph__pg_text(arena, result, row, 0, &failed),
        .completed = ph__pg_int(result, row, 1) != 0,
        .attempts = (int)ph__pg_int(result, row, 2),
        .error = ph__pg_text(arena, result, row, 3, &failed),
        .first_at = ph__pg_time(result, row, 4),
        .last_at = ph__pg_time(result, row, 5),
    };
    return !failed;
}

int ph__pg_receptor_list(struct ph__call *call, ph_work_id id, ph_receptors *ret_list)
{
    struct ph__pg_params params = { 0 };

    ph__pg_add_uuid(&params, id.b);
    return PH__PG_RUN_LIST(call, PG_RECEPTORS, &params, read_receptor, ret_list);
}

/* --------------------------------------------------------------- checkpoints */

void ph__pg_add_checkpoints(struct ph__pg_params *p, const struct ph__checkpoint *results,
                            size_t count)
{
    PH__PG_ARRAY(p, INT2, count, ph__pg_item_int2(p, results[i].stream.door));
    PH__PG_ARRAY(p, TEXT, count, ph__pg_item_text(p, results[i].stream.ns));
    PH__PG_ARRAY(p, TEXT, count, ph__pg_item_text(p, results[i].stream.key));
    PH__PG_ARRAY(p, TEXT, count, ph__pg_item_text(p, results[i].consumer));
    PH__PG_ARRAY(p, INT8, count, ph__pg_item_int8(p, results[i].seq));
    PH__PG_ARRAY(p, BOOL, count, ph__pg_item_bool(p, results[i].failed));
    PH__PG_ARRAY(p, TEXT, count, ph__pg_item_text(p, results[i].error));
}

int ph__pg_checkpoint_report(struct ph__call *call, const struct ph__checkpoint *results,
                             size_t count)
{
    struct ph__pg_params params = { 0 };

    ph__pg_add_checkpoints(&params, results, count);
    return report(call, PG_CHECKPOINT_REPORT, &params, count);
}

int ph__pg_checkpoint_rewind(struct ph__call *call, const struct ph__stream *stream,
                             const char *consumer, int64_t seq, int64_t *ret_old)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    add_stream(&params, stream);
    ph__pg_add_text(&params, consumer);
    ph__pg_add_int8(&params, seq);
    r = ph__pg_run_row(call, PG_CHECKPOINT_REWIND, &params, PG_ONCE, &result);
    if (r == 0)
        r = ph__result_problem(call->err, (enum ph__result_problem)ph__pg_int(result, 0, 0), 0, 1);
    if (r == 0)
        *ret_old = ph__pg_int(result, 0, 1);
    PQclear(result);
    return r;
}

static bool read_checkpoint(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    bool failed = false;

    *(ph_checkpoint_info *)item = (ph_checkpoint_info){
        .consumer = ph__pg_text(arena, result, row, 0, &failed),
        .seq = ph__pg_int(result, row, 1),
        .ahead = ph__pg_int(result, row, 2),
        .lag = ph__pg_int(result, row, 3),
        .error = ph__pg_text(arena, result, row, 4, &failed),
        .error_seq = ph__pg_int(result, row, 5),
        .error_at = ph__pg_time(result, row, 6),
        .updated_at = ph__pg_time(result, row, 7),
        .rewound_at = ph__pg_time(result, row, 8),
    };
    return !failed;
}

int ph__pg_checkpoint_list(struct ph__call *call, const struct ph__stream *stream,
                           const char *consumer, ph_checkpoints *ret_list)
{
    struct ph__pg_params params = { 0 };

    add_stream(&params, stream);
    ph__pg_add_text(&params, consumer);
    return PH__PG_RUN_LIST(call, PG_CHECKPOINTS, &params, read_checkpoint, ret_list);
}
