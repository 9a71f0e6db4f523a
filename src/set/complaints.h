/* complaints.h - what made no sense in an answer: said when it is new, not at every look. */
#ifndef PH_SET_COMPLAINTS_H
#define PH_SET_COMPLAINTS_H

#include "util/arena.h"

#include <posthorn/posthorn.h>

#define PH__COMPLAINTS_MAX 100 /* that are kept apart; the others are counted */

struct ph__complaint {
    const char *id, *reason;
};

struct ph__complaints {
    struct ph__arena arena;
    struct ph__complaint *items; /* from the arena */
    size_t count, room;
    size_t more;
};

/* id may be any bytes, or NULL. */
void ph__complaints_add(struct ph__complaints *complaints, const char *id, const char *reason);
/* Those of now that are not among those of before. */
struct ph__complaints ph__complaints_news(const struct ph__complaints *before,
                                          const struct ph__complaints *now);
/* source NULL: none. */
void ph__complaints_say(const struct ph__complaints *complaints, const ph_set *set,
                        const char *source);
void ph__complaints_free(struct ph__complaints *complaints);

#endif
