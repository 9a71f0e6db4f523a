/* coordination.c - instances, streams, receptors and checkpoints in PostgreSQL. */
#include "store/postgres/pg.h"

#include "core/error.h"

#include <string.h>

static int misfit(struct ph__call *call)
{
    return ph__fail(call->err, PH_EDATABASE, "the schema's functions do not fit this library");
}

static void read_id(uint8_t to[16], const uint8_t *from)
{
    if (from)
        memcpy(to, from, 16);
}

/* Runs a statement that answers one row. */
static int run_one(struct ph__call *call, enum ph__pg_statement statement,
                   struct ph__pg_params *params, PGresult **ret_result)
{
    int r = ph__pg_run(call, statement, params, PG_ONCE, ret_result);

    ph__pg_params_free(params);
    return r == 0 && PQntuples(*ret_result) != 1 ? misfit(call) : r;
}

/* Runs a statement that answers a list; its length, or an error. */
static int run_list(struct ph__call *call, enum ph__pg_statement statement,
                    struct ph__pg_params *params, PGresult **ret_result)
{
    int r = ph__pg_run(call, statement, params, PG_READS, ret_result);

    ph__pg_params_free(params);
    return r < 0 ? r : PQntuples(*ret_result);
}

/* Room for the items of a list of that length; NULL when memory is out. */
static void *room(struct ph__arena *arena, int count, size_t item_size)
{
    return ph__arena_alloc(arena, (size_t)count * item_size);
}

/* ----------------------------------------------------------------- instances */

int ph__pg_instance_leave(struct ph__call *call, ph_owner id, bool *ret_left)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_uuid(&params, id.b);
    r = run_one(call, PG_INSTANCE_LEAVE, &params, &result);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, 1);
    if (r == 0)
        *ret_left = ph__pg_int(result, 0, 0) != 0;
    PQclear(result);
    return r;
}

static void read_instance(struct ph__arena *arena, const PGresult *result, int row,
                          ph_instance_info *to, bool *failed)
{
    read_id(to->id.b, ph__pg_uuid(result, row, 0));
    to->service = ph__pg_text(arena, result, row, 1, failed);
    to->host = ph__pg_text(arena, result, row, 2, failed);
    to->process_id = (int)ph__pg_int(result, row, 3);
    to->metadata = ph__pg_text(arena, result, row, 4, failed);
    to->state = (ph_instance_state)ph__pg_int(result, row, 5);
    to->started_at = ph__pg_time(result, row, 6);
    to->last_heartbeat_at = ph__pg_time(result, row, 7);
    to->ended_at = ph__pg_time(result, row, 8);
    to->lease_s = (int)ph__pg_int(result, row, 9);
    to->stale_threshold_s = (int)ph__pg_int(result, row, 10);
    to->in_progress = ph__pg_int(result, row, 11);
    to->partition_count = (int)ph__pg_int(result, row, 12);
}

int ph__pg_instance_list(struct ph__call *call, const char *service, bool all,
                         ph_instances *ret_list)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    bool failed;
    int rows;

    ph__pg_add_text(&params, service);
    ph__pg_add_bool(&params, all);
    rows = run_list(call, PG_INSTANCES, &params, &result);
    if (rows < 0)
        return rows;
    ret_list->items = room(&ret_list->arena, rows, sizeof(*ret_list->items));
    failed = !ret_list->items;
    for (int row = 0; row < rows && !failed; row++)
        read_instance(&ret_list->arena, result, row, &ret_list->items[row], &failed);
    ret_list->count = failed ? 0 : (size_t)rows;
    PQclear(result);
    return failed ? ph__fail_memory(call->err) : 0;
}

int ph__pg_unclaimed(struct ph__call *call, ph_door door, const char *ns,
                     struct ph__unclaimed *ret_unclaimed)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    bool failed = false;
    int rows;

    ph__pg_add_int2(&params, door);
    ph__pg_add_text(&params, ns);
    ph__pg_add_int4(&params, PH__UNCLAIMED_S);
    ph__pg_add_int4(&params, PH__UNCLAIMED_MAX);
    rows = run_list(call, PG_UNCLAIMED, &params, &result);
    if (rows < 0)
        return rows;
    for (int row = 0; row < rows && ret_unclaimed->count < PH__UNCLAIMED_MAX; row++) {
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
    return failed ? ph__fail_memory(call->err) : 0;
}

/* ------------------------------------------------------------------- streams */

static void read_stream(struct ph__arena *arena, const PGresult *result, int row,
                        ph_stream_info *to, bool *failed)
{
    to->ns = ph__pg_text(arena, result, row, 0, failed);
    to->stream = ph__pg_text(arena, result, row, 1, failed);
    to->state = (ph_stream_state)ph__pg_int(result, row, 2);
    to->partition = (int)ph__pg_int(result, row, 3);
    to->last_seq = ph__pg_int(result, row, 4);
    to->next_seq = ph__pg_int(result, row, 5);
    to->unsettled = ph__pg_int(result, row, 6);
    read_id(to->head.b, ph__pg_uuid(result, row, 7));
    to->head_due_at = ph__pg_time(result, row, 8);
    to->head_attempts = (int)ph__pg_int(result, row, 9);
    read_id(to->locked_by.b, ph__pg_uuid(result, row, 10));
    to->locked_until = ph__pg_time(result, row, 11);
    to->affinity_service = ph__pg_text(arena, result, row, 12, failed);
    read_id(to->affinity_owner.b, ph__pg_uuid(result, row, 13));
    to->created_at = ph__pg_time(result, row, 14);
}

int ph__pg_stream_list(struct ph__call *call, const struct ph__stream_query *query,
                       ph_streams *ret_list)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    bool failed;
    int rows;

    ph__pg_add_int2(&params, query->door);
    ph__pg_add_text(&params, query->ns);
    ph__pg_add_text(&params, query->key);
    ph__pg_add_text(&params, query->service);
    ph__pg_add_text(&params, query->after_ns);
    ph__pg_add_text(&params, query->after_key);
    ph__pg_add_bool(&params, query->idle_too);
    ph__pg_add_int4(&params, query->partition_count);
    ph__pg_add_int4(&params, query->limit);
    rows = run_list(call, PG_STREAMS, &params, &result);
    if (rows < 0)
        return rows;
    ret_list->items = room(&ret_list->arena, rows, sizeof(*ret_list->items));
    failed = !ret_list->items;
    for (int row = 0; row < rows && !failed; row++) {
        read_stream(&ret_list->arena, result, row, &ret_list->items[row], &failed);
        ret_list->items[row].door = query->door;
    }
    ret_list->count = failed ? 0 : (size_t)rows;
    PQclear(result);
    return failed ? ph__fail_memory(call->err) : 0;
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
    PGresult *result = NULL;
    bool failed;
    int rows;

    add_stream(&params, stream);
    ph__pg_add_int8(&params, after);
    ph__pg_add_int4(&params, limit);
    rows = run_list(call, PG_STREAM_READ, &params, &result);
    if (rows < 0)
        return rows;
    ret_list->items = room(&ret_list->arena, rows, sizeof(*ret_list->items));
    failed = !ret_list->items;
    for (int row = 0; row < rows && !failed; row++)
        failed = !ph__pg_read_info(&ret_list->arena, result, row, &ret_list->items[row]);
    ret_list->count = failed ? 0 : (size_t)rows;
    PQclear(result);
    return failed ? ph__fail_memory(call->err) : 0;
}

/* ----------------------------------------------------------------- receptors */

/* One array parameter: item appends the element of result x. */
#define COLUMN(array, element, item)                                                               \
    do {                                                                                           \
        ph__pg_array_begin(p, array, element, count);                                              \
        for (size_t x = 0; x < count; x++)                                                         \
            item;                                                                                  \
        ph__pg_array_end(p);                                                                       \
    } while (0)

void ph__pg_add_receptors(struct ph__pg_params *p, const ph_receptor_result *results, size_t count)
{
    if (count == 0) {
        ph__pg_add_null(p, PG_UUIDS);
        ph__pg_add_null(p, PG_TEXTS);
        ph__pg_add_null(p, PG_BOOLS);
        ph__pg_add_null(p, PG_TEXTS);
        return;
    }
    COLUMN(PG_UUIDS, PG_UUID, ph__pg_item_uuid(p, results[x].work_id.b));
    COLUMN(PG_TEXTS, PG_TEXT, ph__pg_item_text(p, results[x].receptor));
    COLUMN(PG_BOOLS, PG_BOOL, ph__pg_item_bool(p, results[x].failed));
    COLUMN(PG_TEXTS, PG_TEXT, ph__pg_item_text(p, results[x].error));
}

/* Runs a report of count results, which answers (problem, index). */
static int report(struct ph__call *call, enum ph__pg_statement statement,
                  struct ph__pg_params *params, size_t count)
{
    PGresult *result = NULL;
    int r = run_one(call, statement, params, &result);

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

int ph__pg_receptor_list(struct ph__call *call, ph_work_id id, ph_receptors *ret_list)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    bool failed;
    int rows;

    ph__pg_add_uuid(&params, id.b);
    rows = run_list(call, PG_RECEPTORS, &params, &result);
    if (rows < 0)
        return rows;
    ret_list->items = room(&ret_list->arena, rows, sizeof(*ret_list->items));
    failed = !ret_list->items;
    for (int row = 0; row < rows && !failed; row++)
        ret_list->items[row] = (ph_receptor_info){
            .receptor = ph__pg_text(&ret_list->arena, result, row, 0, &failed),
            .completed = ph__pg_int(result, row, 1) != 0,
            .attempts = (int)ph__pg_int(result, row, 2),
            .error = ph__pg_text(&ret_list->arena, result, row, 3, &failed),
            .first_at = ph__pg_time(result, row, 4),
            .last_at = ph__pg_time(result, row, 5),
        };
    ret_list->count = failed ? 0 : (size_t)rows;
    PQclear(result);
    return failed ? ph__fail_memory(call->err) : 0;
}

/* --------------------------------------------------------------- checkpoints */

void ph__pg_add_checkpoints(struct ph__pg_params *p, const struct ph__checkpoint *results,
                            size_t count)
{
    if (count == 0) {
        ph__pg_add_null(p, PG_INT2S);
        for (int i = 0; i < 3; i++)
            ph__pg_add_null(p, PG_TEXTS);
        ph__pg_add_null(p, PG_INT8S);
        ph__pg_add_null(p, PG_BOOLS);
        ph__pg_add_null(p, PG_TEXTS);
        return;
    }
    COLUMN(PG_INT2S, PG_INT2, ph__pg_item_int2(p, results[x].stream.door));
    COLUMN(PG_TEXTS, PG_TEXT, ph__pg_item_text(p, results[x].stream.ns));
    COLUMN(PG_TEXTS, PG_TEXT, ph__pg_item_text(p, results[x].stream.key));
    COLUMN(PG_TEXTS, PG_TEXT, ph__pg_item_text(p, results[x].consumer));
    COLUMN(PG_INT8S, PG_INT8, ph__pg_item_int8(p, results[x].seq));
    COLUMN(PG_BOOLS, PG_BOOL, ph__pg_item_bool(p, results[x].failed));
    COLUMN(PG_TEXTS, PG_TEXT, ph__pg_item_text(p, results[x].error));
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
    r = run_one(call, PG_CHECKPOINT_REWIND, &params, &result);
    if (r == 0)
        r = ph__result_problem(call->err, (enum ph__result_problem)ph__pg_int(result, 0, 0), 0, 1);
    if (r == 0)
        *ret_old = ph__pg_int(result, 0, 1);
    PQclear(result);
    return r;
}

int ph__pg_checkpoint_list(struct ph__call *call, const struct ph__stream *stream,
                           const char *consumer, ph_checkpoints *ret_list)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    bool failed;
    int rows;

    add_stream(&params, stream);
    ph__pg_add_text(&params, consumer);
    rows = run_list(call, PG_CHECKPOINTS, &params, &result);
    if (rows < 0)
        return rows;
    ret_list->items = room(&ret_list->arena, rows, sizeof(*ret_list->items));
    failed = !ret_list->items;
    for (int row = 0; row < rows && !failed; row++)
        ret_list->items[row] = (ph_checkpoint_info){
            .consumer = ph__pg_text(&ret_list->arena, result, row, 0, &failed),
            .seq = ph__pg_int(result, row, 1),
            .ahead = ph__pg_int(result, row, 2),
            .lag = ph__pg_int(result, row, 3),
            .error = ph__pg_text(&ret_list->arena, result, row, 4, &failed),
            .error_seq = ph__pg_int(result, row, 5),
            .error_at = ph__pg_time(result, row, 6),
            .updated_at = ph__pg_time(result, row, 7),
            .rewound_at = ph__pg_time(result, row, 8),
        };
    ret_list->count = failed ? 0 : (size_t)rows;
    PQclear(result);
    return failed ? ph__fail_memory(call->err) : 0;
}
