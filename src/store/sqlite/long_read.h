/* long_read.h - a read that may take long, within the call's time limit. */
#ifndef PH_STORE_SQLITE_LONG_READ_H
#define PH_STORE_SQLITE_LONG_READ_H

#include "store/sqlite/transaction.h"

struct ph__long_read {
    struct ph__sqlite_tx tx;
    void (*tick)(void *context); /* called now and then; NULL: not */
    void *tick_context;
};

/* As ph__sqlite_begin_read() and ph__sqlite_end(), with an error of its own at the time limit. In
 * between, on our own connection, tick is called; on the caller's, the progress handler is the
 * caller's. */
int ph__long_read_begin(struct ph__long_read *read, struct ph__call *call);
int ph__long_read_end(struct ph__long_read *read, int r);

#endif
