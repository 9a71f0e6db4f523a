#include "store/sqlite/sql_text.h"

#include <string.h>

#define IDENTIFIER "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* One {…}; returns the text after it, or NULL if it is none of ours. */
static const char *expand_one(struct ph__buffer *to, const char *at, const char *schema,
                              const char *prefix)
{
    if (strncmp(at, "{p}", 3) == 0) {
        size_t length = strspn(at + 3, IDENTIFIER);

        ph__buffer_printf(to, "%s\"%s%.*s\"", schema, prefix, (int)length, at + 3);
        return at + 3 + length;
    }
    if (strncmp(at, "{prefix}", 8) == 0) {
        ph__buffer_text(to, prefix);
        return at + 8;
    }
    return NULL;
}

static void expand(struct ph__buffer *to, const char *text, const char *schema, const char *prefix)
{
    const char *from = text, *mark;

    while ((mark = strchr(from, '{')) != NULL) {
        const char *after;

        ph__buffer_bytes(to, from, (size_t)(mark - from));
        after = expand_one(to, mark, schema, prefix);
        if (!after) {
            ph__buffer_bytes(to, mark, 1);
            after = mark + 1;
        }
        from = after;
    }
    ph__buffer_text(to, from);
}

void ph__sqlite_expand(struct ph__buffer *to, const char *text, const char *prefix)
{
    expand(to, text, "", prefix);
}

void ph__sqlite_expand_statement(struct ph__buffer *to, const char *text, const char *prefix)
{
    expand(to, text, "main.", prefix);
}
