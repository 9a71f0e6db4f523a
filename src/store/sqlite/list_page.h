/* list_page.h - which messages come next in a list.
 *
 * A list is in the order of enqueueing, that is of numbers, or in the reverse.
 * A key is a number in the list's direction (the number, or minus the number),
 * so that keys always ascend. */
#ifndef PH_STORE_SQLITE_LIST_PAGE_H
#define PH_STORE_SQLITE_LIST_PAGE_H

#include "store/sqlite/transaction.h"

struct ph__list_page {
    struct ph__sqlite_tx *tx;
    const struct ph__list *list;
    size_t size;   /* how many at most */
    int64_t after; /* the key before the first */
    int64_t *keys; /* the page: ascending; room for twice the size */
    size_t count;
    bool topic_open; /* the topic was not looked at: the caller must */
};

int64_t ph__list_direction(const struct ph__list *list);

/* Sets up the first page; memory from the arena. */
int ph__list_page_begin(struct ph__list_page *page, struct ph__sqlite_tx *tx,
                        const struct ph__list *list, struct ph__arena *arena);
/* Fills the page with the messages after its last key. Fewer than size: it was the last page. */
int ph__list_page_next(struct ph__list_page *page);

#endif
