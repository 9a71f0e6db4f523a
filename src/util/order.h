/* order.h - numbers in order. */
#ifndef PH_UTIL_ORDER_H
#define PH_UTIL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Below, at or above 0, as a is below, at or above b. */
static inline int ph__order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Does each follow a smaller one? */
static inline bool ph__ascend(const int64_t *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (numbers[i - 1] >= numbers[i])
            return false;
    }
    return true;
}

/* For qsort() and bsearch(): items that are an int64_t, or begin with one. */
int ph__order_int64(const void *a, const void *b);
/* Ascending; costs next to nothing if they are. */
void ph__sort_int64(int64_t *numbers, size_t count);

#endif
