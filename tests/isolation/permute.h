/* permute.h - every way to interleave the steps of the sessions. */
#ifndef ISO_PERMUTE_H
#define ISO_PERMUTE_H

#include "spec.h"

/* An order of all steps: indexes into spec->steps. */
struct iso_order {
    size_t steps[ISO_STEPS_MAX];
    size_t count;
};

/* An iterator: zero it, then call until it returns false. It goes through the
 * listed permutations, or through all there are. */
struct iso_permuter {
    size_t at;
    size_t sessions[ISO_STEPS_MAX]; /* whose turn it is, step by step */
};
bool iso_permute_next(struct iso_permuter *permuter, const struct iso_spec *spec,
                      struct iso_order *ret_order);

#endif
