/* moves.h - the single steps by which a message changes place other than by ack,
 * or is deleted: settle, reap, claim and operators share them. The caller has the
 * write lock, and takes the message out of where it was. */
#ifndef PH_STORE_SQLITE_MOVES_H
#define PH_STORE_SQLITE_MOVES_H

#include "core/names.h"
#include "store/sqlite/transaction.h"

/* The part of a message's row that is needed to settle it. */
struct ph__message_facts {
    bool exists;
    uint64_t salt;
    int level;
    int max_attempts; /* 0: the queue's */
    uint32_t topic;   /* its hash */
};
int ph__message_facts(struct ph__sqlite_tx *tx, int64_t id, struct ph__message_facts *ret_facts);

/* One entry of the history; error, owner may be NULL; next_due NULL: it ends there. */
struct ph__attempt_entry {
    int64_t id;
    int attempt;
    enum ph__attempt_kind kind;
    const char *error;
    const ph_owner *owner;
    const int64_t *next_due;
};
int ph__log_attempt(struct ph__sqlite_tx *tx, const struct ph__attempt_entry *entry);

/* Into pending. A due that differs from the newest history entry's next_due
 * would hide the row from lookups by id, unless it is a stream's. */
struct ph__pending_row {
    int64_t queue, due, id;
    int level, attempts, lost;
    uint32_t topic; /* ph__topic_hash() */
    int64_t stream; /* above 0: the row is this stream's token (stream_row.h) */
};
int ph__put_pending(struct ph__sqlite_tx *tx, const struct ph__pending_row *row);

/* Into dead: the one way there, which ph__steps_count() must follow, and ph__stream_head_died() if
 * it was the head of a stream. owner NULL: it was not leased. */
int ph__bury(struct ph__sqlite_tx *tx, int64_t id, int64_t queue, enum ph__dead_reason reason,
             const ph_owner *owner);

/* Deletes body and history, a job run's row with it, and lets its dedupe key age out. With the
 * last message of an idle stream the stream goes, and with the last one of a message id the results
 * of its receptors. The message was never a step of a join.
 * For a message in pending: the whole key of its row there is given, and the row goes, too. */
int ph__delete_pending(struct ph__sqlite_tx *tx, const struct ph__pending_row *row);
/* The same for messages (ascending) that are done, and may be steps. */
int ph__delete_done(struct ph__sqlite_tx *tx, const int64_t *ids, size_t count);
/* The same for a dead one, with its row in dead. A stream that it blocks goes on. */
int ph__delete_dead(struct ph__sqlite_tx *tx, int64_t id);

#endif
