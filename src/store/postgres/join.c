/* join.c - joins in PostgreSQL, and its functions' reports of joins that ended. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "core/join.h"
#include "util/hex.h"

#include <stdlib.h>
#include <string.h>

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
        return ph__pg_misfit(call);
    end->state = (ph_join_state)atoi(fields[2]);
    end->expected_steps = atoi(fields[3]);
    end->completed_steps = atoi(fields[4]);
    end->failed_steps = atoi(fields[5]);
    end->waits = atoi(fields[6]);
    return 0;
}

/* In place; "-": nothing. */
static char *unhex(char *hex)
{
    char *to = hex;
    uint64_t byte;

    for (const char *from = hex; *from && ph__hex_read(from, 2, &byte); from += 2)
        *to++ = (char)byte;
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
        return ph__pg_misfit(call);
    if (*fields[4] == '-')
        return 0;
    ns = unhex(fields[5]);
    topic = unhex(fields[6]);
    ph__buffer_bytes(namespaces, ns, strlen(ns) + 1);
    end->ns = ph__arena_copy(&call->ends.arena, ns, strlen(ns));
    end->topic = ph__arena_copy(&call->ends.arena, topic, strlen(topic));
    if (!end->ns || !end->topic)
        return ph__fail_memory(call->err);
    return ph_id_parse(fields[4], end->continuation.b) < 0 ? ph__pg_misfit(call) : 0;
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
    return ph__pg_misfit(call);
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

static int read_id(struct ph__call *call, const PGresult *result, int column, uint8_t ret_id[16])
{
    return ph__pg_id(result, 0, column, ret_id) ? 0 : ph__pg_misfit(call);
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
    r = ph__pg_run_row(call, PG_JOIN_START, &params, PG_ONCE, &result);
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
    PH__PG_ARRAY(&params, UUID, count, ph__pg_item_uuid(&params, messages[i].b));
    r = ph__pg_run_row(call, PG_JOIN_ATTACH, &params, PG_ONCE, &result);
    if (r == 0)
        (void)ph__pg_id(result, 0, 1, message.b);
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
    r = ph__pg_run_row(call, PG_JOIN_REPORT, &params, PG_ONCE, &result);
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
    r = ph__pg_run_row(call, PG_JOIN_WAIT, &params, PG_ONCE, &result);
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
    r = ph__pg_run_row(call, PG_JOIN_CANCEL, &params, PG_ONCE, &result);
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

static bool read_info(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    ph_join_info *to = item;
    bool failed = !ph__pg_id(result, row, 0, to->id.b);

    to->grouping_key = ph__pg_text(arena, result, row, 1, &failed);
    to->metadata = ph__pg_text(arena, result, row, 2, &failed);
    to->state = (ph_join_state)ph__pg_int(result, row, 4);
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

static bool read_member(struct ph__arena *arena, const PGresult *result, int row, void *item)
{
    ph_join_member *to = item;
    bool failed = false;

    (void)ph__pg_id(result, row, 0, to->message_id.b);
    (void)ph__pg_id(result, row, 1, to->work_id.b);
    to->state = (int)ph__pg_int(result, row, 2);
    to->created_at = ph__pg_time(result, row, 3);
    to->topic = ph__pg_text(arena, result, row, 4, &failed);
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
                    ph__pg_read_rows(&ret_found->arena, members, 0, read_member,
                                     sizeof(*ret_found->info.members), &ret_found->info.members,
                                     &ret_found->info.member_count)))
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

    ph__pg_add_text(&params, query->grouping_key);
    ph__pg_add_int4(&params, query->state);
    ph__pg_add_bool(&params, query->oldest_first);
    ph__pg_add_int4(&params, query->limit);
    ph__pg_add_uuid(&params, query->after.b);
    ph__pg_add_uuid(&params, ph_id_is_zero(query->step.b) ? NULL : query->step.b);
    return PH__PG_RUN_LIST(call, PG_JOINS, &params, read_info, ret_list);
}
