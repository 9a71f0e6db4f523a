#include "store/sqlite/affinity.h"

#include "core/error.h"
#include "store/sqlite/claimer.h"
#include "store/sqlite/lease_row.h"
#include "store/sqlite/topics.h"

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

static struct ph__query live_query(struct ph__sqlite_tx *tx, const char *service, ph_door door,
                                   const char *ns)
{
    struct ph__query query = ph__query(tx, PH__SQL_claimer_live);

    ph__query_text(&query, service);
    ph__query_int(&query, door);
    ph__query_text(&query, ns);
    return query;
}

static const char *stored_topics(const struct ph__query *query)
{
    return (const char *)sqlite3_column_text(query->stmt, 2);
}

int ph__partition_owner(struct ph__sqlite_tx *tx, const struct ph__partition *partition,
                        ph_owner *ret_owner, bool *ret_found)
{
    struct ph__query query = live_query(tx, partition->service, partition->door, partition->ns);
    uint64_t best = 0;
    int r;

    *ret_found = false;
    while ((r = ph__query_row(&query)) > 0) {
        ph_owner id;
        uint64_t its;

        if (partition->topic && !ph__claimer_wants(stored_topics(&query), partition->topic))
            continue;
        (void)ph__column_id(&query, 0, id.b);
        its = score(partition->number, &id);
        if (*ret_found && its <= best)
            continue;
        best = its;
        *ret_owner = id;
        *ret_found = true;
    }
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

/* Counts a partition of which the claim holds a run. */
static int hold(struct ph__affinity *a, int partition)
{
    int *held;

    if (!a->claim->max_partitions || holds(a, partition))
        return 0;
    held = PH__ARENA_ADD(a->arena, a->held, a->held_count, a->held_room);
    if (!held)
        return ph__fail_memory(a->tx->call->err);
    *held = partition;
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
            r = hold(a, partition_of(a, hash));
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

/* The topics of a rival that this claim may take, too. */
static int load_topics(struct ph__affinity *a, const char *stored, struct ph__rival *rival)
{
    const char *rest = stored, *topic;
    uint32_t *hashes;
    size_t length, room = 0;

    if (ph__claimer_covers(stored, a->claim))
        return 0;
    while (ph__claimer_topic(&rest, &topic, &length))
        room++;
    hashes = ph__arena_alloc(a->arena, (room + 1) * sizeof(*hashes));
    if (!hashes)
        return ph__fail_memory(a->tx->call->err);
    while (ph__claimer_topic(&stored, &topic, &length))
        hashes[rival->topic_count++] = ph__topic_hash_bytes(topic, length);
    rival->topics = hashes;
    return 0;
}

static int load_rivals(struct ph__affinity *a, const char *service)
{
    struct ph__query query = live_query(a->tx, service, a->claim->door, a->claim->ns);
    size_t room = 0;
    int r;

    while ((r = ph__query_row(&query)) > 0) {
        struct ph__rival rival = { .since = ph__column_int(&query, 1) }, *added;

        (void)ph__column_id(&query, 0, rival.id.b);
        if (memcmp(rival.id.b, a->claim->owner.b, sizeof(rival.id.b)) == 0)
            continue;
        r = load_topics(a, stored_topics(&query), &rival);
        added = r == 0 ? PH__ARENA_ADD(a->arena, a->rivals, a->rival_count, room) : NULL;
        if (r == 0 && !added)
            r = ph__fail_memory(a->tx->call->err);
        if (r < 0)
            break;
        *added = rival;
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
    return r < 0 ? r : load_rivals(a, service);
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
    a->on = a->rival_count > 0 || claim->max_partitions > 0;
    return r;
}

static bool rival_wants(const struct ph__rival *rival, uint32_t topic)
{
    if (!rival->topics)
        return true;
    for (size_t i = 0; i < rival->topic_count; i++) {
        if (rival->topics[i] == topic)
            return true;
    }
    return false;
}

/* The rival to which the partition belongs, for heads of this topic; NULL: it is the claimer's. */
static struct ph__rival *find_owner(struct ph__affinity *a, int partition, uint32_t topic)
{
    uint64_t best = score(partition, &a->claim->owner);
    struct ph__rival *owner = NULL;

    for (size_t i = 0; i < a->rival_count; i++) {
        uint64_t its = score(partition, &a->rivals[i].id);

        if (its > best && rival_wants(&a->rivals[i], topic)) {
            best = its;
            owner = &a->rivals[i];
        }
    }
    return owner;
}

int ph__affinity_passes(struct ph__affinity *a, const struct ph__head *head)
{
    bool full = a->claim->max_partitions > 0 && a->held_count >= (size_t)a->claim->max_partitions;
    bool graced = a->rival_count > 0 && head->due > a->grace_from;
    int64_t hash = 0;
    int r, partition;

    if (!full && !graced)
        return 0;
    r = hash_of(a, head->stream, &hash);
    if (r <= 0)
        return r;
    partition = partition_of(a, hash);
    if (full && !holds(a, partition)) {
        a->passed++;
        return 1;
    }
    return graced && find_owner(a, partition, head->topic) != NULL;
}

/* The head was due before the grace began: if it belonged to an instance, that one did not come. */
static int note_absent(struct ph__affinity *a, const struct ph__head *head, int partition)
{
    struct ph__rival *owner;
    ph_owner id;

    if (a->rival_count == 0 || head->due > a->grace_from)
        return 0;
    owner = find_owner(a, partition, head->topic);
    if (!owner || owner->since > head->due)
        return 0;
    id = owner->id;
    *owner = a->rivals[--a->rival_count];
    return ph__claimer_stays_away(a->tx, id, a->claim);
}

int ph__affinity_took(struct ph__affinity *a, const struct ph__head *head, int64_t hash)
{
    int partition = partition_of(a, hash);
    int r = note_absent(a, head, partition);

    return r < 0 ? r : hold(a, partition);
}
