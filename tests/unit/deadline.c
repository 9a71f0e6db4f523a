/* deadline.c - time limits. */
#include "harness.h"

#include "util/deadline.h"

#include <limits.h>

TEST(time_left_falls_and_never_below_zero)
{
    ph__deadline soon = ph__deadline_in(10000);
    int left = ph__deadline_left_ms(soon);

    CHECK(left > 5000 && left <= 10000);
    CHECK_INT(ph__deadline_left_ms(ph__deadline_in(0)), 0);
    CHECK_INT(ph__deadline_left_ms(ph__deadline_in(0) - 5000), 0);
}

TEST(the_longest_limit_does_not_overflow)
{
    int left = ph__deadline_left_ms(ph__deadline_in(INT_MAX));

    CHECK(left > INT_MAX - 60000);
    CHECK_INT(ph__deadline_left_ms(ph__deadline_in(INT_MAX) + 100000), INT_MAX);
}

TEST(a_nap_lasts_between_half_and_whole)
{
    ph__deadline limit = ph__deadline_in(60000);
    int before = ph__deadline_left_ms(limit), slept;

    ph__deadline_nap(limit, 40);
    slept = before - ph__deadline_left_ms(limit);
    CHECK(slept >= 19);
}

TEST(a_nap_ends_at_the_deadline)
{
    ph__deadline watch = ph__deadline_in(60000);

    ph__deadline_nap(ph__deadline_in(20), 50000);
    CHECK(ph__deadline_left_ms(watch) > 50000);
    ph__deadline_nap(ph__deadline_in(0), 50000);
    CHECK(ph__deadline_left_ms(watch) > 50000);
}
