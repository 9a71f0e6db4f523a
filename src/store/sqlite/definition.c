#include "store/sqlite/definition.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

struct token {
    const char *text;
    size_t length; /* 0: the end */
};

/* Blanks and comments, which SQLite skips, too. */
static const char *skip_blanks(const char *at)
{
    const char *end;

    for (;;) {
        at += strspn(at, " \t\n\f\r");
        if (strncmp(at, "--", 2) == 0)
            at += strcspn(at, "\n");
        else if (strncmp(at, "/*", 2) == 0 && (end = strstr(at + 2, "*/")) != NULL)
            at = end + 2;
        else
            return at;
    }
}

static size_t quoted_length(const char *text)
{
    const char *end = strchr(text + 1, *text == '[' ? ']' : *text);

    return end ? (size_t)(end - text) + 1 : strlen(text);
}

/* A word, something in quotes (one with a quote in it is two), or a single character. */
static struct token next(const char **at)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789";
    struct token token = { skip_blanks(*at), 0 };

    token.length = strspn(token.text, word);
    if (token.length == 0 && *token.text)
        token.length = strchr("'\"`[", *token.text) ? quoted_length(token.text) : 1;
    *at = token.text + token.length;
    return token;
}

static bool is(struct token token, const char *text)
{
    return token.length == strlen(text) &&
           sqlite3_strnicmp(token.text, text, (int)token.length) == 0;
}

static bool are_equal(struct token one, struct token other)
{
    if (one.length != other.length)
        return false;
    return *one.text == '\'' ? memcmp(one.text, other.text, one.length) == 0
                             : sqlite3_strnicmp(one.text, other.text, (int)one.length) == 0;
}

static size_t count(const char *at)
{
    size_t tokens = 0;

    while (next(&at).length > 0)
        tokens++;
    return tokens;
}

/* Expressions in a column's definition need parentheses; the words say what happens to rows. */
static bool is_harmless(struct token token)
{
    return !is(token, "(") && !is(token, ")") && !is(token, "CONFLICT") && !is(token, "UNIQUE") &&
           !is(token, "REFERENCES");
}

/* Is longer the shorter one with more columns in front? */
static bool has_more_columns(const char *longer, const char *shorter)
{
    size_t more = count(longer) - count(shorter);
    bool comma = false;

    for (size_t i = 0; i < more; i++) {
        struct token token = next(&longer);

        if (!is_harmless(token))
            return false;
        if (i == 0 || i == more - 1)
            comma |= is(token, ",");
    }
    while (comma) {
        struct token one = next(&longer), other = next(&shorter);

        if (!are_equal(one, other))
            return false;
        if (one.length == 0)
            return true;
    }
    return false;
}

bool ph__sqlite_same_definition(const char *one, const char *other)
{
    /* In an index or a view an expression needs no parentheses. */
    bool is_table = sqlite3_strnicmp(one, "CREATE TABLE", strlen("CREATE TABLE")) == 0;
    int depth = 0;

    for (;;) {
        const char *one_rest = one, *other_rest = other;
        struct token token = next(&one);

        if (!are_equal(token, next(&other)))
            return is_table && depth == 1 &&
                   (count(one_rest) > count(other_rest) ? has_more_columns(one_rest, other_rest)
                                                        : has_more_columns(other_rest, one_rest));
        if (token.length == 0)
            return true;
        depth += is(token, "(") - is(token, ")");
    }
}
