/* done_row.h - the end of messages that went well: acked, or turned into something else. */
#ifndef PH_STORE_SQLITE_DONE_ROW_H
#define PH_STORE_SQLITE_DONE_ROW_H

#include "store/sqlite/queue_row.h"

/* Into done, by owner and now, under a fence (0: no claim's); if the queue says delete_on_ack, they
 * are deleted instead. The ids ascend. The caller has the write lock, and takes the messages out of
 * where they were. */
int ph__put_done(struct ph__sqlite_tx *tx, const struct ph__queue_row *queue, const ph_owner *owner,
                 int64_t fence, const int64_t *ids, size_t count);
/* 1 if this owner has acked it, under that fence (0: any), as far as is known. */
int ph__was_acked(struct ph__sqlite_tx *tx, int64_t id, const ph_owner *owner, int64_t fence);

#endif
