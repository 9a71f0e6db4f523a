#include "schedule/rule.h"

#include "schedule/civil.h"

#include <ctype.h>
#include <string.h>

#define CHANGES_MAX 10 /* two a year, of the years around an instant */

/* ------------------------------------------------------------------- reading */

/* CET, or <+0330> */
static bool skip_name(const char **at)
{
    const char *start = *at;

    if (**at == '<') {
        *at = strchr(*at, '>');
        if (!*at)
            return false;
        ++*at;
        return *at - start > 2;
    }
    while (isalpha((unsigned char)**at))
        ++*at;
    return *at - start >= 3;
}

static bool number(const char **at, int most, int *ret_number)
{
    const char *start = *at;
    int found = 0;

    for (; isdigit((unsigned char)**at) && *at - start < 4; ++*at)
        found = found * 10 + (**at - '0');
    *ret_number = found;
    return *at > start && found <= most;
}

/* [+-]h[h][h][:mm[:ss]] */
static bool seconds(const char **at, int *ret_seconds)
{
    int sign = **at == '-' ? -1 : 1, hours, parts[2] = { 0 };

    if (**at == '-' || **at == '+')
        ++*at;
    if (!number(at, 167, &hours))
        return false;
    for (int i = 0; i < 2 && **at == ':'; i++) {
        ++*at;
        if (!number(at, 59, &parts[i]))
            return false;
    }
    *ret_seconds = sign * (hours * 3600 + parts[0] * 60 + parts[1]);
    return true;
}

static bool skip(const char **at, char expected)
{
    if (**at != expected)
        return false;
    ++*at;
    return true;
}

static bool change(const char **at, struct ph__rule_change *ret_change)
{
    struct ph__rule_change c = { .time_s = 7200 };
    bool right;

    if (skip(at, 'M')) {
        c.kind = PH__RULE_WEEKDAY;
        right = number(at, 12, &c.month) && c.month >= 1 && skip(at, '.') &&
                number(at, 5, &c.week) && c.week >= 1 && skip(at, '.') && number(at, 6, &c.day);
    } else if (skip(at, 'J')) {
        c.kind = PH__RULE_JULIAN;
        right = number(at, 365, &c.day) && c.day >= 1;
    } else {
        c.kind = PH__RULE_DAY;
        right = number(at, 365, &c.day);
    }
    if (right && skip(at, '/'))
        right = seconds(at, &c.time_s);
    *ret_change = c;
    return right;
}

/* The time of a change may be a week away, an offset not. */
static bool is_offset(int seconds_east)
{
    return seconds_east > -PH__OFFSET_MAX_S && seconds_east < PH__OFFSET_MAX_S;
}

bool ph__rule_parse(const char *text, struct ph__rule *ret_rule)
{
    struct ph__rule rule = { 0 };
    int west;

    if (!skip_name(&text) || !seconds(&text, &west))
        return false;
    rule.standard_s = rule.daylight_s = -west;
    if (*text) {
        rule.changes = true;
        rule.daylight_s = rule.standard_s + 3600;
        if (!skip_name(&text))
            return false;
        if (*text && *text != ',') {
            if (!seconds(&text, &west))
                return false;
            rule.daylight_s = -west;
        }
        if (!skip(&text, ',') || !change(&text, &rule.begin) || !skip(&text, ',') ||
            !change(&text, &rule.end))
            return false;
    }
    *ret_rule = rule;
    return *text == '\0' && is_offset(rule.standard_s) && is_offset(rule.daylight_s);
}

/* ------------------------------------------------------------------- applying */

/* The local time of a change in a year. */
static int64_t change_local_s(const struct ph__rule_change *change, int64_t year)
{
    int64_t new_year = ph__days_of_date(year, 1, 1), day, first;

    switch (change->kind) {
    case PH__RULE_WEEKDAY:
        first = ph__days_of_date(year, change->month, 1);
        day = first + (change->day - ph__weekday(first) + 7) % 7 + (int64_t)(change->week - 1) * 7;
        if (day >= first + ph__month_length(year, change->month))
            day -= 7; /* the fifth is the last */
        break;
    case PH__RULE_JULIAN:
        day = new_year + change->day - 1 + (ph__is_leap_year(year) && change->day >= 60);
        break;
    default:
        day = new_year + change->day;
    }
    return day * PH__DAY_S + change->time_s;
}

struct turn {
    int64_t at_s;
    int offset_s; /* from then on */
};

/* Where the two changes of a year fall together (daylight-saving time all year, as zic writes it)
 * the later one in the list is without effect. */
static int turns_around(const struct ph__rule *rule, int64_t at_s, struct turn turns[CHANGES_MAX])
{
    int64_t year = ph__date_of_days(ph__floor_div(at_s, PH__DAY_S)).year;
    int count = 0;

    for (int64_t y = year - 2; y <= year + 2; y++) {
        turns[count++] =
            (struct turn){ change_local_s(&rule->begin, y) - rule->standard_s, rule->daylight_s };
        turns[count++] =
            (struct turn){ change_local_s(&rule->end, y) - rule->daylight_s, rule->standard_s };
    }
    for (int i = 1; i < count; i++) { /* in the south a year begins with daylight-saving time */
        struct turn turn = turns[i];
        int k = i;

        for (; k > 0 && turns[k - 1].at_s > turn.at_s; k--)
            turns[k] = turns[k - 1];
        turns[k] = turn;
    }
    return count;
}

int ph__rule_offset(const struct ph__rule *rule, int64_t at_s, int64_t *ret_from_s,
                    int64_t *ret_until_s)
{
    struct turn turns[CHANGES_MAX];
    int count, i = 0;

    *ret_from_s = INT64_MIN;
    *ret_until_s = INT64_MAX;
    if (!rule->changes || rule->standard_s == rule->daylight_s)
        return rule->standard_s;
    count = turns_around(rule, at_s, turns);
    while (i + 1 < count && turns[i + 1].at_s <= at_s)
        i++;
    *ret_from_s = turns[i].at_s;
    *ret_until_s = i + 1 < count ? turns[i + 1].at_s : INT64_MAX;
    return turns[i].offset_s;
}
