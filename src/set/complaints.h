/* complaints.h - the parts of an answer that made no sense: said when they are new, not at every
 * look. */
#ifndef PH_SET_COMPLAINTS_H
#define PH_SET_COMPLAINTS_H

#include "set/roster.h"

#define PH__COMPLAINTS_MAX 100 /* that are kept apart; the others are counted */

struct ph__complaint {
    const char *id;
    const char *key; /* only this one is left out; NULL: all of the database */
    const char *reason;
};

struct ph__complaints {
    struct ph__arena arena;
    struct ph__complaint *items; /* from the arena */
    size_t count, room;
    size_t more;
};

/* id may be any bytes, or NULL; so may key. */
void ph__complaints_add(struct ph__complaints *complaints, const char *id, const char *key,
                        const char *reason);
/* At the end of an answer: those about a key are about all of a database that is not in it. */
void ph__complaints_settle(struct ph__complaints *complaints, const struct ph__roster *answer);
/* Those of now that are not among those of before. */
struct ph__complaints ph__complaints_news(const struct ph__complaints *before,
                                          const struct ph__complaints *now);
/* source NULL: none. */
void ph__complaints_say(const struct ph__complaints *complaints, const ph_set *set,
                        const char *source);
void ph__complaints_free(struct ph__complaints *complaints);

#endif
