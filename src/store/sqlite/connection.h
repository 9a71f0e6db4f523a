/* connection.h - the store's own connection to the file. */
#ifndef PH_STORE_SQLITE_CONNECTION_H
#define PH_STORE_SQLITE_CONNECTION_H

#include "store/sqlite/statements.h"
#include "store/store.h"

struct ph__sqlite {
    sqlite3 *db;      /* NULL: the file does not exist yet */
    sqlite3 *sibling; /* for checkpoints only; NULL until the first */
    struct ph__sqlite_statements statements;
    ph__deadline deadline; /* of the present call: how long to wait for a lock */
    bool waiting;          /* counted in ph__sqlite_waiting */
    bool schema_checked;
    int wal_pages;     /* in the write-ahead log after our last commit */
    int checkpoint_at; /* pages: then a checkpoint is tried */
};

/* The seam's verbs. */
int ph__sqlite_connect(struct ph__call *call, bool check_schema);
void ph__sqlite_disconnect(ph_store *store);

/* The file's path in the store's URL. */
const char *ph__sqlite_path(const ph_store *store);

/* Opens the file and makes it if need be, for migrations. */
int ph__sqlite_create(struct ph__call *call);

/* Opens one more connection to the file, with the same settings. */
int ph__sqlite_open(const char *path, bool create, struct ph__sqlite *own, sqlite3 **ret_db);

/* The busy handler's work for one statement is over. */
void ph__sqlite_stop_waiting(struct ph__sqlite *own);

#endif
