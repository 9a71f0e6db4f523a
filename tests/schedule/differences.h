/* differences.h - where we and the other implementation of cron differ on purpose, besides a day
 * field that is a star with a step (oracle_test.c). */
#ifndef SCHEDULE_DIFFERENCES_H
#define SCHEDULE_DIFFERENCES_H

#include "schedule/fire.h"

/* We fire at this instant, the other one does not: several times of day in one gap fire once, right
 * after it; the other one leaves them out. */
bool differs_by_gap(const struct ph__cron *cron, const struct ph__zone *zone, int64_t ours_s);

/* The other one fires at this instant, we do not: a time of day that comes twice fires once; the
 * other one fires again. */
bool differs_by_repetition(const struct ph__cron *cron, const struct ph__zone *zone,
                           int64_t theirs_s);

#endif
