/* find.c - a message by its work id, with its history. */
#include "core/error.h"
#include "core/id.h"
#include "core/names.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/state_row.h"
#include "store/sqlite/verbs.h"

#include <string.h>

static int load_attempt(const struct ph__query *query, const struct ph__rows *rows, void *item)
{
    ph_attempt *entry = item;

    entry->attempt = (int)ph__column_int(query, 0);
    entry->kind = ph__attempt_kind_text((int)ph__column_int(query, 1));
    entry->at = ph__column_int(query, 3);
    (void)ph__column_id(query, 4, entry->owner.b);
    entry->next_due_at = ph__column_int(query, 5);
    return ph__column_text(query, 2, rows->arena, &entry->error, NULL);
}

static int load_history(struct ph__sqlite_tx *tx, int64_t number, struct ph__info *info)
{
    struct ph__query query = ph__query(tx, PH__SQL_attempt_log_get);

    ph__query_int(&query, number);
    return ph__rows_load(&query, &info->arena, load_attempt, NULL, sizeof(*info->info.history),
                         &info->info.history, &info->info.history_count);
}

int ph__sqlite_find(struct ph__call *call, ph_door door, ph_work_id id, struct ph__info *info)
{
    struct ph__sqlite_tx tx;
    struct ph__state_wanted wanted = {
        .tx = &tx, .arena = &info->arena, .door = door, .with_payload = true
    };
    int64_t number;
    uint64_t salt;
    int r;

    if (!ph__id_split(id, &number, &salt))
        return PH_ENOTFOUND;
    r = ph__sqlite_begin_read(&tx, call);
    if (r < 0)
        return r;
    r = ph__state_load(&wanted, number, &info->info);
    if (r > 0)
        r = memcmp(info->info.message->work_id.b, id.b, sizeof(id.b)) == 0
                ? load_history(&tx, number, info)
                : PH_ENOTFOUND;
    else if (r == 0)
        r = PH_ENOTFOUND;
    return ph__sqlite_end(&tx, r);
}
