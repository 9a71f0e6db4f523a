/* job_run.h - the runs of a job: making one, and whether one is still under way. */
#ifndef PH_STORE_SQLITE_JOB_RUN_H
#define PH_STORE_SQLITE_JOB_RUN_H

#include "store/sqlite/store_message.h"

/* A run of the job for an instant: stores the message, its row in job_run, and the last run in the
 * job's row. s is for the door of job runs; s->ns is not kept. */
int ph__job_run_make(struct ph__message_writer *s, const ph_job_info *job, int64_t instant,
                     bool triggered, ph_work_id *ret_run);

/* 1 if there is a run of the job and instant that was not triggered by hand. */
int ph__job_run_exists(struct ph__sqlite_tx *tx, const char *job, int64_t instant);

/* 1 if a run of the job has not ended. Runs that turn out to have ended are marked, and not looked
 * at again. */
int ph__job_is_running(struct ph__sqlite_tx *tx, const ph_job_info *job);

#endif
