#include "set/words.h"

#include "core/error.h"

#include <string.h>

#define BLANKS " \t\r\v\f"

/* Copies a word in quotes to to, which has room for it; *at is behind the first quote, and comes to
 * stand behind the last. */
static int unquote(const char **at, char *to, ph_error *err)
{
    const char *from = *at;

    while (*from != '"') {
        if (from[0] == '\\' && (from[1] == '"' || from[1] == '\\'))
            from++;
        else if (*from == '\\')
            return ph__fail(err, PH_EINVAL,
                            "in quotes, only a quote or another backslash may follow a backslash");
        if (!*from)
            return ph__fail(err, PH_EINVAL, "a quote is not closed");
        *to++ = *from++;
    }
    *to = '\0';
    *at = from + 1;
    if (**at && !strchr(BLANKS, **at))
        return ph__fail(err, PH_EINVAL, "a blank must follow the closing quote");
    return 0;
}

/* Of a word at its first byte, with its quotes, if it has any. */
static size_t length_of(const char *word)
{
    size_t length = 1;

    if (*word != '"')
        return strcspn(word, BLANKS);
    while (word[length] && word[length] != '"')
        length += word[length] == '\\' && word[length + 1] ? 2 : 1;
    return length + (word[length] == '"');
}

static int take(struct ph__words *words, const char **at, ph_error *err)
{
    size_t length = length_of(*at);
    char *word = ph__arena_copy(&words->arena, *at, length);
    const char **added =
        word ? PH__ARENA_ADD(&words->arena, words->items, words->count, words->room) : NULL;
    int r = 0;

    if (!added)
        return ph__fail_memory(err);
    if (**at == '"') {
        (*at)++;
        r = unquote(at, word, err);
    } else {
        *at += length;
    }
    *added = word;
    return r;
}

int ph__words_split(struct ph__words *words, const char *line, ph_error *err)
{
    int r = 0;

    for (line += strspn(line, BLANKS); r == 0 && *line && *line != '#';
         line += strspn(line, BLANKS))
        r = take(words, &line, err);
    return r;
}

void ph__words_free(struct ph__words *words)
{
    ph__arena_free(&words->arena);
    *words = (struct ph__words){ 0 };
}
