/* operate.h - counts, inside a transaction that has begun. */
#ifndef PH_STORE_SQLITE_OPERATE_H
#define PH_STORE_SQLITE_OPERATE_H

#include "store/sqlite/transaction.h"

/* Adds to counts that begin at zero. ns NULL: all namespaces. */
int ph__count_within(struct ph__sqlite_tx *tx, ph_door door, const char *ns,
                     ph_queue_counts *counts);

#endif
