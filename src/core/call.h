/* call.h - the beginning of every public verb. */
#ifndef PH_CORE_CALL_H
#define PH_CORE_CALL_H

#include "store/store.h"

/* A call as a variable of a function: it ends with its block, even if it failed. The store must
 * still be there then. */
#define PH__CALL(name) __attribute__((cleanup(ph__call_end))) struct ph__call name = { 0 }
void ph__call_end(struct ph__call *call);

/* Starts a call: clears reterr, checks the store, the time limit and, if there is one, the caller's
 * transaction. No database is touched: the arguments are checked next. */
int ph__call_begin(struct ph__call *call, ph_store *store, ph_tx tx, int timeout_ms,
                   ph_error *reterr);
/* Of a checked argument: NULL is an error that names it. */
int ph__call_wants(struct ph__call *call, int checked, const void *argument, const char *name);

/* Once all is checked: outside of a caller's transaction takes the store for its own use and
 * connects it. checked: the result of the checks; an error of theirs is handed on. */
int ph__call_connect(struct ph__call *call, int checked);
/* The same without a look at the schema. */
int ph__call_connect_bare(struct ph__call *call, int checked);

/* Begins and connects: for a call of ours that has no arguments to check. */
int ph__call_own(struct ph__call *call, ph_store *store, int timeout_ms, ph_error *reterr);

#endif
