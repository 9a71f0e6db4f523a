/* backend.c - SQLite behind the seam. */
#include "core/error.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/doorbell.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/verbs.h"
#include "util/alloc.h"

#include <posthorn/sqlite.h>

#include <string.h>

static bool matches(const char *url)
{
    return strncmp(url, "sqlite:", 7) == 0;
}

/* "sqlite://x.db" would be /x.db, and "sqlite://user:password@host" a file of that name. */
static int check_url(const char *url, ph_error *err)
{
    if (strncmp(url + 7, "//", 2) != 0 || url[9] == '/')
        return 0;
    return ph__fail(err, PH_EINVAL,
                    "a host follows sqlite://, and a file has none; write sqlite:PATH, or "
                    "sqlite:///PATH for one from the root");
}

static char *describe(const char *url)
{
    return ph__strdup(url); /* a path holds no secret */
}

static int check_tx(void *connection, ph_error *err)
{
    if (sqlite3_get_autocommit(connection) && !ph__sqlite_is_writing(connection))
        return ph__fail(
            err, PH_ENOTX,
            "no transaction is open on this connection; begin one with BEGIN IMMEDIATE");
    return 0;
}

ph_tx ph_tx_sqlite(sqlite3 *connection)
{
    return (ph_tx){ &ph__sqlite_backend, connection };
}

sqlite3 *ph_tx_sqlite_connection(ph_tx tx)
{
    return tx.backend == &ph__sqlite_backend ? tx.connection : NULL;
}

const struct ph__backend ph__sqlite_backend = {
    .name = "sqlite",
    .default_prefix = "posthorn_",
    .matches = matches,
    .check_url = check_url,
    .describe = describe,
    .file = ph__sqlite_path,
    .check_tx = check_tx,
    .outlook = ph__sqlite_outlook,
#define PH__VERB(type, name, arguments) .name = ph__sqlite_##name,
#include "store/verbs.def"
};
