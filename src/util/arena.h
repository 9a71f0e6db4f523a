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
/* Appends a zeroed item of `size` bytes, counts it, and returns it. items: the address of the
 * pointer to the first one, which moves when it must. NULL when memory is out: nothing has changed.
 * *room: how many items there is room for; 0 at first. */
void *ph__arena_add(struct ph__arena *arena, void *items, size_t *count, size_t *room, size_t size);
#define PH__ARENA_ADD(arena, items, count, room)                                                   \
    ph__arena_add(arena, &(items), &(count), &(room), sizeof(*(items)))
void ph__arena_free(struct ph__arena *arena);

#endif
