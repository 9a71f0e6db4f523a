/* tenant_db.h - the application's own connection to the database of a tenant, on either backend. */
#ifndef EXAMPLES_TENANT_DB_H
#define EXAMPLES_TENANT_DB_H

#include <posthorn/posthorn.h>

struct tenant_db;

/* sqlite:PATH or postgresql://…; NULL: it said why on stderr. */
struct tenant_db *tenant_db_open(const char *url);
void tenant_db_close(struct tenant_db *db); /* NULL is fine */

/* False: it said why on stderr. */
bool tenant_db_begin(struct tenant_db *db);
bool tenant_db_run(struct tenant_db *db, const char *sql);

/* The transaction that is open, for calls of Posthorn. */
ph_tx tenant_db_tx(struct tenant_db *db);

#endif
