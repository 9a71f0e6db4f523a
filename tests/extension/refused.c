/* refused.c - hosts that cannot be served: the extension must say so, and touch nothing.
 *
 * The host is made up: a table of functions that has only what may be asked
 * before it is known to be good. Anything else would crash. */
#include <sqlite3ext.h>

#include <stdio.h>
#include <string.h>

#undef sqlite3_auto_extension
#undef sqlite3_close
#undef sqlite3_free
#undef sqlite3_mprintf
#undef sqlite3_open

int sqlite3_posthorn_init(sqlite3 *db, char **ret_error, const sqlite3_api_routines *api);

static int older(void)
{
    return 3039004;
}

static int newer(void)
{
    return 3040000;
}

static int refused(const sqlite3_api_routines *api, const char *why)
{
    char *error = NULL;
    int rc = sqlite3_posthorn_init(NULL, &error, api);
    int good = rc == SQLITE_ERROR && error && strcmp(error, why) == 0;

    if (!good)
        fprintf(stderr, "%d: %s\n    instead of: %s\n", rc, error ? error : "no text", why);
    sqlite3_free(error);
    return good;
}

int main(void)
{
    const sqlite3_api_routines old_host = { .libversion_number = older,
                                            .mprintf = sqlite3_mprintf };
    const sqlite3_api_routines second_host = { .libversion_number = newer,
                                               .mprintf = sqlite3_mprintf };
    sqlite3 *db;
    int good = refused(&old_host, "posthorn: this program has an SQLite older than 3.40.0, which "
                                  "is needed");

    if (sqlite3_auto_extension((void (*)(void))sqlite3_posthorn_init) != SQLITE_OK ||
        sqlite3_open(":memory:", &db) != SQLITE_OK)
        return 1;
    good = good &&
           refused(&second_host, "posthorn: another copy of SQLite in this process has loaded the "
                                 "extension; use one copy");
    sqlite3_close(db);
    return !good;
}
