/* condition.h - waiting for a condition, but not for ever. */
#ifndef PH_UTIL_CONDITION_H
#define PH_UTIL_CONDITION_H

#include <pthread.h>
#include <stdint.h>

/* One on CLOCK_MONOTONIC; negative: the system refuses. */
int ph__cond_init(pthread_cond_t *condition);
/* At most wait_us; not at all if that is not above 0. */
void ph__cond_wait_us(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t wait_us);

#endif
