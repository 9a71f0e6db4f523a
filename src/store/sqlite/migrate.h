/* migrate.h - the schema: bring it up, check it. */
#ifndef PH_STORE_SQLITE_MIGRATE_H
#define PH_STORE_SQLITE_MIGRATE_H

#include "store/store.h"

/* Brings the schema up inside the transaction that is open on the caller's connection. */
int ph__sqlite_migrate_within(struct ph__call *call, int *ret_applied);

/* 0 if this library can work with a schema of these numbers. */
int ph__sqlite_version_check(int version, int serves_from, ph_error *err);

/* The same for the store's own connection, which is then made ready for work. */
int ph__sqlite_check_schema(struct ph__call *call);

#endif
