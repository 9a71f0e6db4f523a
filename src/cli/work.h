/* work.h - what the parts of "posthorn work" share. */
#ifndef PH_CLI_WORK_H
#define PH_CLI_WORK_H

#include "cli.h"
#include "process.h"

#include <pthread.h>
#include <stdatomic.h>

struct work {
    struct cli *cli;
    char *path; /* of the command */
    char **argv;
    char **passed; /* "NAME=value" of PATH and every --env */
    size_t passed_count;
    int time_limit_ms, kill_after_ms, stop_limit_ms;
    int64_t retry_delay_ms; /* negative: as the queue says */
    atomic_bool *seen;      /* per TOPIC: a message of it was handled */
    bool verbose;
    bool gives_db;         /* commands are told of the database */
    int stdout_fd;         /* of the commands */
    pthread_mutex_t words; /* the frame prints for one thread at a time */
    atomic_bool spared;    /* we have said that commands cannot be started at the moment */
};

/* ---------------------------------------------------------- work_handle.c */

/* What is printed of each message. */
extern const struct cli_field work_fields[];

/* The handler of the dispatcher; context is the struct work. */
ph_verdict work_handle(void *context, ph_work *work);

/* ------------------------------------------------------------- work_env.c */

/* The names of the variables that describe a message, for --help and for checks of --env. */
bool work_env_is_ours(const char *name);

/* The environment of one message's command: one block to free(); NULL: no memory. store: which
 * one of a set the message is in; or NULL. db_fd: of work_db_open(). */
char **work_env(const struct work *work, const ph_delivery *message, const char *store, int db_fd);

/* -------------------------------------------------------------- work_db.c */

/* A file that lets a command reach the database of its message, for as long as it is open; store:
 * as above. Any thread. Returns a descriptor; WORK_NO_DB: it is not to reach it; -1: errno. */
#define WORK_NO_DB (-2)
int work_db_open(const struct work *work, const char *store);

/* Takes the names of databases, and what belongs to them, from where other processes could read
 * it: our arguments, environment and memory. Before anything looks at them. Returns 0 or errno. */
int work_db_hide(struct cli *cli);

/* ---------------------------------------------------------- work_topics.c */

/* A message of this topic has come. */
void work_topic_seen(struct work *work, const char *topic);
/* At the end: tells of TOPICs that nobody has ever stored a message of. Opens the
 * database anew, of a set each. */
void work_topics_tell(struct work *work);

/* ------------------------------------------------------------ work_stop.c */

/* SIGTERM and SIGINT are counted from now on; again: as before. Returns 0 or errno. */
int work_stop_prepare(void);
/* How many came, and the first of them. */
int work_stop_signals(void);
int work_stop_first_signal(void);

/* A command could not be started, and never will be: that ends us. 0: not so. */
void work_stop_broken(int error);
int work_stop_is_broken(void);

/* Stdout, where the rows go, cannot be written any more: that ends us, too. */
void work_stop_unread(void);
bool work_stop_is_unread(void);

/* Is there any reason to end? */
bool work_stop_is_due(void);

/* From now on commands have limit_ms to end by themselves. */
void work_stop_begin(int limit_ms);

/* What a running command is to be told. */
enum process_wish work_stop_wish(void);

/* Sleeps until there is a reason to end; or for so long, if that is less. */
void work_stop_wait(void);
void work_stop_sleep(int64_t ms);

#endif
