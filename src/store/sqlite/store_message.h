/* store_message.h - a new message into the tables: from a producer, a scheduler, or a join that has
 * ended. The caller has the write lock. */
#ifndef PH_STORE_SQLITE_STORE_MESSAGE_H
#define PH_STORE_SQLITE_STORE_MESSAGE_H

#include "store/sqlite/queue_row.h"
#include "store/sqlite/stream_row.h"

#define PH__HANDLED_AT_ONCE 64

/* Set tx and door, and leave the rest zero; one of it for all messages of a call. If
 * they may have streams or be handled, ph__store_end() writes the gathered rows. */
struct ph__message_writer {
    struct ph__sqlite_tx *tx;
    ph_door door;
    const char *ns;             /* of queue, borrowed; NULL: none yet */
    struct ph__queue_row queue; /* messages of one call mostly share it */
    uint32_t nonces[64];        /* random numbers, taken from the kernel many at a time */
    size_t nonces_left;
    const char *stream_key;       /* of stream, borrowed; NULL: none yet */
    struct ph__stream_row stream; /* messages of one call often share it: written when it changes */
    bool stream_changed;
    int64_t handled[PH__HANDLED_AT_ONCE]; /* of queue, to be written as done */
    size_t handled_count;
};

/* The queue of a namespace, made if need be: into s->queue. ns is borrowed until the next one. */
int ph__store_queue(struct ph__message_writer *s, const char *ns);

/* Into s->queue, checks nothing: the body alone, which the caller then puts into its place. */
int ph__store_body(struct ph__message_writer *s, const struct ph__message *m, int64_t *ret_number,
                   uint64_t *ret_salt);
/* The body, its row in pending (unless it is parked behind its stream's head, or handled), and its
 * dedupe key if it has one. */
int ph__store_message(struct ph__message_writer *s, const struct ph__message *m,
                      ph_work_id *ret_id);
int ph__store_end(struct ph__message_writer *s);

/* enqueue.c: the verb, once the write lock is held. */
int ph__enqueue_under_lock(struct ph__sqlite_tx *tx, ph_door door,
                           const struct ph__message *messages, size_t count,
                           ph_enqueued *ret_enqueued);

#endif
