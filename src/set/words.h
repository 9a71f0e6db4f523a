/* words.h - a line of a set file, word by word. */
#ifndef PH_SET_WORDS_H
#define PH_SET_WORDS_H

#include "util/arena.h"

#include <posthorn/posthorn.h>

struct ph__words {
    struct ph__arena arena;
    const char **items; /* from the arena */
    size_t count, room;
};

/* Words are separated by blanks; one with blanks stands in double quotes, where \" and \\ are a
 * quote and a backslash; # at the front of a word begins a comment. words is empty; free it in any
 * case. */
int ph__words_split(struct ph__words *words, const char *line, ph_error *err);
void ph__words_free(struct ph__words *words);

#endif
