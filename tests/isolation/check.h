/* check.h - assertions about the end of a permutation. */
#ifndef ISO_CHECK_H
#define ISO_CHECK_H

#include "engine.h"

/* True if the assertion holds, or its condition does not. Otherwise ret_why
 * says what was found instead. */
bool iso_check_holds(struct iso_engine *engine, const struct iso_check *check, char *ret_why,
                     size_t size);

#endif
