/* shown.h - which characters are not shown as they are. */
#ifndef PH_UTIL_SHOWN_H
#define PH_UTIL_SHOWN_H

#include <stdbool.h>
#include <stdint.h>

/* A code point that is obeyed instead of shown: a control character, the end of a line, what turns
 * the direction of text around, what cannot be seen. */
bool ph__text_obeyed(uint32_t code);

#endif
