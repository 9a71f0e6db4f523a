/* arena.h - memory that is given back all at once: a batch owns one. */
#ifndef PH_UTIL_ARENA_H
#define PH_UTIL_ARENA_H

#include <stddef.h>

struct ph__arena {
    struct ph__arena_chunk *chunks; /* newest first */
};

/* NULL when memory is out. Zeroed, aligned for any type. */
void *ph__arena_alloc(struct ph__arena *arena, size_t size);
/* A copy of length bytes with a NUL behind it. */
char *ph__arena_copy(struct ph__arena *arena, const void *bytes, size_t length);
/* Room for one more behind count items of a size: items, or a copy of them in more room. NULL when
 * memory is out. *room: how many items have room; 0 at first. */
void *ph__arena_grow(struct ph__arena *arena, void *items, size_t count, size_t *room, size_t size);
void ph__arena_free(struct ph__arena *arena);

#endif
