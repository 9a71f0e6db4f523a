/* process.h - one command for one message: no shell, its own session, watched to its end. */
#ifndef PH_CLI_PROCESS_H
#define PH_CLI_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#define PROCESS_TAIL_MAX 4096 /* bytes kept of the end of standard error */

/* What is asked of a running command. */
enum process_wish {
    PROCESS_GO_ON = 0,
    PROCESS_END = 1, /* SIGTERM to all of it, SIGKILL after kill_after_ms */
    PROCESS_KILL = 2 /* SIGKILL now */
};

struct process_spec {
    const char *path; /* as process_find() found it */
    char *const *argv;
    char *const *envp; /* the whole environment */
    const void *input; /* what the command reads from its standard input */
    size_t input_length;
    int stdout_fd;     /* becomes its standard output */
    int time_limit_ms; /* 0: none; then it is ended */
    int kill_after_ms; /* how long it has after SIGTERM */
    /* Asked at least ten times per second. */
    enum process_wish (*wish)(void *context);
    void *wish_context;
};

enum process_end {
    PROCESS_EXITED,      /* by itself; code: the exit status */
    PROCESS_SIGNALLED,   /* by a signal that was not ours; code: its number */
    PROCESS_TIME_LIMIT,  /* ended by us; how it took that does not matter */
    PROCESS_STOPPED,     /* likewise, because wish said so */
    PROCESS_NOT_STARTED, /* code: errno */
};

struct process_result {
    enum process_end end;
    int code;
    int64_t run_us;
    char tail[PROCESS_TAIL_MAX + 1]; /* the end of its standard error, without NUL inside */
};

/* An in-memory file that nobody can change any more. Returns its descriptor, or -1 with errno
 * set. */
int process_file(const char *name, const void *bytes, size_t length);

/* Finds command as a shell would: with a slash it is a path, otherwise it is looked up in
 * search (PATH's value; NULL: none). Returns 0 and a path to free(), or errno. */
int process_find(const char *command, const char *search, char **ret_path);

/* Prepares this process: SIGCHLD is not ignored, and the guard (process_guard.h) runs. Once,
 * before any thread; descriptors 0, 1 and 2 must be open. Returns 0 or errno. */
int process_begin(void);
/* Undoes it, after the last process_run(). */
void process_end_all(void);

/* Runs a command and returns when it has ended. Any number of threads may call it at once.
 *
 * The command has a session and process group of its own, no terminal, no descriptor but 0, 1
 * and 2, default signal dispositions, an empty signal mask. Its standard input is a file in
 * memory, which it may read or not. Its standard error is copied to ours. When its first process
 * has ended, the rest of the group is killed.
 *
 * If we are killed, so is the command: its first process by the kernel (PR_SET_PDEATHSIG, tied to
 * the thread that forked, which waits here until the end), and its whole group by the guard.
 * A process that has left the group by starting a session of its own is out of reach. */
void process_run(const struct process_spec *spec, struct process_result *ret_result);

#endif
