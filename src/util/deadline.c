#include "util/deadline.h"

#include "util/assert.h"
#include "util/random.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

ph__deadline ph__deadline_in(int timeout_ms)
{
    return now_ms() + timeout_ms;
}

int ph__deadline_left_ms(ph__deadline deadline)
{
    int64_t left = deadline - now_ms();

    if (left <= 0)
        return 0;
    return left > INT_MAX ? INT_MAX : (int)left;
}

void ph__deadline_nap(ph__deadline deadline, int max_ms)
{
    int64_t half_us = (int64_t)max_ms * 500;
    int64_t us = half_us + (int64_t)(ph__random_u64() % (uint64_t)(half_us + 1));
    int64_t left_us = (int64_t)ph__deadline_left_ms(deadline) * 1000;
    struct timespec rest;

    PH__ASSERT(max_ms >= 0);
    if (us > left_us)
        us = left_us;
    PH__ASSERT(us >= 0 && us <= left_us);
    rest.tv_sec = us / 1000000;
    rest.tv_nsec = (us % 1000000) * 1000;
    while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
        ;
}
