/* verbs_join.c - the verbs of a spec that concern joins. */
#include "turn.h"
#include "verbs.h"

#include <stdlib.h>

static ph_join_id join_at(const struct turn *turn, size_t index)
{
    return iso_world_join_id(turn->actor->world, iso_word_at(turn, index));
}

int iso_refused(struct turn *turn, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        iso_result_add(turn->result, "%s:refused", names[i]);
    return 0;
}

/* join NAME STEPS [deadline=SECONDS] */
int iso_verb_join(struct turn *turn)
{
    int64_t deadline = iso_option_number(turn->command, "deadline", 0), now = 0;
    int steps = (int)strtol(iso_word_at(turn, 2), NULL, 10);
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_id join;
    int r = deadline ? ph_clock(turn->actor->store, turn->tx, 0, &now, &turn->err) : 0;

    opts.deadline = deadline ? now + deadline * T_SECOND : 0;
    if (r == 0)
        r = ph_join_start(turn->actor->store, turn->tx, steps, &opts, 0, &join, &turn->err);
    if (r == 0)
        iso_world_name_join(turn->actor->world, iso_word_at(turn, 1), join);
    return r;
}

/* attach JOIN NAME… */
int iso_verb_attach(struct turn *turn)
{
    const char *names[ITEMS_MAX];
    ph_message_id ids[ITEMS_MAX];
    size_t count = iso_names_of(turn->command, 2, names);
    int r;

    for (size_t i = 0; i < count; i++)
        ids[i] = iso_world_message_id(turn->actor->world, names[i]);
    r = ph_join_attach_many(turn->actor->store, turn->tx, join_at(turn, 1), ids, count, 0,
                            &turn->err);
    if (r == PH_ESTATE)
        return iso_refused(turn, names, count);
    for (size_t i = 0; r == 0 && i < count; i++)
        iso_result_add(turn->result, "%s:attached", names[i]);
    return r;
}

/* report JOIN NAME completed|failed */
int iso_verb_report(struct turn *turn)
{
    ph_message_id id = iso_world_message_id(turn->actor->world, iso_word_at(turn, 2));

    if (strcmp(iso_word_at(turn, 3), "completed") == 0)
        return ph_join_report_completed(turn->actor->store, turn->tx, join_at(turn, 1), id, 0,
                                        &turn->err);
    return ph_join_report_failed(turn->actor->store, turn->tx, join_at(turn, 1), id, 0, &turn->err);
}

/* wait JOIN NAME [flag] */
int iso_verb_wait(struct turn *turn)
{
    ph_wait wait = PH_WAIT_INIT;
    ph_message_id message_id;
    ph_work_id id;
    int r;

    wait.fail_if_any_step_failed = strcmp(iso_word_at(turn, 3), "flag") == 0;
    wait.on_complete_topic = "good";
    wait.on_complete_payload = "good";
    wait.on_fail_topic = "bad";
    wait.on_fail_payload = "bad";
    wait.ns = turn->actor->world->ns;
    r = ph_join_wait(turn->actor->store, turn->tx, join_at(turn, 1), &wait, 0, &id, &turn->err);
    if (r < 0)
        return r;
    memcpy(message_id.b, id.b, sizeof(message_id.b));
    iso_world_name(turn->actor->world, iso_word_at(turn, 2), id, message_id);
    return 0;
}

/* join_cancel JOIN */
int iso_verb_join_cancel(struct turn *turn)
{
    bool cancelled = false;
    int r =
        ph_join_cancel(turn->actor->store, turn->tx, join_at(turn, 1), 0, &cancelled, &turn->err);

    if (r == 0)
        iso_result_add(turn->result, "%s:%s", iso_word_at(turn, 1),
                       cancelled ? "cancelled" : "ended_before");
    return r;
}
