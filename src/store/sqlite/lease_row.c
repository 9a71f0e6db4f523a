#include "store/sqlite/lease_row.h"

#include "core/error.h"

#include <string.h>

static int fail_damaged(const struct ph__query *query)
{
    return ph__fail(query->tx->call->err, PH_ECORRUPT,
                    "a list of messages in the database is damaged; restore a backup");
}

void ph__pack_ids(struct ph__buffer *to, const int64_t *ids, size_t count)
{
    static const char hex[] = "0123456789abcdef";
    char one[PH__ID_WIDTH];

    one[0] = ',';
    for (size_t i = 0; i < count; i++) {
        for (int digit = 0; digit < PH__ID_WIDTH - 1; digit++)
            one[PH__ID_WIDTH - 1 - digit] = hex[ids[i] >> (4 * digit) & 15];
        ph__buffer_bytes(to, one, sizeof(one));
    }
}

void ph__pack_attempts(struct ph__buffer *to, const int *attempts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ph__buffer_printf(to, "%0*d", PH__ATTEMPTS_WIDTH, attempts[i]);
}

static bool unpack_id(const unsigned char *from, int64_t *ret_id)
{
    int64_t id = 0;

    if (from[0] != ',')
        return false;
    for (int i = 1; i < PH__ID_WIDTH; i++) {
        unsigned char c = from[i];

        if (c >= '0' && c <= '9')
            id = id << 4 | (c - '0');
        else if (c >= 'a' && c <= 'f')
            id = id << 4 | (c - 'a' + 10);
        else
            return false;
    }
    *ret_id = id;
    return true;
}

int ph__unpack_ids(const struct ph__query *query, int column, struct ph__arena *arena,
                   const int64_t **ret_ids, size_t *ret_count)
{
    const unsigned char *text = sqlite3_column_text(query->stmt, column);
    size_t length = (size_t)sqlite3_column_bytes(query->stmt, column);
    size_t count = length / PH__ID_WIDTH;
    int64_t *ids = ph__arena_alloc(arena, count * sizeof(*ids));

    if (!ids)
        return ph__fail_memory(query->tx->call->err);
    if (!text || count == 0 || length % PH__ID_WIDTH != 0)
        return fail_damaged(query);
    for (size_t i = 0; i < count; i++) {
        if (!unpack_id(text + i * PH__ID_WIDTH, &ids[i]) || (i > 0 && ids[i] <= ids[i - 1]))
            return fail_damaged(query);
    }
    *ret_ids = ids;
    *ret_count = count;
    return 0;
}

static int load_attempts(const struct ph__query *query, int column, struct ph__arena *arena,
                         struct ph__lease_row *lease)
{
    const unsigned char *text = sqlite3_column_text(query->stmt, column);
    int *attempts;

    lease->attempts = NULL;
    if (!text)
        return 0;
    if ((size_t)sqlite3_column_bytes(query->stmt, column) != lease->count * PH__ATTEMPTS_WIDTH)
        return fail_damaged(query);
    attempts = ph__arena_alloc(arena, lease->count * sizeof(*attempts));
    if (!attempts)
        return ph__fail_memory(query->tx->call->err);
    for (size_t i = 0; i < lease->count * PH__ATTEMPTS_WIDTH; i++) {
        if (text[i] < '0' || text[i] > '9')
            return fail_damaged(query);
        attempts[i / PH__ATTEMPTS_WIDTH] = attempts[i / PH__ATTEMPTS_WIDTH] * 10 + (text[i] - '0');
    }
    lease->attempts = attempts;
    return 0;
}

static int load_settled(const struct ph__query *query, int column, struct ph__arena *arena,
                        struct ph__lease_row *lease)
{
    const unsigned char *text = sqlite3_column_text(query->stmt, column);

    lease->settled = ph__arena_alloc(arena, lease->count + 1);
    if (!lease->settled)
        return ph__fail_memory(query->tx->call->err);
    memset(lease->settled, '0', lease->count);
    if (!text)
        return 0;
    if ((size_t)sqlite3_column_bytes(query->stmt, column) != lease->count)
        return fail_damaged(query);
    memcpy(lease->settled, text, lease->count);
    return 0;
}

int ph__lease_load(const struct ph__query *query, struct ph__arena *arena,
                   struct ph__lease_row *ret_lease)
{
    struct ph__lease_row lease = {
        .fence = ph__column_int(query, 0),
        .queue = ph__column_int(query, 2),
        .claimed_at = ph__column_int(query, 3),
        .until = ph__column_int(query, 4),
        .lost = (int)ph__column_int(query, 5),
        .open = (size_t)ph__column_int(query, 6),
    };
    int r;

    if (!ph__column_id(query, 1, lease.owner.b))
        return fail_damaged(query);
    r = ph__unpack_ids(query, 9, arena, &lease.ids, &lease.count);
    if (r == 0)
        r = load_settled(query, 7, arena, &lease);
    if (r == 0)
        r = load_attempts(query, 8, arena, &lease);
    if (r == 0)
        *ret_lease = lease;
    return r;
}

long ph__lease_position(const struct ph__lease_row *lease, int64_t id)
{
    size_t from = 0, to = lease->count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (lease->ids[middle] == id)
            return (long)middle;
        if (lease->ids[middle] < id)
            from = middle + 1;
        else
            to = middle;
    }
    return -1;
}

int ph__lease_attempts(const struct ph__lease_row *lease, size_t position)
{
    return lease->attempts ? lease->attempts[position] : 1;
}
