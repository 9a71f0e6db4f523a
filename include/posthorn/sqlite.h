/* sqlite.h - take part in a transaction that is open on an SQLite connection.
 *
 * SPDX-License-Identifier: MIT
 *
 * A store makes its file, and the file's log, readable and writable for their owner
 * only (0600); an existing file keeps its rights. A store's own connection does
 * nothing while a foreign object would run inside its statements: calls fail with
 * PH_ESTATE and name it. Such an object is a trigger on a table of Posthorn's, an
 * index there that is unique or has an expression or a condition (one on plain
 * columns is fine), or a table, index or view of Posthorn's that was changed;
 * ph_doctor() names all of them. On connections of yours, triggers, settings and
 * handlers are your own affair.
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
 * read cannot always become a writer, and then fails with PH_EBUSY.
 * A call made while a statement of yours is writing (by an SQL function in a
 * trigger, for example) is a part of that statement, and needs no BEGIN. SQLite
 * allows no savepoint there: if such a call fails after it has written something,
 * it rolls the transaction back and sets PH_TX_DEAD; without BEGIN, your function
 * must let the statement fail. */
PH_API ph_tx ph_tx_sqlite(sqlite3 *connection);

/* The connection of a transaction (a handler's, say); NULL if it is not one on
 * SQLite. Borrowed: do not close it. */
PH_API sqlite3 *ph_tx_sqlite_connection(ph_tx tx);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_SQLITE_H */
