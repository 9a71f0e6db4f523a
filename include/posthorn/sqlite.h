/* sqlite.h - take part in a transaction that is open on an SQLite connection.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POSTHORN_SQLITE_H
#define POSTHORN_SQLITE_H

#include <posthorn/posthorn.h>
#include <sqlite3.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The connection stays the caller's, and must be to the same file as the
 * store. Begin with BEGIN IMMEDIATE: a deferred transaction that has already
 * read cannot always become a writer, and then fails with PH_EBUSY. */
PH_API ph_tx ph_tx_sqlite(sqlite3 *connection);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_SQLITE_H */
