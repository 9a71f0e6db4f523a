/* engine.h - runs the steps of the sessions, each session in a thread, in the
 * order that is asked for. */
#ifndef ISO_ENGINE_H
#define ISO_ENGINE_H

#include "actor.h"
#include "permute.h"
#include "watch.h"

struct iso_worker {
    struct iso_engine *engine;
    struct iso_actor actor;
    pthread_t thread;
    const struct iso_step *step; /* what it is to do, or does */
    bool busy, stop;             /* under the engine's lock */
};

struct iso_engine {
    const struct iso_spec *spec;
    struct iso_world world;
    struct iso_actor setup; /* also makes the checks */
    struct iso_worker workers[ISO_SESSIONS_MAX];
    struct iso_watch watch;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int events; /* how many starts and ends of steps there were */
    int round;  /* permutations and races so far */
    struct iso_result results[ISO_STEPS_MAX];
    struct iso_result setup_result;
    char problem[400]; /* why the permutation failed, or "" */
    bool stuck;        /* a session never came back: its thread cannot be joined */
};

/* Connects everyone and starts the threads. */
struct iso_engine *iso_engine_new(const struct iso_spec *spec);
void iso_engine_free(struct iso_engine *engine);

/* Makes the database as new, runs the setup, then the steps: in this order, or
 * (order NULL) all sessions at once. False if that did not go as it must;
 * then engine->problem says why. */
bool iso_engine_run(struct iso_engine *engine, const struct iso_order *order);

/* One line: the steps in the order in which they began, with their results. */
void iso_engine_trace(const struct iso_engine *engine, FILE *to);

#endif
