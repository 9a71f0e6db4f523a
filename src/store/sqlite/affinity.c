#include "store/sqlite/affinity.h"

#include "core/error.h"
#include "store/sqlite/lease_row.h"

#include <string.h>

/* ------------------------------------------------------------- rendezvous */

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t half(const uint8_t *bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++)
        value = value << 8 | bytes[i];
    return value;
}

static uint64_t score(int partition, const ph_owner *instance)
{
    return mix(mix((uint64_t)partition ^ half(instance->b)) ^ half(instance->b + 8));
}

/* Of instances in the order of their ids: the first of those with the highest score. */
static size_t winner(int partition, const ph_owner *instances, size_t count)
{
    uint64_t best = 0;
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t mine = score(partition, &instances[i]);

        if (i == 0 || mine > best) {
            best = mine;
            found = i;
        }
    }
    return found;
}

static int load_live(struct ph__sqlite_tx *tx, const char *service, struct ph__arena *arena,
                     const ph_owner **ret_live, size_t *ret_count)
{
    struct ph__query query = ph__query(tx, PH__SQL_instance_live);
    size_t count = 0, room = 0;
    ph_owner *live = NULL;
    int r;

    ph__query_text(&query, service);
    while ((r = ph__query_row(&query)) > 0) {
        if (count == room) {
            ph_owner *more = ph__arena_alloc(arena, (room * 2 + 16) * sizeof(*more));

            if (!more) {
                r = ph__fail_memory(tx->call->err);
                break;
            }
            if (count)
                memcpy(more, live, count * sizeof(*more));
            live = more;
            room = room * 2 + 16;
        }
        (void)ph__column_id(&query, 0, live[count++].b);
    }
    ph__query_end(&query);
    *ret_live = live;
    *ret_count = count;
    return r;
}

int ph__partition_owner(struct ph__sqlite_tx *tx, const char *service, int partition,
                        ph_owner *ret_owner, bool *ret_found)
{
    struct ph__arena arena = { 0 };
    const ph_owner *live;
    size_t count;
    int r = load_live(tx, service, &arena, &live, &count);

    *ret_found = r == 0 && count > 0;
    if (*ret_found)
        *ret_owner = live[winner(partition, live, count)];
    ph__arena_free(&arena);
    return r;
}

/* -------------------------------------------------------- a claim's choice */

static int partition_of(const struct ph__affinity *a, int64_t hash)
{
    return (int)(hash % a->claim->partition_count);
}

static bool holds(const struct ph__affinity *a, int partition)
{
    for (size_t i = 0; i < a->held_count; i++) {
        if (a->held[i] == partition)
            return true;
    }
    return false;
}

int ph__affinity_took(struct ph__affinity *a, int64_t hash)
{
    int partition = partition_of(a, hash);

    if (!a->claim->max_partitions || holds(a, partition))
        return 0;
    if (a->held_count == a->held_room) {
        size_t room = a->held_room * 2 + 16;
        int *more = ph__arena_alloc(a->arena, room * sizeof(*more));

        if (!more)
            return ph__fail_memory(a->tx->call->err);
        if (a->held_count)
            memcpy(more, a->held, a->held_count * sizeof(*more));
        a->held = more;
        a->held_room = room;
    }
    a->held[a->held_count++] = partition;
    return 0;
}

/* 1, or 0 if there is no such stream. */
static int hash_of(const struct ph__affinity *a, int64_t stream, int64_t *ret_hash)
{
    struct ph__query query = ph__query(a->tx, PH__SQL_stream_by_id);
    int r;

    ph__query_int(&query, stream);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    *ret_hash = ph__column_int(&query, 4);
    ph__query_end(&query);
    return 1;
}

/* The partitions of the runs in one lease that are not over. */
static int count_runs(struct ph__affinity *a, const struct ph__query *query)
{
    struct ph__lease_row lease;
    int64_t hash;
    int r = ph__lease_load(query, a->arena, &lease);

    for (size_t i = 0; r == 0 && i < lease.run_count; i++) {
        const struct ph__lease_run *run = &lease.runs[i];

        if (ph__run_first(&lease, run) == run->count)
            continue;
        r = hash_of(a, run->stream, &hash);
        if (r > 0)
            r = ph__affinity_took(a, hash);
    }
    return r;
}

static int load_held(struct ph__affinity *a)
{
    struct ph__query query = ph__query(a->tx, PH__SQL_lease_by_owner);
    int r;

    ph__query_id(&query, a->claim->owner.b);
    while ((r = ph__query_row(&query)) > 0) {
        r = count_runs(a, &query);
        if (r < 0)
            break;
    }
    ph__query_end(&query);
    return r;
}

static int load_service(struct ph__affinity *a)
{
    struct ph__query query = ph__query(a->tx, PH__SQL_instance_service);
    const char *service = NULL;
    int r;

    ph__query_id(&query, a->claim->owner.b);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    r = ph__column_text(&query, 0, a->arena, &service, NULL);
    ph__query_end(&query);
    return r < 0 ? r : load_live(a->tx, service, a->arena, &a->live, &a->live_count);
}

int ph__affinity_load(struct ph__affinity *a, struct ph__sqlite_tx *tx,
                      const struct ph__claim *claim, int grace_ms, struct ph__arena *arena)
{
    int r = 0;

    *a = (struct ph__affinity){ .tx = tx, .claim = claim, .arena = arena };
    if (claim->partition_count == 0)
        return 0;
    a->grace_from = tx->now - (int64_t)grace_ms * 1000;
    if (grace_ms != PH_NO_GRACE)
        r = load_service(a);
    if (r == 0 && claim->max_partitions > 0)
        r = load_held(a);
    a->on = a->live_count > 1 || claim->max_partitions > 0;
    return r;
}

int ph__affinity_passes(struct ph__affinity *a, int64_t stream, int64_t due)
{
    bool full = a->claim->max_partitions > 0 && a->held_count >= (size_t)a->claim->max_partitions;
    bool graced = a->live_count > 1 && due > a->grace_from;
    int64_t hash = 0;
    int r, partition;

    if (!full && !graced)
        return 0;
    r = hash_of(a, stream, &hash);
    if (r <= 0)
        return r;
    partition = partition_of(a, hash);
    if (full && !holds(a, partition)) {
        a->passed++;
        return 1;
    }
    return graced && memcmp(a->live[winner(partition, a->live, a->live_count)].b, a->claim->owner.b,
                            sizeof(ph_owner)) != 0;
}
