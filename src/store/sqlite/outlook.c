/* outlook.c - the work that time alone will bring, for a claimer that has found nothing, and that
 * hears of every commit without a connection. */
#include "store/sqlite/doorbell.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/verbs.h"

int ph__sqlite_outlook(struct ph__call *call, const char *ns, unsigned doors, int64_t *ret_in_us,
                       bool *ret_due)
{
    struct ph__sqlite_tx tx;
    struct ph__query query;
    int64_t at = 0;
    /* Asked first: the statements below find what was written before and can be seen by now. */
    bool due = ph__sqlite_somebody_writes(call->store->own);
    int r = ph__sqlite_begin_read(&tx, call);

    if (r < 0)
        return r;
    query = ph__query(&tx, PH__SQL_outlook);
    ph__query_int(&query, tx.now);
    ph__query_text(&query, ns);
    ph__query_int(&query, doors);
    r = ph__query_row(&query);
    if (r > 0) {
        at = ph__column_is_null(&query, 0) ? INT64_MAX : ph__column_int(&query, 0);
        due |= ph__column_int(&query, 1) != 0;
        ph__query_end(&query);
        r = 0;
    }
    r = ph__sqlite_end(&tx, r);
    if (r < 0)
        return r;
    *ret_in_us = at == INT64_MAX ? INT64_MAX : at > tx.now ? at - tx.now : 0;
    *ret_due = due;
    return 0;
}
