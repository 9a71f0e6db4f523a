/* definition.h - is a table, an index or a view as we made it? */
#ifndef PH_STORE_SQLITE_DEFINITION_H
#define PH_STORE_SQLITE_DEFINITION_H

#include <stdbool.h>

/* Compares two CREATE statements; blanks and comments do not count. Either may have columns more than
 * the other, as versions of the schema have them: in one row, at the end, and of a kind that brings
 * no code along and refuses nothing. */
bool ph__sqlite_same_definition(const char *one, const char *other);

#endif
