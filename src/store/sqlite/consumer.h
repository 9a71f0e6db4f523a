/* consumer.h - how far a consumer has come in a stream: its checkpoint. (checkpoint.c is about
 * SQLite's log.) */
#ifndef PH_STORE_SQLITE_CONSUMER_H
#define PH_STORE_SQLITE_CONSUMER_H

#include "store/sqlite/transaction.h"

/* Keeps results, in order. The caller has the write lock. */
int ph__checkpoints_keep(struct ph__sqlite_tx *tx, const struct ph__checkpoint *results,
                         size_t count);

/* The stream of that name: 1, or 0 if there is none. */
int ph__stream_by_name(struct ph__sqlite_tx *tx, const struct ph__stream *stream, int64_t *ret_id,
                       int64_t *ret_last_seq);

#endif
