#include "extension/json_text.h"

#include <string.h>

#define SPACE " \t\r\n"

static const char *skip_space(const char *at)
{
    return at + strspn(at, SPACE);
}

static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\')
            at++;
    }
    return at + 1;
}

static const char *skip_value(const char *at)
{
    size_t depth = 0;

    if (*at != '{' && *at != '[' && *at != '"')
        return at + strcspn(at, ",]}" SPACE);
    do {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        at++;
    } while (depth > 0);
    return at;
}

const char *ph__json_first(const char *array)
{
    const char *at = skip_space(skip_space(array) + 1);

    return *at == ']' ? NULL : at;
}

const char *ph__json_next(const char *value)
{
    const char *at = skip_space(skip_value(value));

    return *at == ',' ? skip_space(at + 1) : NULL;
}

const char *ph__json_member(const char *object, const char *name, size_t *ret_length)
{
    const char *at = skip_space(skip_space(object) + 1);

    while (*at == '"') {
        const char *key = at + 1, *after = skip_string(at), *value;

        value = skip_space(skip_space(after) + 1);
        if ((size_t)(after - key) == strlen(name) + 1 && strncmp(key, name, strlen(name)) == 0) {
            *ret_length = (size_t)(skip_value(value) - value);
            return value;
        }
        at = ph__json_next(value);
        if (!at)
            return NULL;
    }
    return NULL;
}
