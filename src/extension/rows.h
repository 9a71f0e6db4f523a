/* rows.h - functions whose answer is a table: eponymous virtual tables. */
#ifndef PH_EXTENSION_ROWS_H
#define PH_EXTENSION_ROWS_H

#include "extension/verbs.h"

/* A registered verb and its connection, which SQLite keeps for us. */
struct ph__binding {
    struct ph__ext *ext;
    const struct ph__scalar_verb *scalar; /* one of these */
    const struct ph__rows_verb *rows;
};

/* Made with a ph__binding. */
extern const sqlite3_module ph__rows_module;

#endif
