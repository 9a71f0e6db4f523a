#include "store/sqlite/held.h"

#include "core/error.h"
#include "core/id.h"
#include "util/assert.h"

#include <stdlib.h>
#include <string.h>

void ph__held_init(struct ph__held_set *set, struct ph__sqlite_tx *tx, struct ph__arena *arena,
                   ph_door door, ph_owner owner)
{
    *set = (struct ph__held_set){ .tx = tx, .arena = arena, .door = door, .owner = owner };
    set->last = &set->first;
}

static bool known(const struct ph__held_set *set, int64_t fence)
{
    for (const struct ph__held *held = set->first; held; held = held->next) {
        if (held->lease.fence == fence)
            return true;
    }
    return false;
}

static int append(struct ph__held_set *set, const struct ph__query *query)
{
    struct ph__held *held;
    int r;

    if (known(set, ph__column_int(query, 0)))
        return 0;
    held = ph__arena_alloc(set->arena, sizeof(*held));
    if (!held)
        return ph__fail_memory(set->tx->call->err);
    r = ph__lease_load(query, set->arena, &held->lease);
    if (r == 0)
        r = ph__lease_check(query, &held->lease);
    if (r < 0)
        return r;
    PH__ASSERT(!*set->last); /* the end of the list */
    *set->last = held;
    set->last = &held->next;
    return 0;
}

static int read_by_fence(struct ph__held_set *set, int64_t fence)
{
    struct ph__query query;
    int r;

    if (set->all || known(set, fence))
        return 0;
    query = ph__query(set->tx, PH__SQL_lease_by_fence);
    ph__query_int(&query, fence);
    ph__query_id(&query, set->owner.b);
    r = ph__query_row(&query);
    if (r > 0)
        r = append(set, &query);
    ph__query_end(&query);
    return r;
}

static int read_all(struct ph__held_set *set)
{
    struct ph__query query;
    int r;

    if (set->all)
        return 0;
    query = ph__query(set->tx, PH__SQL_lease_by_owner);
    ph__query_id(&query, set->owner.b);
    while ((r = ph__query_row(&query)) > 0) {
        r = append(set, &query);
        if (r < 0)
            break;
    }
    ph__query_end(&query);
    set->all = r == 0;
    return r;
}

/* Is the message in this lease, and not settled? */
static bool holds(const struct ph__held *held, int64_t id, int64_t fence, size_t *ret_position)
{
    long position;

    if (fence && held->lease.fence != fence)
        return false;
    position = ph__lease_position(&held->lease, id);
    if (position < 0 || held->lease.settled[position] != '0')
        return false;
    *ret_position = (size_t)position;
    return true;
}

static struct ph__held *find_among_read(struct ph__held_set *set, int64_t id, int64_t fence,
                                        size_t *ret_position)
{
    if (set->hint && holds(set->hint, id, fence, ret_position))
        return set->hint;
    for (struct ph__held *held = set->first; held; held = held->next) {
        if (holds(held, id, fence, ret_position))
            return set->hint = held;
    }
    return NULL;
}

int ph__held_find(struct ph__held_set *set, const ph_lease_ref *ref, struct ph__hold *ret_hold)
{
    int64_t number;
    uint64_t salt;
    int r;

    memset(ret_hold, 0, sizeof(*ret_hold));
    ret_hold->outcome = PH_OUTCOME_UNKNOWN;
    if (!ph__id_split(ref->work_id, &number, &salt) || (salt >> 60 & 3) != set->door)
        return 0;
    r = ph__message_facts(set->tx, number, &ret_hold->facts);
    if (r < 0 || !ret_hold->facts.exists || ret_hold->facts.salt != salt)
        return r;
    ret_hold->outcome = PH_OUTCOME_STALE;
    r = ref->fence ? read_by_fence(set, ref->fence) : read_all(set);
    if (r == 0)
        ret_hold->held = find_among_read(set, number, ref->fence, &ret_hold->position);
    PH__ASSERT(!ret_hold->held || ret_hold->position < ret_hold->held->lease.count);
    return r;
}

struct numbered {
    ph_work_id id;
    size_t index;
};

static int compare_numbered(const void *a, const void *b)
{
    const struct numbered *left = a, *right = b;
    int order = memcmp(left->id.b, right->id.b, sizeof(left->id.b));

    if (order == 0)
        order = left->index < right->index ? -1 : 1;
    return order;
}

static const ph_lease_ref *ref_at(const void *items, size_t stride, size_t index)
{
    return (const void *)((const char *)items + stride * index);
}

int ph__held_firsts(const void *items, size_t stride, size_t count, struct ph__arena *arena,
                    ph_error *err, const size_t **ret_firsts)
{
    struct numbered *sorted;
    size_t *firsts, i = 1;

    *ret_firsts = NULL;
    while (i < count && memcmp(ref_at(items, stride, i - 1)->work_id.b,
                               ref_at(items, stride, i)->work_id.b, sizeof(ph_work_id)) < 0)
        i++;
    if (i >= count) /* ascending, as a claim gives them: none occurs twice */
        return 0;
    sorted = ph__arena_alloc(arena, count * sizeof(*sorted));
    firsts = ph__arena_alloc(arena, count * sizeof(*firsts));
    if (!sorted || !firsts)
        return ph__fail_memory(err);
    for (i = 0; i < count; i++)
        sorted[i] = (struct numbered){ ref_at(items, stride, i)->work_id, i };
    qsort(sorted, count, sizeof(*sorted), compare_numbered);
    for (i = 0; i < count; i++) {
        bool same = i > 0 && memcmp(sorted[i].id.b, sorted[i - 1].id.b, sizeof(ph_work_id)) == 0;

        firsts[sorted[i].index] = same ? firsts[sorted[i - 1].index] : sorted[i].index;
    }
    *ret_firsts = firsts;
    return 0;
}
