#include "util/hash.h"

#include "util/assert.h"

#include <string.h>

uint64_t ph__hash64(uint64_t hash, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    PH__ASSERT(bytes || length == 0);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

uint64_t ph__hash64_text(uint64_t hash, const char *text)
{
    return ph__hash64(hash, text, strlen(text));
}

uint32_t ph__hash32(uint32_t hash, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT32_C(16777619);
    return hash;
}
