/* rule.h - the rule in the footer of a zone file: POSIX's TZ, such as CET-1CEST,M3.5.0,M10.5.0/3. */
#ifndef PH_SCHEDULE_RULE_H
#define PH_SCHEDULE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#define PH__OFFSET_MAX_S (26 * 3600) /* beyond any real one: -12 to +14 hours, with room to spare */

/* One of the two changes of a year. */
struct ph__rule_change {
    enum { PH__RULE_WEEKDAY, PH__RULE_JULIAN, PH__RULE_DAY } kind;
    int month, week, day; /* Mm.w.d; Jn: day 1 … 365 without leap days; n: day 0 … 365 with them */
    int time_s;           /* local time of the change: -167 … 167 hours */
};

struct ph__rule {
    bool changes;   /* there is daylight-saving time */
    int standard_s; /* seconds east of UTC */
    int daylight_s;
    struct ph__rule_change begin, end; /* of daylight-saving time */
};

/* False: it is malformed. */
bool ph__rule_parse(const char *text, struct ph__rule *ret_rule);

/* The offset at an instant, when it began (INT64_MIN: ever) and when it ends (INT64_MAX: never). */
int ph__rule_offset(const struct ph__rule *rule, int64_t at_s, int64_t *ret_from_s,
                    int64_t *ret_until_s);

#endif
