/* sources.h - what the kinds of sources have in common. */
#ifndef PH_SET_SOURCES_H
#define PH_SET_SOURCES_H

#include "set/inner.h"
#include "util/buffer.h"

/* kind and where make its name in the log. NULL: memory is out, and err is filled. */
struct ph__source *ph__source_new(const char *kind, const char *where, ph_error *err);
/* From now on it is asked; the set owns it. */
void ph__source_add(ph_set *set, struct ph__source *source);

/* What the sources of these kinds do, for a file that holds several of them. */
int ph__query_ask(const char *url, const char *sql, ph_found *found, ph_error *err);
int ph__folder_ask(const char *path, const char *pattern, ph_found *found, ph_error *err);

/* Appends a URL as a set file means it: the path of a SQLite file starts at the folder of that file.
 * file NULL: as it is. */
void ph__file_put_url(struct ph__buffer *to, const char *file, const char *url);

#endif
