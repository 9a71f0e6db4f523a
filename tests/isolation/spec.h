/* spec.h - a spec file in memory: README.md describes the language.
 *
 * Everything points into the text of the file, which lives as long as the
 * spec. The limits are those of a spec that a reader can still follow. */
#ifndef ISO_SPEC_H
#define ISO_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#define ISO_SESSIONS_MAX 4
#define ISO_STEPS_MAX 16    /* of all sessions together */
#define ISO_COMMANDS_MAX 12 /* of a step, or of the setup */
#define ISO_WORDS_MAX 16    /* of a command */
#define ISO_CHECKS_MAX 40
#define ISO_LISTED_MAX 24 /* permutations named one by one */
#define ISO_REACHES_MAX 12

/* A verb with its arguments, or any other sequence of words. */
struct iso_command {
    int line;
    size_t count;
    char *words[ISO_WORDS_MAX];
};

struct iso_step {
    char *name;
    int line;
    size_t session; /* index */
    struct iso_command commands[ISO_COMMANDS_MAX];
    size_t command_count;
};

struct iso_session {
    char *name;
    size_t steps[ISO_STEPS_MAX]; /* indexes, in order */
    size_t step_count;
};

/* An assertion, and the condition under which it is made (no words: always). */
struct iso_check {
    struct iso_command when, what;
};

struct iso_spec {
    char path[512];
    char *text;

    struct iso_command proves; /* requirement ids */
    struct iso_command may;    /* errors that a session may meet */
    bool bare;                 /* there is no schema yet */
    int race;                  /* rounds without forced order */

    struct iso_command setup[ISO_COMMANDS_MAX];
    size_t setup_count;
    struct iso_session sessions[ISO_SESSIONS_MAX];
    size_t session_count;
    struct iso_step steps[ISO_STEPS_MAX];
    size_t step_count;

    bool all; /* every interleaving */
    struct iso_command listed[ISO_LISTED_MAX];
    size_t listed_count;

    struct iso_check checks[ISO_CHECKS_MAX];
    size_t check_count;
    struct iso_command reaches[ISO_REACHES_MAX];
    size_t reach_count;
};

/* Reads and checks a file; on a mistake it says where, and ends the test. */
struct iso_spec *iso_spec_load(const char *path);
void iso_spec_free(struct iso_spec *spec);

/* Index of the step of that name, or -1. */
int iso_spec_step(const struct iso_spec *spec, const char *name);

#endif
