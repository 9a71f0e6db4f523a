/* ranges.h - numbers of a stream as ranges, in a column as text: '5-7,9-9'. */
#ifndef PH_STORE_SQLITE_RANGES_H
#define PH_STORE_SQLITE_RANGES_H

#include "store/sqlite/statements.h"
#include "util/buffer.h"

struct ph__range {
    int64_t from, to; /* both belong to it */
};

/* Ascending; between two there is at least one number. */
struct ph__ranges {
    struct ph__range *items; /* from an arena */
    size_t count, room;
};

/* NULL is no range. PH_ECORRUPT if the column holds something else. */
int ph__ranges_load(const struct ph__query *query, int column, struct ph__arena *arena,
                    struct ph__ranges *ret_ranges);
/* Appends nothing if there is none. */
void ph__ranges_pack(struct ph__buffer *to, const struct ph__ranges *ranges);

bool ph__ranges_have(const struct ph__ranges *ranges, int64_t number);
/* False when memory is out. */
bool ph__ranges_add(struct ph__ranges *ranges, int64_t number, struct ph__arena *arena);
void ph__ranges_drop_first(struct ph__ranges *ranges);
/* How many numbers. */
int64_t ph__ranges_total(const struct ph__ranges *ranges);

#endif
