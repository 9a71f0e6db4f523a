/* doctor.c - the findings about a file that only SQLite can make. */
#include "store/sqlite/doctor.h"

#include "core/error.h"
#include "store/sqlite/checkpoint.h"
#include "store/sqlite/foreign_code.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#ifdef __linux__
#include <sys/vfs.h>
#endif

#define MIB (1024 * 1024)
#define WAL_WARN_MIB 64
#define FREE_WARN_MIB 64
#define CHECKPOINT_TRIES 5

bool ph__sqlite_may_lose_pages(int number)
{
    if (number >= 3051003 || number < 3007000)
        return false;
    return !(number >= 3050007 && number < 3051000) && !(number >= 3044006 && number < 3045000);
}

static void examine_version(struct ph__examination *examination)
{
    const char *version = sqlite3_libversion();

    if (sqlite3_threadsafe() == 0)
        ph__finding(examination, "version", PH_FINDING_ERROR,
                    PH__ADVISE(UPDATE, "use an SQLite that was built with SQLITE_THREADSAFE"),
                    "SQLite %s was built without threads: a dispatcher would corrupt memory",
                    version);
    if (ph__sqlite_may_lose_pages(sqlite3_libversion_number()))
        ph__finding(
            examination, "version", PH_FINDING_WARNING,
            PH__ADVISE(UPDATE,
                       "update SQLite to 3.51.3, 3.50.7 or 3.44.6; until then set PRAGMA "
                       "wal_autocheckpoint = "
                       "0 on every connection of your own, and leave checkpoints to Posthorn"),
            "SQLite %s can lose committed data if a checkpoint meets a writer (fixed in 3.51.3, "
            "3.50.7, 3.44.6); Posthorn's connections avoid it, others may not",
            version);
    else if (sqlite3_threadsafe() != 0)
        ph__finding(examination, "version", PH_FINDING_OK, PH__FINE, "SQLite %s", version);
}

/* -------------------------------------------------------------- durability */

/* The first column of the first row. */
static int read_text(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which, char *ret_text,
                     size_t size)
{
    struct ph__query query = ph__query(tx, which);
    int r = ph__query_row(&query);

    ret_text[0] = '\0';
    if (r <= 0)
        return r;
    sqlite3_snprintf((int)size, ret_text, "%s", sqlite3_column_text(query.stmt, 0));
    ph__query_end(&query);
    return 0;
}

/* The synchronous level of a connection that sets none: built into SQLite. */
static bool others_sync_fully(bool wal)
{
    const char *option = wal ? "DEFAULT_WAL_SYNCHRONOUS=" : "DEFAULT_SYNCHRONOUS=";
    const char *given;

    for (int i = 0; (given = sqlite3_compileoption_get(i)) != NULL; i++) {
        if (strncmp(given, option, strlen(option)) == 0)
            return given[strlen(option)] >= '2';
    }
    return true; /* SQLite's own default is FULL */
}

static int examine_durability(struct ph__call *call, struct ph__examination *examination)
{
    char mode[20], synchronous[20];
    struct ph__sqlite_tx tx;
    bool wal;
    int r;

    ph__sqlite_prepare_tx(&tx, call, false);
    r = read_text(&tx, PH__SQL_journal_mode, mode, sizeof(mode));
    if (r == 0)
        r = read_text(&tx, PH__SQL_synchronous, synchronous, sizeof(synchronous));
    if (r < 0)
        return r;
    wal = strcmp(mode, "wal") == 0;
    if (!wal)
        ph__finding(examination, "durability", PH_FINDING_WARNING, PH__REMEDY(JOURNAL_MODE),
                    "journal_mode is %s: readers and the writer wait for each other", mode);
    if (synchronous[0] < '2')
        ph__finding(examination, "durability", PH_FINDING_ERROR,
                    PH__ADVISE(UPDATE, "use an SQLite whose PRAGMA synchronous works"),
                    "synchronous is %s on Posthorn's own connection: a power failure can lose "
                    "messages",
                    synchronous);
    else if (!others_sync_fully(wal))
        ph__finding(
            examination, "durability", PH_FINDING_INFO,
            PH__ADVISE(SETTINGS,
                       "set PRAGMA synchronous = FULL on the connections in whose transactions you "
                       "enqueue"),
            "synchronous is FULL on Posthorn's connections, but less by default on yours");
    else if (wal)
        ph__finding(examination, "durability", PH_FINDING_OK, PH__FINE,
                    "journal_mode is wal; synchronous is FULL on Posthorn's connections, and on "
                    "yours unless they lower it");
    return 0;
}

static int examine_identity(struct ph__call *call, struct ph__examination *examination)
{
    struct ph__sqlite_tx tx;
    char store_id[20];
    int r;

    ph__sqlite_prepare_tx(&tx, call, false);
    r = read_text(&tx, PH__SQL_store_get, store_id, sizeof(store_id));
    if (r == 0)
        ph__finding_identity(examination, strtoll(store_id, NULL, 10));
    return r;
}

/* ------------------------------------------------------------- the log */

static int64_t size_of(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 ? (int64_t)status.st_size : 0;
}

/* Deep: a checkpoint is made, the safe way. An ordinary reader is soon over;
 * one that stays keeps the log from being used again. */
static void examine_checkpoint(struct ph__call *call, struct ph__examination *examination)
{
    struct ph__sqlite *own = call->store->own;
    int pages = 0, moved = 0;
    bool done = false;

    for (int i = 0; i < CHECKPOINT_TRIES && !(done && moved >= pages); i++) {
        if (i > 0)
            ph__deadline_nap(call->deadline, 50);
        done = ph__sqlite_checkpoint_now(own, ph__sqlite_path(call->store), &pages, &moved);
    }
    if (!done)
        ph__finding(examination, "vacuum", PH_FINDING_INFO, PH__FINE,
                    "a checkpoint could not be tried: another connection is writing all the time");
    else if (moved < pages)
        ph__finding(
            examination, "vacuum", PH_FINDING_WARNING,
            PH__ADVISE(END_TRANSACTION,
                       "find the connection with a transaction that was never ended, and end it"),
            "a connection that reads holds the log back: %d of its %d pages cannot be "
            "moved into the file",
            pages - moved, pages);
    else
        ph__finding(examination, "vacuum", PH_FINDING_OK, PH__FINE,
                    "no reader holds the log back (%d pages)", pages > 0 ? pages : 0);
}

static void examine_log(struct ph__call *call, struct ph__examination *examination)
{
    const struct ph__sqlite *own = call->store->own;
    int64_t size = size_of(sqlite3_filename_wal(sqlite3_db_filename(own->db, "main")));

    if (size > (int64_t)WAL_WARN_MIB * MIB)
        ph__finding(examination, "vacuum", PH_FINDING_WARNING, PH__REMEDY(LONG_TRANSACTION),
                    "the log (-wal) has grown to %" PRId64 " MiB", size / MIB);
    else
        ph__finding(examination, "vacuum", PH_FINDING_OK, PH__FINE,
                    "the log (-wal) has %" PRId64 " KiB", size / 1024);
    if (examination->deep)
        examine_checkpoint(call, examination);
}

/* ------------------------------------------------------------- the file */

/* The name of the file system if files on it are shared between machines. */
static const char *shared_by(const char *path)
{
#ifdef __linux__
    static const struct {
        unsigned long type;
        const char *name;
    } shared[] = {
        { 0x6969, "NFS" },      { 0x517b, "SMB" },       { 0xfe534d42, "SMB2" },
        { 0xff534d42, "CIFS" }, { 0x5346414f, "AFS" },   { 0x564c, "NCP" },
        { 0x73757245, "Coda" }, { 0x00c36400, "Ceph" },  { 0x01021997, "9P" },
        { 0x01161970, "GFS2" }, { 0x7461636f, "OCFS2" }, { 0x0bd00bd0, "Lustre" },
    };
    struct statfs status;

    if (statfs(path, &status) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
        if (((unsigned long)status.f_type & 0xffffffff) == shared[i].type)
            return shared[i].name;
    }
#else
    (void)path;
#endif
    return NULL;
}

static void examine_space(struct ph__examination *examination, const char *path)
{
    struct statvfs space;
    int64_t free_mib;

    if (statvfs(path, &space) != 0)
        return;
    free_mib = (int64_t)(space.f_bavail * (uint64_t)space.f_frsize / MIB);
    ph__finding(examination, "file", free_mib < FREE_WARN_MIB ? PH_FINDING_WARNING : PH_FINDING_OK,
                free_mib < FREE_WARN_MIB ? PH__ADVISE(SPACE, "free some space on its disk")
                                         : PH__FINE,
                "the file has %" PRId64 " KiB; %" PRId64 " MiB are free on its disk",
                size_of(path) / 1024, free_mib);
}

static void examine_file(struct ph__call *call, struct ph__examination *examination)
{
    const struct ph__sqlite *own = call->store->own;
    const char *path = sqlite3_db_filename(own->db, "main"), *shared = shared_by(path);

    if (shared)
        ph__finding(examination, "file", PH_FINDING_ERROR,
                    PH__ADVISE(PLACE, "move the file to a local disk, or use PostgreSQL"),
                    "the file is on %s: locks and the log do not work between machines", shared);
    if (sqlite3_db_readonly(own->db, "main") > 0)
        ph__finding(examination, "file", PH_FINDING_ERROR,
                    PH__ADVISE(RIGHTS, "check the rights on file and folder"),
                    "the file can only be read");
    examine_space(examination, path);
}

int ph__sqlite_examine(struct ph__call *call, struct ph__examination *examination)
{
    const struct ph__sqlite *own = call->store->own;
    bool foreign = false;
    int r;

    examine_version(examination);
    if (!own->db) {
        ph__finding(examination, "file", PH_FINDING_ERROR, PH__REMEDY(CREATE_FILE),
                    "there is no file %s", ph__sqlite_path(call->store));
        return 0;
    }
    examine_file(call, examination);
    r = examine_durability(call, examination);
    if (r == 0)
        r = ph__sqlite_examine_code(call, examination, &foreign);
    if (r == 0 && examination->usable && !foreign)
        r = examine_identity(call, examination);
    if (r < 0)
        return r;
    examine_log(call, examination);
    return examination->deep && examination->usable && !foreign
               ? ph__sqlite_examine_deep(call, examination)
               : 0;
}
