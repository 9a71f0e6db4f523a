#include "util/alloc.h"

#include "util/assert.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Atomic long ph__alloc_fail_after = -1;

static bool must_fail(void)
{
    long left = atomic_load_explicit(&ph__alloc_fail_after, memory_order_relaxed);

    while (left > 0) {
        if (atomic_compare_exchange_weak(&ph__alloc_fail_after, &left, left - 1))
            return false;
    }
    return left == 0;
}

void *ph__alloc(size_t size)
{
    return must_fail() ? NULL : malloc(size ? size : 1);
}

void *ph__alloc_zero(size_t count, size_t size)
{
    return must_fail() ? NULL : calloc(count ? count : 1, size ? size : 1);
}

void *ph__realloc(void *memory, size_t size)
{
    return must_fail() ? NULL : realloc(memory, size ? size : 1);
}

void *ph__grow(void *items, size_t needed, size_t *room, size_t size)
{
    size_t more = *room ? *room * 2 : 8;
    void *longer;

    PH__ASSERT(size > 0 && (items || *room == 0));
    if (needed <= *room)
        return items;
    if (more < needed)
        more = needed;
    longer = ph__realloc(items, more * size);
    if (longer)
        *room = more;
    return longer;
}

char *ph__strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = ph__alloc(size);

    return copy ? memcpy(copy, text, size) : NULL;
}

void ph__dealloc(void *memory)
{
    free(memory);
}
