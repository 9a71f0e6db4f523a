/* options.h - size-first structs: what an older or newer caller passes. */
#ifndef PH_CORE_OPTIONS_H
#define PH_CORE_OPTIONS_H

#include <posthorn/posthorn.h>

#define PH__OPTIONS_SIZE_MAX 4096 /* no struct is that large: the size was not set */

/* Copies an options struct of *from's own size into to, which is to_size bytes
 * of defaults. An older caller's shorter struct leaves the rest at default; a
 * newer caller's longer one is refused if it sets what this library does not
 * know. from NULL: all default. what: its name for the error. */
int ph__options_load(void *to, size_t to_size, const void *from, const char *what, ph_error *err);

/* The same for a struct that the library fills: copies at most the caller's size. */
int ph__options_check(size_t caller_size, const char *what, ph_error *err);
void ph__options_store(void *to, const void *from, size_t from_size);

#endif
