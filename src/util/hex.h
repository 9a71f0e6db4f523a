/* hex.h - hexadecimal digits, read. */
#ifndef PH_UTIL_HEX_H
#define PH_UTIL_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number that `count` digits stand for, at most 16; false if one is no digit. */
bool ph__hex_read(const char *digits, size_t count, uint64_t *ret_number);

#endif
