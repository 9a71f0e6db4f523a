/* server.h - a throw-away PostgreSQL server that a test may stop and start as it likes. */
#ifndef FAULT_SERVER_H
#define FAULT_SERVER_H

/* Makes and starts one in the test's folder; skips the test where that is impossible. It goes down
 * with the test. */
void server_start_new(void);
/* The maintenance database of that server. */
const char *server_url(void);
/* Stops it at once, as a crash would, or lets it finish its sessions' statements. */
void server_crash(void);
void server_stop(void);
/* Freezes the server and its process pid, so that nothing answers; and lets them go on. */
void server_freeze(int pid);
void server_thaw(int pid);
/* Starts it again, and does not wait until it is up. */
void server_start(void);
/* Until it takes connections. */
void server_wait(void);

/* A standby of it, at port 5433 of the same folder: a commit of the first waits until the standby
 * has it. It goes down with the test, too. */
void server_start_standby(void);
const char *standby_url(void);
/* Returns when it can be written. Until it is stopped, the first one waits at each commit. */
void standby_promote(void);

#endif
