/* doorbell.c - wakes us when another connection has committed.
 *
 * On SQLite the commit itself is the doorbell: it writes to the log (or, without
 * one, to the file), which inotify tells; and PRAGMA data_version says whether
 * that was another connection's commit. A log is written before it is synced, and its contents can
 * be seen only after that. So an event with nothing to show for it may be early: then we look again
 * until no connection is writing. */
#include "store/sqlite/doorbell.h"

#include "store/sqlite/transaction.h"
#include "store/sqlite/verbs.h"

#include <unistd.h>

#ifdef __linux__
#include <sys/inotify.h>
#endif

#define EARLY_MS 50 /* how long a commit may be under way before we say "maybe" */

void ph__sqlite_doorbell_remove(struct ph__sqlite *own)
{
    if (own->doorbell.fd >= 0)
        close(own->doorbell.fd);
    own->doorbell.fd = -1;
    own->doorbell.armed = false;
}

#ifdef __linux__
/* The events of a commit, and those that end a watch. */
#define COMMITTED IN_MODIFY
#define MOVED (IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF | IN_IGNORED | IN_UNMOUNT)

/* Watches file and log. Either may be missing for now; watching one that is
 * watched already changes nothing. */
static void arm(struct ph__sqlite *own)
{
    const char *file = sqlite3_db_filename(own->db, "main");
    const char *const paths[] = { file, sqlite3_filename_wal(file) };
    struct ph__sqlite_doorbell *doorbell = &own->doorbell;
    int watched = 0;

    if (doorbell->fd < 0)
        doorbell->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    for (size_t i = 0; doorbell->fd >= 0 && i < sizeof(paths) / sizeof(*paths); i++) {
        uint32_t events = COMMITTED | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;

        if (inotify_add_watch(doorbell->fd, paths[i], events) >= 0)
            watched++;
        else if (access(paths[i], F_OK) == 0) { /* not missing, but not to be watched */
            ph__sqlite_doorbell_remove(own);
            return;
        }
    }
    doorbell->armed = watched == 2;
}

/* Reads the events that have come; true if there was one. */
static bool drain(struct ph__sqlite_doorbell *doorbell)
{
    _Alignas(struct inotify_event) char events[4096];
    bool any = false;
    ssize_t length;

    while (doorbell->fd >= 0 && (length = read(doorbell->fd, events, sizeof(events))) > 0) {
        any = true;
        for (const char *at = events; at < events + length;) {
            const struct inotify_event *event = (const void *)at;

            if (event->mask & MOVED)
                doorbell->armed = false;
            at += sizeof(*event) + event->len;
        }
    }
    return any;
}
#else
static void arm(struct ph__sqlite *own)
{
    (void)own;
}

static bool drain(struct ph__sqlite_doorbell *doorbell)
{
    (void)doorbell;
    return false;
}
#endif

/* Has another connection committed since the last look? Waits for nothing. */
static bool has_changed(ph_store *store)
{
    struct ph__sqlite_doorbell *doorbell = &((struct ph__sqlite *)store->own)->doorbell;
    ph_error err;
    struct ph__call call = { .store = store, .err = &err };
    struct ph__sqlite_tx tx;
    struct ph__query query;
    int64_t version = 0;
    bool changed;

    ph__sqlite_prepare_tx(&tx, &call, false);
    query = ph__query(&tx, PH__SQL_data_version);
    if (ph__query_one(&query, &version, 0) < 0)
        return false;
    changed = !doorbell->version_known || version != doorbell->version;
    doorbell->version_known = true;
    doorbell->version = version;
    return changed;
}

bool ph__sqlite_somebody_writes(struct ph__sqlite *own)
{
    int rc;

    own->deadline = 0; /* the busy handler gives up at once */
    rc = sqlite3_exec(own->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    ph__sqlite_stop_waiting(own);
    if (rc == SQLITE_OK)
        sqlite3_exec(own->db, "ROLLBACK", NULL, NULL, NULL);
    return (rc & 0xff) == SQLITE_BUSY;
}

/* After an event: true if a commit came of it, or may come yet. */
static bool wait_for_writer(ph_store *store)
{
    ph__deadline limit = ph__deadline_in(EARLY_MS);

    while (ph__sqlite_somebody_writes(store->own)) {
        if (has_changed(store) || ph__deadline_left_ms(limit) == 0)
            return true;
        ph__deadline_nap(limit, 1);
    }
    return has_changed(store);
}

int ph__sqlite_doorbell_listen(struct ph__call *call, const char *ns, int *ret_fd)
{
    struct ph__sqlite *own = call->store->own;

    (void)ns;                            /* a commit does not say whom it concerns */
    if (own->db && own->doorbell.fd < 0) /* from here on; a new connection rings once instead */
        (void)has_changed(call->store);
    if (own->db && !own->doorbell.armed)
        arm(own);
    *ret_fd = own->doorbell.fd;
    return 0;
}

bool ph__sqlite_doorbell_taken(ph_store *store, const char *ns)
{
    struct ph__sqlite *own = store->own;
    bool rung;

    (void)ns;
    if (!own || !own->db)
        return false;
    rung = drain(&own->doorbell);
    return has_changed(store) || (rung && wait_for_writer(store));
}

int ph__sqlite_doorbell_ring(struct ph__call *call, const char *ns)
{
    (void)call;
    (void)ns;
    return 0;
}
