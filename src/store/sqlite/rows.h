/* rows.h - all rows of a query, as an array. */
#ifndef PH_STORE_SQLITE_ROWS_H
#define PH_STORE_SQLITE_ROWS_H

#include "store/sqlite/statements.h"

/* The context in which an item is loaded. */
struct ph__rows {
    struct ph__arena *arena; /* holds the items, and the memory that they point to */
    void *context;
    size_t count; /* loaded before this one */
};
/* Loads the present row into an item, which is all zero. 1: no more are wanted, nor this one. */
typedef int ph__row_load(const struct ph__query *query, const struct ph__rows *rows, void *item);

/* Runs the query, whose parameters are bound, to its end. ret_items: the address of a pointer to
 * items of a size. */
int ph__rows_load(struct ph__query *query, struct ph__arena *arena, ph__row_load *load,
                  void *context, size_t size, void *ret_items, size_t *ret_count);
/* Into a list { arena, items, count }. */
#define PH__ROWS_LOAD(query, list, load, context)                                                  \
    ph__rows_load(query, &(list)->arena, load, context, sizeof(*(list)->items), &(list)->items,    \
                  &(list)->count)

#endif
