#include "store/sqlite/rows.h"

#include "core/error.h"
#include "store/sqlite/transaction.h"

int ph__rows_load(struct ph__query *query, struct ph__arena *arena, ph__row_load *load,
                  void *context, size_t size, void *ret_items, size_t *ret_count)
{
    struct ph__rows rows = { .arena = arena, .context = context };
    size_t room = 0, count = 0;
    int r;

    while ((r = ph__query_row(query)) > 0) {
        void *item = ph__arena_add(arena, ret_items, &count, &room, size);

        r = item ? load(query, &rows, item) : ph__fail_memory(query->tx->call->err);
        if (r != 0)
            break;
        rows.count++;
    }
    ph__query_end(query);
    *ret_count = rows.count;
    return r < 0 ? r : 0;
}
