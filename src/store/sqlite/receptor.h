/* receptor.h - how the parties fared that a message concerns. */
#ifndef PH_STORE_SQLITE_RECEPTOR_H
#define PH_STORE_SQLITE_RECEPTOR_H

#include "store/sqlite/transaction.h"

/* Keeps results, in order. The caller has the write lock. */
int ph__receptors_keep(struct ph__sqlite_tx *tx, const ph_receptor_result *results, size_t count);

#endif
