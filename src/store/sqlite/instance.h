/* instance.h - workers that are known by name: registered, beating, gone. */
#ifndef PH_STORE_SQLITE_INSTANCE_H
#define PH_STORE_SQLITE_INSTANCE_H

#include "store/sqlite/transaction.h"

/* 1 if a beat would write: the instance is not known, its heartbeat is old, or another one is
 * stale. 0 if not. PH_EEVICTED if it has ended. Needs no lock. */
int ph__instance_look(struct ph__sqlite_tx *tx, const struct ph__instance *instance);

/* Registers the instance or beats its heart, then evicts the stale ones: *ret_evicted many,
 * *ret_one among them. The caller has the write lock. PH_EEVICTED, and nothing was done, if it has
 * ended. */
int ph__instance_beat(struct ph__sqlite_tx *tx, const struct ph__instance *instance,
                      bool *ret_registered, int *ret_evicted, ph_owner *ret_one);

#endif
