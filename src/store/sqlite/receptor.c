#include "store/sqlite/receptor.h"

#include "core/id.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/verbs.h"

#include <string.h>

/* The message id of an outbox or inbox message, under which its receptors are kept: 1, or 0 if there
 * is no such message. */
static int message_of(struct ph__sqlite_tx *tx, ph_work_id id, ph_message_id *ret_id)
{
    struct ph__query query;
    int64_t number;
    uint64_t salt;
    int r;

    if (!ph__id_split(id, &number, &salt) || (salt >> 60 & 3) > PH_INBOX)
        return 0;
    query = ph__query(tx, PH__SQL_receptor_message);
    ph__query_int(&query, number);
    ph__query_int(&query, (int64_t)salt);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    if (!ph__column_id(&query, 0, ret_id->b))
        memcpy(ret_id->b, id.b, sizeof(ret_id->b));
    ph__query_end(&query);
    return 1;
}

static int keep_one(struct ph__sqlite_tx *tx, const ph_receptor_result *result, size_t index,
                    size_t count)
{
    struct ph__query query;
    ph_message_id id;
    int r = message_of(tx, result->work_id, &id);

    if (r <= 0)
        return r < 0 ? r : ph__result_problem(tx->call->err, PH__RESULT_NO_MESSAGE, index, count);
    tx->any.receptors = true;
    query = ph__query(tx, PH__SQL_receptor_report);
    ph__query_id(&query, id.b);
    ph__query_text(&query, result->receptor);
    ph__query_int(&query, !result->failed);
    ph__query_text(&query, result->failed ? result->error : NULL);
    ph__query_int(&query, tx->now);
    return ph__query_run(&query);
}

int ph__receptors_keep(struct ph__sqlite_tx *tx, const ph_receptor_result *results, size_t count)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = keep_one(tx, &results[i], i, count);
    return r;
}

int ph__sqlite_receptor_report(struct ph__call *call, const ph_receptor_result *results,
                               size_t count)
{
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_write(&tx, call);

    return r < 0 ? r : ph__sqlite_end(&tx, ph__receptors_keep(&tx, results, count));
}

static int load_info(const struct ph__query *query, const struct ph__rows *rows, void *item)
{
    ph_receptor_info *info = item;
    int r = ph__column_text(query, 0, rows->arena, &info->receptor, NULL);

    info->completed = ph__column_int(query, 1) != 0;
    info->attempts = (int)ph__column_int(query, 2);
    info->first_at = ph__column_int(query, 4);
    info->last_at = ph__column_int(query, 5);
    return r < 0 ? r : ph__column_text(query, 3, rows->arena, &info->error, NULL);
}

static int load_list(struct ph__sqlite_tx *tx, const ph_message_id *id, ph_receptors *list)
{
    struct ph__query query = ph__query(tx, PH__SQL_receptor_list);

    ph__query_id(&query, id->b);
    return PH__ROWS_LOAD(&query, list, load_info, NULL);
}

int ph__sqlite_receptor_list(struct ph__call *call, ph_work_id id, ph_receptors *ret_list)
{
    struct ph__sqlite_tx tx;
    ph_message_id message;
    int r = ph__sqlite_begin_read(&tx, call);

    if (r < 0)
        return r;
    r = message_of(&tx, id, &message);
    if (r > 0)
        r = load_list(&tx, &message, ret_list);
    return ph__sqlite_end(&tx, r);
}
