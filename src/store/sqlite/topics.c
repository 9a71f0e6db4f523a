#include "store/sqlite/topics.h"

#include "util/assert.h"
#include "util/hash.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_hashes(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

uint32_t ph__topic_hash_bytes(const char *topic, size_t length)
{
    return ph__hash32(PH__HASH32, topic, length) & INT32_MAX;
}

uint32_t ph__topic_hash(const char *topic)
{
    return topic ? ph__topic_hash_bytes(topic, strlen(topic)) : 0;
}

int64_t ph__topic_stored(uint32_t hash, bool in_index)
{
    PH__ASSERT(hash <= INT32_MAX);
    return in_index ? (int64_t)hash : ~(int64_t)hash;
}

uint32_t ph__topic_of_stored(int64_t stored)
{
    return (uint32_t)(stored < 0 ? ~stored : stored);
}

/* Topics may have the same hash. */
static size_t drop_repeated(uint32_t *hashes, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || hashes[i] != hashes[kept - 1])
            hashes[kept++] = hashes[i];
    }
    return kept;
}

bool ph__topics_load(struct ph__topics *topics, const char *const *list, size_t count,
                     struct ph__arena *arena)
{
    *topics = (struct ph__topics){ 0 };
    if (!list)
        return true;
    topics->sorted = ph__arena_alloc(arena, count * sizeof(*topics->sorted));
    topics->hashes = ph__arena_alloc(arena, count * sizeof(*topics->hashes));
    if (!topics->sorted || !topics->hashes)
        return false;
    for (size_t i = 0; i < count; i++) {
        topics->sorted[i] = list[i];
        topics->hashes[i] = ph__topic_hash(list[i]);
    }
    qsort(topics->sorted, count, sizeof(*topics->sorted), compare);
    qsort(topics->hashes, count, sizeof(*topics->hashes), compare_hashes);
    topics->count = count;
    topics->hash_count = drop_repeated(topics->hashes, count);
    return true;
}

bool ph__topics_want(const struct ph__topics *topics, const char *topic)
{
    return !topics->sorted ||
           bsearch(&topic, topics->sorted, topics->count, sizeof(*topics->sorted), compare) != NULL;
}

bool ph__topics_may_want(const struct ph__topics *topics, uint32_t hash)
{
    return !topics->sorted || bsearch(&hash, topics->hashes, topics->hash_count,
                                      sizeof(*topics->hashes), compare_hashes) != NULL;
}
