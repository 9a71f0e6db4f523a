/* rows.h - all rows of a query, as an array. */
#ifndef PH_STORE_SQLITE_ROWS_H
#define PH_STORE_SQLITE_ROWS_H

#include "store/sqlite/statements.h"

struct ph__rows {
    struct ph__arena *arena; /* where the items live, and what they point to */
    size_t size;             /* of an item */
    /* Loads the present row into an item, which is all zero. 1: no more are wanted, nor this one. */
    int (*load)(const struct ph__query *query, struct ph__rows *rows, void *item);
    void *context; /* for load */
    void *items;
    size_t count;
};

/* Runs the query, whose parameters are bound, to its end. */
int ph__rows_load(struct ph__query *query, struct ph__rows *rows);

#endif
