#include "util/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

void ph__random_bytes(void *ret_bytes, size_t length)
{
    char *at = ret_bytes;

    while (length > 0) {
        ssize_t got = getrandom(at, length, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            /* A kernel without getrandom() (before 3.17): distinct, if not secret. */
            struct timespec now;

            clock_gettime(CLOCK_REALTIME, &now);
            for (; length > 0; length--, at++)
                *at = (char)((uint64_t)now.tv_nsec * 2654435761u >> (length % 24)) ^ (char)getpid();
            return;
        }
        at += got;
        length -= (size_t)got;
    }
}

uint64_t ph__random_u64(void)
{
    uint64_t value;

    ph__random_bytes(&value, sizeof(value));
    return value;
}
