/* through_host.h - SQLite as the host hands it over.
 *
 * The build includes this before everything else, in every file of the
 * extension and of the library in it: then each call of an sqlite3_ function
 * goes through the table of the program that loaded us, which may have its own
 * copy of SQLite inside. Nothing is linked against libsqlite3. */
#ifndef PH_EXTENSION_THROUGH_HOST_H
#define PH_EXTENSION_THROUGH_HOST_H

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3

#endif
