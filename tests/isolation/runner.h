/* runner.h - one spec from beginning to end. */
#ifndef ISO_RUNNER_H
#define ISO_RUNNER_H

#include "spec.h"

#include <stdio.h>

/* What a run of a spec came to. */
struct iso_verdict {
    int rounds;    /* how many there were */
    int line;      /* of the assertion that failed; 0: none */
    char why[900]; /* "" if all is well */
};

/* Runs all permutations of the spec, then its races; stops at the first that
 * fails. Each round is one line in the output. */
struct iso_verdict iso_run(const struct iso_spec *spec);

/* The same for the file; ends the test if it fails, and records the
 * requirements that the spec proves if not. */
void iso_run_file(const char *path);

#endif
