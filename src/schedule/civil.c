#include "schedule/civil.h"

#include "util/assert.h"

#define DAYS_400_YEARS 146097
#define DAYS_TO_1970 719468 /* from 0000-03-01 */

/* Years are counted from March, so that the leap day is their last one. */
int64_t ph__days_of_date(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = ph__floor_div(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    PH__ASSERT(month >= 1 && month <= 12);
    return era * DAYS_400_YEARS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_TO_1970;
}

struct ph__date ph__date_of_days(int64_t days)
{
    int64_t from_march = days + DAYS_TO_1970;
    int64_t era = ph__floor_div(from_march, DAYS_400_YEARS);
    int64_t of_era = from_march - era * DAYS_400_YEARS;
    int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    int64_t month = (5 * of_year + 2) / 153; /* 0: March */

    PH__ASSERT(of_era >= 0 && of_era < DAYS_400_YEARS);
    PH__ASSERT(of_year >= 0 && of_year < 366 && month < 12);
    return (struct ph__date){
        .year = era * 400 + years + (month >= 10),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .day = (int)(of_year - (153 * month + 2) / 5 + 1),
    };
}

int ph__weekday(int64_t days)
{
    int64_t from_sunday = days + 4;

    return (int)(from_sunday - ph__floor_div(from_sunday, 7) * 7);
}

bool ph__is_leap_year(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int ph__month_length(int64_t year, int month)
{
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    PH__ASSERT(month >= 1 && month <= 12);
    return lengths[month - 1] + (month == 2 && ph__is_leap_year(year));
}
