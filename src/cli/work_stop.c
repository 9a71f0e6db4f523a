/* work_stop.c - how "posthorn work" ends, and "posthorn schedule", which runs no commands.
 *
 * The first signal: nothing more is claimed, and running commands may finish within the stop
 * limit. The limit, or a second signal: they get SIGTERM. A third signal: SIGKILL. A fourth one
 * ends posthorn at once, since it may hang in a write that nobody reads. */
#include "work.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SIGNALS_MAX 3 /* one more ends us at once */

static atomic_int signals, first_signal, broken;
static atomic_bool unread;
static atomic_int_fast64_t end_at_us; /* 0: not stopping */
static int wake_fd = -1;

/* Async-signal-safe; a full counter wakes as well as a fresh one. */
static void wake(void)
{
    uint64_t one = 1;
    ssize_t n = write(wake_fd, &one, sizeof(one));

    (void)n;
}

static void on_signal(int number)
{
    int none = 0, before = errno;

    atomic_compare_exchange_strong(&first_signal, &none, number);
    if (atomic_fetch_add(&signals, 1) >= SIGNALS_MAX)
        _exit(CLI_INTERRUPTED); /* the guard kills the commands */
    wake();
    errno = before;
}

int work_stop_prepare(void)
{
    struct sigaction counted = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

    if (wake_fd >= 0)
        return 0;
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0)
        return errno;
    if (sigaction(SIGTERM, &counted, NULL) < 0 || sigaction(SIGINT, &counted, NULL) < 0)
        return errno;
    return 0;
}

int work_stop_signals(void)
{
    return atomic_load(&signals);
}

int work_stop_first_signal(void)
{
    return atomic_load(&first_signal);
}

void work_stop_broken(int error)
{
    atomic_store(&broken, error);
    wake();
}

int work_stop_is_broken(void)
{
    return atomic_load(&broken);
}

void work_stop_unread(void)
{
    atomic_store(&unread, true);
    wake();
}

bool work_stop_is_unread(void)
{
    return atomic_load(&unread);
}

bool work_stop_is_due(void)
{
    return work_stop_signals() || work_stop_is_broken() || work_stop_is_unread();
}

void work_stop_begin(int limit_ms)
{
    atomic_store(&end_at_us, cli_now_us() + (int64_t)limit_ms * 1000);
}

enum process_wish work_stop_wish(void)
{
    int came = atomic_load(&signals);
    int64_t end_us = atomic_load(&end_at_us);

    if (came > 2)
        return PROCESS_KILL;
    return came > 1 || (end_us && cli_now_us() >= end_us) ? PROCESS_END : PROCESS_GO_ON;
}

void work_stop_wait(void)
{
    struct pollfd fd = { .fd = wake_fd, .events = POLLIN };

    while (!work_stop_is_due())
        poll(&fd, 1, -1);
}

void work_stop_sleep(int64_t ms)
{
    struct pollfd fd = { .fd = wake_fd, .events = POLLIN };

    if (ms > 0 && !work_stop_is_due())
        poll(&fd, 1, ms < INT_MAX ? (int)ms : INT_MAX);
}
