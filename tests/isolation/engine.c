/* engine.c - see engine.h. All that threads share is under engine->lock; a
 * step's result belongs to its thread while the worker is busy. */
#include "engine.h"

#include "reset.h"
#include "util/deadline.h"
#include "verbs.h"

#include <stdlib.h>
#include <time.h>

#define POLL_MS 2 /* how often the database is asked who is blocked */

/* --------------------------------------------------------------- the threads */

/* An error inside a transaction ends the session: what it would do next is
 * not what the spec is about. */
static void give_up(struct iso_actor *actor)
{
    ph_error ignored;

    if (!atomic_load(&actor->in_tx))
        return;
    (void)iso_actor_rollback(actor, &ignored);
    actor->ended = true;
}

static void step_run(struct iso_actor *actor, const struct iso_step *step,
                     struct iso_result *result)
{
    for (size_t i = 0; i < step->command_count; i++) {
        if (iso_verb_run(actor, &step->commands[i], result) < 0) {
            give_up(actor);
            return;
        }
    }
}

static void *worker_main(void *context)
{
    struct iso_worker *worker = context;
    struct iso_engine *engine = worker->engine;

    pthread_mutex_lock(&engine->lock);
    while (!worker->stop) {
        struct iso_result *result;

        if (!worker->busy) {
            pthread_cond_wait(&engine->changed, &engine->lock);
            continue;
        }
        result = &engine->results[worker->step - engine->spec->steps];
        pthread_mutex_unlock(&engine->lock);
        step_run(&worker->actor, worker->step, result);
        pthread_mutex_lock(&engine->lock);
        result->ended = ++engine->events;
        worker->busy = false;
        pthread_cond_broadcast(&engine->changed);
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

/* ------------------------------------------------------------ start and wait
 * These are called with the lock held. */

static void worker_start(struct iso_engine *engine, const struct iso_step *step)
{
    struct iso_worker *worker = &engine->workers[step->session];
    struct iso_result *result = &engine->results[step - engine->spec->steps];

    worker->step = step;
    result->started = ++engine->events;
    if (worker->actor.ended) {
        iso_result_add(result, "skipped");
        result->ended = ++engine->events;
        return;
    }
    worker->busy = true;
    pthread_cond_broadcast(&engine->changed);
}

static size_t busy_count(const struct iso_engine *engine)
{
    size_t count = 0;

    for (size_t i = 0; i < engine->spec->session_count; i++)
        count += engine->workers[i].busy;
    return count;
}

static void wait_ms(struct iso_engine *engine, int ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&engine->changed, &engine->lock, &until);
}

/* True if every busy worker waits for another session. */
static bool all_blocked(struct iso_engine *engine)
{
    struct iso_actor *actors[ISO_SESSIONS_MAX];
    bool busy[ISO_SESSIONS_MAX], blocked;
    size_t count = engine->spec->session_count;
    int events = engine->events;

    for (size_t i = 0; i < count; i++) {
        actors[i] = &engine->workers[i].actor;
        busy[i] = engine->workers[i].busy;
    }
    pthread_mutex_unlock(&engine->lock);
    blocked = iso_watch_all_blocked(&engine->watch, actors, busy, count);
    pthread_mutex_lock(&engine->lock);
    return blocked && engine->events == events; /* else a step ended meanwhile */
}

static bool stuck(struct iso_engine *engine)
{
    snprintf(engine->problem, sizeof(engine->problem), "%zu sessions did not end within %d ms",
             busy_count(engine), ISO_PATIENCE_MS);
    engine->stuck = true;
    return false;
}

/* Waits until no step runs: each has ended or is blocked. */
static bool settle(struct iso_engine *engine)
{
    ph__deadline deadline = ph__deadline_in(ISO_PATIENCE_MS);

    while (busy_count(engine) > 0) {
        int events = engine->events;

        wait_ms(engine, POLL_MS);
        if (engine->events != events || busy_count(engine) == 0)
            continue;
        if (all_blocked(engine))
            break;
        if (ph__deadline_left_ms(deadline) == 0)
            return stuck(engine);
    }
    for (size_t i = 0; i < engine->spec->session_count; i++) {
        if (engine->workers[i].busy)
            engine->results[engine->workers[i].step - engine->spec->steps].blocked = true;
    }
    return true;
}

/* Waits until a step ends. */
static bool wait_for_one(struct iso_engine *engine)
{
    ph__deadline deadline = ph__deadline_in(ISO_PATIENCE_MS);
    int events = engine->events;

    while (engine->events == events) {
        wait_ms(engine, 20);
        if (ph__deadline_left_ms(deadline) == 0)
            return stuck(engine);
    }
    return true;
}

/* -------------------------------------------------------------- forced order */

/* The first step in the order that has not begun and whose session is free;
 * -1 if there is none. */
static int next_step(const struct iso_engine *engine, const struct iso_order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        size_t step = order->steps[i];
        bool busy = engine->workers[engine->spec->steps[step].session].busy;

        if (!engine->results[step].started && !busy)
            return (int)step;
    }
    return -1;
}

static bool run_forced(struct iso_engine *engine, const struct iso_order *order)
{
    for (size_t begun = 0; begun < order->count;) {
        int step = next_step(engine, order);

        if (step < 0) {
            if (!wait_for_one(engine))
                return false;
            continue;
        }
        worker_start(engine, &engine->spec->steps[step]);
        begun++;
        if (!settle(engine))
            return false;
    }
    while (busy_count(engine) > 0) {
        if (!wait_for_one(engine))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- free order */

static bool run_racing(struct iso_engine *engine)
{
    size_t begun[ISO_SESSIONS_MAX] = { 0 }, left = engine->spec->step_count;

    while (left > 0 || busy_count(engine) > 0) {
        for (size_t i = 0; i < engine->spec->session_count; i++) {
            const struct iso_session *session = &engine->spec->sessions[i];

            if (!engine->workers[i].busy && begun[i] < session->step_count) {
                worker_start(engine, &engine->spec->steps[session->steps[begun[i]++]]);
                left--;
            }
        }
        if (busy_count(engine) > 0 && !wait_for_one(engine))
            return false;
    }
    return true;
}

/* --------------------------------------------------------------- one round */

static bool run_setup(struct iso_engine *engine)
{
    for (size_t i = 0; i < engine->spec->setup_count; i++) {
        const struct iso_command *command = &engine->spec->setup[i];

        if (iso_verb_run(&engine->setup, command, &engine->setup_result) < 0) {
            snprintf(engine->problem, sizeof(engine->problem), "setup, line %d: %s: %s",
                     command->line, command->words[0], engine->setup_result.err.message);
            return false;
        }
    }
    return true;
}

/* Sessions know the fences of what the setup claimed. */
static void hand_over(struct iso_engine *engine)
{
    for (size_t i = 0; i < engine->spec->session_count; i++) {
        struct iso_actor *actor = &engine->workers[i].actor;

        memcpy(actor->leases, engine->setup.leases, sizeof(actor->leases));
        actor->lease_count = engine->setup.lease_count;
        actor->due_count = 0;
        actor->ended = false;
    }
}

static bool may_fail_with(const struct iso_spec *spec, int status)
{
    char word[32];

    iso_status_word(status, word, sizeof(word));
    for (size_t i = 0; i < spec->may.count; i++) {
        if (strcmp(spec->may.words[i], word) == 0)
            return true;
    }
    return false;
}

static bool results_allowed(struct iso_engine *engine)
{
    for (size_t i = 0; i < engine->spec->step_count; i++) {
        const struct iso_result *result = &engine->results[i];

        if (result->status < 0 && !may_fail_with(engine->spec, result->status)) {
            snprintf(engine->problem, sizeof(engine->problem), "step %s: %s [%s]",
                     engine->spec->steps[i].name, result->err.message, result->err.sqlstate);
            return false;
        }
    }
    for (size_t i = 0; i < engine->spec->session_count; i++) {
        if (atomic_load(&engine->workers[i].actor.in_tx)) {
            snprintf(engine->problem, sizeof(engine->problem),
                     "session %s ends with its transaction open", engine->spec->sessions[i].name);
            return false;
        }
    }
    return true;
}

bool iso_engine_run(struct iso_engine *engine, const struct iso_order *order)
{
    bool ok;

    memset(engine->results, 0, sizeof(engine->results));
    memset(&engine->setup_result, 0, sizeof(engine->setup_result));
    engine->problem[0] = 0;
    engine->round++;
    iso_reset(engine);
    if (!run_setup(engine))
        return false;
    pthread_mutex_lock(&engine->lock);
    hand_over(engine);
    ok = order ? run_forced(engine, order) : run_racing(engine);
    pthread_mutex_unlock(&engine->lock);
    return ok && results_allowed(engine);
}

void iso_engine_trace(const struct iso_engine *engine, FILE *to)
{
    fprintf(to, "%4d", engine->round);
    for (int event = 1; event <= engine->events; event++) {
        for (size_t i = 0; i < engine->spec->step_count; i++) {
            const struct iso_result *result = &engine->results[i];
            size_t length = strlen(result->words);

            if (result->started != event)
                continue;
            fprintf(to, "  %s(%s%.*s%s)", engine->spec->steps[i].name,
                    result->blocked ? length ? "blocked " : "blocked" : "",
                    (int)(length ? length - 1 : 0), result->words, result->ended ? "" : " …");
        }
    }
    fprintf(to, "\n");
}

/* --------------------------------------------------------- beginning and end */

struct iso_engine *iso_engine_new(const struct iso_spec *spec)
{
    struct iso_engine *engine = calloc(1, sizeof(*engine));
    pthread_condattr_t monotonic;

    CHECK(engine);
    engine->spec = spec;
    pthread_mutex_init(&engine->world.lock, NULL);
    pthread_mutex_init(&engine->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&engine->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    iso_watch_open(&engine->watch);
    if (!spec->bare)
        iso_actors_open(engine);
    for (size_t i = 0; i < spec->session_count; i++) {
        engine->workers[i].engine = engine;
        CHECK_INT(
            pthread_create(&engine->workers[i].thread, NULL, worker_main, &engine->workers[i]), 0);
    }
    return engine;
}

void iso_engine_free(struct iso_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < engine->spec->session_count; i++)
        engine->workers[i].stop = true;
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    for (size_t i = 0; i < engine->spec->session_count; i++)
        pthread_join(engine->workers[i].thread, NULL);
    iso_actors_close(engine);
    iso_watch_close(&engine->watch);
    pthread_cond_destroy(&engine->changed);
    pthread_mutex_destroy(&engine->lock);
    pthread_mutex_destroy(&engine->world.lock);
    free(engine);
}
