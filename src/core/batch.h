/* batch.h - the one exchange, for the dispatcher. */
#ifndef PH_CORE_BATCH_H
#define PH_CORE_BATCH_H

#include "store/store.h"

/* Does what batch says, in a transaction of its own. Claims, messages and the instance are taken
 * as they are; settlements are made fit to store (their delays, their errors) and logged. The
 * caller has made a zeroed batch for each claim. PH_EEVICTED: see ph_process_work_batch(). */
int ph__work_batch(ph_store *store, struct ph__work_batch *batch, int timeout_ms, ph_error *reterr);

#endif
