#include "store/sqlite/done_row.h"

#include "core/error.h"
#include "store/sqlite/lease_row.h"
#include "store/sqlite/moves.h"
#include "util/assert.h"
#include "util/order.h"

static int insert_row(struct ph__sqlite_tx *tx, int64_t queue, const ph_owner *owner, int64_t fence,
                      const int64_t *ids, size_t count)
{
    struct ph__query query = ph__query(tx, PH__SQL_done_insert);
    struct ph__buffer packed = { 0 };
    int r;

    PH__ASSERT(count > 0 && ph__ascend(ids, count));
    PH__ASSERT(ids[count - 1] - ids[0] <= PH__DONE_SPREAD_MAX); /* that is how one is found */
    ph__pack_ids(&packed, ids, count);
    ph__query_int(&query, queue);
    ph__query_id(&query, owner->b);
    ph__query_int(&query, tx->now);
    ph__query_int(&query, ids[0]);
    ph__query_int(&query, ids[count - 1]);
    ph__query_text(&query, packed.data);
    ph__query_int(&query, fence);
    r = packed.failed ? ph__fail_memory(tx->call->err) : ph__query_run(&query);
    ph__buffer_free(&packed);
    return r;
}

int ph__put_done(struct ph__sqlite_tx *tx, const struct ph__queue_row *queue, const ph_owner *owner,
                 int64_t fence, const int64_t *ids, size_t count)
{
    int r = 0;

    PH__ASSERT(tx->writes);
    PH__ASSERT(ph__ascend(ids, count));
    if (queue->delete_on_ack)
        return ph__delete_done(tx, ids, count);
    for (size_t from = 0, to; r == 0 && from < count; from = to) {
        for (to = from + 1; to < count && ids[to] - ids[from] <= PH__DONE_SPREAD_MAX;)
            to++;
        r = insert_row(tx, queue->id, owner, fence, ids + from, to - from);
    }
    return r;
}

int ph__was_acked(struct ph__sqlite_tx *tx, int64_t id, const ph_owner *owner, int64_t fence)
{
    struct ph__query query = ph__query(tx, PH__SQL_done_by_owner);
    int r;

    ph__query_int(&query, id);
    ph__query_id(&query, owner->b);
    ph__query_int(&query, fence);
    r = ph__query_row(&query);
    if (r > 0)
        ph__query_end(&query);
    return r;
}
