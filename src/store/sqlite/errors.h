/* errors.h - SQLite's result codes, translated for our callers. */
#ifndef PH_STORE_SQLITE_ERRORS_H
#define PH_STORE_SQLITE_ERRORS_H

#include <posthorn/posthorn.h>
#include <sqlite3.h>

/* Fills err from the connection's last error, and returns its ph_status.
 * callers: the connection is the caller's, in a transaction of the caller's. */
int ph__sqlite_fail(ph_error *err, sqlite3 *db, bool callers);

int ph__sqlite_fail_schema_missing(ph_error *err);
int ph__sqlite_fail_time(ph_error *err);

#endif
