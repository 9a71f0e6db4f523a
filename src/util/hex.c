#include "util/hex.h"

#include "util/assert.h"

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool ph__hex_read(const char *digits, size_t count, uint64_t *ret_number)
{
    uint64_t number = 0;

    PH__ASSERT(count <= 2 * sizeof(number));
    for (size_t i = 0; i < count; i++) {
        int value = digit(digits[i]);

        if (value < 0)
            return false;
        number = number << 4 | (uint64_t)value;
    }
    *ret_number = number;
    return true;
}
