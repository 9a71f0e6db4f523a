/* migrate.h - the schema is brought up, within a call. */
#ifndef PH_CORE_MIGRATE_H
#define PH_CORE_MIGRATE_H

#include "store/store.h"

/* As ph_migrate(); the store is connected. */
int ph__migrate(struct ph__call *call, int *ret_applied);

#endif
