/* open.h - a second store like the first. */
#ifndef PH_CORE_OPEN_H
#define PH_CORE_OPEN_H

#include "store/store.h"

/* The same database, names and options on a connection of its own, made when it is needed. */
int ph__store_clone(const ph_store *store, ph_store **ret_store, ph_error *err);

#endif
