/* call.h - what every public verb does first. */
#ifndef PH_CORE_CALL_H
#define PH_CORE_CALL_H

#include "store/store.h"

/* A call as a variable of a function: it ends with its block, whatever became of it. The store must
 * still be there then. */
#define PH__CALL(name) __attribute__((cleanup(ph__call_end))) struct ph__call name = { 0 }
void ph__call_end(struct ph__call *call);

/* Starts a call: clears reterr, checks the store, the time limit and, if there
 * is one, the caller's transaction; takes the store for its own use and connects
 * it otherwise. spare is used when reterr is NULL. */
int ph__call_begin(struct ph__call *call, ph_store *store, ph_tx tx, int timeout_ms,
                   ph_error *reterr, ph_error *spare);

/* The same without a caller's transaction, and without a look at the schema. */
int ph__call_begin_bare(struct ph__call *call, ph_store *store, int timeout_ms, ph_error *reterr,
                        ph_error *spare);

#endif
