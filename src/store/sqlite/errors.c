#include "store/sqlite/errors.h"

#include "core/error.h"

#include <string.h>

int ph__sqlite_fail_schema_missing(ph_error *err)
{
    return ph__cure(
        err, ph__fail(err, PH_ENOSCHEMA, "the database has no tables of Posthorn with this prefix"),
        PH_CURE_DEPLOY);
}

int ph__sqlite_fail_time(ph_error *err)
{
    ph__fail(err, PH_ETIMEOUT, "a statement took longer than the time limit");
    ph__fail_flags(err, PH_ETIMEOUT, PH_RETRY);
    return ph__cure(err, PH_ETIMEOUT, PH_CURE_MORE_TIME);
}

static int fail_busy(ph_error *err, int code, bool callers)
{
    if (!callers)
        return ph__fail_flags(
            err,
            ph__fail(err, PH_EBUSY,
                     "the database is locked by another connection; try again, or "
                     "allow the call more time"),
            PH_RETRY);
    if (code == SQLITE_BUSY_SNAPSHOT)
        return ph__fail_flags(
            err,
            ph__fail(err, PH_EBUSY,
                     "another connection has written since this transaction began "
                     "to read; roll back, and use BEGIN IMMEDIATE"),
            PH_RETRY | PH_TX_DEAD);
    ph__fail_flags(err, ph__fail(err, PH_EBUSY, "another connection is writing"), PH_RETRY);
    return ph__cure(err, PH_EBUSY, PH_CURE_BEGIN_IMMEDIATE);
}

/* SQLite's own text names tables and files, never values; but one with a quote
 * in it might show a piece of SQL, so such a text is not passed on. */
static int fail_other(ph_error *err, sqlite3 *db, int code)
{
    const char *text = sqlite3_errmsg(db);

    if ((code & 0xff) == SQLITE_ERROR && strncmp(text, "no such table", 13) == 0)
        return ph__sqlite_fail_schema_missing(err);
    if ((code & 0xff) == SQLITE_CONSTRAINT) {
        ph__fail(err, PH_ECORRUPT,
                 "a row is where none should be (SQLite error %d); run the "
                 "database's integrity check",
                 code);
        return ph__cure_in_message(err, PH_ECORRUPT, PH_CURE_MEND);
    }
    if (strpbrk(text, "\"'"))
        text = sqlite3_errstr(code);
    return ph__fail(err, PH_EDATABASE, "SQLite error %d: %s", code, text);
}

static int fail_by_code(ph_error *err, sqlite3 *db, int code, bool callers)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fail_busy(err, code, callers);
    case SQLITE_NOMEM:
        return ph__fail_memory(err);
    case SQLITE_READONLY:
        ph__fail(err, PH_EREADONLY,
                 "the database is read-only; check the rights on the file and its folder, "
                 "and how the connection was opened");
        return ph__cure_in_message(err, PH_EREADONLY, PH_CURE_RIGHTS);
    case SQLITE_CANTOPEN:
        ph__fail(err, PH_ECONNECT,
                 "the database file (or its -wal or -shm file) cannot be opened; check the "
                 "path and the rights on file and folder");
        return ph__cure_in_message(err, PH_ECONNECT, PH_CURE_CONNECTION);
    case SQLITE_PERM:
    case SQLITE_AUTH:
        ph__fail(err, PH_EPERM,
                 "access to the database was refused; check the rights on the "
                 "file, and the connection's authorizer");
        return ph__cure_in_message(err, PH_EPERM, PH_CURE_RIGHTS);
    case SQLITE_FULL:
        ph__fail(err, PH_EFULL, "the disk is full; free some space and try again");
        ph__fail_flags(err, PH_EFULL, PH_RETRY);
        return ph__cure_in_message(err, PH_EFULL, PH_CURE_SPACE);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        ph__fail(err, PH_ECORRUPT, "%s; restore a backup, or check the path",
                 (code & 0xff) == SQLITE_NOTADB ? "the file is not an SQLite database"
                                                : "the database file is damaged");
        return ph__cure_in_message(err, PH_ECORRUPT, PH_CURE_RESTORE);
    case SQLITE_IOERR:
        return ph__fail(err, PH_EDATABASE,
                        "reading or writing the database file failed (SQLite error %d, errno %d); "
                        "check the disk",
                        code, sqlite3_system_errno(db));
    case SQLITE_INTERRUPT:
        return ph__fail_flags(err, ph__fail(err, PH_EDATABASE, "the call was interrupted"),
                              PH_RETRY);
    default:
        return fail_other(err, db, code);
    }
}

int ph__sqlite_fail(ph_error *err, sqlite3 *db, bool callers)
{
    int code = sqlite3_extended_errcode(db);
    int r = fail_by_code(err, db, code, callers);

    err->native = code;
    return r;
}
