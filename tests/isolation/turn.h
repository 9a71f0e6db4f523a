/* turn.h - a verb while it runs, for the files that verbs are in. */
#ifndef ISO_TURN_H
#define ISO_TURN_H

#include "actor.h"

#define ITEMS_MAX ISO_WORDS_MAX

struct turn {
    struct iso_actor *actor;
    const struct iso_command *command;
    struct iso_result *result;
    ph_tx tx;
    ph_error err;
};

typedef int (*verb_function)(struct turn *turn);

struct iso_verb {
    const char *name;
    verb_function run;
};

/* "" if there are not so many words. */
const char *iso_word_at(const struct turn *turn, size_t index);
bool iso_has_word(const struct iso_command *command, const char *word);
/* The names among the words from index on: neither options nor "nofence". */
size_t iso_names_of(const struct iso_command *command, size_t from, const char **ret_names);

/* Joins (verbs_join.c). iso_refused: the join takes no more steps, which is an answer
 * (NAME:refused), not an error; returns 0. */
int iso_refused(struct turn *turn, const char *const *names, size_t count);
int iso_verb_join(struct turn *turn);
int iso_verb_attach(struct turn *turn);
int iso_verb_report(struct turn *turn);
int iso_verb_wait(struct turn *turn);
int iso_verb_join_cancel(struct turn *turn);

/* Timers, jobs and schedulers (verbs_schedule.c). */
extern const struct iso_verb iso_schedule_verbs[];
extern const size_t iso_schedule_verb_count;

#endif
