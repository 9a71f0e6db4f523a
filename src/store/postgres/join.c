/* join.c - joins in PostgreSQL, and what its functions say of joins that ended. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "core/join.h"

#include <stdlib.h>
#include <string.h>

static int misfit(struct ph__call *call)
{
    return ph__fail(call->err, PH_EDATABASE, "the schema's functions do not fit this library");
}

/* ------------------------------------------------------- what became of joins */

#define FIELDS 7

/* Cuts a line at its blanks; returns the number of fields. */
static size_t cut(char *line, char *fields[FIELDS])
{
    size_t count = 0;

    while (line && count < FIELDS) {
        fields[count++] = line;
        line = strchr(line, ' ');
        if (line)
            *line++ = '\0';
    }
    return count;
}

/* J join status expected completed failed waits */
static int read_join_end(struct ph__call *call, char *const fields[FIELDS])
{
    ph_join_end *end = ph__join_ends_add(&call->ends);

    if (!end)
        return ph__fail_memory(call->err);
    if (ph_id_parse(fields[1], end->id.b) < 0)
        return misfit(call);
    end->status = (ph_join_status)atoi(fields[2]);
    end->expected_steps = atoi(fields[3]);
    end->completed_steps = atoi(fields[4]);
    end->failed_steps = atoi(fields[5]);
    end->waits = atoi(fields[6]);
    return 0;
}

/* In place; "-": nothing. */
static char *unhex(char *hex)
{
    char pair[3] = { 0 }, *to = hex, *from = hex;

    for (; *from != '-' && from[0] && from[1]; from += 2) {
        memcpy(pair, from, 2);
        *to++ = (char)strtol(pair, NULL, 16);
    }
    *to = '\0';
    return hex;
}

/* W wait join failure continuation namespace topic */
static int read_wait_end(struct ph__call *call, char *const fields[FIELDS],
                         struct ph__buffer *namespaces)
{
    struct ph__wait_end *end = ph__join_ends_add_wait(&call->ends);
    const char *ns, *topic;

    if (!end)
        return ph__fail_memory(call->err);
    end->failure = *fields[3] == '1';
    if (ph_id_parse(fields[1], end->wait.b) < 0 || ph_id_parse(fields[2], end->join.b) < 0)
        return misfit(call);
    if (*fields[4] == '-')
        return 0;
    ns = unhex(fields[5]);
    topic = unhex(fields[6]);
    ph__buffer_bytes(namespaces, ns, strlen(ns) + 1);
    end->ns = ph__arena_copy(&call->ends.arena, ns, strlen(ns));
    end->topic = ph__arena_copy(&call->ends.arena, topic, strlen(topic));
    if (!end->ns || !end->topic)
        return ph__fail_memory(call->err);
    return ph_id_parse(fields[4], end->continuation.b) < 0 ? misfit(call) : 0;
}

/* A index: a message of the call that was a step before */
static int read_repeated(struct ph__call *call, const char *index)
{
    return ph__join_ends_add_repeated(&call->ends, (size_t)atoi(index))
               ? 0
               : ph__fail_memory(call->err);
}

/* R count: messages whose leases were taken back */
static int read_reaped(struct ph__call *call, const char *count)
{
    call->ends.reaped += atoll(count);
    return 0;
}

static int read_line(struct ph__call *call, char *line, struct ph__buffer *namespaces)
{
    char *fields[FIELDS];
    size_t count = cut(line, fields);

    if (*fields[0] == 'J' && count == 7)
        return read_join_end(call, fields);
    if (*fields[0] == 'W' && count == 7)
        return read_wait_end(call, fields, namespaces);
    if (*fields[0] == 'A' && count == 2)
        return read_repeated(call, fields[1]);
    if (*fields[0] == 'R' && count == 2)
        return read_reaped(call, fields[1]);
    return misfit(call);
}

int ph__pg_read_joins(struct ph__call *call, const PGresult *result, int row, int column)
{
    struct ph__buffer namespaces = { 0 }, text = { 0 };
    char *line, *next;
    int r = 0;

    if (PQgetisnull(result, row, column))
        return 0;
    ph__buffer_bytes(&text, PQgetvalue(result, row, column),
                     (size_t)PQgetlength(result, row, column));
    for (line = text.data; line && r == 0; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        r = read_line(call, line, &namespaces);
    }
    if (text.failed)
        r = ph__fail_memory(call->err);
    if (r == 0)
        ph__pg_ring_list(call, &namespaces);
    else /* it has happened: only a rollback can undo that */
        ph__fail_flags(call->err, r, call->connection ? PH_TX_DEAD : PH_UNKNOWN);
    ph__buffer_free(&namespaces);
    ph__buffer_free(&text);
    return r;
}

/* -------------------------------------------------------------------- the verbs
 * Each answers one row: first the problem, then what there is to say. */

static int run(struct ph__call *call, enum ph__pg_statement statement, struct ph__pg_params *params,
               PGresult **ret_result)
{
    int r = ph__pg_run(call, statement, params, PG_ONCE, ret_result);

    ph__pg_params_free(params);
    return r == 0 && PQntuples(*ret_result) != 1 ? misfit(call) : r;
}

static int read_id(struct ph__call *call, const PGresult *result, int column, uint8_t ret_id[16])
{
    const uint8_t *id = ph__pg_uuid(result, 0, column);

    if (!id)
        return misfit(call);
    memcpy(ret_id, id, 16);
    return 0;
}

static int read_problem(struct ph__call *call, const PGresult *result, ph_join_id join,
                        const ph_message_id *message)
{
    return ph__join_problem(call->err, (enum ph__join_problem)ph__pg_int(result, 0, 0), join,
                            message);
}

int ph__pg_join_start(struct ph__call *call, const struct ph__join *join, ph_join_id *ret_id)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_int4(&params, join->expected_steps);
    ph__pg_add_text(&params, join->grouping_key);
    ph__pg_add_text(&params, join->metadata);
    ph__pg_add_time(&params, join->deadline);
    r = run(call, PG_JOIN_START, &params, &result);
    if (r == 0)
        r = read_problem(call, result, (ph_join_id){ 0 }, NULL);
    if (r == 0)
        r = read_id(call, result, 1, ret_id->b);
    PQclear(result);
    return r;
}

int ph__pg_join_attach(struct ph__call *call, ph_join_id join, const ph_message_id *messages,
                       size_t count)
{
    struct ph__pg_params params = { 0 };
    ph_message_id message = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_uuid(&params, join.b);
    ph__pg_array_begin(&params, PG_UUIDS, PG_UUID, count);
    for (size_t i = 0; i < count; i++)
        ph__pg_item_uuid(&params, messages[i].b);
    ph__pg_array_end(&params);
    r = run(call, PG_JOIN_ATTACH, &params, &result);
    if (r == 0 && ph__pg_uuid(result, 0, 1))
        memcpy(message.b, ph__pg_uuid(result, 0, 1), sizeof(message.b));
    if (r == 0)
        r = read_problem(call, result, join, &message);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, 2);
    PQclear(result);
    return r;
}

int ph__pg_join_report(struct ph__call *call, ph_join_id join, ph_message_id message,
                       bool completed)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_uuid(&params, join.b);
    ph__pg_add_uuid(&params, message.b);
    ph__pg_add_bool(&params, !completed);
    r = run(call, PG_JOIN_REPORT, &params, &result);
    if (r == 0)
        r = read_problem(call, result, join, &message);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, 1);
    PQclear(result);
    return r;
}

int ph__pg_join_wait(struct ph__call *call, ph_join_id join, const struct ph__wait *wait,
                     ph_work_id *ret_id)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_uuid(&params, join.b);
    ph__pg_add_bool(&params, wait->fail_if_any_step_failed);
    ph__pg_add_text(&params, wait->on_complete_topic);
    ph__pg_add_text(&params, wait->on_complete_payload);
    ph__pg_add_text(&params, wait->on_fail_topic);
    ph__pg_add_text(&params, wait->on_fail_payload);
    ph__pg_add_text(&params, wait->ns);
    r = run(call, PG_JOIN_WAIT, &params, &result);
    if (r == 0)
        r = read_problem(call, result, join, NULL);
    if (r == 0)
        r = read_id(call, result, 1, ret_id->b);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, 2);
    PQclear(result);
    return r;
}

int ph__pg_join_cancel(struct ph__call *call, ph_join_id join, bool *ret_cancelled)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_uuid(&params, join.b);
    r = run(call, PG_JOIN_CANCEL, &params, &result);
    if (r == 0)
        r = read_problem(call, result, join, NULL);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, 2);
    if (r == 0)
        *ret_cancelled = ph__pg_int(result, 0, 1) != 0;
    PQclear(result);
    return r;
}

/* -------------------------------------------------------------------------- look */

static bool read_info(struct ph__arena *arena, const PGresult *result, int row, ph_join_info *to)
{
    const uint8_t *id = ph__pg_uuid(result, row, 0);
    bool failed = !id;

    if (id)
        memcpy(to->id.b, id, sizeof(to->id.b));
    to->grouping_key = ph__pg_text(arena, result, row, 1, &failed);
    to->metadata = ph__pg_text(arena, result, row, 2, &failed);
    to->status = (ph_join_status)ph__pg_int(result, row, 4);
    to->expected_steps = (int)ph__pg_int(result, row, 5);
    to->attached_steps = (int)ph__pg_int(result, row, 6);
    to->completed_steps = (int)ph__pg_int(result, row, 7);
    to->failed_steps = (int)ph__pg_int(result, row, 8);
    to->open_waits = (int)ph__pg_int(result, row, 9);
    to->created_at = ph__pg_time(result, row, 10);
    to->updated_at = ph__pg_time(result, row, 11);
    to->deadline = ph__pg_time(result, row, 12);
    to->finished_at = ph__pg_time(result, row, 13);
    return !failed;
}

static bool read_members(const PGresult *result, struct ph__join_found *to)
{
    size_t count = (size_t)PQntuples(result);
    ph_join_member *members = ph__arena_alloc(&to->arena, count * sizeof(*members));
    bool failed = !members;

    for (size_t i = 0; i < count && !failed; i++) {
        memcpy(members[i].message_id.b, ph__pg_uuid(result, (int)i, 0), 16);
        memcpy(members[i].work_id.b, ph__pg_uuid(result, (int)i, 1), 16);
        members[i].status = (int)ph__pg_int(result, (int)i, 2);
        members[i].created_at = ph__pg_time(result, (int)i, 3);
        members[i].topic = ph__pg_text(&to->arena, result, (int)i, 4, &failed);
    }
    to->info.members = members;
    to->info.member_count = count;
    return !failed;
}

int ph__pg_join_find(struct ph__call *call, ph_join_id join, int member_limit,
                     struct ph__join_found *ret_found)
{
    struct ph__pg_params params = { 0 }, of_members = { 0 };
    PGresult *result = NULL, *members = NULL;
    int r;

    ph__pg_add_uuid(&params, join.b);
    ph__pg_add_uuid(&of_members, join.b);
    ph__pg_add_int4(&of_members, member_limit);
    r = ph__pg_run(call, PG_JOIN_FIND, &params, PG_READS, &result);
    if (r == 0 && PQntuples(result) == 0)
        r = ph__join_problem(call->err, PH__JOIN_UNKNOWN, join, NULL);
    if (r == 0)
        r = ph__pg_run(call, PG_JOIN_MEMBERS, &of_members, PG_READS, &members);
    if (r == 0 && !(read_info(&ret_found->arena, result, 0, &ret_found->info) &&
                    read_members(members, ret_found)))
        r = ph__fail_memory(call->err);
    ph__pg_params_free(&params);
    ph__pg_params_free(&of_members);
    PQclear(result);
    PQclear(members);
    return r;
}

int ph__pg_join_list(struct ph__call *call, const struct ph__join_query *query, ph_joins *ret_list)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    bool failed;
    int r, rows;

    ph__pg_add_text(&params, query->grouping_key);
    ph__pg_add_int4(&params, query->status);
    ph__pg_add_bool(&params, query->oldest_first);
    ph__pg_add_int4(&params, query->limit);
    ph__pg_add_uuid(&params, query->after.b);
    ph__pg_add_uuid(&params, ph_id_is_zero(query->step.b) ? NULL : query->step.b);
    r = ph__pg_run(call, PG_JOINS, &params, PG_READS, &result);
    ph__pg_params_free(&params);
    if (r < 0)
        return r;
    rows = PQntuples(result);
    ret_list->items = ph__arena_alloc(&ret_list->arena, (size_t)rows * sizeof(*ret_list->items));
    failed = !ret_list->items;
    for (int row = 0; row < rows && !failed; row++)
        failed = !read_info(&ret_list->arena, result, row, &ret_list->items[row]);
    ret_list->count = failed ? 0 : (size_t)rows;
    PQclear(result);
    return failed ? ph__fail_memory(call->err) : 0;
}
