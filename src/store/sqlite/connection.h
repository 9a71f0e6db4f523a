/* connection.h - the store's own connection to the file. */
#ifndef PH_STORE_SQLITE_CONNECTION_H
#define PH_STORE_SQLITE_CONNECTION_H

#include "store/sqlite/statements.h"
#include "store/store.h"

#include <sys/types.h>

/* The doorbell (doorbell.c). */
struct ph__sqlite_doorbell {
    int fd;             /* inotify's; -1: none */
    bool armed;         /* both files are watched */
    bool version_known; /* of the present connection */
    int64_t version;    /* PRAGMA data_version when we last looked */
};

struct ph__sqlite {
    sqlite3 *db;      /* NULL: the file does not exist yet */
    sqlite3 *sibling; /* for checkpoints only; NULL until the first */
    struct ph__sqlite_statements statements;
    ph__deadline deadline;       /* of the present call: how long to wait for a lock */
    ph__deadline run_until;      /* and how long a statement may run; 0: for as long as it takes */
    void (*tick)(void *context); /* called now and then by statements that run; NULL: not */
    void *tick_context;
    bool code_checked; /* nothing foreign is in this version of the schema: */
    int64_t schema_version;
    bool wal_known; /* the log that the connection has: */
    dev_t wal_device;
    ino_t wal_inode;
    bool waiting; /* counted in ph__sqlite_waiting */
    bool schema_checked;
    int wal_pages;     /* in the write-ahead log after our last commit */
    int checkpoint_at; /* pages: then a checkpoint is tried */
    bool lends;        /* as the store: only for handlers' transactions */
    bool lent;         /* a handler has db, in a transaction (lend.c) */
    bool ended;        /* it has ended that transaction itself */
    int timeout_ms;    /* the store's: how long a statement of the handler waits for a lock */
    struct ph__sqlite_doorbell doorbell;
};

/* The file's path in the store's URL. */
const char *ph__sqlite_path(const ph_store *store);

/* Opens the file and makes it if need be, for migrations. */
int ph__sqlite_create(struct ph__call *call);

/* Opens one more connection to the file, with the same settings. */
int ph__sqlite_open(const char *path, bool create, struct ph__sqlite *own, sqlite3 **ret_db);

/* Sets the connection up: by calls, and then by PRAGMAs, which need a connection without a
 * transaction. Both return SQLite's code. */
int ph__sqlite_take_control(sqlite3 *db, struct ph__sqlite *own);
int ph__sqlite_apply_settings(sqlite3 *db);

/* Closes the connection; the next connect opens it anew. */
void ph__sqlite_close(struct ph__sqlite *own);

/* The busy handler's work for one statement is over. */
void ph__sqlite_stop_waiting(struct ph__sqlite *own);

#endif
