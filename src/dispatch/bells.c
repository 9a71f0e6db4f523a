/* bells.c - what wakes the crew: an eventfd of our own, the sockets on which databases ring, and, for
 * the SQLite files of a set, a watch on their folders, which needs no connection and counts once for
 * all files of a folder. */
#include "dispatch/dispatch.h"

#include "util/alloc.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#define EVENTS_MAX 32
#define WAKE_MARK UINT64_MAX
#define FOLDER_MARK (UINT64_MAX - 1) /* others: the serial of a station */
#define QUIET_US 5000 /* between two looks at the folders: each commit of ours is told, too */
#define WAL "-wal"

/* ------------------------------------------------------------------- sockets */

void ph__bell_arm(struct ph__station *station)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = station->serial };
    int poll_fd = station->dispatcher->poll_fd, fd = station->doorbell_fd;

    if (fd < 0)
        return;
    ph__lock(station->dispatcher);
    /* A socket that was closed has left by itself, and another may have its number. */
    if (epoll_ctl(poll_fd, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
        (void)!epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
    station->armed = true;
    ph__unlock(station->dispatcher);
}

void ph__bell_disarm(struct ph__station *station)
{
    PH__NEEDS_LOCK(station->dispatcher);
    /* Also that the other side hangs up is told once at most. */
    struct epoll_event event = { .events = EPOLLONESHOT, .data.u64 = station->serial };

    if (!station->armed || station->dispatcher->crew_count == 1)
        return; /* nobody watches while its answers come in */
    station->armed = false;
    (void)!epoll_ctl(station->dispatcher->poll_fd, EPOLL_CTL_MOD, station->doorbell_fd, &event);
}

/* ------------------------------------------------------------------- folders */

static struct ph__station **slot_of(ph_dispatcher *dispatcher, int folder, const char *name,
                                    size_t length)
{
    uint32_t hash = (uint32_t)folder * 2654435761u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return &dispatcher->bell_slots[hash % PH__BELL_SLOTS];
}

void ph__bell_watch(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;
    const char *file =
        station->store->backend->file ? station->store->backend->file(station->store) : NULL;
    char path[PATH_MAX];
    struct ph__station **slot;
    char *name, *slash;
    int folder;

    if (!file || dispatcher->inotify_fd < 0 || dispatcher->opts.doorbell == PH_DOORBELL_OFF ||
        !realpath(file, path) || !(slash = strrchr(path, '/')))
        return; /* a file that is not there yet is polled until somebody asks again */
    name = ph__strdup(slash + 1);
    *(slash == path ? slash + 1 : slash) = '\0';
    folder = name ? inotify_add_watch(dispatcher->inotify_fd, path, IN_MODIFY) : -1;
    if (folder < 0) {
        ph__dealloc(name);
        return;
    }
    ph__lock(dispatcher);
    slot = slot_of(dispatcher, folder, name, strlen(name));
    station->bell_folder = folder;
    station->bell_name = name;
    station->bell_next = *slot;
    *slot = station;
    ph__unlock(dispatcher);
}

void ph__bell_unwatch(struct ph__station *station)
{
    struct ph__station **at;

    PH__NEEDS_LOCK(station->dispatcher);
    if (!station->bell_name)
        return;
    at = slot_of(station->dispatcher, station->bell_folder, station->bell_name,
                 strlen(station->bell_name));
    while (*at && *at != station)
        at = &(*at)->bell_next;
    if (*at)
        *at = station->bell_next;
    ph__dealloc(station->bell_name);
    station->bell_name = NULL;
    station->bell_lost = false;
}

/* Somebody has written to the log of this file, which every commit does. It is written before its
 * commit can be seen: who finds nothing yet looks again soon, and then less and less often. */
static void rings(ph_dispatcher *dispatcher, int folder, const char *name)
{
    size_t length = strlen(name), wal = strlen(WAL);

    if (length <= wal || strcmp(name + length - wal, WAL) != 0)
        return; /* a checkpoint writes to the file itself */
    length -= wal;
    for (struct ph__station *s = *slot_of(dispatcher, folder, name, length); s; s = s->bell_next) {
        if (s->bell_folder != folder || strlen(s->bell_name) != length ||
            memcmp(s->bell_name, name, length) != 0)
            continue;
        ph__station_call(s);
    }
}

/* More was written than the system could keep: it may have been any of them. */
static void all_ring(ph_dispatcher *dispatcher)
{
    for (size_t i = 0; i < dispatcher->station_count; i++) {
        struct ph__station *s = dispatcher->stations[i];

        if (s->bell_name)
            ph__station_call(s);
    }
}

/* It was deleted or unmounted: its files are polled until there is another. */
static void folder_lost(ph_dispatcher *dispatcher, int folder)
{
    for (size_t i = 0; i < dispatcher->station_count; i++) {
        struct ph__station *s = dispatcher->stations[i];

        if (!s->bell_name || s->bell_folder != folder)
            continue;
        s->bell_lost = true;
        ph__station_call(s);
    }
}

static void read_folders(ph_dispatcher *dispatcher)
{
    _Alignas(struct inotify_event) char events[8192];
    ssize_t length;

    while ((length = read(dispatcher->inotify_fd, events, sizeof(events))) > 0) {
        for (const char *at = events; at < events + length;) {
            const struct inotify_event *event = (const void *)at;

            if (event->mask & IN_Q_OVERFLOW)
                all_ring(dispatcher);
            else if (event->mask & IN_IGNORED)
                folder_lost(dispatcher, event->wd);
            else if (event->len > 0)
                rings(dispatcher, event->wd, event->name);
            at += sizeof(*event) + event->len;
        }
    }
    dispatcher->quiet_until_us = ph__boot_us() + QUIET_US;
    dispatcher->folders_armed = false;
}

static void arm_folders(ph_dispatcher *dispatcher, int64_t *wait_us)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = FOLDER_MARK };
    int64_t quiet_us = dispatcher->quiet_until_us - ph__boot_us();

    if (dispatcher->inotify_fd < 0 || dispatcher->folders_armed)
        return;
    if (quiet_us > 0) {
        *wait_us = *wait_us < quiet_us ? *wait_us : quiet_us;
        return;
    }
    if (epoll_ctl(dispatcher->poll_fd, EPOLL_CTL_MOD, dispatcher->inotify_fd, &event) < 0)
        (void)!epoll_ctl(dispatcher->poll_fd, EPOLL_CTL_ADD, dispatcher->inotify_fd, &event);
    dispatcher->folders_armed = true;
}

/* ------------------------------------------------------------------- waiting */

int ph__bells_open(ph_dispatcher *dispatcher)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = WAKE_MARK };

    dispatcher->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    dispatcher->inotify_fd = dispatcher->set ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;
    if (dispatcher->poll_fd >= 0 &&
        epoll_ctl(dispatcher->poll_fd, EPOLL_CTL_ADD, dispatcher->wake_fd, &event) == 0)
        return 0;
    ph__bells_close(dispatcher);
    return -1;
}

void ph__bells_close(ph_dispatcher *dispatcher)
{
    if (dispatcher->poll_fd >= 0)
        close(dispatcher->poll_fd);
    if (dispatcher->inotify_fd >= 0)
        close(dispatcher->inotify_fd);
}

static void heard(ph_dispatcher *dispatcher, uint64_t mark)
{
    uint64_t ignored;

    if (mark == WAKE_MARK) {
        if (read(dispatcher->wake_fd, &ignored, sizeof(ignored)) < 0)
            return; /* nothing was there after all */
    } else if (mark == FOLDER_MARK) {
        read_folders(dispatcher);
    } else {
        for (size_t i = 0; i < dispatcher->station_count; i++) {
            struct ph__station *s = dispatcher->stations[i];

            if (s->serial != mark)
                continue;
            if (s->busy)
                s->called = true;
            else
                s->hear = true;
            s->armed = false;
        }
    }
}

void ph__bells_wait(ph_dispatcher *dispatcher, int64_t wait_us)
{
    struct epoll_event events[EVENTS_MAX];
    int count;

    PH__NEEDS_LOCK(dispatcher);
    arm_folders(dispatcher, &wait_us);
    ph__unlock(dispatcher);
    wait_us = wait_us > 0 ? wait_us : 0;
    count = epoll_wait(dispatcher->poll_fd, events, EVENTS_MAX, (int)((wait_us + 999) / 1000));
    ph__lock(dispatcher);
    for (int i = 0; i < count; i++)
        heard(dispatcher, events[i].data.u64);
}
