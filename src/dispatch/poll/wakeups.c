/* wakeups.c - wakes the pollers: through an eventfd of our own, the sockets on which databases
 * ring, and, for the SQLite files of a set, a watch on their folders, which needs no connection and
 * counts once for all files of a folder. */
#include "dispatch/poll/poll.h"

#include "util/alloc.h"
#include "util/hash.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#define EVENTS_MAX 32
#define WAKE_MARK UINT64_MAX
#define FOLDER_MARK (UINT64_MAX - 1) /* others: the serial of a database */
#define QUIET_US 5000 /* between two looks at the folders: each commit of ours is told, too */
#define WAL "-wal"

/* ------------------------------------------------------------------- sockets */

void ph__doorbell_arm(struct ph__db *db)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = db->serial };
    int poll_fd = db->dispatcher->wakeups.poll_fd, fd = db->doorbell.fd;

    if (fd < 0)
        return;
    ph__lock(db->dispatcher);
    /* A socket that was closed has left by itself, and another may have its number. */
    if (epoll_ctl(poll_fd, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
        (void)!epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
    db->doorbell.armed = true;
    ph__unlock(db->dispatcher);
}

void ph__doorbell_disarm(struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    /* Also that the other side hangs up is told once at most. */
    struct epoll_event event = { .events = EPOLLONESHOT, .data.u64 = db->serial };

    if (!db->doorbell.armed || !db->dispatcher->set || db->dispatcher->pollers.count == 1)
        return; /* no poller watches while its answers come in */
    db->doorbell.armed = false;
    (void)!epoll_ctl(db->dispatcher->wakeups.poll_fd, EPOLL_CTL_MOD, db->doorbell.fd, &event);
}

/* ------------------------------------------------------------------- folders */

static struct ph__db **slot_of(ph_dispatcher *dispatcher, int folder, const char *name,
                               size_t length)
{
    uint32_t hash = ph__hash32(PH__HASH32, &folder, sizeof(folder));

    hash = ph__hash32(hash, name, length);
    return &dispatcher->wakeups.watched_files[hash % PH__WATCH_SLOTS];
}

void ph__file_watch(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    const char *file = db->store->backend->file ? db->store->backend->file(db->store) : NULL;
    char path[PATH_MAX];
    struct ph__db **slot;
    char *name, *slash;
    int folder;

    if (!file || dispatcher->wakeups.inotify_fd < 0 ||
        dispatcher->opts.doorbell == PH_DOORBELL_OFF || !realpath(file, path) ||
        !(slash = strrchr(path, '/')))
        return; /* a file that is not there yet is polled until the next call */
    name = ph__strdup(slash + 1);
    *(slash == path ? slash + 1 : slash) = '\0';
    folder = name ? inotify_add_watch(dispatcher->wakeups.inotify_fd, path, IN_MODIFY) : -1;
    if (folder < 0) {
        ph__dealloc(name);
        return;
    }
    ph__lock(dispatcher);
    slot = slot_of(dispatcher, folder, name, strlen(name));
    db->watch.folder = folder;
    db->watch.name = name;
    db->watch.next = *slot;
    *slot = db;
    ph__unlock(dispatcher);
}

void ph__file_unwatch(struct ph__db *db)
{
    struct ph__db **at;

    PH__NEEDS_LOCK(db->dispatcher);
    if (!db->watch.name)
        return;
    at = slot_of(db->dispatcher, db->watch.folder, db->watch.name, strlen(db->watch.name));
    while (*at && *at != db)
        at = &(*at)->watch.next;
    if (*at)
        *at = db->watch.next;
    ph__dealloc(db->watch.name);
    db->watch.name = NULL;
    db->watch.lost = false;
}

/* The log of this file was written to, as by every commit. That comes before the commit can be
 * seen: a look that finds nothing yet is repeated soon, and then less and less often. */
static void rings(ph_dispatcher *dispatcher, int folder, const char *name)
{
    size_t length = strlen(name), wal = strlen(WAL);

    if (length <= wal || strcmp(name + length - wal, WAL) != 0)
        return; /* a checkpoint writes to the file itself */
    length -= wal;
    for (struct ph__db *db = *slot_of(dispatcher, folder, name, length); db; db = db->watch.next) {
        if (db->watch.folder != folder || strlen(db->watch.name) != length ||
            memcmp(db->watch.name, name, length) != 0)
            continue;
        ph__db_wake(db);
    }
}

/* More was written than the system could keep: it may have been any of them. */
static void all_ring(ph_dispatcher *dispatcher)
{
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        struct ph__db *db = dispatcher->dbs.items[i];

        if (db->watch.name)
            ph__db_wake(db);
    }
}

/* It was deleted or unmounted: its files are polled until there is another. */
static void folder_lost(ph_dispatcher *dispatcher, int folder)
{
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        struct ph__db *db = dispatcher->dbs.items[i];

        if (!db->watch.name || db->watch.folder != folder)
            continue;
        db->watch.lost = true;
        ph__db_wake(db);
    }
}

static void read_folders(ph_dispatcher *dispatcher)
{
    _Alignas(struct inotify_event) char events[8192];
    ssize_t length;

    while ((length = read(dispatcher->wakeups.inotify_fd, events, sizeof(events))) > 0) {
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
    dispatcher->wakeups.quiet_until_us = ph__boot_us() + QUIET_US;
    dispatcher->wakeups.folders_armed = false;
}

static void arm_folders(ph_dispatcher *dispatcher, int64_t *wait_us)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = FOLDER_MARK };
    int64_t quiet_us = dispatcher->wakeups.quiet_until_us - ph__boot_us();

    if (dispatcher->wakeups.inotify_fd < 0 || dispatcher->wakeups.folders_armed)
        return;
    if (quiet_us > 0) {
        *wait_us = *wait_us < quiet_us ? *wait_us : quiet_us;
        return;
    }
    if (epoll_ctl(dispatcher->wakeups.poll_fd, EPOLL_CTL_MOD, dispatcher->wakeups.inotify_fd,
                  &event) < 0)
        (void)!epoll_ctl(dispatcher->wakeups.poll_fd, EPOLL_CTL_ADD, dispatcher->wakeups.inotify_fd,
                         &event);
    dispatcher->wakeups.folders_armed = true;
}

/* ----------------------------------------------------------------- our own */

void ph__wake(ph_dispatcher *dispatcher)
{
    uint64_t one = 1;
    ssize_t ignored = write(dispatcher->wakeups.wake_fd, &one, sizeof(one));

    (void)ignored; /* it can only fail when it is full, and then it wakes */
}

void ph__wake_asleep(ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    if (!dispatcher->pollers.asleep)
        return;
    dispatcher->pollers.asleep = false;
    ph__wake(dispatcher);
}

void ph__wake_for(struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    if (!db->visit.busy) /* otherwise the poller that has it looks at it again before leaving */
        ph__wake_asleep(db->dispatcher);
}

/* ------------------------------------------------------------------- waiting */

int ph__wakeups_open(ph_dispatcher *dispatcher)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = WAKE_MARK };

    dispatcher->wakeups.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    dispatcher->wakeups.poll_fd = epoll_create1(EPOLL_CLOEXEC);
    dispatcher->wakeups.inotify_fd = dispatcher->set ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;
    if (dispatcher->wakeups.poll_fd >= 0 && epoll_ctl(dispatcher->wakeups.poll_fd, EPOLL_CTL_ADD,
                                                      dispatcher->wakeups.wake_fd, &event) == 0)
        return 0;
    ph__wakeups_close(dispatcher);
    return -1;
}

void ph__wakeups_close(ph_dispatcher *dispatcher)
{
    int fds[] = { dispatcher->wakeups.wake_fd, dispatcher->wakeups.poll_fd,
                  dispatcher->wakeups.inotify_fd };

    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

static void heard(ph_dispatcher *dispatcher, uint64_t mark)
{
    uint64_t ignored;

    if (mark == WAKE_MARK) {
        if (read(dispatcher->wakeups.wake_fd, &ignored, sizeof(ignored)) < 0)
            return; /* nothing was there after all */
    } else if (mark == FOLDER_MARK) {
        read_folders(dispatcher);
    } else {
        for (size_t i = 0; i < dispatcher->dbs.count; i++) {
            struct ph__db *db = dispatcher->dbs.items[i];

            if (db->serial != mark)
                continue;
            if (db->visit.busy)
                db->visit.woken = true;
            else
                db->doorbell.hear = true;
            db->doorbell.armed = false;
        }
    }
}

void ph__wakeups_wait(ph_dispatcher *dispatcher, int64_t wait_us)
{
    struct epoll_event events[EVENTS_MAX];
    int count;

    PH__NEEDS_LOCK(dispatcher);
    arm_folders(dispatcher, &wait_us);
    ph__unlock(dispatcher);
    wait_us = wait_us > 0 ? wait_us : 0;
    count =
        epoll_wait(dispatcher->wakeups.poll_fd, events, EVENTS_MAX, (int)((wait_us + 999) / 1000));
    ph__lock(dispatcher);
    for (int i = 0; i < count; i++)
        heard(dispatcher, events[i].data.u64);
}
