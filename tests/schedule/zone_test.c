/* zone_test.c - offsets, gaps and repeated hours in zones that have broken others. */
#include "harness.h"

#include "schedule/fire.h"
#include "schedule/rule.h"
#include "util/time_text.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct ph__zone *loaded(const char *name)
{
    struct ph__zone *zone = NULL;

    OK(ph__zone_load(name, &zone, &t_err));
    return zone;
}

static int64_t at(const char *text)
{
    int64_t time;
    bool zoned;

    CHECK(ph__time_parse(text, &time, &zoned));
    return time;
}

/* The next `count` instants after a time, as "MM-DDTHH:MM" of UTC, separated by blanks. */
static const char *fires(const char *expression, const char *name, const char *after, int count)
{
    static char text[600];
    struct ph__zone *zone = loaded(name);
    struct ph__cron cron;
    int64_t time = at(after);
    size_t length = 0;

    OK(ph__cron_parse(expression, &cron, &t_err));
    text[0] = '\0';
    for (int i = 0; i < count && ph__fire_next(&cron, zone, time, &time); i++) {
        char one[PH__TIME_TEXT_SIZE];

        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%.11s", i ? " " : "",
                                   ph__time_text(time, one) + 5);
    }
    ph__zone_free(zone);
    return text;
}

static int offset(const char *name, const char *when)
{
    struct ph__zone *zone = loaded(name);
    int offset_s = ph__zone_offset(zone, at(when) / 1000000, NULL);

    ph__zone_free(zone);
    return offset_s;
}

TEST(offsets_from_the_table_and_from_the_rule)
{
    CHECK_INT(offset("UTC", "2024-07-01T00:00:00"), 0);
    CHECK_INT(offset("Etc/UTC", "2024-07-01T00:00:00"), 0);
    CHECK_INT(offset("Europe/Berlin", "2024-03-31T00:59:59"), 3600);
    CHECK_INT(offset("Europe/Berlin", "2024-03-31T01:00:00"), 7200);
    CHECK_INT(offset("Europe/Berlin", "2024-10-27T00:59:59"), 7200);
    CHECK_INT(offset("Europe/Berlin", "2024-10-27T01:00:00"), 3600);
    CHECK_INT(offset("Europe/Berlin", "2400-07-01T00:00:00"), 7200); /* beyond 2037 */
    CHECK_INT(offset("Europe/Berlin", "2400-12-01T00:00:00"), 3600);
    CHECK_INT(offset("Europe/Berlin", "1850-01-01T00:00:00"), 53 * 60 + 28); /* local mean time */
    CHECK_INT(offset("Europe/Dublin", "2050-07-01T00:00:00"), 3600); /* summer is standard there */
    CHECK_INT(offset("Europe/Dublin", "2050-01-01T00:00:00"), 0);
    CHECK_INT(offset("Australia/Lord_Howe", "2050-01-01T00:00:00"), 39600);
    CHECK_INT(offset("Australia/Lord_Howe", "2050-07-01T00:00:00"), 37800); /* half an hour */
    CHECK_INT(offset("Africa/Cairo", "2050-07-01T00:00:00"), 10800);
    CHECK_INT(offset("America/Asuncion", "2030-07-01T00:00:00"), -10800); /* no more changes */
    CHECK_INT(offset("Pacific/Apia", "2011-12-30T09:59:59"), -36000);
    CHECK_INT(offset("Pacific/Apia", "2011-12-30T10:00:00"), 50400); /* a day less */
    CHECK_INT(offset("America/New_York", "2024-03-10T07:00:00"), -14400);
    CHECK_INT(offset("Asia/Kathmandu", "2024-03-10T07:00:00"), 20700);
}

TEST(a_time_of_day_in_a_gap_fires_right_after_it)
{
    CHECK_STR(fires("30 2 * * *", "Europe/Berlin", "2024-03-30T12:00:00", 2),
              "03-31T01:00 04-01T00:30");
    CHECK_STR(fires("15,30,45 2 * * *", "Europe/Berlin", "2024-03-30T12:00:00", 2),
              "03-31T01:00 04-01T00:15"); /* once */
    CHECK_STR(fires("0 2,3 * * *", "Europe/Berlin", "2024-03-30T12:00:00", 2),
              "03-31T01:00 04-01T00:00"); /* 03:00 is the end of the gap */
    CHECK_STR(fires("0 0 * * *", "Africa/Cairo", "2024-04-25T12:00:00", 2),
              "04-25T22:00 04-26T21:00"); /* the change is at midnight: 00:00 does not exist */
    CHECK_STR(fires("10 2 * * *", "Australia/Lord_Howe", "2024-10-05T00:00:00", 2),
              "10-05T15:30 10-06T15:10"); /* half an hour: 02:00 to 02:30 */
    CHECK_STR(fires("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00", 2),
              "12-30T10:00 12-29T22:00"); /* a day that did not exist: right after it */
    CHECK_STR(fires("0 12 * * *", "Pacific/Apia", "2011-12-28T00:00:00", 4),
              "12-28T22:00 12-29T22:00 12-30T10:00 12-30T22:00");
}

TEST(a_time_of_day_that_comes_twice_fires_the_first_time)
{
    CHECK_STR(fires("30 2 * * *", "Europe/Berlin", "2024-10-26T12:00:00", 2),
              "10-27T00:30 10-28T01:30");
    CHECK_STR(fires("30 2 * * *", "Europe/Berlin", "2024-10-27T00:30:00", 1), "10-28T01:30");
    CHECK_STR(fires("30 2 * * *", "Europe/Berlin", "2024-10-27T01:10:00", 1), "10-28T01:30");
    CHECK_STR(fires("0 0 1 * *", "Africa/Cairo", "2024-10-15T12:00:00", 1), "10-31T22:00");
    CHECK_STR(fires("45 1 * * *", "Australia/Lord_Howe", "2024-04-06T00:00:00", 2),
              "04-06T14:45 04-07T15:15");
}

TEST(intervals_follow_the_clock_as_it_runs)
{
    CHECK_STR(fires("*/30 * * * *", "Europe/Berlin", "2024-10-26T23:59:00", 6),
              "10-27T00:00 10-27T00:30 10-27T01:00 10-27T01:30 10-27T02:00 10-27T02:30");
    CHECK_STR(fires("30 * * * *", "Europe/Berlin", "2024-03-30T23:00:00", 4),
              "03-30T23:30 03-31T00:30 03-31T01:30 03-31T02:30");
    CHECK_STR(fires("@hourly", "Australia/Lord_Howe", "2024-04-06T13:30:00", 4),
              "04-06T14:00 04-06T15:30 04-06T16:30 04-06T17:30");
}

TEST(years_far_away)
{
    CHECK_STR(fires("0 12 1 7 *", "Europe/Berlin", "2399-07-02T00:00:00", 1), "07-01T10:00");
    CHECK_STR(fires("0 0 29 2 *", "America/New_York", "2096-03-01T00:00:00", 1), "02-29T05:00");
    CHECK_STR(fires("0 0 1 1 *", "Europe/Berlin", "9999-06-01T00:00:00", 1), "");
}

TEST(the_latest_instants)
{
    struct ph__zone *zone = loaded("Europe/Berlin");
    struct ph__cron cron;
    int64_t times[100];

    OK(ph__cron_parse("*/5 * * * * *", &cron, &t_err));
    CHECK_INT(ph__fire_latest(&cron, zone, at("2024-01-01"), at("2024-01-15"), 3, times), 3);
    CHECK_INT(times[0], at("2024-01-14T23:59:50"));
    CHECK_INT(times[2], at("2024-01-15"));
    CHECK_INT(ph__fire_latest(&cron, zone, at("2024-01-01"), at("2024-01-15"), 100, times), 100);
    for (int i = 1; i < 100; i++)
        CHECK_INT(times[i] - times[i - 1], 5000000);
    OK(ph__cron_parse("@monthly", &cron, &t_err));
    CHECK_INT(ph__fire_latest(&cron, zone, at("2023-01-15"), at("2024-01-15"), 100, times), 12);
    CHECK_INT(times[0], at("2023-01-31T23:00"));
    CHECK_INT(times[11], at("2023-12-31T23:00"));
    CHECK_INT(ph__fire_latest(&cron, zone, at("2023-12-31T23:00"), at("2024-01-15"), 5, times), 1);
    CHECK_INT(ph__fire_latest(&cron, zone, at("2024-01-02"), at("2024-01-15"), 5, times), 0);
    CHECK_INT(ph__fire_latest(&cron, zone, at("2024-01-15"), at("2024-01-02"), 5, times), 0);
    CHECK_INT(ph__fire_latest(&cron, zone, at("2024-01-01"), at("2024-01-15"), 0, times), 0);
    ph__zone_free(zone);
}

/* ----------------------------------------------------------------------- files */

TEST(names_that_are_no_zones)
{
    static const char *const bad[] = { "",
                                       "Nowhere/City",
                                       "../../etc/passwd",
                                       "/etc/localtime",
                                       "Europe/../Europe/Berlin",
                                       "Europe",
                                       "Europe/",
                                       "a b",
                                       "Europe/Berlin\n",
                                       "Europe//Berlin",
                                       "tzdata.zi",
                                       "right/UTC" };
    struct ph__zone *zone = NULL;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        printf("%s\n", bad[i]);
        CHECK_INT(ph__zone_load(bad[i], &zone, &t_err), PH_EINVAL);
        CHECK(strlen(t_err.message) > 20);
    }
    CHECK(zone == NULL);
}

static void write_zone(const char *name, const void *bytes, size_t size)
{
    char path[300];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", t_dir(), name);
    file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(bytes, 1, size, file) == size);
    CHECK(fclose(file) == 0);
    CHECK(setenv("TZDIR", t_dir(), 1) == 0);
}

static size_t read_zone(const char *name, uint8_t *bytes, size_t size)
{
    char path[300];
    FILE *file;
    size_t length;

    snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
    file = fopen(path, "rb");
    CHECK(file != NULL);
    length = fread(bytes, 1, size, file);
    fclose(file);
    return length;
}

TEST(files_that_are_missing_cut_or_damaged)
{
    static uint8_t bytes[10000], damaged[10000];
    size_t size = read_zone("America/New_York", bytes, sizeof(bytes));
    struct ph__zone *zone = NULL;

    CHECK(size > 1000);
    for (size_t length = 0; length < size; length += length < 200 || length > size - 50 ? 1 : 37) {
        write_zone("Cut", bytes, length);
        CHECK_INT(ph__zone_load("Cut", &zone, &t_err), PH_EINVAL);
        CHECK(strstr(t_err.message, "Cut") != NULL);
    }
    for (size_t i = 0; i < size; i++) { /* any answer will do, as long as it is one */
        memcpy(damaged, bytes, size);
        damaged[i] ^= 0xff;
        write_zone("Damaged", damaged, size);
        if (ph__zone_load("Damaged", &zone, &t_err) == 0) {
            (void)ph__zone_instant(zone, 1700000000);
            (void)ph__zone_offset(zone, INT64_C(50000000000), NULL);
            ph__zone_free(zone);
            zone = NULL;
        }
    }
    CHECK_INT(ph__zone_load("Missing", &zone, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "tzdata") != NULL);
    OK(ph__zone_load("UTC", &zone, &t_err)); /* needs no file */
    ph__zone_free(zone);
}

static void put_be32(uint8_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> (24 - 8 * i));
}

/* A file of version 1 with one type: this offset, for ever. */
static int load_offset(int32_t offset_s)
{
    uint8_t bytes[44 + 6 + 4] = "TZif";
    struct ph__zone *zone = NULL;
    int r;

    put_be32(bytes + 36, 1); /* types */
    put_be32(bytes + 40, 4); /* letters */
    put_be32(bytes + 44, (uint32_t)offset_s);
    write_zone("Offset", bytes, sizeof(bytes));
    r = ph__zone_load("Offset", &zone, &t_err);
    ph__zone_free(zone);
    return r;
}

TEST(offsets_of_more_than_a_day_are_refused)
{
    static const int32_t bad[] = { INT32_MIN, INT32_MIN + 1, INT32_MAX, 26 * 3600, -26 * 3600 };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK_INT(load_offset(bad[i]), PH_EINVAL);
        CHECK(strstr(t_err.message, "an offset is more than a day") != NULL);
    }
    CHECK_INT(load_offset(14 * 3600), 0);
    CHECK_INT(load_offset(-12 * 3600), 0);
}

/* Nobody writes to it: whoever opens it for reading would wait for ever. */
TEST(a_pipe_is_no_zone_file)
{
    struct ph__zone *zone = NULL;
    char path[300];

    snprintf(path, sizeof(path), "%s/Pipe", t_dir());
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(setenv("TZDIR", t_dir(), 1) == 0);
    CHECK_INT(ph__zone_load("Pipe", &zone, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "is not a plain file") != NULL);
}

/* A zone that nobody can look at just now is not a wrong one. */
TEST(without_a_free_file_descriptor_it_is_not_the_zones_fault)
{
    struct rlimit before, none;
    struct ph__zone *zone = NULL;

    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK_INT(ph__zone_load("Europe/Berlin", &zone, &t_err), PH_ENOMEM);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(t_err.flags & PH_RETRY);
    CHECK(zone == NULL);
}

TEST(a_file_that_changes_is_noticed)
{
    static uint8_t bytes[10000];
    size_t size = read_zone("Europe/Berlin", bytes, sizeof(bytes));
    struct ph__zone *zone = NULL;

    write_zone("Zone", bytes, size);
    OK(ph__zone_load("Zone", &zone, &t_err));
    CHECK(!ph__zone_is_stale(zone));
    size = read_zone("Europe/Dublin", bytes, sizeof(bytes));
    write_zone("Zone", bytes, size);
    CHECK(ph__zone_is_stale(zone));
    CHECK_INT(ph__zone_offset(zone, 1700000000, NULL), 3600); /* what is loaded stays as it is */
    ph__zone_free(zone);
}

TEST(rules_of_footers)
{
    static const char *const bad[] = { "",
                                       "X1",
                                       "EST",
                                       "EST5EDT",
                                       "EST5EDT,M3.2.0",
                                       "EST5EDT,M13.2.0,M11.1.0",
                                       "EST5EDT,M3.6.0,M11.1.0",
                                       "EST5EDT,M3.2.7,M11.1.0",
                                       "EST5EDT,J0,J366",
                                       "<+03>",
                                       "EST168",
                                       "EST167",
                                       "EST-167",
                                       "EST26",
                                       "EST5EDT-26,M3.2.0,M11.1.0",
                                       "EST5EDT,M3.2.0,M11.1.0x",
                                       "<+03-3" };
    struct ph__rule rule;
    int64_t from, until;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        printf("%s\n", bad[i]);
        CHECK(!ph__rule_parse(bad[i], &rule));
    }
    CHECK(ph__rule_parse("<+0330>-3:30", &rule));
    CHECK_INT(ph__rule_offset(&rule, 0, &from, &until), 12600);
    CHECK(until == INT64_MAX);
    CHECK(ph__rule_parse("EST5EDT4,M3.2.0/2,M11.1.0", &rule));
    CHECK_INT(ph__rule_offset(&rule, at("2050-07-01") / 1000000, &from, &until), -14400);
    CHECK_INT(from, at("2050-03-13T07:00") / 1000000);
    CHECK_INT(until, at("2050-11-06T06:00") / 1000000);
    CHECK(ph__rule_parse("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", &rule)); /* the evening before */
    CHECK_INT(ph__rule_offset(&rule, at("2050-03-27T00:59:59") / 1000000, &from, &until), -7200);
    CHECK_INT(until, at("2050-03-27T01:00") / 1000000);
    CHECK(ph__rule_parse("AAA0BBB,J60/0,J300", &rule)); /* the first of March, leap year or not */
    (void)ph__rule_offset(&rule, at("2048-02-01") / 1000000, &from, &until);
    CHECK_INT(until, at("2048-03-01") / 1000000);
    CHECK(ph__rule_parse("AAA0BBB,59/0,300", &rule)); /* the 60th day */
    (void)ph__rule_offset(&rule, at("2048-02-01") / 1000000, &from, &until);
    CHECK_INT(until, at("2048-02-29") / 1000000);
    CHECK(ph__rule_parse("XXX3EDT4,0/0,J365/23", &rule)); /* daylight-saving time all year */
    CHECK_INT(ph__rule_offset(&rule, at("2050-12-31T23:59") / 1000000, &from, &until), -14400);
    CHECK_INT(ph__rule_offset(&rule, at("2050-01-01T05:00") / 1000000, &from, &until), -14400);
}
