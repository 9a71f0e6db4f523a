/* stream_row.h - an ordered stream, and the way of its token.
 *
 * A busy stream has exactly one token: its head's row in pending, a run in a lease, or a row in
 * pending that says that a dead head blocks it. A call that takes the token away puts it back
 * before it ends. The caller has the write lock. */
#ifndef PH_STORE_SQLITE_STREAM_ROW_H
#define PH_STORE_SQLITE_STREAM_ROW_H

#include "store/sqlite/moves.h"
#include "store/sqlite/queue_row.h"

#define PH__DUE_BLOCKED INT64_MAX /* due of a token that no claim takes */

struct ph__stream_row {
    int64_t id, last_seq;
    bool busy;
};

/* Makes the stream if need be; queue->has_streams is set then. */
int ph__stream_obtain(struct ph__sqlite_tx *tx, struct ph__queue_row *queue, const char *key,
                      struct ph__stream_row *ret_stream);
/* 1, or 0 if there is none. */
int ph__stream_by_id(struct ph__sqlite_tx *tx, int64_t id, struct ph__stream_row *ret_stream);
int ph__stream_write(struct ph__sqlite_tx *tx, const struct ph__stream_row *stream);

/* The first message behind a number: 1, or 0 if there is none. */
struct ph__stream_next {
    int64_t seq, due_at, expires_at; /* times 0: none */
    struct ph__pending_row row;      /* as the stream's head */
};
int ph__stream_next(struct ph__sqlite_tx *tx, int64_t stream, int64_t seq,
                    struct ph__stream_next *ret_next);

/* The token was taken away, and everything up to seq is settled: the next message is the head, or
 * the stream is idle. */
int ph__stream_go_on(struct ph__sqlite_tx *tx, int64_t stream, int64_t seq);
/* The token was taken away, and the head with this number was buried. Of head: queue, level, id,
 * topic, stream. */
int ph__stream_head_died(struct ph__sqlite_tx *tx, ph_dead_head policy,
                         const struct ph__pending_row *head, int64_t seq);
/* Takes away the token if it says that this dead message blocks the stream: 1; else 0. */
int ph__stream_unblock(struct ph__sqlite_tx *tx, int64_t stream, int64_t dead);
/* The same for every blocked stream of a queue, each of which goes on. */
int ph__stream_unblock_all(struct ph__sqlite_tx *tx, int64_t queue);

/* Deletes the stream if it is idle, without messages and without checkpoints. */
int ph__stream_delete_unused(struct ph__sqlite_tx *tx, int64_t stream);

#endif
