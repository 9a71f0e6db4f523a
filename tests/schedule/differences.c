#include "differences.h"

bool differs_by_gap(const struct ph__cron *cron, const struct ph__zone *zone, int64_t ours_s)
{
    int before = ph__zone_offset(zone, ours_s - 1, NULL);
    int after = ph__zone_offset(zone, ours_s, NULL);
    int64_t local_s;

    return before < after && !ph__cron_is_hourly(cron) &&
           ph__cron_match(cron, ours_s + before, &local_s) && local_s < ours_s + after;
}

bool differs_by_repetition(const struct ph__cron *cron, const struct ph__zone *zone,
                           int64_t theirs_s)
{
    int offset = ph__zone_offset(zone, theirs_s, NULL);

    return !ph__cron_is_hourly(cron) && ph__zone_instant(zone, theirs_s + offset) < theirs_s;
}
