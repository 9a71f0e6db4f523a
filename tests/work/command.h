/* command.h - the command posthorn as a process of its own, and what it starts. */
#ifndef WORK_COMMAND_H
#define WORK_COMMAND_H

#include "common.h"

#include <sys/types.h>

/* Waits for what must come. The limit only tells a hang from a slow machine. */
#define AWAIT_LIMIT_S 60
#define AWAIT(cond)                                                                                \
    for (double await_end = t_now_s() + AWAIT_LIMIT_S; !(cond); nap())                             \
    t_check(__FILE__, __LINE__, NULL, "in time: " #cond, t_now_s() < await_end)
void nap(void); /* 10 ms */

/* A stage: a store with the schema, and a connection for the test's own eyes. */
struct stage {
    ph_store *store;
    struct t_conn *conn;
};
void stage_open(struct stage *stage);
ph_work_id stage_put(struct stage *stage, const char *payload); /* of the topic "t" */

/* Runs "posthorn work ARGUMENTS" (ended by NULL) in the test's folder, on the test's database.
 * Its stdout and stderr are kept in files. */
#define WORK(...) command_run((const char *const[]){ "work", __VA_ARGS__, NULL })
/* Begins it, and returns at once. */
#define WORK_BEGIN(...) command_begin((const char *const[]){ "work", __VA_ARGS__, NULL })
int command_run(const char *const *arguments); /* its exit status; -N: killed by signal N */
pid_t command_begin(const char *const *arguments);
int command_end(pid_t pid); /* waits for it */
/* Called in the new process before it becomes posthorn; NULL: nothing. */
extern void (*command_before_exec)(void);

/* What the last command has written; valid until the next call. */
const char *command_out(void);
const char *command_err(void);
size_t command_out_length(void);

/* A file in the test's folder: does it exist, and what does it hold ("": nothing, or no file)? */
bool file_exists(const char *name);
const char *file_text(const char *name);
void file_write(const char *name, const char *text, bool executable);

/* The number that a process has written to a file; waits for it. */
pid_t pid_in(const char *name);
/* Has it ended? (One that nobody has waited for yet counts.) */
bool is_gone(pid_t pid);

#endif
