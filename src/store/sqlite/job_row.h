/* job_row.h - a job as it is stored. */
#ifndef PH_STORE_SQLITE_JOB_ROW_H
#define PH_STORE_SQLITE_JOB_ROW_H

#include "store/sqlite/transaction.h"

#define PH__JOB_NEVER INT64_MAX /* stored as next_at: no instant is left */

struct ph__job_row {
    ph_job_info info;   /* as users see it */
    int64_t generation; /* rises with every change by a user */
    int64_t next_at;    /* as stored; 0: to be computed */
};

/* Loads the query's present row (columns as in job_get); memory from the arena. */
int ph__job_load(const struct ph__query *query, struct ph__arena *arena,
                 struct ph__job_row *ret_job);
/* 1 if there is a job of that name. */
int ph__job_get(struct ph__sqlite_tx *tx, const char *name, struct ph__arena *arena,
                struct ph__job_row *ret_job);

#endif
