/* checkpoint.h - moving the write-ahead log into the database file. */
#ifndef PH_STORE_SQLITE_CHECKPOINT_H
#define PH_STORE_SQLITE_CHECKPOINT_H

#include "store/sqlite/connection.h"

/* Notes the size of the log at every commit of own->db. */
void ph__sqlite_watch_wal(struct ph__sqlite *own);

/* Makes a checkpoint, as far as readers let it: of the log's pages so many are in
 * the file then (both may be NULL; -1 without a log). False: it could not be tried. */
bool ph__sqlite_checkpoint_now(struct ph__sqlite *own, const char *path, int *ret_pages,
                               int *ret_moved);

/* After a commit: makes a checkpoint if the log has grown. It waits for no lock, and a failure is
 * not the caller's concern: a later one makes up for it. */
void ph__sqlite_checkpoint_if_due(struct ph__sqlite *own, const char *path);
/* Makes one if there is anything to move. */
void ph__sqlite_checkpoint_at_close(struct ph__sqlite *own, const char *path);
/* Call it before closing. The last connection to the file (SQLite ensures that by a lock, so no
 * other can restart the log meanwhile) takes the log away: otherwise the next one to open the file
 * reads all of it again. */
void ph__sqlite_clear_log(struct ph__sqlite *own);

#endif
