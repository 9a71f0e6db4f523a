/* transaction.h - one transaction of ours, or our part of the caller's. */
#ifndef PH_STORE_SQLITE_TRANSACTION_H
#define PH_STORE_SQLITE_TRANSACTION_H

#include "store/sqlite/connection.h"

/* Messages that became done or dead in this call, and are still to be counted in joins
 * (join_steps.c). */
struct ph__ended {
    int64_t *marks;
    size_t count, room;
};

struct ph__sqlite_tx {
    struct ph__call *call;
    sqlite3 *db;
    struct ph__sqlite *own;  /* NULL: the caller's connection */
    struct ph__sqlite *lent; /* our own, lent to a handler whose call this is; NULL: not so */
    bool writes;
    bool nested;   /* called by a statement of the caller's that writes: no savepoint is allowed */
    bool implicit; /* and that statement is its own transaction: there was no BEGIN */
    int64_t changes; /* of the connection so far, when nested */
    struct ph__sqlite_statements *statements;
    struct ph__sqlite_statements borrowed; /* on the caller's connection: for this call only */
    sqlite3_int64 last_rowid;              /* the caller's, put back at the end */
    int64_t now;                           /* the clock, read once */
    uint32_t store_id;
    struct ph__ended ended;
    struct { /* the last queue that was read: do its new rows go into the index of topics? */
        int64_t queue;
        bool on;
    } by_topic;
    /* Are there any? Looked up when the first message is deleted (moves.c). Code that adds one says
     * so: the next message may be deleted in the same transaction. */
    struct {
        bool known, streams, receptors, keys, histories, job_runs;
    } any;
};

/* Sets up for statements outside a transaction, or for one that is begun by hand;
 * ph__sqlite_end() ends that too. */
void ph__sqlite_prepare_tx(struct ph__sqlite_tx *tx, struct ph__call *call, bool writes);

/* Begins, checks the schema and reads the clock. A read sees one snapshot and
 * takes no lock; a write holds the file's only write lock to its end. If begin
 * fails there is nothing to end. */
int ph__sqlite_begin_read(struct ph__sqlite_tx *tx, struct ph__call *call);
int ph__sqlite_begin_write(struct ph__sqlite_tx *tx, struct ph__call *call);

/* Ends the transaction, and returns r or, if r is 0, the result of that. r < 0: in a transaction of
 * ours nothing has happened, and the caller's is as it was (or the error says PH_TX_DEAD). */
int ph__sqlite_end(struct ph__sqlite_tx *tx, int r);

/* The same for a write that needs no schema, on the caller's connection. */
int ph__sqlite_begin_bare(struct ph__sqlite_tx *tx, struct ph__call *call);

/* Is a statement that writes running on this connection? Then we are called by it: from a
 * function in a trigger, in INSERT … SELECT and so on. */
bool ph__sqlite_is_writing(sqlite3 *db);

/* The last error of the connection, for the call. */
int ph__sqlite_tx_fail(struct ph__sqlite_tx *tx);

#endif
