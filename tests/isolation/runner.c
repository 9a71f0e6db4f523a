/* runner.c - one spec from beginning to end. */
#include "runner.h"

#include "check.h"
#include "flow.h"
#include "verbs.h"

#include <stdlib.h>

struct run {
    const struct iso_spec *spec;
    struct iso_engine *engine;
    struct iso_verdict verdict;
    bool reached[ISO_REACHES_MAX][ISO_WORDS_MAX];
};

static void commands_check(const struct iso_spec *spec, const struct iso_command *commands,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!iso_verb_exists(commands[i].words[0])) {
            printf("%s\n", commands[i].words[0]);
            t_check(spec->path, commands[i].line, NULL, "there is such a verb", false);
        }
    }
}

static void verbs_check(const struct iso_spec *spec)
{
    commands_check(spec, spec->setup, spec->setup_count);
    for (size_t i = 0; i < spec->step_count; i++)
        commands_check(spec, spec->steps[i].commands, spec->steps[i].command_count);
}

/* ------------------------------------------------------------------- rounds */

static bool checks_hold(struct run *run)
{
    char why[300] = "";

    for (size_t i = 0; i < run->spec->check_count; i++) {
        const struct iso_check *check = &run->spec->checks[i];
        char text[300] = "";

        if (iso_check_holds(run->engine, check, why, sizeof(why)))
            continue;
        for (size_t w = 0; w < check->what.count; w++) {
            size_t length = strlen(text);

            snprintf(text + length, sizeof(text) - length, "%s%s", w ? " " : "",
                     check->what.words[w]);
        }
        run->verdict.line = check->what.line;
        snprintf(run->verdict.why, sizeof(run->verdict.why), "round %d: %s: %s", run->engine->round,
                 text, why);
        return false;
    }
    return true;
}

static bool streams_flow(struct run *run)
{
    char why[300] = "";

    if (iso_streams_flow(run->engine, why, sizeof(why)))
        return true;
    run->verdict.line = 1;
    snprintf(run->verdict.why, sizeof(run->verdict.why), "round %d: %s", run->engine->round, why);
    return false;
}

/* step "*" stands for any. */
static bool answered(const struct run *run, const char *step, const char *word)
{
    for (size_t i = 0; i < run->spec->step_count; i++) {
        if ((strcmp(step, "*") == 0 || strcmp(step, run->spec->steps[i].name) == 0) &&
            iso_result_count(&run->engine->results[i], word) > 0)
            return true;
    }
    return false;
}

static void reaches_note(struct run *run)
{
    for (size_t i = 0; i < run->spec->reach_count; i++) {
        const struct iso_command *reach = &run->spec->reaches[i];

        for (size_t w = 1; w < reach->count; w++)
            run->reached[i][w] |= answered(run, reach->words[0], reach->words[w]);
    }
}

static bool round_run(struct run *run, const struct iso_order *order)
{
    bool ok = iso_engine_run(run->engine, order);

    run->verdict.rounds++;
    iso_engine_trace(run->engine, stdout);
    if (!ok) {
        run->verdict.line = 1;
        snprintf(run->verdict.why, sizeof(run->verdict.why), "round %d: %s", run->engine->round,
                 run->engine->problem);
        return false;
    }
    if (!run->spec->bare) {
        if (t_is_pg()) /* as the next claim would do: see there */
            t_sql(run->engine->setup.conn, "SELECT {t}work_join_settle({t}clock(), 1000)");
        t_check_places(run->engine->setup.conn);
        t_check_joins(run->engine->setup.conn);
    }
    if (order)
        reaches_note(run);
    return checks_hold(run) && (run->spec->bare || streams_flow(run));
}

/* A spec that never gets to the situation it is about proves nothing. A last
 * word "on" BACKEND limits the demand to that one. */
static bool reaches_hold(struct run *run)
{
    for (size_t i = 0; i < run->spec->reach_count; i++) {
        const struct iso_command *reach = &run->spec->reaches[i];
        size_t count = reach->count;

        if (count > 3 && strcmp(reach->words[count - 2], "on") == 0) {
            if (strcmp(reach->words[count - 1], t_backend()) != 0)
                continue;
            count -= 2;
        }
        for (size_t w = 1; w < count; w++) {
            if (run->reached[i][w])
                continue;
            run->verdict.line = reach->line;
            snprintf(run->verdict.why, sizeof(run->verdict.why),
                     "in no permutation did %s answer %s", reach->words[0], reach->words[w]);
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------- a spec */

struct iso_verdict iso_run(const struct iso_spec *spec)
{
    struct run run = { .spec = spec };
    struct iso_permuter permuter = { 0 };
    struct iso_order order;
    bool ok = true;

    verbs_check(spec);
    run.engine = iso_engine_new(spec);
    while (ok && iso_permute_next(&permuter, spec, &order))
        ok = round_run(&run, &order);
    for (int i = 0; ok && i < spec->race; i++)
        ok = round_run(&run, NULL);
    if (ok)
        reaches_hold(&run);
    if (run.engine->stuck)
        t_check(spec->path, 1, NULL, run.verdict.why, false);
    iso_engine_free(run.engine);
    return run.verdict;
}

void iso_run_file(const char *path)
{
    struct iso_spec *spec = iso_spec_load(path);
    struct iso_verdict verdict = iso_run(spec);

    if (verdict.line)
        t_check(spec->path, verdict.line, NULL, verdict.why, false);
    for (size_t i = 0; i < spec->proves.count; i++)
        t_check(spec->path, spec->proves.line, spec->proves.words[i], "all rounds hold", true);
    printf("%d rounds\n", verdict.rounds);
    iso_spec_free(spec);
}
