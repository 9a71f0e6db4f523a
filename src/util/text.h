/* text.h - UTF-8: is it valid, how long is it, what may be shown of it. */
#ifndef PH_UTIL_TEXT_H
#define PH_UTIL_TEXT_H

#include "util/buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* True if the bytes are well-formed UTF-8 without NUL; then *ret_code_points
 * (may be NULL) is their number. */
bool ph__text_valid(const char *bytes, size_t length, size_t *ret_code_points);

/* Appends text with U+FFFD for each byte that is not valid UTF-8, cut at a
 * code point so that at most max bytes are appended. */
void ph__text_mend(struct ph__buffer *to, const char *text, size_t max);

/* Appends text with characters that are obeyed instead of shown (shown.h), backslashes and bytes
 * that are not UTF-8 escaped, so that it stays on one line of a log. */
void ph__text_escape(struct ph__buffer *to, const char *text);

#endif
