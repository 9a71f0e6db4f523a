/* time_text.c - points in time as text. */
#include "harness.h"

#include "util/time_text.h"

static const struct {
    const char *text;
    int64_t time;
    bool zoned;
} good[] = {
    { "1970-01-01T00:00:00Z", 0, true },
    { "1970-01-01T00:00:00.000001Z", 1, true },
    { "1969-12-31T23:59:59.999999z", -1, true },
    { "1970-01-01 00:00:01", 1000000, false },
    { "1970-01-02", INT64_C(86400000000), false },
    { "1970-01-01t00:01", 60000000, false },
    { "1970-01-01T02:00:00+02:00", 0, true },
    { "1969-12-31T18:30:00-0530", 0, true },
    { "1970-01-01T01:00+01", 0, true },
    { "1970-01-01T00:00:00,5Z", 500000, true },
    { "1970-01-01T00:00:00.1234567Z", 123456, true },
    { "2000-02-29T00:00:00Z", INT64_C(951782400000000), true },
    { "0001-01-01T00:00:00Z", PH_TIME_MIN, true },
    { "9999-12-31T23:59:59.999999Z", PH_TIME_MAX, true },
};

TEST(iso_8601_is_read)
{
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        int64_t time = 4711;
        bool zoned = !good[i].zoned;

        CHECK(ph__time_parse(good[i].text, &time, &zoned));
        CHECK_INT(time, good[i].time);
        CHECK_INT(zoned, good[i].zoned);
    }
}

TEST(anything_else_is_not)
{
    static const char *const bad[] = {
        "",
        "now",
        "1970",
        "1970-1-1",
        "1970-13-01",
        "1970-00-01",
        "1970-01-32",
        "1970-04-31",
        "1900-02-29",
        "2001-02-29",
        "0000-01-01",
        "1970-01-01T",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:60Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00X",
        "1970-01-01T00:00:00Z ",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+01:60",
        "1970-01-01T00:00:00+1",
        "1970-01-01T00:00:00+01:000",
        " 1970-01-01",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-00:01",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        int64_t time;
        bool zoned;

        CHECK(!ph__time_parse(bad[i], &time, &zoned));
    }
}

TEST(times_are_shown_as_the_views_show_them)
{
    char text[PH__TIME_TEXT_SIZE];

    CHECK_STR(ph__time_text(0, text), "1970-01-01T00:00:00.000000Z");
    CHECK_STR(ph__time_text(-1, text), "1969-12-31T23:59:59.999999Z");
    CHECK_STR(ph__time_text(PH_TIME_MIN, text), "0001-01-01T00:00:00.000000Z");
    CHECK_STR(ph__time_text(PH_TIME_MAX, text), "9999-12-31T23:59:59.999999Z");
    CHECK_STR(ph__time_text(INT64_C(951782400123456), text), "2000-02-29T00:00:00.123456Z");
}
