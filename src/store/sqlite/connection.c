#include "store/sqlite/connection.h"

#include "core/error.h"
#include "core/log.h"
#include "store/sqlite/checkpoint.h"
#include "store/sqlite/doorbell.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/verbs.h"
#include "store/sqlite/waiting.h"
#include "util/alloc.h"
#include "util/buffer.h"
#include "util/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEME "sqlite:"
#define STEPS 4000 /* of SQLite's machine between two looks at the clock: less than a millisecond */
/* 8 MB of cache: a claim among a million scheduled messages finds its pages there. */
#define SETTINGS                                                                                   \
    "PRAGMA synchronous = FULL; PRAGMA mmap_size = 0; PRAGMA cache_size = -8000;"                  \
    "PRAGMA query_only = OFF; PRAGMA locking_mode = NORMAL; PRAGMA cell_size_check = ON"

_Atomic int ph__sqlite_waiting;

const char *ph__sqlite_path(const ph_store *store)
{
    return store->url + strlen(SCHEME);
}

/* Short naps, of random length and hardly growing: the connection that has waited longest must not
 * be the one that looks least often. */
static int on_busy(void *context, int tries)
{
    struct ph__sqlite *own = context;

    if (own->lent && tries == 0)
        own->deadline = ph__deadline_in(own->timeout_ms);
    if (!own->waiting) {
        own->waiting = true;
        atomic_fetch_add(&ph__sqlite_waiting, 1);
    }
    if (ph__deadline_left_ms(own->deadline) == 0)
        return 0;
    ph__deadline_nap(own->deadline, tries < 50 ? 2 : 8);
    return 1;
}

void ph__sqlite_stop_waiting(struct ph__sqlite *own)
{
    if (own->waiting) {
        own->waiting = false;
        atomic_fetch_sub(&ph__sqlite_waiting, 1);
    }
}

/* A file can hold anything, also views and triggers that never end. */
static int on_progress(void *context)
{
    struct ph__sqlite *own = context;

    if (own->tick)
        own->tick(own->tick_context);
    return own->run_until != 0 && ph__deadline_left_ms(own->run_until) == 0;
}

/* Code that comes with a file may do no more than it must. */
static int distrust_file(sqlite3 *db)
{
    int rc = sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (rc == SQLITE_OK) /* a table of theirs may refer to ours, and cascade */
        rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 0, NULL);
    return rc;
}

/* Checkpoints are made in checkpoint.c only. */
int ph__sqlite_take_control(sqlite3 *db, struct ph__sqlite *own)
{
    int rc = sqlite3_extended_result_codes(db, 1);

    sqlite3_progress_handler(db, STEPS, on_progress, own);
    if (rc == SQLITE_OK && !own->lends) /* handlers work as on a connection of their own */
        rc = distrust_file(db);

    if (rc == SQLITE_OK)
        rc = sqlite3_busy_handler(db, on_busy, own);
    if (rc == SQLITE_OK)
        rc = sqlite3_wal_autocheckpoint(db, 0);
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return rc;
}

int ph__sqlite_apply_settings(sqlite3 *db)
{
    return sqlite3_exec(db, SETTINGS, NULL, NULL, NULL);
}

/* Only one thread at a time uses the connection (core/use.c), but handlers borrow it, and two
 * threads on a connection without a mutex destroy the file (decision 0034 tells the cost). */
int ph__sqlite_open(const char *path, bool create, struct ph__sqlite *own, sqlite3 **ret_db)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
    int rc = sqlite3_open_v2(path, ret_db, flags, NULL);

    if (rc == SQLITE_OK)
        rc = ph__sqlite_take_control(*ret_db, own);
    if (rc == SQLITE_OK)
        rc = ph__sqlite_apply_settings(*ret_db);
    return rc;
}

/* SQLite tries to read the file that it could not make, and that is then the error. */
static int why_not_made(const char *path)
{
    const char *slash = strrchr(path, '/');
    int length = slash > path ? (int)(slash - path) : 1;
    char folder[PATH_MAX];

    snprintf(folder, sizeof(folder), "%.*s", length, slash ? path : ".");
    return access(path, F_OK) != 0 && access(folder, W_OK | X_OK) != 0 ? errno : 0;
}

static int fail_open(struct ph__call *call, sqlite3 *db)
{
    const char *path = ph__sqlite_path(call->store);
    int code = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
    int saved = db ? sqlite3_system_errno(db) : 0;

    if (!db)
        return ph__fail_memory(call->err);
    if ((code & 0xff) != SQLITE_CANTOPEN)
        return ph__sqlite_fail(call->err, db, false);
    if (saved == ENOENT && why_not_made(path))
        saved = why_not_made(path);
    ph__fail(call->err, PH_ECONNECT,
             "cannot open the database file %.120s: %s; check the path and "
             "the rights on file and folder",
             path, saved ? strerror(saved) : sqlite3_errstr(code));
    call->err->native = code;
    return ph__cure_in_message(call->err, PH_ECONNECT, PH_CURE_CONNECTION);
}

/* A file of ours is its owner's alone, and so are its log and its index, which SQLite makes with the
 * same rights. It gets its name when it has them; SQLite will tell if anything goes wrong. (It is
 * not opened under that name: closing it would drop the locks that others of this process have
 * there.) */
static void make_private(const char *path)
{
    struct ph__buffer name = { 0 };
    int fd = -1;

    ph__buffer_printf(&name, "%s.%016" PRIx64, path, ph__random_u64());
    if (!name.failed && access(path, F_OK) != 0)
        fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd >= 0) {
        close(fd);
        (void)!link(name.data, path);
        unlink(name.data);
    }
    ph__buffer_free(&name);
}

/* Opens the file into own->db. A file that is not there is not an error: own->db stays NULL. */
static int open_file(struct ph__call *call, struct ph__sqlite *own, bool create)
{
    const char *path = ph__sqlite_path(call->store);
    int r = 0;

    if (!create && access(path, F_OK) != 0 && errno == ENOENT)
        return 0;
    if (create)
        make_private(path);
    if (ph__sqlite_open(path, create, own, &own->db) != SQLITE_OK)
        r = fail_open(call, own->db);
    ph__sqlite_stop_waiting(own);
    if (r < 0) {
        sqlite3_close(own->db);
        own->db = NULL;
        return r;
    }
    ph__sqlite_watch_wal(own);
    return 0;
}

static int path_check(struct ph__call *call)
{
    const char *path = ph__sqlite_path(call->store);

    if (!*path || strcmp(path, ":memory:") == 0)
        return ph__fail(
            call->err, PH_EINVAL,
            "the URL names no file; write sqlite:PATH (a database in memory could not be "
            "shared)");
    return 0;
}

/* 0: there is none. */
static int stat_log(const struct ph__sqlite *own, struct stat *ret_status)
{
    return stat(sqlite3_filename_wal(sqlite3_db_filename(own->db, "main")), ret_status) == 0;
}

/* The log is open now, if there is one: as long as we have it, no other may take it away. */
static void know_log(struct ph__sqlite *own)
{
    struct stat status;

    own->wal_known = stat_log(own, &status);
    if (own->wal_known) {
        own->wal_device = status.st_dev;
        own->wal_inode = status.st_ino;
    }
}

static bool file_is_gone(struct ph__sqlite *own)
{
    int moved = 0;

    return sqlite3_file_control(own->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved;
}

/* Commits go into the log. A deleted one is written to all the same, but never read by others.
 * Until another one is made, its contents can still be moved into the file. */
static bool log_is_gone(struct ph__sqlite *own)
{
    struct stat status;
    bool there;

    if (!own->wal_known)
        return false;
    there = stat_log(own, &status);
    if (there && status.st_dev == own->wal_device && status.st_ino == own->wal_inode)
        return false;
    if (!there)
        (void)sqlite3_wal_checkpoint_v2(own->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return true;
}

/* A file that was replaced (by a restore, say) or moved away is not written to any more: the
 * changes would be lost. */
static void leave_moved_file(struct ph__call *call, struct ph__sqlite *own)
{
    const char *text =
        "the database file was replaced or moved away; opening the one that is there now";

    if (!own->db || own->lent)
        return;
    if (!file_is_gone(own)) {
        if (!log_is_gone(own))
            return;
        text = "the log (-wal) of the database file was deleted or replaced while it was in use; "
               "what was stored last may be lost: opening the file anew";
    }
    ph__log(call->store, PH_LOG_WARN, "connect", text, NULL, 0);
    ph__sqlite_close(own);
    sqlite3_close(own->sibling);
    own->sibling = NULL;
    ph__sqlite_doorbell_remove(own);
}

/* The store's connection, as far as there can be one. */
static int attach(struct ph__call *call)
{
    struct ph__sqlite *own = call->store->own;
    int r;

    if (!own) {
        r = path_check(call);
        if (r < 0)
            return r;
        own = ph__alloc_zero(1, sizeof(*own));
        if (!own)
            return ph__fail_memory(call->err);
        own->timeout_ms = call->store->timeout_ms;
        own->lends = call->store->lends;
        own->doorbell.fd = -1;
        call->store->own = own;
    }
    own->deadline = own->run_until = call->deadline;
    leave_moved_file(call, own);
    return own->db ? 0 : open_file(call, own, false);
}

int ph__sqlite_create(struct ph__call *call)
{
    struct ph__sqlite *own = call->store->own;

    return own->db ? 0 : open_file(call, own, true);
}

int ph__sqlite_connect(struct ph__call *call, bool check_schema)
{
    struct ph__sqlite *own;
    int r = attach(call);

    own = call->store->own;
    if (r < 0 || !check_schema || own->schema_checked)
        return r;
    if (!own->db)
        return ph__cure(call->err,
                        ph__fail(call->err, PH_ENOSCHEMA, "there is no database file %.120s",
                                 ph__sqlite_path(call->store)),
                        PH_CURE_DEPLOY);
    r = ph__sqlite_check_schema(call);
    own->schema_checked = r == 0;
    if (r == 0)
        know_log(own);
    return r;
}

/* A handler may have left statements behind: closing waits for their end then,
 * and they must hold nothing until it comes. */
void ph__sqlite_close(struct ph__sqlite *own)
{
    ph__sqlite_reset_all(own->db);
    if (!sqlite3_get_autocommit(own->db))
        sqlite3_exec(own->db, "ROLLBACK", NULL, NULL, NULL);
    ph__sqlite_statements_free(&own->statements);
    sqlite3_close_v2(own->db);
    own->db = NULL;
    own->schema_checked = own->code_checked = own->wal_known = false;
    own->doorbell.version_known = false;
}

void ph__sqlite_disconnect(ph_store *store)
{
    struct ph__sqlite *own = store->own;

    if (own->db) {
        ph__sqlite_checkpoint_at_close(own, ph__sqlite_path(store));
        ph__sqlite_clear_log(own);
        ph__sqlite_close(own);
    }
    sqlite3_close(own->sibling);
    ph__sqlite_doorbell_remove(own);
    ph__dealloc(own);
    store->own = NULL;
}
