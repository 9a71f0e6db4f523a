#include "schedule/fire.h"

#include "schedule/civil.h"
#include "util/assert.h"
#include "util/order.h"

#include <string.h>

#define US_PER_S INT64_C(1000000)
#define SPAN_FIRST_S 60

/* Every matching local time of one stretch of equal offset after the other. */
static bool next_of_interval(const struct ph__cron *cron, const struct ph__zone *zone,
                             int64_t from_s, int64_t *ret_s)
{
    for (;;) {
        int64_t until_s, local_s;
        int offset_s = ph__zone_offset(zone, from_s, &until_s);

        if (!ph__cron_match(cron, from_s + offset_s, &local_s))
            return false;
        PH__ASSERT(local_s >= from_s + offset_s && until_s > from_s);
        if (local_s - offset_s < until_s) {
            *ret_s = local_s - offset_s;
            return true;
        }
        from_s = until_s;
    }
}

/* Local times in order have instants in order, equal ones where several fall into one gap. */
static bool next_of_day(const struct ph__cron *cron, const struct ph__zone *zone, int64_t from_s,
                        int64_t *ret_s)
{
    int64_t local_s = from_s + ph__zone_offset(zone, from_s, NULL);
    int64_t before_s = from_s + ph__zone_offset(zone, from_s - 1, NULL);

    if (before_s < local_s) /* a gap ends here: what is in it fires now */
        local_s = before_s;
    for (; ph__cron_match(cron, local_s, &local_s); local_s++) {
        *ret_s = ph__zone_instant(zone, local_s);
        if (*ret_s >= from_s)
            return true;
    }
    return false;
}

bool ph__fire_next(const struct ph__cron *cron, const struct ph__zone *zone, int64_t after,
                   int64_t *ret_time)
{
    int64_t from_s = ph__floor_div(after, US_PER_S) + 1, found_s = 0;
    bool found = ph__cron_is_hourly(cron) ? next_of_interval(cron, zone, from_s, &found_s)
                                          : next_of_day(cron, zone, from_s, &found_s);

    if (!found || found_s > PH_TIME_MAX / US_PER_S)
        return false;
    PH__ASSERT(found_s >= from_s);
    *ret_time = found_s * US_PER_S;
    return true;
}

/* The instants after `after` up to `to`: keeps the last `limit`, as a ring; how many there were. */
static size_t collect(const struct ph__cron *cron, const struct ph__zone *zone, int64_t after,
                      int64_t to, size_t limit, int64_t *times)
{
    size_t count = 0;

    while (ph__fire_next(cron, zone, after, &after) && after <= to)
        times[count++ % limit] = after;
    return count;
}

static void reverse(int64_t *times, size_t from, size_t to)
{
    for (; from + 1 < to; from++) {
        int64_t time = times[from];

        times[from] = times[--to];
        times[to] = time;
    }
}

/* A longer time is looked at only if a shorter one has too few. */
size_t ph__fire_latest(const struct ph__cron *cron, const struct ph__zone *zone, int64_t from,
                       int64_t to, size_t limit, int64_t *ret_times)
{
    int64_t span = SPAN_FIRST_S * US_PER_S;
    size_t count;

    if (limit == 0 || from > to)
        return 0;
    for (;; span *= 2) {
        bool whole = to - from <= span;

        count = collect(cron, zone, (whole ? from : to - span) - 1, to, limit, ret_times);
        if (whole || count >= limit)
            break;
    }
    PH__ASSERT(count > limit || ph__ascend(ret_times, count));
    if (count <= limit)
        return count;
    reverse(ret_times, 0, count % limit); /* the ring begins in the middle */
    reverse(ret_times, count % limit, limit);
    reverse(ret_times, 0, limit);
    PH__ASSERT(ph__ascend(ret_times, limit));
    return limit;
}
