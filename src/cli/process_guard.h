/* process_guard.h - a process that briefly outlives us, to kill what we started. */
#ifndef PH_CLI_PROCESS_GUARD_H
#define PH_CLI_PROCESS_GUARD_H

#include <sys/types.h>

/* Starts the guard: before any thread. Returns 0 or errno. */
int guard_start(void);
/* Ends it. Groups it still knows are killed. */
void guard_stop(void);

/* Tells it that a group began or ended. The first is called by the group's leader between fork
 * and exec, so that no group is ever unknown; it is async-signal-safe. */
void guard_group_begins(pid_t group);
void guard_group_ends(pid_t group);

#endif
