/* process_guard.c - a process that briefly outlives us, to kill what we started.
 *
 * The kernel can kill a command when its parent dies, but not what the command has started. So
 * a small process reads from a pipe whose other end only we hold: the numbers of the groups that
 * begin and end. When we are gone, however that happened, it reads the end of the file, kills
 * every group that is left and ends. It has a session of its own, so that a signal to our group,
 * such as Ctrl-C, does not reach it. */
#include "process_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUPS_MAX 4096 /* a dispatcher has at most 1 024 threads, with one group each */

static int guard_fd = -1;
static pid_t guard_pid = -1;

struct groups {
    pid_t known[GROUPS_MAX];
    int count;
};

/* A record is the number of a group: positive when it begins, negative when it ends. */
static void note(struct groups *groups, int32_t record)
{
    if (record > 0 && groups->count < GROUPS_MAX)
        groups->known[groups->count++] = record;
    for (int i = 0; record < 0 && i < groups->count; i++)
        if (groups->known[i] == -record) {
            groups->known[i] = groups->known[--groups->count];
            return;
        }
}

static void keep_guard(int fd)
{
    static struct groups groups;
    int32_t record;
    size_t have = 0;
    ssize_t n;

    for (;;) {
        n = read(fd, (char *)&record + have, sizeof(record) - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
        if (have == sizeof(record)) {
            note(&groups, record);
            have = 0;
        }
    }
    for (int i = 0; i < groups.count; i++)
        kill(-groups.known[i], SIGKILL);
}

static void be_guard(int fd)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, "posthorn-guard");
    if (dup2(fd, 0) < 0)
        _exit(1);
    close_range(1, ~0U, 0);
    keep_guard(0);
    _exit(0);
}

int guard_start(void)
{
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return errno;
    pid = fork();
    if (pid == 0)
        be_guard(fds[0]);
    close(fds[0]);
    if (pid < 0) {
        int error = errno;

        close(fds[1]);
        return error;
    }
    guard_fd = fds[1];
    guard_pid = pid;
    return 0;
}

void guard_stop(void)
{
    if (guard_fd < 0)
        return;
    close(guard_fd);
    guard_fd = -1;
    while (waitpid(guard_pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* A write this short is atomic. If the guard is gone, there is nobody to tell. */
static void tell(int32_t record)
{
    while (write(guard_fd, &record, sizeof(record)) < 0 && errno == EINTR)
        ;
}

void guard_group_begins(pid_t group)
{
    tell(group);
}

void guard_group_ends(pid_t group)
{
    tell(-group);
}
