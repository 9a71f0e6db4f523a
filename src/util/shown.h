/* shown.h - which characters are not shown as they are. */
#ifndef PH_UTIL_SHOWN_H
#define PH_UTIL_SHOWN_H

#include <stdbool.h>
#include <stdint.h>

/* A code point that is obeyed instead of shown: a control character, a line end, a change of the
 * text's direction, an invisible one. */
bool ph__text_obeyed(uint32_t code);

#endif
