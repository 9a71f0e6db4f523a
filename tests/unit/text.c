/* text.c - UTF-8: what is valid, what is mended, what is escaped. */
#include "harness.h"

#include "util/text.h"

struct sample {
    const char *bytes;
    size_t length;
    int code_points; /* -1: not valid */
};
#define S(text, code_points)                                                                       \
    {                                                                                              \
        text, sizeof(text) - 1, code_points                                                        \
    }

static const struct sample samples[] = {
    S("", 0),
    S("abc", 3),
    S("\x7f", 1),
    S("\xc2\x80", 1),         /* U+0080, the first of two bytes */
    S("\xdf\xbf", 1),         /* U+07FF, the last */
    S("\xe0\xa0\x80", 1),     /* U+0800 */
    S("\xed\x9f\xbf", 1),     /* U+D7FF, before the surrogates */
    S("\xee\x80\x80", 1),     /* U+E000, behind them */
    S("\xef\xbf\xbf", 1),     /* U+FFFF */
    S("\xf0\x90\x80\x80", 1), /* U+10000 */
    S("\xf4\x8f\xbf\xbf", 1), /* U+10FFFF, the last of all */
    S("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x93\xaf", 4),
    S("\x80", -1), /* a continuation alone */
    S("\xbf", -1),
    S("\xc0\x80", -1),         /* overlong NUL */
    S("\xc1\xbf", -1),         /* overlong */
    S("\xe0\x9f\xbf", -1),     /* overlong */
    S("\xf0\x8f\xbf\xbf", -1), /* overlong */
    S("\xed\xa0\x80", -1),     /* a surrogate */
    S("\xed\xbf\xbf", -1),
    S("\xf4\x90\x80\x80", -1), /* above U+10FFFF */
    S("\xf5\x80\x80\x80", -1),
    S("\xff", -1),
    S("\xfe", -1),
    S("\xc2", -1), /* cut short */
    S("\xe2\x82", -1),
    S("\xf0\x9f\x93", -1),
    S("\xc2\x41", -1), /* a letter where a continuation belongs */
    S("\xe2\x82\x41", -1),
    S("\xf0\x9f\x93\x41", -1),
    S("a\0b", -1), /* NUL is not text */
};

TEST(validity_and_length)
{
    for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
        size_t code_points = 999;
        bool valid = ph__text_valid(samples[i].bytes, samples[i].length, &code_points);

        if (valid != (samples[i].code_points >= 0))
            printf("sample %zu\n", i);
        CHECK_INT(valid, samples[i].code_points >= 0);
        CHECK_INT(code_points, valid ? samples[i].code_points : 999);
        CHECK_INT(ph__text_valid(samples[i].bytes, samples[i].length, NULL), valid);
    }
}

TEST(only_the_given_bytes_are_read)
{
    CHECK(ph__text_valid("\xc3\xa4\xff", 2, NULL));
    CHECK(!ph__text_valid("\xc3\xa4", 1, NULL));
}

static const char *mended(const char *text, size_t max)
{
    static char copy[256];
    struct ph__buffer buffer = { 0 };

    ph__text_mend(&buffer, text, max);
    CHECK(!buffer.failed);
    CHECK(ph__text_valid(buffer.data ? buffer.data : "", buffer.length, NULL));
    CHECK(buffer.length <= max);
    snprintf(copy, sizeof(copy), "%s", buffer.data ? buffer.data : "");
    ph__buffer_free(&buffer);
    return copy;
}

TEST(mending_keeps_what_is_valid)
{
    CHECK_STR(mended("", 10), "");
    CHECK_STR(mended("a\xc3\xa4", 10), "a\xc3\xa4");
    CHECK_STR(mended("a\xffz", 10), "a\xef\xbf\xbdz");
    CHECK_STR(mended("\xe2\x82", 10), "\xef\xbf\xbd\xef\xbf\xbd");
    CHECK_STR(mended("x\xe2\x82", 10), "x\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(mending_cuts_at_a_code_point)
{
    CHECK_STR(mended("abc", 0), "");
    CHECK_STR(mended("abc", 2), "ab");
    CHECK_STR(mended("ab\xc3\xa4", 3), "ab");
    CHECK_STR(mended("ab\xc3\xa4", 4), "ab\xc3\xa4");
    CHECK_STR(mended("a\xff", 3), "a");
    CHECK_STR(mended("a\xff", 4), "a\xef\xbf\xbd");
    CHECK_STR(mended("\xf0\x9f\x93\xaf", 3), "");
}

TEST(escaping_keeps_a_log_line_one_line)
{
    struct ph__buffer buffer = { 0 };

    ph__text_escape(&buffer, "a\nb\rc\td\\e\x1b[0m\x7f\xc3\xa4");
    CHECK_STR(buffer.data, "a\\nb\\x0dc\\x09d\\\\e\\x1b[0m\\x7f\xc3\xa4");
    ph__buffer_free(&buffer);
}

/* Line separators, what turns text around, what cannot be seen; and what is none of it. */
TEST(escaping_shows_what_would_be_obeyed)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        { "\xc2\x85", "\\u0085" },          { "\xc2\x9b", "\\u009b" },
        { "\xe2\x80\xa8", "\\u2028" },      { "\xe2\x80\xa9", "\\u2029" },
        { "\xe2\x80\xae", "\\u202e" },      { "\xe2\x81\xa6", "\\u2066" },
        { "\xe2\x80\x8f", "\\u200f" },      { "\xd8\x9c", "\\u061c" },
        { "\xe2\x80\x8b", "\\u200b" },      { "\xef\xbb\xbf", "\\ufeff" },
        { "\xf3\xa0\x80\x81", "\\ue0001" }, { "\xff\xc3", "\\xff\\xc3" },
        { "\xe2\x82\xac", "\xe2\x82\xac" }, { "\xf0\x9f\x93\xaf", "\xf0\x9f\x93\xaf" },
        { "\xd7\x90", "\xd7\x90" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ph__buffer buffer = { 0 };

        ph__text_escape(&buffer, cases[i].text);
        CHECK_STR(buffer.data, cases[i].shown);
        ph__buffer_free(&buffer);
    }
}
