#include "store/sqlite/ranges.h"

#include "core/error.h"
#include "store/sqlite/transaction.h"
#include "util/assert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number above the last one, and the character that must follow it. */
static bool read_number(const char **at, int64_t least, const char *follows, int64_t *ret_number)
{
    char *end;

    *ret_number = strtoll(*at, &end, 10);
    if (end == *at || *ret_number < least || !strchr(follows, *end)) /* NUL counts as found */
        return false;
    *at = *end ? end + 1 : end;
    return true;
}

static bool append(struct ph__ranges *ranges, int64_t from, int64_t to, struct ph__arena *arena)
{
    struct ph__range *range;

    PH__ASSERT(from <= to);
    range = PH__ARENA_ADD(arena, ranges->items, ranges->count, ranges->room);

    if (!range)
        return false;
    *range = (struct ph__range){ from, to };
    return true;
}

int ph__ranges_load(const struct ph__query *query, int column, struct ph__arena *arena,
                    struct ph__ranges *ret_ranges)
{
    const char *at = (const char *)sqlite3_column_text(query->stmt, column);
    int64_t from, to = 0;

    *ret_ranges = (struct ph__ranges){ 0 };
    while (at && *at) {
        if (!read_number(&at, to + 1, "-", &from) || !*at || !read_number(&at, from, ",", &to))
            return ph__fail(query->tx->call->err, PH_ECORRUPT,
                            "a checkpoint in the database is damaged; restore a backup");
        if (!append(ret_ranges, from, to, arena))
            return ph__fail_memory(query->tx->call->err);
    }
    return 0;
}

void ph__ranges_pack(struct ph__buffer *to, const struct ph__ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++)
        ph__buffer_printf(to, "%s%" PRId64 "-%" PRId64, i ? "," : "", ranges->items[i].from,
                          ranges->items[i].to);
}

/* The first range that ends at or after the number before this one: it may be joined. */
static size_t place_of(const struct ph__ranges *ranges, int64_t number)
{
    size_t from = 0, to = ranges->count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (ranges->items[middle].to < number - 1)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool ph__ranges_have(const struct ph__ranges *ranges, int64_t number)
{
    size_t i = place_of(ranges, number + 1);

    return i < ranges->count && ranges->items[i].from <= number && number <= ranges->items[i].to;
}

static void remove_at(struct ph__ranges *ranges, size_t index)
{
    PH__ASSERT(index < ranges->count && ranges->count <= ranges->room);
    ranges->count--;
    memmove(&ranges->items[index], &ranges->items[index + 1],
            (ranges->count - index) * sizeof(*ranges->items));
}

static bool insert_at(struct ph__ranges *ranges, size_t index, int64_t number,
                      struct ph__arena *arena)
{
    if (!append(ranges, number, number, arena))
        return false;
    memmove(&ranges->items[index + 1], &ranges->items[index],
            (ranges->count - 1 - index) * sizeof(*ranges->items));
    ranges->items[index] = (struct ph__range){ number, number };
    return true;
}

bool ph__ranges_add(struct ph__ranges *ranges, int64_t number, struct ph__arena *arena)
{
    size_t i = place_of(ranges, number);
    struct ph__range *at;

    if (i == ranges->count || number < ranges->items[i].from - 1)
        return insert_at(ranges, i, number, arena);
    at = &ranges->items[i];
    if (number < at->from)
        at->from = number;
    if (number > at->to)
        at->to = number;
    PH__ASSERT(i == 0 || ranges->items[i - 1].to + 1 < at->from); /* or they were one */
    if (i + 1 < ranges->count && at->to + 1 == ranges->items[i + 1].from) {
        at->to = ranges->items[i + 1].to;
        remove_at(ranges, i + 1);
    }
    return true;
}

void ph__ranges_drop_first(struct ph__ranges *ranges)
{
    remove_at(ranges, 0);
}

int64_t ph__ranges_total(const struct ph__ranges *ranges)
{
    int64_t total = 0;

    for (size_t i = 0; i < ranges->count; i++)
        total += ranges->items[i].to - ranges->items[i].from + 1;
    return total;
}
