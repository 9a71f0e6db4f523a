/* process.c - one command for one message: no shell, its own session, watched to its end. */
#include "process.h"

#include "cli.h"
#include "process_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 100      /* how often a running command is checked */
#define BLIND_TICK_MS 20 /* if the kernel cannot report its end */
#define CHUNK 4096       /* what poll() promises that a pipe takes at once (PIPE_BUF) */
#define LAST_READS_MAX 256

struct running {
    const struct process_spec *spec;
    struct process_result *result;
    pid_t pid;      /* also its group */
    int pidfd;      /* -1: the kernel has none */
    int error_fd;   /* our end of its standard error; -1: closed */
    bool congested; /* our standard error takes no more at the moment */
    bool in_a_line; /* its last output there does not end a line */
    int64_t started_us, kill_at_us;
    bool ended_by_us;
    enum process_end reason; /* valid if ended_by_us */
    size_t tail_length;
};

/* ------------------------------------------------------------------ before */

static bool is_program(const char *path, int *error)
{
    struct stat status;

    if (stat(path, &status) < 0) {
        *error = errno;
        return false;
    }
    *error = EACCES;
    return S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

int process_find(const char *command, const char *search, char **ret_path)
{
    int error = ENOENT, worst = ENOENT;
    char *path = NULL;

    if (strchr(command, '/')) {
        if (!is_program(command, &error))
            return error;
        path = strdup(command);
        *ret_path = path;
        return path ? 0 : ENOMEM;
    }
    while (search && *command) {
        size_t length = strcspn(search, ":");
        const char *folder = length > 0 ? search : ".";

        path = malloc(length + strlen(command) + 3);
        if (!path)
            return ENOMEM;
        length = length > 0 ? length : 1;
        memcpy(path, folder, length);
        path[length] = '/';
        memcpy(path + length + 1, command, strlen(command) + 1);
        if (is_program(path, &error)) {
            *ret_path = path;
            return 0;
        }
        free(path);
        if (error == EACCES)
            worst = EACCES;
        search = strchr(search, ':');
        search = search ? search + 1 : NULL;
    }
    return worst;
}

int process_begin(void)
{
    struct sigaction by_default = { .sa_handler = SIG_DFL };

    /* If it is ignored, and that is inherited, we get no exit status. */
    if (sigaction(SIGCHLD, &by_default, NULL) < 0)
        return errno;
    return guard_start();
}

void process_end_all(void)
{
    guard_stop();
}

/* ------------------------------------------------------------------- start */

int process_file(const char *name, const void *bytes, size_t length)
{
    const char *from = bytes;
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    while (fd >= 0 && length > 0) {
        ssize_t n = write(fd, from, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int error = errno;

            close(fd);
            errno = error;
            return -1;
        }
        from += n;
        length -= (size_t)n;
    }
    if (fd >= 0) {
        lseek(fd, 0, SEEK_SET);
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    }
    return fd;
}

static void close_on_exec_from(unsigned first)
{
    struct rlimit limit;

    if (close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        limit.rlim_cur = 65536;
    for (unsigned fd = first; fd < limit.rlim_cur; fd++)
        fcntl((int)fd, F_SETFD, FD_CLOEXEC);
}

/* In the child, between fork and exec: only what is async-signal-safe. Every signal is blocked
 * until the end. Returns errno. */
static int become(const struct process_spec *spec, int input_fd, int error_fd, pid_t parent)
{
    struct sigaction by_default = { .sa_handler = SIG_DFL };
    sigset_t none;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || setsid() < 0)
        return errno;
    if (getppid() != parent)
        _exit(1);
    guard_group_begins(getpid());
    if (dup2(input_fd, STDIN_FILENO) < 0 || dup2(spec->stdout_fd, STDOUT_FILENO) < 0 ||
        dup2(error_fd, STDERR_FILENO) < 0)
        return errno;
    close_on_exec_from(STDERR_FILENO + 1);
    for (int signal = 1; signal < NSIG; signal++)
        sigaction(signal, &by_default, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(spec->path, spec->argv, spec->envp);
    return errno;
}

/* Forks. A successful exec closes the status pipe; a failed one writes its reason. Returns 0 or
 * errno. */
static int fork_command(struct running *running, int input_fd, int error_fd, int status[2])
{
    sigset_t all, before;
    pid_t parent = getpid();
    int error = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    running->pid = fork();
    if (running->pid == 0) {
        error = become(running->spec, input_fd, error_fd, parent);
        while (write(status[1], &error, sizeof(error)) < 0 && errno == EINTR)
            ;
        _exit(127);
    }
    if (running->pid < 0)
        error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Waits for the exec. Returns 0 or errno. */
static int await_exec(struct running *running, int status_fd)
{
    int error = 0;
    ssize_t n;

    do
        n = read(status_fd, &error, sizeof(error));
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(error))
        return 0;
    guard_group_ends(running->pid);
    while (waitpid(running->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return error;
}

static void close_both(int fds[2])
{
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Returns 0 or errno. */
static int start(struct running *running)
{
    int status[2] = { -1, -1 }, errors[2] = { -1, -1 };
    /* A file needs no feeding if the command reads nothing, or slowly. */
    int input_fd = process_file("message", running->spec->input, running->spec->input_length);
    int error = 0;

    if (input_fd < 0 || pipe2(status, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
        error = errno;
    if (error == 0)
        error = fork_command(running, input_fd, errors[1], status);
    if (error == 0) {
        close(status[1]);
        status[1] = -1;
        error = await_exec(running, status[0]);
    }
    if (error == 0) {
        running->error_fd = errors[0];
        errors[0] = -1;
        fcntl(running->error_fd, F_SETFL, O_NONBLOCK);
        running->pidfd = pidfd_open(running->pid, 0);
    }
    close_both(status);
    close_both(errors);
    if (input_fd >= 0)
        close(input_fd);
    return error;
}

/* ------------------------------------------------------------------- watch */

static void keep_tail(struct running *running, const char *bytes, size_t length)
{
    char *tail = running->result->tail;
    size_t keep = running->tail_length;

    if (keep + length > PROCESS_TAIL_MAX) {
        keep = length < PROCESS_TAIL_MAX ? PROCESS_TAIL_MAX - length : 0;
        memmove(tail, tail + running->tail_length - keep, keep);
    }
    memcpy(tail + keep, bytes, length);
    for (size_t i = keep; i < keep + length; i++)
        if (tail[i] == '\0')
            tail[i] = ' ';
    running->tail_length = keep + length;
    tail[running->tail_length] = '\0';
}

/* Writes all of it, or gives up: what cannot be written is still kept. */
static void write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);

        if (n < 0 && errno != EINTR)
            return;
        bytes += n < 0 ? 0 : n;
        length -= n < 0 ? 0 : (size_t)n;
    }
}

/* Copies output to our standard error if that takes it now: a stopped terminal holds up the
 * command, but not our watch over it. At the end the output is kept in any case. Returns false if
 * there was none. */
static bool forward(struct running *running, bool at_the_end)
{
    static pthread_mutex_t standard_error = PTHREAD_MUTEX_INITIALIZER;
    struct pollfd ours = { .fd = STDERR_FILENO, .events = POLLOUT };
    char chunk[CHUNK];
    ssize_t n = 0;

    pthread_mutex_lock(&standard_error);
    running->congested = poll(&ours, 1, 0) == 0;
    if (!running->congested || at_the_end) {
        n = read(running->error_fd, chunk, sizeof(chunk));
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            close(running->error_fd);
            running->error_fd = -1;
        }
    }
    if (n > 0 && !running->congested) {
        write_all(STDERR_FILENO, chunk, (size_t)n);
        running->in_a_line = chunk[n - 1] != '\n';
    }
    pthread_mutex_unlock(&standard_error);
    if (n > 0)
        keep_tail(running, chunk, (size_t)n);
    return n > 0;
}

static void press(struct running *running, enum process_end reason, int64_t now)
{
    if (running->ended_by_us)
        return;
    running->ended_by_us = true;
    running->reason = reason;
    running->kill_at_us = now + (int64_t)running->spec->kill_after_ms * 1000;
    kill(-running->pid, SIGTERM);
    kill(-running->pid, SIGCONT); /* a stopped process would not notice */
}

/* Ends the command if it is time for that. */
static void judge(struct running *running)
{
    const struct process_spec *spec = running->spec;
    enum process_wish wish = spec->wish(spec->wish_context);
    int64_t now = cli_now_us();

    if (spec->time_limit_ms > 0 && now - running->started_us >= spec->time_limit_ms * 1000LL)
        press(running, PROCESS_TIME_LIMIT, now);
    if (wish != PROCESS_GO_ON)
        press(running, PROCESS_STOPPED, now);
    if (running->ended_by_us && (wish == PROCESS_KILL || now >= running->kill_at_us))
        kill(-running->pid, SIGKILL);
}

/* Has its first process ended? It stays a zombie, so that its pid is not reused. */
static bool has_ended(const struct running *running)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)running->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == running->pid;
}

static int tick_ms(const struct running *running)
{
    int64_t end_us = running->ended_by_us
                         ? running->kill_at_us
                         : running->started_us + running->spec->time_limit_ms * 1000LL;
    int tick = running->pidfd < 0 || running->congested ? BLIND_TICK_MS : TICK_MS;
    int64_t left_ms = (end_us - cli_now_us()) / 1000 + 1;

    if (!running->ended_by_us && running->spec->time_limit_ms == 0)
        return tick;
    return left_ms < 1 ? BLIND_TICK_MS : left_ms < tick ? (int)left_ms : tick;
}

static void watch(struct running *running)
{
    while (!has_ended(running)) {
        struct pollfd fds[2] = {
            { .fd = running->pidfd, .events = POLLIN },
            { .fd = running->congested ? -1 : running->error_fd, .events = POLLIN },
        };

        judge(running);
        if (poll(fds, 2, tick_ms(running)) < 0)
            continue;
        if (running->error_fd >= 0 && (fds[1].revents || running->congested))
            forward(running, false);
    }
}

/* The first process has ended, and the rest is killed. */
static void finish(struct running *running)
{
    struct process_result *result = running->result;
    int status = 0;

    kill(-running->pid, SIGKILL);
    for (int i = 0; i < LAST_READS_MAX && running->error_fd >= 0; i++)
        if (!forward(running, true))
            break;
    if (running->in_a_line && !running->congested)
        write_all(STDERR_FILENO, "\n", 1); /* our next message begins a line */
    guard_group_ends(running->pid);
    while (waitpid(running->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (running->ended_by_us) {
        result->end = running->reason;
    } else if (WIFSIGNALED(status)) {
        result->end = PROCESS_SIGNALLED;
        result->code = WTERMSIG(status);
    } else {
        result->end = PROCESS_EXITED;
        result->code = WEXITSTATUS(status);
    }
    if (running->error_fd >= 0)
        close(running->error_fd);
    if (running->pidfd >= 0)
        close(running->pidfd);
}

void process_run(const struct process_spec *spec, struct process_result *ret_result)
{
    struct running running = { .spec = spec, .result = ret_result, .pidfd = -1, .error_fd = -1 };
    int error;

    memset(ret_result, 0, sizeof(*ret_result));
    running.started_us = cli_now_us();
    error = start(&running);
    if (error) {
        ret_result->end = PROCESS_NOT_STARTED;
        ret_result->code = error;
        return;
    }
    watch(&running);
    finish(&running);
    ret_result->run_us = cli_now_us() - running.started_us;
}
