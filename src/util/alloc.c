#include "util/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

long ph__alloc_fail_after = -1;

static bool must_fail(void)
{
    if (ph__alloc_fail_after < 0)
        return false;
    if (ph__alloc_fail_after == 0)
        return true;
    ph__alloc_fail_after--;
    return false;
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
