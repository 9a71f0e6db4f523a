/* verbs.h - the verbs of a spec: one line of it, one call of the library. */
#ifndef ISO_VERBS_H
#define ISO_VERBS_H

#include "actor.h"

bool iso_verb_exists(const char *name);

/* Runs one command and appends to the result what came of it. Returns 0 or the
 * status of the call, which is then in the result too. */
int iso_verb_run(struct iso_actor *actor, const struct iso_command *command,
                 struct iso_result *result);

/* The value of KEY=VALUE among the words, or NULL. */
const char *iso_option(const struct iso_command *command, const char *key);
int64_t iso_option_number(const struct iso_command *command, const char *key, int64_t otherwise);

/* "conflict" for PH_ECONFLICT, and so on. */
const char *iso_status_word(int status, char *space, size_t size);

/* The message's status as a word, "gone" if there is none; *ret_info (may be
 * NULL) is the caller's to free, NULL if gone. Negative status on failure. */
int iso_look(ph_store *store, ph_tx tx, ph_work_id id, const char **ret_word,
             ph_message_info **ret_info, ph_error *err);

#endif
