/* deadline.h - a point on the monotonic clock by which a call must be over. */
#ifndef PH_UTIL_DEADLINE_H
#define PH_UTIL_DEADLINE_H

#include <stdint.h>

typedef int64_t ph__deadline; /* milliseconds of CLOCK_MONOTONIC */

ph__deadline ph__deadline_in(int timeout_ms);
/* Milliseconds left, 0 when it has passed. */
int ph__deadline_left_ms(ph__deadline deadline);
/* Sleeps for about max_ms (between a half and the whole, at random, so that
 * waiters do not march in step), but not past the deadline. */
void ph__deadline_nap(ph__deadline deadline, int max_ms);

#endif
