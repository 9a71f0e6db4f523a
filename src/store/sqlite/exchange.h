/* exchange.h - what settle and claim do once the write lock is held: alone, or
 * one after the other in an exchange. */
#ifndef PH_STORE_SQLITE_EXCHANGE_H
#define PH_STORE_SQLITE_EXCHANGE_H

#include "store/sqlite/transaction.h"

/* settle.c */
int ph__settle_under_lock(struct ph__sqlite_tx *tx, enum ph__door door, ph_owner owner,
                          const ph_settlement *items, size_t count, ph_outcome *ret_outcomes);
/* claim.c */
int ph__claim_under_lock(struct ph__sqlite_tx *tx, const struct ph__claim *claim, ph_batch *batch);

#endif
