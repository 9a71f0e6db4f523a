/* topics.h - the topics that a claim wants. */
#ifndef PH_STORE_SQLITE_TOPICS_H
#define PH_STORE_SQLITE_TOPICS_H

#include "util/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct ph__topics {
    const char **sorted; /* NULL: all are wanted */
    uint32_t *hashes;    /* sorted as well, each once */
    size_t count, hash_count;
};

/* 31 bits, stored in pending: never change it. NULL: 0. */
uint32_t ph__topic_hash(const char *topic);
uint32_t ph__topic_hash_bytes(const char *topic, size_t length);
/* As pending holds it: below 0 if the row is not in the index of topics. */
int64_t ph__topic_stored(uint32_t hash, bool in_index);
uint32_t ph__topic_of_stored(int64_t stored);

/* False when memory is out. */
bool ph__topics_load(struct ph__topics *topics, const char *const *list, size_t count,
                     struct ph__arena *arena);
bool ph__topics_want(const struct ph__topics *topics, const char *topic);
/* The same by hash alone: true may be wrong, false never is. */
bool ph__topics_may_want(const struct ph__topics *topics, uint32_t hash);

#endif
