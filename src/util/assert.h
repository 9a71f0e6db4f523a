/* assert.h - invariants: checked in test and debug builds, free in release builds.
 *
 * A failed one ends the process and names what was not true. Only for mistakes of our own: a
 * mistake of a caller or a database is an error. The condition must have no effects, since release
 * builds do not evaluate it. */
#ifndef PH_UTIL_ASSERT_H
#define PH_UTIL_ASSERT_H

/* Of a function that only invariants call. */
#define PH__ONLY_ASSERTED __attribute__((unused))

#ifdef PH__CHECKED
#undef NDEBUG
#include <assert.h>
#define PH__ASSERT(invariant) assert(invariant)
#else
#define PH__ASSERT(invariant) ((void)sizeof((invariant) ? 1 : 0))
#endif

#endif
