/* dice.c - chance in tests, so that a run can be repeated. */
#include "harness.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static uint64_t first_seed;
static atomic_uint threads;
static _Thread_local uint64_t state;

uint64_t t_seed(const char *variable)
{
    const char *given = getenv(variable);
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);

    printf("%s=%llu\n", variable, (unsigned long long)seed);
    return seed;
}

static uint64_t state_of(uint64_t seed)
{
    uint64_t made = seed * 2654435769u + 88172645463325252u;

    return made ? made : 1;
}

void t_dice_seed(uint64_t seed)
{
    first_seed = seed;
    state = state_of(seed);
}

unsigned t_dice(unsigned sides)
{
    if (state == 0)
        state = state_of(first_seed + 7919u * (1 + atomic_fetch_add(&threads, 1)));
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 16) % sides);
}

double t_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void t_nap_ms(unsigned ms)
{
    struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

    nanosleep(&t, NULL);
}
