/* foreign_code.h - code that a file would run inside our statements, and that is not ours. */
#ifndef PH_STORE_SQLITE_FOREIGN_CODE_H
#define PH_STORE_SQLITE_FOREIGN_CODE_H

#include "store/sqlite/transaction.h"

/* Call both on our own connection before anything else is read; they look only if the schema has
 * changed since they last did. PH_ESTATE names what is foreign. First tables, indexes and triggers,
 * which serve every version; then, if the version is ours, views. */
int ph__sqlite_check_tables(struct ph__sqlite_tx *tx);
int ph__sqlite_check_views(struct ph__sqlite_tx *tx);

/* One finding for each; *ret_foreign says whether there is any. */
int ph__sqlite_examine_code(struct ph__call *call, struct ph__examination *examination,
                            bool *ret_foreign);

#endif
