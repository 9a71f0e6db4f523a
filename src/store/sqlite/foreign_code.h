/* foreign_code.h - triggers on our tables that are not ours. */
#ifndef PH_STORE_SQLITE_FOREIGN_CODE_H
#define PH_STORE_SQLITE_FOREIGN_CODE_H

#include "store/sqlite/transaction.h"

/* Before the first write of a connection, and when the schema has changed since: schema_changes is
 * how often the statement store_get was prepared again. PH_ESTATE names what is foreign. */
int ph__sqlite_check_code(struct ph__sqlite_tx *tx, int schema_changes);

/* One finding for each. */
int ph__sqlite_examine_code(struct ph__call *call, struct ph__examination *examination);

#endif
