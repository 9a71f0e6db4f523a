#include "store/sqlite/rows.h"

#include "core/error.h"
#include "store/sqlite/transaction.h"

int ph__rows_load(struct ph__query *query, struct ph__rows *rows)
{
    size_t room = 0;
    int r;

    while ((r = ph__query_row(query)) > 0) {
        void *items = ph__arena_grow(rows->arena, rows->items, rows->count, &room, rows->size);

        if (items)
            rows->items = items;
        r = items ? rows->load(query, rows, (char *)items + rows->count * rows->size)
                  : ph__fail_memory(query->tx->call->err);
        if (r != 0)
            break;
        rows->count++;
    }
    ph__query_end(query);
    return r < 0 ? r : 0;
}
