/* job.h - a job as rows show it: the same names in every verb. */
#ifndef POSTHORN_CLI_JOB_H
#define POSTHORN_CLI_JOB_H

#include "cli.h"

extern const struct cli_field cli_job_fields[];
#define CLI_MISFIRES "once skip all"
#define CLI_OVERLAPS "allow skip"

/* Finds a job by name: a list of one, to be freed. Returns an exit code; a failure has been said. */
int cli_job_find(struct cli *cli, const char *name, ph_jobs **ret_jobs);
/* Prints one. */
int cli_job_print(struct cli *cli, const char *name);

#endif
