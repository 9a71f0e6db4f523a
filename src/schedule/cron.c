#include "schedule/cron.h"

#include "core/error.h"
#include "schedule/civil.h"
#include "util/assert.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define FIELDS 6
#define TEXT_MAX 255
#define YEAR_MAX 9999
#define CYCLE_YEARS 400 /* after so many the calendar repeats, weekdays included */

/* ------------------------------------------------------------------- reading */

struct field {
    const char *name;
    int least, most;
    const char *words; /* three letters each; the first stands for least */
};

static const struct field fields[FIELDS] = {
    { "second", 0, 59, NULL },
    { "minute", 0, 59, NULL },
    { "hour", 0, 23, NULL },
    { "day of month", 1, 31, NULL },
    { "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
    { "day of week", 0, 7, "sunmontuewedthufrisat" },
};

static const struct {
    const char *name, *text;
} nicknames[] = {
    { "@yearly", "0 0 1 1 *" }, { "@annually", "0 0 1 1 *" }, { "@monthly", "0 0 1 * *" },
    { "@weekly", "0 0 * * 0" }, { "@daily", "0 0 * * *" },    { "@midnight", "0 0 * * *" },
    { "@hourly", "0 * * * *" },
};

/* A number or a word; moves *at behind it. -1: neither. */
static int value(const struct field *field, const char **at)
{
    int number = 0, digits = 0;

    for (; isdigit((unsigned char)**at) && digits < 4; digits++, ++*at)
        number = number * 10 + (**at - '0');
    if (digits > 0)
        return number;
    for (int i = 0; field->words && field->words[3 * i]; i++) {
        if (strncasecmp(*at, field->words + (size_t)3 * (size_t)i, 3) == 0 &&
            !isalpha((unsigned char)(*at)[3])) {
            *at += 3;
            return field->least + i;
        }
    }
    return -1;
}

static const char out_of_range[] = "it is out of range";

static int fail_part(const struct field *field, const char *part, size_t length, const char *why,
                     ph_error *err)
{
    int shown = (int)(length < 60 ? length : 60);

    if (why == out_of_range)
        return ph__fail(err, PH_EINVAL, "cron: %s \"%.*s\": %s; give %d to %d", field->name, shown,
                        part, why, field->least, field->most);
    return ph__fail(err, PH_EINVAL, "cron: %s \"%.*s\": %s", field->name, shown, part, why);
}

struct range {
    int from, to, step;
};

/* One element of a list: *, N, N-M, each with /STEP behind it (N/STEP: from N to the end). NULL if
 * it is right, otherwise what is wrong. */
static const char *read_range(const struct field *field, const char *at, const char *end,
                              struct range *range)
{
    bool single = false;

    *range = (struct range){ field->least, field->most, 1 };
    if (*at == '*') {
        at++;
        if (field->most == 7) /* Sunday is in it once */
            range->to = 6;
    } else {
        range->from = range->to = value(field, &at);
        if (range->from < 0)
            return *at == '?' || *at == 'L' || *at == 'W' || *at == '#'
                       ? "?, L, W and # are not supported"
                       : "a number, a range or * is expected";
        single = *at != '-';
        if (!single) {
            at++;
            range->to = value(field, &at);
            if (range->to < 0)
                return "a number is expected after -";
        }
    }
    if (*at == '/') {
        at++;
        range->step = isdigit((unsigned char)*at) ? value(field, &at) : -1;
        if (range->step <= 0)
            return "the step must be a number from 1";
        if (single)
            range->to = field->most == 7 ? 6 : field->most;
    }
    if (at != end)
        return "there is something behind it that does not belong there";
    if (range->from < field->least || range->from > field->most || range->to > field->most)
        return out_of_range;
    if (range->from > range->to)
        return "the range ends before it begins; write it as two";
    return NULL;
}

static int read_field(const struct field *field, const char *text, size_t length, uint64_t *ret_set,
                      ph_error *err)
{
    const char *end = text + length;
    uint64_t set = 0;

    for (const char *part = text; part <= end;) {
        size_t part_length = strcspn(part, ", \t");
        struct range range;
        const char *problem;

        if (part + part_length > end)
            part_length = (size_t)(end - part);
        problem = read_range(field, part, part + part_length, &range);
        if (problem)
            return fail_part(field, part, part_length, problem, err);
        for (int i = range.from; i <= range.to; i += range.step)
            set |= UINT64_C(1) << i;
        part += part_length + 1;
    }
    if (field->most == 7 && (set & (1 << 7))) /* Sunday has two numbers */
        set = (set | 1) & ~(UINT64_C(1) << 7);
    *ret_set = set;
    return 0;
}

static int split(const char *text, const char *starts[FIELDS], size_t lengths[FIELDS],
                 ph_error *err)
{
    int count = 0;

    for (text += strspn(text, " \t"); *text; text += strspn(text, " \t")) {
        size_t length = strcspn(text, " \t");

        if (count < FIELDS) {
            starts[count] = text;
            lengths[count] = length;
        }
        count++;
        text += length;
    }
    if (count == FIELDS - 1 || count == FIELDS)
        return count;
    return ph__fail(err, PH_EINVAL,
                    "cron: %d field%s; give five (minute hour day month weekday), or six with the "
                    "second before them, or @daily and the like",
                    count, count == 1 ? "" : "s");
}

static const char *without_nickname(const char *text)
{
    for (size_t i = 0; i < sizeof(nicknames) / sizeof(*nicknames); i++) {
        if (strcasecmp(text, nicknames[i].name) == 0)
            return nicknames[i].text;
    }
    return text;
}

static int read_fields(const char *text, struct ph__cron *cron, ph_error *err)
{
    const char *starts[FIELDS];
    size_t lengths[FIELDS];
    uint64_t sets[FIELDS] = { 1 }; /* without seconds: at second 0 */
    int count = split(text, starts, lengths, err), first = FIELDS - count, r;

    if (count < 0)
        return count;
    for (int i = 0; i < count; i++) {
        r = read_field(&fields[first + i], starts[i], lengths[i], &sets[first + i], err);
        if (r < 0)
            return r;
    }
    *cron = (struct ph__cron){
        .seconds = sets[0],
        .minutes = sets[1],
        .hours = (uint32_t)sets[2],
        .days = (uint32_t)sets[3],
        .months = (uint32_t)sets[4],
        .weekdays = (uint32_t)sets[5],
        .any_day = *starts[3 - first] == '*',
        .any_weekday = *starts[5 - first] == '*',
    };
    return 0;
}

int ph__cron_parse(const char *text, struct ph__cron *ret_cron, ph_error *err)
{
    struct ph__cron cron;
    int64_t ignored;
    int r;

    if (!text || strnlen(text, TEXT_MAX + 1) > TEXT_MAX)
        return ph__fail(err, PH_EINVAL, "cron: %s",
                        text ? "it has more than 255 characters" : "it is NULL");
    text = without_nickname(text);
    if (*text == '@')
        return ph__fail(err, PH_EINVAL,
                        "cron: \"%.40s\" is not known; there are @yearly, @annually, @monthly, "
                        "@weekly, @daily, @midnight and @hourly",
                        text);
    r = read_fields(text, &cron, err);
    if (r < 0)
        return r;
    if (!ph__cron_match(&cron, 0, &ignored))
        return ph__fail(err, PH_EINVAL, "cron: \"%.80s\" never fires; no date matches it", text);
    *ret_cron = cron;
    return 0;
}

bool ph__cron_is_hourly(const struct ph__cron *cron)
{
    return cron->hours == (1u << 24) - 1;
}

/* ------------------------------------------------------------------ matching */

static bool day_matches(const struct ph__cron *cron, int day, int weekday)
{
    bool by_day = cron->days >> day & 1, by_weekday = cron->weekdays >> weekday & 1;

    return cron->any_day || cron->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

/* The first matching day from days on; false: none within a cycle of the calendar. */
static bool match_day(const struct ph__cron *cron, int64_t days, int64_t *ret_days)
{
    struct ph__date date = ph__date_of_days(days);
    int64_t last_year = date.year + CYCLE_YEARS;

    while (date.year <= last_year && date.year <= YEAR_MAX) {
        if (cron->months >> date.month & 1) {
            int length = ph__month_length(date.year, date.month);
            int64_t first = ph__days_of_date(date.year, date.month, 1);

            for (; date.day <= length; date.day++) {
                *ret_days = first + date.day - 1;
                if (day_matches(cron, date.day, ph__weekday(*ret_days)))
                    return true;
            }
        }
        date.day = 1;
        date.year += date.month == 12;
        date.month = date.month % 12 + 1;
    }
    return false;
}

/* The lowest bit of set from bit `from` on; -1: none. */
static int next_bit(uint64_t set, int from)
{
    uint64_t rest;

    PH__ASSERT(from >= 0);
    rest = from > 63 ? 0 : set >> from << from;

    return rest ? __builtin_ctzll(rest) : -1;
}

/* The first matching second of a day from second on; -1: none. */
static int match_time(const struct ph__cron *cron, int second)
{
    int h = second / 3600, m = second / 60 % 60, s = second % 60;
    int hour = next_bit(cron->hours, h), minute, at;

    PH__ASSERT(second >= 0 && second < PH__DAY_S);
    while (hour >= 0) {
        if (hour > h)
            m = s = 0;
        minute = next_bit(cron->minutes, m);
        at = minute < 0 ? -1 : next_bit(cron->seconds, minute > m ? 0 : s);
        if (minute >= 0 && at < 0) { /* this minute is over */
            minute = next_bit(cron->minutes, minute + 1);
            at = next_bit(cron->seconds, 0);
        }
        if (minute >= 0)
            return hour * 3600 + minute * 60 + at;
        h = hour;
        hour = next_bit(cron->hours, hour + 1);
    }
    return -1;
}

bool ph__cron_match(const struct ph__cron *cron, int64_t from_s, int64_t *ret_s)
{
    int64_t day = ph__floor_div(from_s, PH__DAY_S), found;
    int second = (int)(from_s - day * PH__DAY_S), at;

    if (!match_day(cron, day, &found))
        return false;
    at = match_time(cron, found > day ? 0 : second);
    if (at < 0) { /* that day is over */
        if (!match_day(cron, found + 1, &found))
            return false;
        at = match_time(cron, 0);
    }
    PH__ASSERT(at >= 0 && found >= day);
    *ret_s = found * PH__DAY_S + at;
    return true;
}
