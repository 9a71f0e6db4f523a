#include "util/order.h"

#include "util/assert.h"

#include <stdlib.h>

int ph__order_int64(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return ph__order(*left, *right);
}

void ph__sort_int64(int64_t *numbers, size_t count)
{
    size_t i = 1;

    while (i < count && numbers[i - 1] <= numbers[i])
        i++;
    if (i < count)
        qsort(numbers, count, sizeof(*numbers), ph__order_int64);
    PH__ASSERT(count == 0 || numbers[0] <= numbers[count - 1]);
}
