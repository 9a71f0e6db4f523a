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
    atomic_bool spared;    /* has warned that commands cannot be started at the moment */
};

/* ---------------------------------------------------------- work_handle.c */

/* The row printed for each message. */
extern const struct cli_field work_fields[];

/* The handler of the dispatcher; context is the struct work. */
ph_verdict work_handle(void *context, ph_work *work);

/* ------------------------------------------------------------- work_env.c */

/* Does the variable describe a message? Then --env must not name it. */
bool work_env_is_ours(const char *name);

/* The environment of one message's command: one block to free(); NULL: no memory. store: the
 * message's store of a set; or NULL. db_fd: of work_db_open(). */
char **work_env(const struct work *work, const ph_delivery *message, const char *store, int db_fd);

/* -------------------------------------------------------------- work_db.c */

/* Opens a file that lets a command reach the database of its message for as long as the file is
 * open; store: as above. Any thread. Returns a descriptor; WORK_NO_DB: the command gets none; -1:
 * errno. */
#define WORK_NO_DB (-2)
int work_db_open(const struct work *work, const char *store);

/* Hides the URLs of databases and what belongs to them from processes that read our arguments,
 * environment or memory. Call it before anything uses these. Returns 0 or errno. */
int work_db_hide(struct cli *cli);

/* ---------------------------------------------------------- work_topics.c */

/* Remembers that a message of this topic was handled. */
void work_topic_seen(struct work *work, const char *topic);
/* At the end: notes TOPICs of which there is no message, settled or not. Opens the database anew,
 * of a set each. */
void work_topics_tell(struct work *work);

/* ------------------------------------------------------------ work_stop.c */

/* Counts SIGTERM and SIGINT from now on; a second call changes nothing. Returns 0 or errno. */
int work_stop_prepare(void);
/* How many signals came, and the first one. */
int work_stop_signals(void);
int work_stop_first_signal(void);

/* Ends work because a command cannot be started, now or later; its errno, or 0. */
void work_stop_broken(int error);
int work_stop_is_broken(void);

/* Ends work because stdout, where the rows go, cannot be written any more. */
void work_stop_unread(void);
bool work_stop_is_unread(void);

/* Is there any reason to end? */
bool work_stop_is_due(void);

/* Gives commands limit_ms to end by themselves. */
void work_stop_begin(int limit_ms);

/* What to ask of a running command. */
enum process_wish work_stop_wish(void);

/* Sleeps until there is a reason to end; sleep: at most for this time. */
void work_stop_wait(void);
void work_stop_sleep(int64_t ms);

#endif
