/* cron_test.c - what a cron expression is, and which local times match it. */
#include "harness.h"

#include "schedule/civil.h"
#include "schedule/cron.h"
#include "util/time_text.h"

static struct ph__cron parsed(const char *text)
{
    struct ph__cron cron;

    OK(ph__cron_parse(text, &cron, &t_err));
    return cron;
}

/* The first match from a time on, as text without the zone; "never" if there is none. */
static const char *match(const char *expression, const char *from)
{
    static char text[PH__TIME_TEXT_SIZE];
    struct ph__cron cron = parsed(expression);
    int64_t time, found;
    bool zoned;

    CHECK(ph__time_parse(from, &time, &zoned));
    if (!ph__cron_match(&cron, time / 1000000, &found))
        return "never";
    ph__time_text(found * 1000000, text);
    text[19] = '\0';
    return text;
}

TEST(days_and_dates)
{
    CHECK_INT(ph__days_of_date(1970, 1, 1), 0);
    CHECK_INT(ph__days_of_date(2000, 2, 29), 11016);
    CHECK_INT(ph__days_of_date(1, 1, 1), -719162);
    CHECK_INT(ph__weekday(0), 4);
    CHECK_INT(ph__weekday(-4), 0);
    for (int64_t day = -719162; day < 2932896; day += 97) {
        struct ph__date date = ph__date_of_days(day);

        CHECK_INT(ph__days_of_date(date.year, date.month, date.day), day);
        CHECK(date.day >= 1 && date.day <= ph__month_length(date.year, date.month));
    }
}

TEST(fields_are_read)
{
    static const struct {
        const char *text;
        struct ph__cron cron;
    } good[] = {
        { "0 0 1 1 0", { 1, 1, 1, 2, 2, 1, false, false } },
        { "59 23 31 12 7",
          { 1, UINT64_C(1) << 59, 1u << 23, 1u << 31, 1u << 12, 1, false, false } },
        { "5 0 0 1 1 6", { 1 << 5, 1, 1, 2, 2, 1 << 6, false, false } },
        { "1-3,5 */12 * * *", { 1, 0x2e, 0x1001, 0xfffffffe, 0x1ffe, 0x7f, true, true } },
        { "10-20/5 0 */10 JAN-mar Fri", { 1, 0x108400, 1, 0x80200802, 0xe, 1 << 5, true, false } },
        { "50/4 0 * * 5-7",
          { 1, UINT64_C(0x0444) << 48, 1, 0xfffffffe, 0x1ffe, 0x61, true, false } },
        { "  0\t0  1 * *  ", { 1, 1, 1, 2, 0x1ffe, 0x7f, false, true } },
        { "0 0 * * */2", { 1, 1, 1, 0xfffffffe, 0x1ffe, 0x55, true, true } },
        { "@Daily", { 1, 1, 1, 0xfffffffe, 0x1ffe, 0x7f, true, true } },
        { "@midnight", { 1, 1, 1, 0xfffffffe, 0x1ffe, 0x7f, true, true } },
        { "@hourly", { 1, 1, 0xffffff, 0xfffffffe, 0x1ffe, 0x7f, true, true } },
        { "@weekly", { 1, 1, 1, 0xfffffffe, 0x1ffe, 1, true, false } },
        { "@monthly", { 1, 1, 1, 2, 0x1ffe, 0x7f, false, true } },
        { "@yearly", { 1, 1, 1, 2, 2, 0x7f, false, true } },
        { "@annually", { 1, 1, 1, 2, 2, 0x7f, false, true } },
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct ph__cron cron = parsed(good[i].text);
        const struct ph__cron *want = &good[i].cron;

        printf("%s\n", good[i].text);
        CHECK_INT(cron.seconds, want->seconds);
        CHECK_INT(cron.minutes, want->minutes);
        CHECK_INT(cron.hours, want->hours);
        CHECK_INT(cron.days, want->days);
        CHECK_INT(cron.months, want->months);
        CHECK_INT(cron.weekdays, want->weekdays);
        CHECK_INT(cron.any_day, want->any_day);
        CHECK_INT(cron.any_weekday, want->any_weekday);
    }
}

TEST(what_is_malformed_is_refused_and_named)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "", "0 fields" },
        { "* * * *", "4 fields" },
        { "* * * * * * *", "7 fields" },
        { "60 * * * *", "minute \"60\": it is out of range; give 0 to 59" },
        { "60 * * * * *", "second" },
        { "* 24 * * *", "hour \"24\"" },
        { "* * 0 * *", "day of month \"0\"" },
        { "* * 32 * *", "day of month \"32\"" },
        { "* * * 13 *", "month \"13\"" },
        { "* * * * 8", "day of week \"8\"" },
        { "5-1 * * * *", "ends before it begins" },
        { "*/0 * * * *", "step" },
        { "*/-5 * * * *", "step" },
        { "*/ * * * *", "step" },
        { "-1 * * * *", "expected" },
        { "1- * * * *", "after -" },
        { "1,,2 * * * *", "expected" },
        { "1, * * * *", "expected" },
        { "x * * * *", "expected" },
        { "99999999999999999999 * * * *", "" },
        { "* * ? * *", "not supported" },
        { "* * L * *", "not supported" },
        { "* * * * MONDAY", "expected" },
        { "* * * FOO *", "expected" },
        { "* * * * 1#2", "behind it" },
        { "1.5 * * * *", "behind it" },
        { "** * * * *", "behind it" },
        { "@reboot", "@reboot" },
        { "@", "not known" },
        { "0 0 30 2 *", "never" },
        { "0 0 31 4,6,9,11 *", "never" },
    };
    struct ph__cron cron;
    char longer[300];

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        printf("%s\n", bad[i].text);
        CHECK_INT(ph__cron_parse(bad[i].text, &cron, &t_err), PH_EINVAL);
        printf("    %s\n", t_err.message);
        CHECK(strstr(t_err.message, bad[i].says) != NULL);
    }
    memset(longer, ' ', sizeof(longer));
    memcpy(longer, "0 0 * * *", 9);
    longer[299] = '\0';
    CHECK_INT(ph__cron_parse(longer, &cron, &t_err), PH_EINVAL);
    CHECK_INT(ph__cron_parse(NULL, &cron, &t_err), PH_EINVAL);
}

TEST(matches)
{
    CHECK_STR(match("* * * * *", "2024-05-01T12:00:00"), "2024-05-01T12:00:00");
    CHECK_STR(match("* * * * *", "2024-05-01T12:00:01"), "2024-05-01T12:01:00");
    CHECK_STR(match("*/15 9-17 * * MON-FRI", "2024-05-03T17:45:01"), "2024-05-06T09:00:00");
    CHECK_STR(match("*/5 * * * * *", "2024-12-31T23:59:56"), "2025-01-01T00:00:00");
    CHECK_STR(match("0 0 29 2 *", "2024-03-01T00:00:00"), "2028-02-29T00:00:00");
    CHECK_STR(match("0 0 29 2 *", "2096-03-01T00:00:00"), "2104-02-29T00:00:00");
    CHECK_STR(match("0 0 31 * *", "2024-04-01T00:00:00"), "2024-05-31T00:00:00");
    CHECK_STR(match("30 10 * * *", "2024-05-01T10:30:01"), "2024-05-02T10:30:00");
    CHECK_STR(match("15 10 1 * *", "1969-12-31T00:00:00"), "1970-01-01T10:15:00");
    CHECK_STR(match("0 0 1 1 *", "9999-01-01T00:00:01"), "never");
}

/* Both day fields restricted: either; a star (with or without a step) in one: both. */
TEST(vixies_rule_for_days)
{
    CHECK_STR(match("0 0 13 * FRI", "2024-09-02T00:00:00"), "2024-09-06T00:00:00");
    CHECK_STR(match("0 0 13 * FRI", "2024-09-07T00:00:00"), "2024-09-13T00:00:00");
    CHECK_STR(match("0 0 15 * FRI", "2024-09-14T00:00:00"), "2024-09-15T00:00:00");
    CHECK_STR(match("0 0 */2 * FRI", "2024-09-02T00:00:00"), "2024-09-13T00:00:00");
    CHECK_STR(match("0 0 13 * */5", "2024-09-02T00:00:00"), "2024-09-13T00:00:00");
    CHECK_STR(match("0 0 * * FRI", "2024-09-02T00:00:00"), "2024-09-06T00:00:00");
    CHECK_STR(match("0 0 29 2 */7", "2024-03-01T00:00:00"), "2032-02-29T00:00:00"); /* a Sunday */
}

/* Looked at second by second, slowly. */
TEST(matches_are_the_first_ones)
{
    static const char *const expressions[] = { "*/7 3-50/9 * * * *", "59 59 23 * * *",
                                               "0,30 5/20 */3 1-7 * MON" };

    for (size_t i = 0; i < sizeof(expressions) / sizeof(*expressions); i++) {
        struct ph__cron cron = parsed(expressions[i]);
        int64_t next = -1;

        for (int64_t s = 1700000000; s < 1700000000 + 86400 * 3; s++) {
            int second = (int)(s % 86400);
            struct ph__date date = ph__date_of_days(s / 86400);
            bool by_day = cron.days >> date.day & 1,
                 by_weekday = cron.weekdays >> ph__weekday(s / 86400) & 1;
            bool matches =
                (cron.seconds >> second % 60 & 1) && (cron.minutes >> second / 60 % 60 & 1) &&
                (cron.hours >> second / 3600 & 1) && (cron.months >> date.month & 1) &&
                (cron.any_day || cron.any_weekday ? by_day && by_weekday : by_day || by_weekday);

            if (next < s)
                CHECK(ph__cron_match(&cron, s, &next));
            CHECK_INT(next == s, matches);
        }
    }
}
