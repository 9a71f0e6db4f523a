#include "util/condition.h"

#include "util/assert.h"

#include <time.h>

int ph__cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    int r = pthread_condattr_init(&attributes);

    if (r == 0) {
        r = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        if (r == 0)
            r = pthread_cond_init(condition, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    return r ? -1 : 0;
}

void ph__cond_wait_us(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t wait_us)
{
    struct timespec until;

    if (wait_us <= 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_us / 1000000;
    until.tv_nsec += wait_us % 1000000 * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    PH__ASSERT(until.tv_nsec >= 0 && until.tv_nsec < 1000000000);
    pthread_cond_timedwait(condition, lock, &until);
}
