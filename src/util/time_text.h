/* time_text.h - points in time as text: ISO 8601. */
#ifndef PH_UTIL_TIME_TEXT_H
#define PH_UTIL_TIME_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#define PH__TIME_TEXT_SIZE 32

/* Microseconds since 1970 as "2030-01-31T09:30:00.000000Z", the form of the views. The time lies
 * between the years 1 and 9999. */
const char *ph__time_text(int64_t time, char ret_text[PH__TIME_TEXT_SIZE]);

/* Reads "2030-01-31T09:30:00.5+02:00". A space may stand for the T; the seconds, the fraction and
 * the time of day may be left out, and the zone too, which then counts as UTC; *ret_zoned says
 * whether there was one. False if it is no such text, or lies outside the years 1 to 9999. */
bool ph__time_parse(const char *text, int64_t *ret_time, bool *ret_zoned);

#endif
