#include "store/sqlite/topics.h"

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
    return ph__hash32(PH__HASH32, topic, length);
}

uint32_t ph__topic_hash(const char *topic)
{
    return topic ? ph__topic_hash_bytes(topic, strlen(topic)) : 0;
}

bool ph__topics_load(struct ph__topics *topics, const char *const *list, size_t count,
                     struct ph__arena *arena)
{
    *topics = (struct ph__topics){ NULL, NULL, 0 };
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
    return true;
}

bool ph__topics_want(const struct ph__topics *topics, const char *topic)
{
    return !topics->sorted ||
           bsearch(&topic, topics->sorted, topics->count, sizeof(*topics->sorted), compare) != NULL;
}

bool ph__topics_may_want(const struct ph__topics *topics, uint32_t hash)
{
    return !topics->sorted || bsearch(&hash, topics->hashes, topics->count, sizeof(*topics->hashes),
                                      compare_hashes) != NULL;
}
