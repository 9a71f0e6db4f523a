#include "store/sqlite/sql_text.h"

#include <string.h>

extern const struct ph__embedded ph__sqlite_macro_texts[];

#define IDENTIFIER "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* {name:argument}, if there is a macro of that name; returns what follows it. */
static const char *expand_macro(struct ph__buffer *to, const char *at)
{
    const char *name = at + 1, *argument;
    size_t name_length = strspn(name, IDENTIFIER), argument_length;

    if (name[name_length] != ':')
        return NULL;
    argument = name + name_length + 1;
    argument_length = strcspn(argument, "}");
    if (argument[argument_length] != '}')
        return NULL;
    for (const struct ph__embedded *macro = ph__sqlite_macro_texts; macro->name; macro++) {
        const char *from = macro->text, *mark;

        if (strlen(macro->name) != name_length || strncmp(macro->name, name, name_length) != 0)
            continue;
        for (; (mark = strstr(from, "{x}")) != NULL; from = mark + 3) {
            ph__buffer_bytes(to, from, (size_t)(mark - from));
            ph__buffer_bytes(to, argument, argument_length);
        }
        ph__buffer_text(to, from);
        return argument + argument_length + 1;
    }
    return NULL;
}

/* One {…}; returns what follows it, or NULL if it is none of ours. */
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
    return expand_macro(to, at);
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
