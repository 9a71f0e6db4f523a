/* long_read.h - a read that may take long, within the call's time limit. */
#ifndef PH_STORE_SQLITE_LONG_READ_H
#define PH_STORE_SQLITE_LONG_READ_H

#include "store/sqlite/transaction.h"

struct ph__long_read {
    struct ph__sqlite_tx tx;
    void (*tick)(void *context); /* called now and then; NULL: not */
    void *tick_context;
};

/* As ph__sqlite_begin_read() and ph__sqlite_end(). In between statements are
 * interrupted at the time limit, on our own connection; the caller's progress
 * handler is his. *read must stay where it is. */
int ph__long_read_begin(struct ph__long_read *read, struct ph__call *call);
int ph__long_read_end(struct ph__long_read *read, int r);

#endif
