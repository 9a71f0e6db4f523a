/* civil.h - days and dates of the Gregorian calendar, without zones. */
#ifndef PH_SCHEDULE_CIVIL_H
#define PH_SCHEDULE_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define PH__DAY_S 86400

struct ph__date {
    int64_t year;
    int month, day; /* from 1 */
};

/* Days since 1970-01-01, which was a Thursday. */
int64_t ph__days_of_date(int64_t year, int month, int day);
struct ph__date ph__date_of_days(int64_t days);
int ph__weekday(int64_t days); /* 0: Sunday */
int ph__month_length(int64_t year, int month);
bool ph__is_leap_year(int64_t year);

/* Division that rounds down, and its remainder, for times before 1970. */
static inline int64_t ph__floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

#endif
