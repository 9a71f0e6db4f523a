#include "store/sqlite/lease_row.h"

#include "core/error.h"
#include "util/assert.h"
#include "util/hex.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_WIDTH 4 /* of a place in a run */

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

void ph__pack_run(struct ph__buffer *to, const struct ph__lease_run *run)
{
    static const char hex[] = "0123456789abcdef";

    PH__ASSERT(run->count > 0 && run->stream > 0 && run->first_seq > 0);
    ph__buffer_printf(to, ",%" PRId64 ":%" PRId64 ":", run->stream, run->first_seq);
    for (size_t i = 0; i < run->count; i++) {
        uint16_t at = run->places[i];
        const char one[PLACE_WIDTH] = { hex[at >> 12], hex[at >> 8 & 15], hex[at >> 4 & 15],
                                        hex[at & 15] };

        ph__buffer_bytes(to, one, sizeof(one));
    }
}

static bool unpack_id(const unsigned char *from, int64_t *ret_id)
{
    uint64_t id;

    if (from[0] != ',' || !ph__hex_read((const char *)from + 1, PH__ID_WIDTH - 1, &id))
        return false;
    *ret_id = (int64_t)id;
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

/* A decimal number and the colon behind it; NULL: it is damaged. */
static const char *unpack_number(const char *at, int64_t *ret)
{
    char *end;

    if (*at < '0' || *at > '9')
        return NULL;
    errno = 0;
    *ret = strtoll(at, &end, 10);
    return errno == 0 && *end == ':' ? end + 1 : NULL;
}

/* One place, which must be new to the lease. */
static bool unpack_place(const char *at, size_t count, bool *in_run, uint16_t *ret)
{
    uint64_t place;

    if (!ph__hex_read(at, PLACE_WIDTH, &place) || place >= count || in_run[place])
        return false;
    in_run[place] = true;
    *ret = (uint16_t)place;
    return true;
}

/* One run, without the comma before it; NULL: it is damaged. */
static const char *unpack_run(const char *at, const struct ph__lease_row *lease, bool *in_run,
                              uint16_t *places, struct ph__lease_run *ret)
{
    at = unpack_number(at, &ret->stream);
    if (at)
        at = unpack_number(at, &ret->first_seq);
    ret->places = places;
    for (; at && *at && *at != ','; at += PLACE_WIDTH) {
        if (!unpack_place(at, lease->count, in_run, &places[ret->count++]))
            return NULL;
    }
    return ret->count > 0 ? at : NULL;
}

static int load_runs(const struct ph__query *query, int column, struct ph__arena *arena,
                     struct ph__lease_row *lease)
{
    const char *at = (const char *)sqlite3_column_text(query->stmt, column);
    struct ph__lease_run *runs;
    uint16_t *places;
    bool *in_run;
    size_t count = 0, used = 0;

    if (!at)
        return ph__column_is_null(query, column) ? 0 : ph__fail_memory(query->tx->call->err);
    for (const char *comma = at; (comma = strchr(comma, ',')) != NULL; comma++)
        count++;
    if (count == 0 || count > lease->count)
        return fail_damaged(query);
    runs = ph__arena_alloc(arena, count * sizeof(*runs));
    places = ph__arena_alloc(arena, lease->count * sizeof(*places));
    in_run = ph__arena_alloc(arena, lease->count * sizeof(*in_run));
    if (!runs || !places || !in_run)
        return ph__fail_memory(query->tx->call->err);
    for (size_t i = 0; i < count; i++) {
        at = *at == ',' ? unpack_run(at + 1, lease, in_run, places + used, &runs[i]) : NULL;
        if (!at)
            return fail_damaged(query);
        used += runs[i].count;
    }
    lease->runs = runs;
    lease->run_count = count;
    lease->in_run = in_run;
    return 0;
}

size_t ph__run_first(const struct ph__lease_row *lease, const struct ph__lease_run *run)
{
    size_t i = 0;

    while (i < run->count && lease->settled[run->places[i]] != '0')
        i++;
    return i;
}

size_t ph__lease_run_end(const struct ph__lease_row *lease, const struct ph__lease_run *run)
{
    size_t i = run->count;

    while (i > 0 && lease->settled[run->places[i - 1]] != '0')
        i--;
    return i;
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
        r = load_runs(query, 10, arena, &lease);
    if (r == 0)
        *ret_lease = lease;
    return r;
}

size_t ph__lease_unsettled(const struct ph__lease_row *lease)
{
    size_t count = 0;

    for (size_t i = 0; i < lease->count; i++)
        count += lease->settled[i] == '0';
    return count;
}

int ph__lease_check(const struct ph__query *query, const struct ph__lease_row *lease)
{
    return lease->open == ph__lease_unsettled(lease) ? 0 : fail_damaged(query);
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
    PH__ASSERT(position < lease->count);
    return lease->attempts ? lease->attempts[position] : 1;
}
