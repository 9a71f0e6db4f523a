/* under_lock.h - settle, renew and claim, once the write lock is held: alone, or one after the
 * other in a work batch. */
#ifndef PH_STORE_SQLITE_UNDER_LOCK_H
#define PH_STORE_SQLITE_UNDER_LOCK_H

#include "store/sqlite/transaction.h"

/* settle.c; keep: acked messages stay, even if their queue deletes them */
int ph__settle_under_lock(struct ph__sqlite_tx *tx, ph_door door, ph_owner owner,
                          const ph_settlement *items, size_t count, ph_outcome *ret_outcomes,
                          bool keep);
/* claim.c */
int ph__claim_under_lock(struct ph__sqlite_tx *tx, const struct ph__claim *claim, ph_batch *batch);
/* 1 if a claim would find something to do. Needs no lock. */
int ph__claim_look(struct ph__sqlite_tx *tx, const struct ph__claim *claim, ph_batch *batch);
/* renew.c */
int ph__renew_under_lock(struct ph__sqlite_tx *tx, ph_door door, ph_owner owner,
                         const ph_lease_ref *items, size_t count, int lease_s,
                         ph_outcome *ret_outcomes);

#endif
