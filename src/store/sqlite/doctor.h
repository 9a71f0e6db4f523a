/* doctor.h - shared by the parts of the examination. */
#ifndef PH_STORE_SQLITE_DOCTOR_H
#define PH_STORE_SQLITE_DOCTOR_H

#include "store/sqlite/connection.h"

/* The versions of SQLite that checkpoint.c tells about. number: as sqlite3_libversion_number(). */
bool ph__sqlite_may_lose_pages(int number);

/* places.c: the file's pages, and whether every message is in exactly one place. Reads everything. */
int ph__sqlite_examine_deep(struct ph__call *call, struct ph__examination *examination);

/* places_streams.c: has every busy stream exactly one token, and every other none? */
int ph__sqlite_examine_streams(struct ph__sqlite_tx *tx, struct ph__examination *examination);

/* places_topics.c: is each row of pending in the index of topics, if it has to be? */
int ph__sqlite_examine_topics(struct ph__sqlite_tx *tx, struct ph__examination *examination);

#endif
