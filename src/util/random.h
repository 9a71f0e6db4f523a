/* random.h - random numbers from the kernel. */
#ifndef PH_UTIL_RANDOM_H
#define PH_UTIL_RANDOM_H

#include <stddef.h>
#include <stdint.h>

void ph__random_bytes(void *ret_bytes, size_t length);
uint64_t ph__random_u64(void);

#endif
