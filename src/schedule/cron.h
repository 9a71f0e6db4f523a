/* cron.h - cron expressions: read, and the next local time that matches. No zones, no clock.
 *
 * Five fields (minute hour day-of-month month day-of-week) or six (second before them), or
 * @yearly @annually @monthly @weekly @daily @midnight @hourly. A field is a list of stars, numbers
 * and ranges, each with a step if need be (5, 1-5, 10-40/15; 5/10 goes on to the end); months and
 * weekdays also by their first three letters; 7 is Sunday, like 0.
 *
 * Vixie's rule for days: if both day fields are restricted, a day that matches either will do. A
 * field that begins with * (also with a step) is not restricted: then both must match. */
#ifndef PH_SCHEDULE_CRON_H
#define PH_SCHEDULE_CRON_H

#include <posthorn/posthorn.h>

struct ph__cron {
    uint64_t seconds, minutes; /* bit n: n matches */
    uint32_t hours, days, months, weekdays;
    bool any_day, any_weekday; /* the field begins with a star */
};

/* Errors: PH_EINVAL, with the field and what is wrong with it; also for an expression that is never
 * true, such as the 30th of February. */
int ph__cron_parse(const char *text, struct ph__cron *ret_cron, ph_error *err);

/* Does it run in every hour of a day? Then it is an interval, not a time of day. */
bool ph__cron_is_hourly(const struct ph__cron *cron);

/* The first matching local time from from_s on (that second included), in seconds since 1970 as if
 * local time were UTC. False: none before the year 10000. */
bool ph__cron_match(const struct ph__cron *cron, int64_t from_s, int64_t *ret_s);

#endif
