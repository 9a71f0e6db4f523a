/* list.c - messages for operators, page by page. */
#include "core/error.h"
#include "store/sqlite/list_page.h"
#include "store/sqlite/long_read.h"
#include "store/sqlite/moves.h"
#include "store/sqlite/state_row.h"
#include "store/sqlite/topics.h"
#include "store/sqlite/verbs.h"

#include <string.h>

/* By its hash, before all of the message is looked up. */
static int may_be_of_topic(const struct ph__list_page *page, int64_t number)
{
    struct ph__message_facts facts;
    int r;

    if (!page->topic_open)
        return 1;
    r = ph__message_facts(page->tx, number, &facts);
    return r < 0 ? r : facts.exists && facts.topic == ph__topic_hash(page->list->topic);
}

/* 1: the list is full without it. */
static int add(const struct ph__list_page *page, struct ph__state_wanted *wanted, int64_t number,
               ph_messages *to)
{
    const char *topic = page->list->topic;
    ph_message_info *item = &to->items[to->count];
    int r = may_be_of_topic(page, number);

    if (r > 0)
        r = ph__state_load(wanted, number, item);
    if (r <= 0 || (topic && strcmp(item->message->topic, topic) != 0))
        return r < 0 ? r : 0;
    if (ph__state_overflows(wanted, item, to->count))
        return 1;
    to->count++;
    return 0;
}

static int fill(struct ph__list_page *page, ph_messages *to)
{
    struct ph__state_wanted wanted = { .tx = page->tx,
                                       .arena = &to->arena,
                                       .door = page->list->door,
                                       .with_payload = page->list->with_payload };
    size_t limit = (size_t)page->list->limit;
    int r;

    do {
        r = ph__list_page_next(page);
        for (size_t i = 0; r == 0 && i < page->count && to->count < limit; i++)
            r = add(page, &wanted, page->keys[i] * ph__list_direction(page->list), to);
    } while (r == 0 && to->count < limit && page->count == page->size);
    return r < 0 ? r : 0;
}

int ph__sqlite_list(struct ph__call *call, const struct ph__list *list, ph_messages *ret_list)
{
    struct ph__long_read read = { 0 };
    struct ph__list_page page;
    int r;

    ret_list->items =
        ph__arena_alloc(&ret_list->arena, (size_t)list->limit * sizeof(*ret_list->items));
    if (!ret_list->items)
        return ph__fail_memory(call->err);
    r = ph__long_read_begin(&read, call);
    if (r < 0)
        return r;
    r = ph__list_page_begin(&page, &read.tx, list, &ret_list->arena);
    if (r == 0)
        r = fill(&page, ret_list);
    return ph__long_read_end(&read, r);
}
