#include "set/pattern.h"

#include <stdint.h>
#include <string.h>

/* The code point at the front, and how many bytes it has. A byte that is not UTF-8 stands for
 * itself. */
static uint32_t code_point(const char *text, size_t *ret_length)
{
    const uint8_t *b = (const uint8_t *)text;
    size_t length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : b[0] >= 0xc0 ? 2 : 1;
    uint32_t value = length == 1 ? b[0] : b[0] & (0xffU >> (length + 1));

    for (size_t i = 1; i < length; i++) {
        if ((b[i] & 0xc0) != 0x80) {
            *ret_length = 1;
            return b[0];
        }
        value = value << 6 | (b[i] & 0x3f);
    }
    *ret_length = length;
    return value;
}

/* One character of a class, which may be escaped. */
static uint32_t member(const char **at)
{
    size_t length;
    uint32_t value;

    if ((*at)[0] == '\\' && (*at)[1])
        (*at)++;
    value = code_point(*at, &length);
    *at += length;
    return value;
}

/* Is c in the class at "["? *ret_end: behind its "]"; NULL: it is not closed, so it is no class. */
static bool in_class(const char *class, uint32_t c, const char **ret_end)
{
    const char *at = class + 1;
    bool negated = *at == '!' || *at == '^', found = false;

    if (negated)
        at++;
    for (bool first = true; first || *at != ']'; first = false) {
        uint32_t low, high;

        if (!*at) {
            *ret_end = NULL;
            return false;
        }
        low = high = member(&at);
        if (at[0] == '-' && at[1] && at[1] != ']') {
            at++;
            high = member(&at);
        }
        found = found || (c >= low && c <= high);
    }
    *ret_end = at + 1;
    return found != negated;
}

/* Does the first of the pattern, which is no "*", fit the first of the name? Then both move on. */
static bool step(const char **pattern, const char **name)
{
    const char *p = *pattern, *end = NULL;
    size_t length, p_length;
    uint32_t c = code_point(*name, &length);
    bool fits;

    if (!*p || !**name)
        return false;
    if (*p == '[') {
        fits = in_class(p, c, &end);
        if (end) {
            *pattern = end;
            *name += length;
            return fits;
        }
    }
    if (*p == '\\' && p[1])
        p++;
    else if (*p == '?') {
        *pattern = p + 1;
        *name += length;
        return true;
    }
    fits = code_point(p, &p_length) == c && p_length == length;
    *pattern = p + p_length;
    *name += length;
    return fits;
}

bool ph__pattern_fits(const char *pattern, const char *name, size_t *ret_stem)
{
    const char *p = pattern, *n = name, *star = NULL, *taken = name;
    size_t length;

    while (*n || *p) {
        if (*p == '*') {
            star = ++p;
            taken = n;
            continue;
        }
        if (step(&p, &n))
            continue;
        if (!star || !*taken)
            return false;
        code_point(taken, &length); /* the last "*" takes one more */
        taken += length;
        p = star;
        n = taken;
    }
    *ret_stem = star ? (size_t)(taken - name) : strlen(name);
    return true;
}
