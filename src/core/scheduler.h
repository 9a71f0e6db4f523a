/* scheduler.h - a run of the scheduler inside a transaction. */
#ifndef PH_CORE_SCHEDULER_H
#define PH_CORE_SCHEDULER_H

#include "store/store.h"

/* ph_scheduler_run() in the caller's transaction, all of it. It has several steps, and a failure
 * does not undo those before it: that is for the caller to do. */
int ph__scheduler_run_in(ph_scheduler *scheduler, ph_tx tx, int timeout_ms,
                         ph_schedule *ret_schedule, ph_error *reterr);

#endif
