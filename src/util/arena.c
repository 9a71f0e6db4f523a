#include "util/arena.h"

#include "util/alloc.h"
#include "util/assert.h"

#include <stdint.h>
#include <string.h>

#define CHUNK_SIZE (32 * 1024)

struct ph__arena_chunk {
    struct ph__arena_chunk *next;
    size_t used, size;
    max_align_t data[];
};

static struct ph__arena_chunk *chunk_new(struct ph__arena *arena, size_t at_least)
{
    size_t size = at_least > CHUNK_SIZE ? at_least : CHUNK_SIZE;
    struct ph__arena_chunk *chunk;

    PH__ASSERT(size % _Alignof(max_align_t) == 0); /* as is what the next piece begins with */
    if (size > SIZE_MAX - sizeof(*chunk))
        return NULL;
    chunk = ph__alloc(sizeof(*chunk) + size);
    if (!chunk)
        return NULL;
    chunk->used = 0;
    chunk->size = size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

static void *take(struct ph__arena *arena, size_t size)
{
    const size_t align = _Alignof(max_align_t);
    struct ph__arena_chunk *chunk = arena->chunks;
    void *memory;

    if (size > SIZE_MAX - align)
        return NULL;
    size = (size + align - 1) / align * align;
    PH__ASSERT(!chunk || chunk->used <= chunk->size);
    if (!chunk || chunk->size - chunk->used < size)
        chunk = chunk_new(arena, size);
    if (!chunk)
        return NULL;
    PH__ASSERT(chunk->size - chunk->used >= size);
    memory = (char *)chunk->data + chunk->used;
    chunk->used += size;
    return memory;
}

void *ph__arena_alloc(struct ph__arena *arena, size_t size)
{
    void *memory = take(arena, size);

    return memory ? memset(memory, 0, size) : NULL;
}

char *ph__arena_copy(struct ph__arena *arena, const void *bytes, size_t length)
{
    char *copy = length < SIZE_MAX ? take(arena, length + 1) : NULL;

    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

void *ph__arena_add(struct ph__arena *arena, void *items, size_t *count, size_t *room, size_t size)
{
    size_t more = *room ? *room * 2 : 8;
    char *first;

    memcpy(&first, items, sizeof(first)); /* whatever its type is */
    PH__ASSERT(size > 0 && *count <= *room);
    PH__ASSERT(first || *count == 0);
    if (*count == *room) {
        char *longer = take(arena, more * size);

        if (!longer)
            return NULL;
        if (*count)
            memcpy(longer, first, *count * size);
        memcpy(items, &longer, sizeof(longer));
        *room = more;
        first = longer;
    }
    PH__ASSERT(*count < *room);
    return memset(first + (*count)++ * size, 0, size);
}

void ph__arena_free(struct ph__arena *arena)
{
    while (arena->chunks) {
        struct ph__arena_chunk *next = arena->chunks->next;

        ph__dealloc(arena->chunks);
        arena->chunks = next;
    }
}
