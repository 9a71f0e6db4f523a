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

/* The inbox, instances, receptors, checkpoints (verbs_work.c). */
extern const struct iso_verb iso_work_verbs[];
extern const size_t iso_work_verb_count;

/* The door that door= names; the outbox unless it says anything. */
ph_door iso_door(const struct turn *turn);

/* Messages to enqueue, by their names and the options of the command. */
struct iso_drafts {
    ph_message messages[ITEMS_MAX];
    char streams[ITEMS_MAX][32];
    ph_join_id join_id;
    ph_message_id shared;
};
int iso_drafts_make(struct turn *turn, const char *const *names, size_t count,
                    struct iso_drafts *ret_drafts);
/* Says which are new, and remembers their ids. */
void iso_enqueued(struct turn *turn, const char *const *names, const ph_enqueued *enqueued,
                  size_t count);
/* Says what was claimed, and remembers the fences. */
void iso_claimed(struct turn *turn, ph_owner owner, const ph_batch *batch);
/* The message as this session knows it: with the fence it was claimed under, unless the command
 * says nofence. */
ph_lease_ref iso_lease_of(const struct turn *turn, ph_owner owner, const char *name);
/* The verb that the text begins with; 0: none. */
ph_settle_verb iso_settle_verb(const char *text);
void iso_outcomes(struct turn *turn, const char *const *names, const ph_outcome *outcomes,
                  size_t count);

#endif
