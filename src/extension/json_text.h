/* json_text.h - where a value stands in a JSON text.
 *
 * The text must be well-formed: it has been parsed before. With this a part of
 * it can be kept byte for byte, which a parser that turns numbers into doubles
 * would spoil. */
#ifndef PH_EXTENSION_JSON_TEXT_H
#define PH_EXTENSION_JSON_TEXT_H

#include <stddef.h>

/* The first value of an array, and the one behind a value; NULL: there is none. */
const char *ph__json_first(const char *array);
const char *ph__json_next(const char *value);

/* The value of a member of an object, and its length; NULL: there is none of that name. */
const char *ph__json_member(const char *object, const char *name, size_t *ret_length);

#endif
