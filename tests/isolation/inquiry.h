/* inquiry.h - an assertion while it is made, for the files that assertions are in. */
#ifndef ISO_INQUIRY_H
#define ISO_INQUIRY_H

#include "engine.h"

struct inquiry {
    struct iso_engine *engine;
    const struct iso_command *what;
    char *why;
    size_t size;
};

typedef bool (*assertion_function)(struct inquiry *inquiry);

struct iso_assertion {
    const char *name;
    size_t words; /* at least */
    assertion_function holds;
};

/* Says what was found instead; returns false. */
bool iso_found(struct inquiry *inquiry, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* alternatives: a|b|c */
bool iso_one_of(const char *word, const char *alternatives);
/* range: 3, or 1..3 */
bool iso_in_range(long long number, const char *range);
/* KEY=RANGE among the words holds, or is not there. */
bool iso_number_holds(struct inquiry *inquiry, const char *key, long long number);

/* Streams, instances, receptors, checkpoints (check_work.c). */
extern const struct iso_assertion iso_work_assertions[];
extern const size_t iso_work_assertion_count;

#endif
