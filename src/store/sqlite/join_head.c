#include "core/id.h"
#include "store/sqlite/joins.h"

#include <string.h>

ph_join_id ph__join_head_id(const struct ph__join_head *head)
{
    ph_work_id made = ph__id_make(head->number, head->salt);
    ph_join_id id;

    memcpy(id.b, made.b, sizeof(id.b));
    return id;
}

void ph__join_head_load(const struct ph__query *query, struct ph__join_head *ret_head)
{
    *ret_head = (struct ph__join_head){
        .number = ph__column_int(query, 0),
        .salt = (uint64_t)ph__column_int(query, 1),
        .expected = (int)ph__column_int(query, 2),
        .attached = (int)ph__column_int(query, 3),
        .completed = (int)ph__column_int(query, 4),
        .failed = (int)ph__column_int(query, 5),
        .status = (ph_join_state)ph__column_int(query, 6),
        .updated_at = ph__column_int(query, 7),
    };
}

int ph__join_head_one(struct ph__query *query, struct ph__join_head *ret_head)
{
    int r = ph__query_row(query);

    if (r <= 0)
        return r;
    ph__join_head_load(query, ret_head);
    ph__query_end(query);
    return 1;
}

/* 1 if there is one with that number. */
static int load_by_number(struct ph__sqlite_tx *tx, int64_t number, struct ph__join_head *ret_head)
{
    struct ph__query query = ph__query(tx, PH__SQL_join_get);

    ph__query_int(&query, number);
    return ph__join_head_one(&query, ret_head);
}

int ph__join_head_open(struct ph__sqlite_tx *tx, int64_t number, struct ph__join_head *ret_head)
{
    int r = load_by_number(tx, number, ret_head);

    return r > 0 ? ret_head->status == PH_JOIN_PENDING : r;
}

int ph__join_head_find(struct ph__sqlite_tx *tx, ph_join_id id, struct ph__join_head *ret_head)
{
    ph_work_id split;
    int64_t number;
    uint64_t salt;
    int r = 0;

    memcpy(split.b, id.b, sizeof(split.b));
    if (ph__id_split(split, &number, &salt))
        r = load_by_number(tx, number, ret_head);
    if (r < 0)
        return r;
    if (r == 0 || ret_head->salt != salt)
        return ph__join_problem(tx->call->err, PH__JOIN_UNKNOWN, id, NULL);
    return 0;
}

bool ph__join_head_complete(const struct ph__join_head *head)
{
    return head->completed + head->failed == head->expected;
}
