/* job.h - what a job run's headers say. */
#ifndef PH_CORE_JOB_H
#define PH_CORE_JOB_H

#include "store/store.h"

/* Sets job and scheduled_at of a job run from its headers; leaves them alone if they are not there.
 * False: memory is out. */
bool ph__job_of_headers(struct ph__arena *arena, ph_delivery *run);

#endif
