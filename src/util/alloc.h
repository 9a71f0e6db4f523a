/* alloc.h - the one place where the library takes memory from the heap.
 *
 * Tests make the nth allocation fail through ph__alloc_fail_after. */
#ifndef PH_UTIL_ALLOC_H
#define PH_UTIL_ALLOC_H

#include <stddef.h>

/* All return NULL when memory is out, and never for a size of 0. */
void *ph__alloc(size_t size);
void *ph__alloc_zero(size_t count, size_t size);
void *ph__realloc(void *memory, size_t size);
/* Room for `needed` items of `size` bytes: returns items, or a larger block that replaces them.
 * NULL when memory is out: items stay as they were. *room: how many items there is room for; 0 at
 * first. */
void *ph__grow(void *items, size_t needed, size_t *room, size_t size);
char *ph__strdup(const char *text);
void ph__dealloc(void *memory);

/* Test hook: < 0 never fails; n >= 0: n more allocations succeed, later ones fail. Atomic, since
 * tests set it while other threads work. */
extern _Atomic long ph__alloc_fail_after;

#endif
