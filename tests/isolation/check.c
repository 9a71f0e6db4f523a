/* check.c - assertions about the end of a permutation; README.md lists them. */
#include "check.h"

#include "inquiry.h"
#include "verbs.h"

#include <stdarg.h>
#include <stdlib.h>

bool iso_found(struct inquiry *inquiry, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(inquiry->why, inquiry->size, format, arguments);
    va_end(arguments);
    return false;
}

/* ----------------------------------------------------------------- patterns */

bool iso_one_of(const char *word, const char *alternatives)
{
    size_t length = strlen(word);

    while (*alternatives) {
        size_t end = strcspn(alternatives, "|");

        if (end == length && memcmp(word, alternatives, length) == 0)
            return true;
        alternatives += end + (alternatives[end] == '|');
    }
    return false;
}

bool iso_in_range(long long number, const char *range)
{
    const char *dots = strstr(range, "..");

    return number >= atoll(range) && number <= atoll(dots ? dots + 2 : range);
}

/* pattern: !word, or word|word */
static bool result_has(const struct iso_result *result, const char *pattern)
{
    char one[64];

    if (*pattern == '!')
        return iso_result_count(result, pattern + 1) == 0;
    while (*pattern) {
        size_t end = strcspn(pattern, "|");

        snprintf(one, sizeof(one), "%.*s", (int)end, pattern);
        if (iso_result_count(result, one) > 0)
            return true;
        pattern += end + (pattern[end] == '|');
    }
    return false;
}

static const struct iso_result *result_of(const struct iso_engine *engine,
                                          const struct iso_command *command, size_t index)
{
    const char *name = index < command->count ? command->words[index] : "";
    int step = iso_spec_step(engine->spec, name);

    if (step < 0)
        t_check(engine->spec->path, command->line, NULL, "there is such a step", false);
    return &engine->results[step];
}

/* when STEP < STEP, or when STEP PATTERN… */
static bool condition_holds(const struct iso_engine *engine, const struct iso_command *when)
{
    const struct iso_result *first;

    if (when->count == 0)
        return true;
    first = result_of(engine, when, 1);
    if (when->count == 4 && strcmp(when->words[2], "<") == 0)
        return first->ended < result_of(engine, when, 3)->started;
    for (size_t i = 2; i < when->count; i++) {
        if (!result_has(first, when->words[i]))
            return false;
    }
    return true;
}

/* --------------------------------------------------------- what steps answered */

/* result STEP PATTERN… */
static bool check_result(struct inquiry *inquiry)
{
    const struct iso_command *what = inquiry->what;
    const struct iso_result *result = result_of(inquiry->engine, what, 1);

    for (size_t i = 2; i < what->count; i++) {
        if (!result_has(result, what->words[i]))
            return iso_found(inquiry, "%s did not answer %s", what->words[1], what->words[i]);
    }
    return true;
}

/* total WORD RANGE: how often, in all steps together */
static bool check_total(struct inquiry *inquiry)
{
    const struct iso_command *what = inquiry->what;
    int count = 0;

    for (size_t i = 0; i < inquiry->engine->spec->step_count; i++)
        count += iso_result_count(&inquiry->engine->results[i], what->words[1]);
    if (iso_in_range(count, what->words[2]))
        return true;
    return iso_found(inquiry, "%s: %d times", what->words[1], count);
}

/* ---------------------------------------------------------- the state at the end */

static int history_count(const ph_message_info *info, const char *kind)
{
    int count = 0;

    for (size_t i = 0; i < info->history_count; i++)
        count += strcmp(info->history[i].kind, kind) == 0;
    return count;
}

/* One KEY=VALUE of "message". */
static bool detail_holds(struct inquiry *inquiry, const ph_message_info *info, const char *key,
                         const char *value)
{
    static const char *const kinds[] = { "abandoned", "failed", "released", "lost", "expired" };
    long long number = -1;

    if (strcmp(key, "owner") == 0) {
        ph_owner owner = iso_owner(value);

        return memcmp(&owner, &info->owner, sizeof(owner)) == 0 ||
               iso_found(inquiry, "another owner");
    }
    if (strcmp(key, "reason") == 0)
        return iso_one_of(info->dead_reason ? info->dead_reason : "none", value) ||
               iso_found(inquiry, "reason %s", info->dead_reason ? info->dead_reason : "none");
    if (strcmp(key, "attempts") == 0)
        number = info->message->attempts;
    else if (strcmp(key, "retry_count") == 0)
        number = info->message->retry_count;
    else if (strcmp(key, "seq") == 0)
        number = info->message->seq;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(key, kinds[i]) == 0)
            number = history_count(info, key);
    }
    return iso_in_range(number, value) || iso_found(inquiry, "%s %lld", key, number);
}

static bool details_hold(struct inquiry *inquiry, const ph_message_info *info)
{
    const struct iso_command *what = inquiry->what;
    char key[32];

    for (size_t i = 3; i < what->count; i++) {
        size_t length = strcspn(what->words[i], "=");

        snprintf(key, sizeof(key), "%.*s", (int)length, what->words[i]);
        if (!info)
            return iso_found(inquiry, "the message is gone");
        if (!detail_holds(inquiry, info, key, what->words[i] + length + 1))
            return false;
    }
    return true;
}

/* message NAME STATE|STATE… KEY=VALUE… */
static bool check_message(struct inquiry *inquiry)
{
    const struct iso_command *what = inquiry->what;
    ph_work_id id = iso_world_id(&inquiry->engine->world, what->words[1]);
    ph_message_info *info = NULL;
    const char *word = "gone";
    bool holds;

    OK(iso_look(inquiry->engine->setup.store, PH_OWN_TX, id, &word, &info, &t_err));
    if (iso_one_of(word, what->words[2]))
        holds = details_hold(inquiry, info);
    else
        holds = iso_found(inquiry, "%s is %s", what->words[1], word);
    ph_message_info_free(info);
    return holds;
}

/* How many messages say in their headers that this join has sent them. */
static long long continuations(struct inquiry *inquiry, ph_join_id join, const char *topic)
{
    char sql[300], id[PH_ID_TEXT_SIZE];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM {t}outbox WHERE CAST(headers AS text) LIKE '%%%s%%' AND topic "
             "LIKE '%s'",
             ph_id_text(join.b, id), topic);
    return t_number(inquiry->engine->setup.conn, sql);
}

bool iso_number_holds(struct inquiry *inquiry, const char *key, long long number)
{
    const char *range = iso_option(inquiry->what, key);

    return !range || iso_in_range(number, range) || iso_found(inquiry, "%s %lld", key, number);
}

/* join NAME KEY=VALUE… */
static bool check_join(struct inquiry *inquiry)
{
    ph_join_id id = iso_world_join_id(&inquiry->engine->world, inquiry->what->words[1]);
    const char *status = iso_option(inquiry->what, "status");
    ph_join_info *info = NULL;
    int r = ph_join_find(inquiry->engine->setup.store, PH_OWN_TX, id, 0, 0, &info, &t_err);
    bool holds;

    if (r == PH_ENOTFOUND)
        return (status && iso_one_of("gone", status)) || iso_found(inquiry, "the join is gone");
    OK(r);
    holds = (!status || iso_one_of(ph_join_state_text(info->state), status) ||
             iso_found(inquiry, "it is %s", ph_join_state_text(info->state))) &&
            iso_number_holds(inquiry, "completed", info->completed_steps) &&
            iso_number_holds(inquiry, "failed", info->failed_steps) &&
            iso_number_holds(inquiry, "attached", info->attached_steps) &&
            iso_number_holds(inquiry, "waits", info->open_waits) &&
            iso_number_holds(inquiry, "continuations", continuations(inquiry, id, "%")) &&
            iso_number_holds(inquiry, "good", continuations(inquiry, id, "good")) &&
            iso_number_holds(inquiry, "bad", continuations(inquiry, id, "bad"));
    ph_join_info_free(info);
    return holds;
}

/* count KEY=RANGE… */
static bool check_count(struct inquiry *inquiry)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    struct {
        const char *key;
        const int64_t *value;
    } keys[] = { { "ready", &counts.ready },
                 { "scheduled", &counts.scheduled },
                 { "in_progress", &counts.in_progress },
                 { "dead", &counts.dead },
                 { "parked", &counts.parked },
                 { "expired_leases", &counts.expired_leases } };

    OK(ph_outbox_count(inquiry->engine->setup.store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *range = iso_option(inquiry->what, keys[i].key);

        if (range && !iso_in_range(*keys[i].value, range))
            return iso_found(inquiry, "%s: %lld", keys[i].key, (long long)*keys[i].value);
    }
    return true;
}

/* rows TABLE RANGE */
static bool check_rows(struct inquiry *inquiry)
{
    const struct iso_command *what = inquiry->what;
    char sql[100];
    long long count;

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM {t}%s", what->words[1]);
    count = t_number(inquiry->engine->setup.conn, sql);
    return iso_in_range(count, what->words[2]) ||
           iso_found(inquiry, "%s: %lld rows", what->words[1], count);
}

/* same NAME NAME: both names stand for one message */
static bool check_same(struct inquiry *inquiry)
{
    ph_work_id a = iso_world_id(&inquiry->engine->world, inquiry->what->words[1]);
    ph_work_id b = iso_world_id(&inquiry->engine->world, inquiry->what->words[2]);

    return memcmp(&a, &b, sizeof(a)) == 0 || iso_found(inquiry, "they are two messages");
}

/* schema usable */
static bool check_schema(struct inquiry *inquiry)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;

    OK(ph_schema_inspect(inquiry->engine->setup.store, 0, &status, &t_err));
    return (status.usable && !status.pending) ||
           iso_found(inquiry, "version %d, usable %d, pending %d", status.installed, status.usable,
                     status.pending);
}

/* queue shown|gone */
static bool check_queue(struct inquiry *inquiry)
{
    bool shown = strcmp(inquiry->what->words[1], "shown") == 0;
    struct iso_actor *setup = &inquiry->engine->setup;
    ph_queues *list = NULL;
    size_t count;

    OK(ph_queue_list(setup->store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .ns = setup->world->ns), 0,
                     &list, &t_err));
    count = ph_queues_count(list);
    ph_queues_free(list);
    return count == shown || iso_found(inquiry, "%zu", count);
}

/* ------------------------------------------------------------------ the table */

bool iso_check_holds(struct iso_engine *engine, const struct iso_check *check, char *ret_why,
                     size_t size)
{
    static const struct iso_assertion assertions[] = {
        { "result", 3, check_result }, { "total", 3, check_total }, { "message", 3, check_message },
        { "count", 2, check_count },   { "rows", 3, check_rows },   { "same", 3, check_same },
        { "schema", 2, check_schema }, { "join", 3, check_join },   { "queue", 2, check_queue },
    };
    struct inquiry inquiry = { engine, &check->what, ret_why, size };

    if (!condition_holds(engine, &check->when))
        return true;
    for (size_t i = 0; i < sizeof(assertions) / sizeof(assertions[0]); i++) {
        if (strcmp(check->what.words[0], assertions[i].name) == 0 &&
            check->what.count >= assertions[i].words)
            return assertions[i].holds(&inquiry);
    }
    for (size_t i = 0; i < iso_work_assertion_count; i++) {
        if (strcmp(check->what.words[0], iso_work_assertions[i].name) == 0 &&
            check->what.count >= iso_work_assertions[i].words)
            return iso_work_assertions[i].holds(&inquiry);
    }
    return iso_found(&inquiry, "there is no such assertion, or too few words");
}
