/* zone.h - IANA time zones from the system's TZif files (RFC 8536, versions 1 to 4), the rule in
 * the footer included, so that there is no last year. No tzset(), no process-wide state. */
#ifndef PH_SCHEDULE_ZONE_H
#define PH_SCHEDULE_ZONE_H

#include <posthorn/posthorn.h>

struct ph__zone;

/* Loads a zone such as "Europe/Berlin". "UTC" (and NULL) needs no file. The files are looked for
 * in the folder that TZDIR names, or in /usr/share/zoneinfo.
 * Errors: PH_EINVAL (no such zone, not a name, not a zone file), PH_EUNSUPPORTED (there are no zone
 * files here at all), PH_ENOMEM. */
int ph__zone_load(const char *name, struct ph__zone **ret_zone, ph_error *err);
void ph__zone_free(struct ph__zone *zone); /* NULL is fine */

/* Was the file replaced since it was loaded? */
bool ph__zone_is_stale(const struct ph__zone *zone);

/* Seconds east of UTC at an instant; *ret_until_s, if not NULL: the instant of the next change
 * (INT64_MAX: none). */
int ph__zone_offset(const struct ph__zone *zone, int64_t at_s, int64_t *ret_until_s);

/* The instant of a local time (seconds since 1970 as if local time were UTC). One that comes twice:
 * the first time. One that is skipped: the end of the gap. Never goes back as local_s grows. */
int64_t ph__zone_instant(const struct ph__zone *zone, int64_t local_s);

#endif
