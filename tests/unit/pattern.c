/* pattern.c - patterns for the names of files, as in a shell. */
#include "harness.h"

#include "set/pattern.h"

static bool fits(const char *pattern, const char *name)
{
    size_t stem = 999;
    bool fit = ph__pattern_fits(pattern, name, &stem);

    CHECK(fit ? stem <= strlen(name) : stem == 999);
    return fit;
}

/* The name without what fits behind the last star; valid until the next call. */
static const char *stem(const char *pattern, const char *name)
{
    static char text[100];
    size_t length;

    CHECK(ph__pattern_fits(pattern, name, &length));
    snprintf(text, sizeof(text), "%.*s", (int)length, name);
    return text;
}

TEST(plain_characters_fit_themselves)
{
    CHECK(fits("", ""));
    CHECK(fits("a.db", "a.db"));
    CHECK(!fits("a.db", "a.d"));
    CHECK(!fits("a.d", "a.db"));
    CHECK(!fits("a", "A"));
    CHECK(!fits("", "a"));
    CHECK(!fits("a", ""));
}

TEST(a_star_fits_anything)
{
    CHECK(fits("*", ""));
    CHECK(fits("*", "anything.at.all"));
    CHECK(fits("*.db", "a.db"));
    CHECK(fits("*.db", ".db"));
    CHECK(!fits("*.db", "a.dbx"));
    CHECK(fits("*.db", "a.db.db"));
    CHECK(fits("a*b*c", "aXbbYc"));
    CHECK(!fits("a*b*c", "aXbbY"));
    CHECK(fits("**", "x"));
    CHECK(fits("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaab"));
    CHECK(!fits("*a*a*a*a*a*a*a*a*c", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
}

TEST(a_question_mark_fits_one_character)
{
    CHECK(fits("?", "x"));
    CHECK(!fits("?", ""));
    CHECK(!fits("?", "xy"));
    CHECK(fits("?", "\xc3\xa4")); /* of two bytes */
    CHECK(fits("a?c", "a\xe2\x82\xac"
                      "c"));
    CHECK(fits("?", "\xff")); /* what is no UTF-8 is a byte */
    CHECK(fits("??", "\xe2\x82"));
}

TEST(classes_fit_one_of_theirs)
{
    CHECK(fits("[abc]", "b"));
    CHECK(!fits("[abc]", "d"));
    CHECK(!fits("[abc]", ""));
    CHECK(fits("t[0-9][0-9].db", "t17.db"));
    CHECK(!fits("t[0-9][0-9].db", "t1x.db"));
    CHECK(fits("[!0-9]", "x"));
    CHECK(!fits("[!0-9]", "5"));
    CHECK(fits("[^0-9]", "x"));
    CHECK(fits("[]]", "]"));
    CHECK(fits("[!]]", "x"));
    CHECK(!fits("[!]]", "]"));
    CHECK(fits("[a-]", "-"));
    CHECK(fits("[-a]", "-"));
    CHECK(fits("[*]", "*"));
    CHECK(!fits("[*]", "x"));
    CHECK(fits("[\\]]", "]"));
    CHECK(fits("[\xc3\xa0-\xc3\xbc]", "\xc3\xa4"));
    CHECK(!fits("[\xc3\xa0-\xc3\xa2]", "\xc3\xa4"));
    CHECK(!fits("[b-a]", "a"));
}

TEST(a_class_that_is_not_closed_is_none)
{
    CHECK(fits("[a", "[a"));
    CHECK(!fits("[a", "a"));
    CHECK(fits("[", "["));
    CHECK(fits("[]", "[]"));
    CHECK(fits("*[", "a["));
}

TEST(a_backslash_takes_the_meaning_away)
{
    CHECK(fits("\\*", "*"));
    CHECK(!fits("\\*", "x"));
    CHECK(fits("\\?\\[a]", "?[a]"));
    CHECK(fits("\\\\", "\\"));
    CHECK(fits("a\\", "a\\"));
}

TEST(the_stem_ends_where_the_last_star_ends)
{
    CHECK_STR(stem("*.db", "tenant.db"), "tenant");
    CHECK_STR(stem("*.db", "a.db.db"), "a.db");
    CHECK_STR(stem("t-*.sqlite", "t-17.sqlite"), "t-17");
    CHECK_STR(stem("*", "whole"), "whole");
    CHECK_STR(stem("one.db", "one.db"), "one.db");
    CHECK_STR(stem("*-*.db", "a-b.db"), "a-b");
    CHECK_STR(stem("*.[ds]?", "x.db"), "x");
    CHECK_STR(stem("\\**", "*x"), "*x");
    CHECK_STR(stem("*[*]", "x*"), "x");
    CHECK_STR(stem("*.db", ".db"), "");
}
