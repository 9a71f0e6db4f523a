/* permute.c - the interleavings are the permutations of a multiset: each
 * session's number occurs once per step of it. */
#include "permute.h"

#include <string.h>

static void swap(size_t *a, size_t *b)
{
    size_t kept = *a;

    *a = *b;
    *b = kept;
}

/* The next permutation in lexicographic order; false after the last one. */
static bool advance(size_t *values, size_t count)
{
    size_t pivot = count, other = count - 1;

    while (pivot > 1 && values[pivot - 2] >= values[pivot - 1])
        pivot--;
    if (pivot <= 1)
        return false;
    while (values[other] <= values[pivot - 2])
        other--;
    swap(&values[pivot - 2], &values[other]);
    for (size_t low = pivot - 1, high = count - 1; low < high; low++, high--)
        swap(&values[low], &values[high]);
    return true;
}

static void first(size_t *values, const struct iso_spec *spec)
{
    size_t count = 0;

    for (size_t s = 0; s < spec->session_count; s++) {
        for (size_t i = 0; i < spec->sessions[s].step_count; i++)
            values[count++] = s;
    }
}

static bool next_listed(size_t at, const struct iso_spec *spec, struct iso_order *ret_order)
{
    if (at >= spec->listed_count)
        return false;
    for (size_t i = 0; i < spec->step_count; i++)
        ret_order->steps[i] = (size_t)iso_spec_step(spec, spec->listed[at].words[i]);
    ret_order->count = spec->step_count;
    return true;
}

bool iso_permute_next(struct iso_permuter *permuter, const struct iso_spec *spec,
                      struct iso_order *ret_order)
{
    size_t done[ISO_SESSIONS_MAX] = { 0 };

    if (!spec->all)
        return next_listed(permuter->at++, spec, ret_order);
    if (permuter->at++ == 0)
        first(permuter->sessions, spec);
    else if (!advance(permuter->sessions, spec->step_count))
        return false;
    for (size_t i = 0; i < spec->step_count; i++) {
        size_t s = permuter->sessions[i];

        ret_order->steps[i] = spec->sessions[s].steps[done[s]++];
    }
    ret_order->count = spec->step_count;
    return true;
}
