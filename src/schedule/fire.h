/* fire.h - when a cron expression fires in a zone.
 *
 * A time of day (not every hour) fires once a day whatever the clocks do: a local time that is
 * skipped fires right after the gap, one that comes twice fires the first time. An interval (every
 * hour) follows the clock on the wall as it runs: nothing for what is skipped, and twice for what
 * comes twice, since "every ten minutes" must not pause for an hour. */
#ifndef PH_SCHEDULE_FIRE_H
#define PH_SCHEDULE_FIRE_H

#include "schedule/cron.h"
#include "schedule/zone.h"

/* The first instant after an instant, in microseconds; false: none before the year 10000. */
bool ph__fire_next(const struct ph__cron *cron, const struct ph__zone *zone, int64_t after,
                   int64_t *ret_time);

/* The latest instants from `from` to `to` (both included), at most `limit` of them, in their order;
 * returns how many. A look at a long time with many instants costs about as much as the last
 * `limit` of them. */
size_t ph__fire_latest(const struct ph__cron *cron, const struct ph__zone *zone, int64_t from,
                       int64_t to, size_t limit, int64_t *ret_times);

#endif
