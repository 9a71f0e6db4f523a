/* topics.h - the topics that a claim wants. */
#ifndef PH_STORE_SQLITE_TOPICS_H
#define PH_STORE_SQLITE_TOPICS_H

#include "util/arena.h"

#include <stdbool.h>

struct ph__topics {
    const char **sorted; /* NULL: all are wanted */
    size_t count;
};

/* False when memory is out. */
bool ph__topics_load(struct ph__topics *topics, const char *const *list, size_t count,
                     struct ph__arena *arena);
bool ph__topics_want(const struct ph__topics *topics, const char *topic);

#endif
