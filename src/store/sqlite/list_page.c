#include "store/sqlite/list_page.h"

#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/lease_row.h"
#include "store/sqlite/tokens.h"
#include "store/sqlite/topics.h"
#include "util/assert.h"
#include "util/order.h"

#include <string.h>

#define SIFT_SIZE 1000 /* at least so many at once if most may be of another topic */

int64_t ph__list_direction(const struct ph__list *list)
{
    return list->oldest_first ? 1 : -1;
}

int ph__list_page_begin(struct ph__list_page *page, struct ph__sqlite_tx *tx,
                        const struct ph__list *list, struct ph__arena *arena)
{
    int64_t number = list->oldest_first ? 0 : PH__NUMBER_MAX + 1;
    uint64_t salt;

    *page = (struct ph__list_page){ .tx = tx, .list = list, .size = (size_t)list->limit };
    page->topic_open =
        list->topic && (list->state == PH_LIST_IN_PROGRESS || list->state == PH_LIST_DONE ||
                        list->state == PH_LIST_PARKED);
    if (page->topic_open && page->size < SIFT_SIZE)
        page->size = SIFT_SIZE;
    (void)ph__id_split(list->after, &number, &salt); /* the core has checked it */
    page->after = number * ph__list_direction(list);
    page->keys = ph__arena_alloc(arena, 2 * page->size * sizeof(*page->keys));
    return page->keys ? 0 : ph__fail_memory(tx->call->err);
}

/* Keeps the first ones of those gathered. */
static void sift(struct ph__list_page *page)
{
    ph__sort_int64(page->keys, page->count);
    PH__ASSERT(page->count <= 2 * page->size);
    if (page->count > page->size)
        page->count = page->size;
}

static void gather(struct ph__list_page *page, int64_t number)
{
    int64_t key = number * ph__list_direction(page->list);

    if (key <= page->after)
        return;
    if (page->count == 2 * page->size)
        sift(page);
    page->keys[page->count++] = key;
}

static struct ph__query list_query(const struct ph__list_page *page,
                                   enum ph__sqlite_statement which)
{
    struct ph__query query = ph__query(page->tx, which);

    ph__query_int(&query, page->list->door);
    ph__query_text(&query, page->list->ns);
    return query;
}

/* A statement that gives numbers in order, no more than needed. */
static int take_numbers(struct ph__list_page *page, struct ph__query *query)
{
    int r;

    while ((r = ph__query_row(query)) > 0)
        page->keys[page->count++] = ph__column_int(query, 0) * ph__list_direction(page->list);
    return r;
}

static int next_by_number(struct ph__list_page *page, enum ph__sqlite_statement newest,
                          enum ph__sqlite_statement oldest)
{
    struct ph__query query = list_query(page, page->list->oldest_first ? oldest : newest);

    ph__query_int(&query, page->after * ph__list_direction(page->list));
    ph__query_text(&query, page->list->topic);
    ph__query_int(&query, (int64_t)page->size);
    return take_numbers(page, &query);
}

static int next_pending(struct ph__list_page *page)
{
    struct ph__query query = list_query(page, PH__SQL_list_pending);

    ph__query_int(&query, page->tx->now);
    ph__query_int(&query, page->list->state == PH_LIST_READY);
    ph__query_int(&query, ph__list_direction(page->list));
    ph__query_int(&query, page->after);
    if (page->list->topic)
        ph__query_int(&query, ph__topic_hash(page->list->topic));
    else
        ph__query_null(&query);
    ph__query_int(&query, (int64_t)page->size);
    return take_numbers(page, &query);
}

static int gather_lease(struct ph__list_page *page, const struct ph__query *query)
{
    struct ph__arena arena = { 0 };
    struct ph__lease_row lease;
    int r = ph__lease_load(query, &arena, &lease);

    for (size_t i = 0; r == 0 && i < lease.count; i++) {
        if (lease.settled[i] == '0')
            gather(page, lease.ids[i]);
    }
    ph__arena_free(&arena);
    return r;
}

static int next_leased(struct ph__list_page *page)
{
    struct ph__query query = list_query(page, PH__SQL_list_lease);
    int r;

    while ((r = ph__query_row(&query)) > 0) {
        r = gather_lease(page, &query);
        if (r < 0)
            break;
    }
    ph__query_end(&query);
    sift(page);
    return r;
}

static int gather_done(struct ph__list_page *page, const struct ph__query *query)
{
    struct ph__arena arena = { 0 };
    const int64_t *ids = NULL;
    size_t count = 0;
    int r = ph__unpack_ids(query, 1, &arena, &ids, &count);

    for (size_t i = 0; r == 0 && i < count; i++)
        gather(page, ids[i]);
    ph__arena_free(&arena);
    return r;
}

/* Rows of done come by their highest number and overlap. The page is complete
 * when neither this row nor one that follows can hold a key before its last. */
static bool is_complete(struct ph__list_page *page, int64_t hi)
{
    int64_t least = page->list->oldest_first ? hi - PH__DONE_SPREAD_MAX : -hi;

    if (page->count < 2 * page->size)
        return false;
    sift(page);
    return page->keys[page->count - 1] < least;
}

static int next_done(struct ph__list_page *page)
{
    bool oldest = page->list->oldest_first;
    struct ph__query query =
        list_query(page, oldest ? PH__SQL_list_done_oldest : PH__SQL_list_done_newest);
    int r;

    ph__query_int(&query, oldest ? page->after : PH__DONE_SPREAD_MAX - page->after);
    while ((r = ph__query_row(&query)) > 0) {
        if (is_complete(page, ph__column_int(&query, 0)))
            r = 0;
        else
            r = gather_done(page, &query) < 0 ? query.tx->call->err->code : 1;
        if (r <= 0)
            break;
    }
    ph__query_end(&query);
    sift(page);
    return r;
}

/* The messages behind a number of a stream are parked. */
static int gather_parked(void *context, const struct ph__token *token)
{
    struct ph__list_page *page = context;
    struct ph__query query = ph__query(page->tx, PH__SQL_stream_behind);
    int r;

    ph__query_int(&query, token->stream);
    ph__query_int(&query, token->seq);
    while ((r = ph__query_row(&query)) > 0)
        gather(page, ph__column_int(&query, 0));
    return r;
}

static int next_parked(struct ph__list_page *page)
{
    int r = ph__tokens_each(page->tx, page->list->door, page->list->ns, gather_parked, page);

    sift(page);
    return r;
}

int ph__list_page_next(struct ph__list_page *page)
{
    if (page->count > 0)
        page->after = page->keys[page->count - 1];
    page->count = 0;
    switch (page->list->state) {
    case PH_LIST_READY:
    case PH_LIST_SCHEDULED:
        return next_pending(page);
    case PH_LIST_IN_PROGRESS:
        return next_leased(page);
    case PH_LIST_DONE:
        return next_done(page);
    case PH_LIST_DEAD:
        return next_by_number(page, PH__SQL_list_dead_newest, PH__SQL_list_dead_oldest);
    case PH_LIST_PARKED:
        return next_parked(page);
    case PH_LIST_WAITING:
        return next_by_number(page, PH__SQL_list_waiting_newest, PH__SQL_list_waiting_oldest);
    case PH_LIST_ALL:
        break;
    }
    return next_by_number(page, PH__SQL_list_all_newest, PH__SQL_list_all_oldest);
}
