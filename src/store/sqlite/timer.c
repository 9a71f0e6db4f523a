/* timer.c - a timer that is called off. Timers are enqueued, claimed and settled like any message;
 * the write lock decides between a cancel and a claim. */
#include "core/id.h"
#include "store/sqlite/moves.h"
#include "store/sqlite/verbs.h"

/* 1 if it was there. */
static int cancel(struct ph__sqlite_tx *tx, int64_t number, uint64_t salt)
{
    struct ph__query query = ph__query(tx, PH__SQL_pending_of);
    struct ph__pending_row row = { .id = number };
    int r;

    ph__query_int(&query, number);
    ph__query_int(&query, (int64_t)salt);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    row.queue = ph__column_int(&query, 0);
    row.level = (int)ph__column_int(&query, 1);
    row.due = ph__column_int(&query, 2);
    ph__query_end(&query);
    r = ph__delete_pending(tx, &row);
    return r < 0 ? r : 1;
}

int ph__sqlite_timer_cancel(struct ph__call *call, ph_work_id timer, bool *ret_cancelled)
{
    struct ph__sqlite_tx tx;
    int64_t number;
    uint64_t salt;
    int found, r;

    if (!ph__id_split(timer, &number, &salt) || (salt >> 60 & 3) != PH_TIMERS) {
        *ret_cancelled = false;
        return 0;
    }
    r = ph__sqlite_begin_write(&tx, call);
    if (r < 0)
        return r;
    found = cancel(&tx, number, salt);
    r = ph__sqlite_end(&tx, found < 0 ? found : 0);
    if (r == 0)
        *ret_cancelled = found > 0;
    return r;
}
