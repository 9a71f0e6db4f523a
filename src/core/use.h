/* use.h - the use of a store's own connection.
 *
 * One thread uses it at a time, and only a thread of its keeper if it has one. Any other use is
 * refused, not waited for, since it is a mistake in the program. It costs one atomic operation per
 * call; calls in a transaction of the caller's do not come here. */
#ifndef PH_CORE_USE_H
#define PH_CORE_USE_H

#include "store/store.h"

/* A call begins or ends on the store's own connection. PH_ESTATE: it is in use, or belongs to a
 * keeper. */
int ph__use_begin(ph_store *store, ph_error *err);
void ph__use_end(ph_store *store);

/* The store belongs to a keeper (a dispatcher) from now on: only threads that act for it may use it. */
int ph__use_keep(ph_store *store, const void *keeper, ph_error *err);
void ph__use_keep_end(ph_store *store);
/* This thread acts for a keeper until it ends. */
void ph__use_act_for(const void *keeper);

/* The connection is in the hands of a handler, in a transaction; within a call. */
void ph__use_lend(ph_store *store);
void ph__use_lend_end(ph_store *store);

#endif
