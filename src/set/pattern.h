/* pattern.h - patterns for names, as in a shell; the same in every locale. */
#ifndef PH_SET_PATTERN_H
#define PH_SET_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* "*": anything; "?": one character; "[a-z]", "[!a-z]" (or "[^a-z]"): one of these, or none of
 * them; "\" before a character takes away its meaning. A "[" that is not closed is one. If the name
 * fits, *ret_stem is the length of the name without the part that fits behind the last "*". */
bool ph__pattern_fits(const char *pattern, const char *name, size_t *ret_stem);

#endif
