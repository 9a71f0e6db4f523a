/* pg.h - take part in a transaction that is open on a libpq connection.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POSTHORN_PG_H
#define POSTHORN_PG_H

#include <libpq-fe.h>
#include <posthorn/posthorn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The connection must be blocking, idle (no query in progress, not in
 * pipeline mode) and have client_encoding UTF8; it stays the caller's. */
PH_API ph_tx ph_tx_pg(PGconn *connection);

/* The connection of a transaction (a handler's, say); NULL if it is not one on
 * PostgreSQL. Borrowed: do not close it. */
PH_API PGconn *ph_tx_pg_connection(ph_tx tx);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_PG_H */
