#include "util/time_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define US_PER_S INT64_C(1000000)

const char *ph__time_text(int64_t time, char ret_text[PH__TIME_TEXT_SIZE])
{
    int64_t fraction =
        (time % US_PER_S + US_PER_S) % US_PER_S; /* counts upwards, before 1970 too */
    time_t seconds = (time_t)((time - fraction) / US_PER_S);
    struct tm tm = { 0 };

    gmtime_r(&seconds, &tm);
    snprintf(ret_text, PH__TIME_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ",
             (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)(tm.tm_mon + 1) % 100,
             (unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100,
             (unsigned)tm.tm_sec % 100, (unsigned)fraction % 1000000);
    return ret_text;
}

/* Exactly count digits between least and most. */
static bool number(const char **text, int count, int least, int most, int *ret_number)
{
    int found = 0;

    for (int i = 0; i < count; i++, ++*text) {
        if (**text < '0' || **text > '9')
            return false;
        found = found * 10 + (**text - '0');
    }
    *ret_number = found;
    return found >= least && found <= most;
}

static bool one_of(const char **text, const char *characters)
{
    if (!**text || !strchr(characters, **text))
        return false;
    ++*text;
    return true;
}

/* "Z", "+02", "+02:00" or "+0200", at the end: seconds east of UTC. */
static bool zone(const char *text, int *ret_seconds)
{
    int sign = *text == '-' ? -1 : 1, hours = 0, minutes = 0;

    if (one_of(&text, "Zz")) {
        *ret_seconds = 0;
        return !*text;
    }
    if (!one_of(&text, "+-") || !number(&text, 2, 0, 23, &hours))
        return false;
    if (*text) {
        one_of(&text, ":");
        if (!number(&text, 2, 0, 59, &minutes))
            return false;
    }
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return !*text;
}

static bool time_of_day(const char **text, struct tm *tm, int64_t *ret_fraction)
{
    int64_t scale = US_PER_S / 10;

    if (!number(text, 2, 0, 23, &tm->tm_hour) || !one_of(text, ":") ||
        !number(text, 2, 0, 59, &tm->tm_min))
        return false;
    if (!one_of(text, ":"))
        return true;
    if (!number(text, 2, 0, 59, &tm->tm_sec))
        return false;
    if (!one_of(text, ".,"))
        return true;
    if (**text < '0' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; ++*text, scale /= 10)
        *ret_fraction += (**text - '0') * scale;
    return true;
}

bool ph__time_parse(const char *text, int64_t *ret_time, bool *ret_zoned)
{
    static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    struct tm tm = { 0 };
    int64_t fraction = 0, seconds;
    int year, month, east = 0;

    if (!number(&text, 4, 1, 9999, &year) || !one_of(&text, "-") ||
        !number(&text, 2, 1, 12, &month) || !one_of(&text, "-") ||
        !number(&text, 2, 1, days[month - 1], &tm.tm_mday))
        return false;
    if (month == 2 && tm.tm_mday == 29 && (year % 4 != 0 || (year % 100 == 0 && year % 400 != 0)))
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    if (one_of(&text, "Tt ") && !time_of_day(&text, &tm, &fraction))
        return false;
    *ret_zoned = *text != '\0';
    if (*ret_zoned && !zone(text, &east))
        return false;
    seconds = (int64_t)timegm(&tm) - east;
    *ret_time = seconds * US_PER_S + fraction;
    return seconds >= INT64_C(-62135596800) && seconds <= INT64_C(253402300799);
}
