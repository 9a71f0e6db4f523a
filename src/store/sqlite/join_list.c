/* join_list.c - joins for readers: one with its steps, or many, page by page. */
#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/long_read.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/verbs.h"

#include <string.h>

/* The columns of join_info that follow those of join_get. */
enum { CREATED_AT = 8, DEADLINE, FINISHED_AT, GROUPING_KEY, METADATA, OPEN_WAITS };

static int load_info(const struct ph__query *query, struct ph__arena *arena, ph_join_info *ret)
{
    struct ph__join_head head;
    int r;

    ph__join_head_load(query, &head);
    *ret = (ph_join_info){
        .id = ph__join_head_id(&head),
        .state = head.status,
        .expected_steps = head.expected,
        .attached_steps = head.attached,
        .completed_steps = head.completed,
        .failed_steps = head.failed,
        .open_waits = (int)ph__column_int(query, OPEN_WAITS),
        .created_at = ph__column_int(query, CREATED_AT),
        .updated_at = head.updated_at,
        .deadline = ph__column_int(query, DEADLINE),
        .finished_at = ph__column_int(query, FINISHED_AT),
    };
    r = ph__column_text(query, GROUPING_KEY, arena, &ret->grouping_key, NULL);
    return r < 0 ? r : ph__column_text(query, METADATA, arena, &ret->metadata, NULL);
}

static int load_member(const struct ph__query *query, const struct ph__rows *rows, void *item)
{
    ph_join_member *ret = item;

    (void)ph__column_id(query, 0, ret->message_id.b);
    ret->work_id = ph__id_make(ph__column_int(query, 1), (uint64_t)ph__column_int(query, 2));
    ret->state = (int)ph__column_int(query, 3);
    ret->created_at = ph__column_int(query, 4);
    return ph__column_text(query, 5, rows->arena, &ret->topic, NULL);
}

static int load_members(struct ph__sqlite_tx *tx, int64_t number, int limit,
                        struct ph__join_found *found)
{
    struct ph__query query = ph__query(tx, PH__SQL_members_get);

    ph__query_int(&query, number);
    ph__query_int(&query, limit);
    return ph__rows_load(&query, &found->arena, load_member, NULL, sizeof(*found->info.members),
                         &found->info.members, &found->info.member_count);
}

static int find(struct ph__sqlite_tx *tx, ph_join_id join, int member_limit,
                struct ph__join_found *found)
{
    struct ph__join_head head;
    struct ph__query query;
    int r = ph__join_head_find(tx, join, &head);

    if (r < 0)
        return r;
    query = ph__query(tx, PH__SQL_join_info);
    ph__query_int(&query, head.number);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    r = load_info(&query, &found->arena, &found->info);
    ph__query_end(&query);
    return r < 0 ? r : load_members(tx, head.number, member_limit, found);
}

int ph__sqlite_join_find(struct ph__call *call, ph_join_id join, int member_limit,
                         struct ph__join_found *ret_found)
{
    struct ph__long_read read = { 0 };
    int r = ph__long_read_begin(&read, call);

    return r < 0 ? r : ph__long_read_end(&read, find(&read.tx, join, member_limit, ret_found));
}

static enum ph__sqlite_statement list_statement(const struct ph__join_query *from)
{
    bool oldest = from->oldest_first;

    if (!ph_id_is_zero(from->step.b))
        return oldest ? PH__SQL_join_step_oldest : PH__SQL_join_step_newest;
    if (from->grouping_key)
        return oldest ? PH__SQL_join_group_oldest : PH__SQL_join_group_newest;
    return oldest ? PH__SQL_join_list_oldest : PH__SQL_join_list_newest;
}

static struct ph__query list_query(struct ph__sqlite_tx *tx, const struct ph__join_query *from)
{
    bool oldest = from->oldest_first, step = !ph_id_is_zero(from->step.b);
    struct ph__query query = ph__query(tx, list_statement(from));
    int64_t number = oldest ? 0 : PH__NUMBER_MAX + 1;
    ph_work_id after;
    uint64_t salt;

    memcpy(after.b, from->after.b, sizeof(after.b));
    (void)ph__id_split(after, &number, &salt);
    ph__query_int(&query, number);
    ph__query_int(&query, from->state);
    ph__query_int(&query, from->limit);
    if (from->grouping_key || step)
        ph__query_text(&query, from->grouping_key);
    if (step)
        ph__query_id(&query, from->step.b);
    return query;
}

static int load_listed(const struct ph__query *query, const struct ph__rows *rows, void *item)
{
    return load_info(query, rows->arena, item);
}

static int list_all(struct ph__sqlite_tx *tx, const struct ph__join_query *from, ph_joins *list)
{
    struct ph__query query = list_query(tx, from);

    return PH__ROWS_LOAD(&query, list, load_listed, NULL);
}

int ph__sqlite_join_list(struct ph__call *call, const struct ph__join_query *query,
                         ph_joins *ret_list)
{
    struct ph__long_read read = { 0 };
    int r = ph__long_read_begin(&read, call);

    return r < 0 ? r : ph__long_read_end(&read, list_all(&read.tx, query, ret_list));
}
