#include "store/sqlite/topics.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool ph__topics_load(struct ph__topics *topics, const char *const *list, size_t count,
                     struct ph__arena *arena)
{
    *topics = (struct ph__topics){ NULL, 0 };
    if (!list)
        return true;
    topics->sorted = ph__arena_alloc(arena, count * sizeof(*list));
    if (!topics->sorted)
        return false;
    for (size_t i = 0; i < count; i++)
        topics->sorted[i] = list[i];
    qsort(topics->sorted, count, sizeof(*topics->sorted), compare);
    topics->count = count;
    return true;
}

bool ph__topics_want(const struct ph__topics *topics, const char *topic)
{
    return !topics->sorted ||
           bsearch(&topic, topics->sorted, topics->count, sizeof(*topics->sorted), compare) != NULL;
}
