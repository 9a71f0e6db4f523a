/* reap.h - taking back leases whose time is over. */
#ifndef PH_STORE_SQLITE_REAP_H
#define PH_STORE_SQLITE_REAP_H

#include "store/sqlite/transaction.h"

/* Takes back up to max_leases expired leases of the door's queues, those first
 * that expired first. *count rises by the messages given back or buried. */
int ph__reap_leases(struct ph__sqlite_tx *tx, ph_door door, long max_leases, int64_t *count);

/* Takes back all leases of an owner behind every door, expired or not: as lost, or as released by
 * their owner. *count rises by their messages. */
int ph__reap_owner(struct ph__sqlite_tx *tx, ph_owner owner, int64_t *count);
int ph__release_owner(struct ph__sqlite_tx *tx, ph_owner owner, int64_t *count);

/* 1 if there is an expired lease, 0 if not. */
int ph__reap_needed(struct ph__sqlite_tx *tx, ph_door door);

#endif
