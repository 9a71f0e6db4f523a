/* check_work.c - assertions about streams, instances, receptors and checkpoints. */
#include "inquiry.h"
#include "verbs.h"

#include <stdlib.h>

static ph_door door_of(const struct inquiry *inquiry)
{
    return iso_option(inquiry->what, "door") ? PH_INBOX : PH_OUTBOX;
}

/* stream KEY KEY=VALUE… */
static bool check_stream(struct inquiry *inquiry)
{
    static const char *const states[] = { "idle", "ready", "scheduled", "in_progress", "blocked" };
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;
    const char *state = iso_option(inquiry->what, "state");
    const ph_stream_info *info;
    ph_streams *list = NULL;
    const char *is;
    bool holds;

    opts.door = door_of(inquiry);
    opts.ns = inquiry->engine->world.ns;
    opts.stream = inquiry->what->words[1];
    opts.idle_too = true;
    OK(ph_stream_list(inquiry->engine->setup.store, PH_OWN_TX, &opts, 0, &list, &t_err));
    info = ph_streams_at(list, 0);
    is = info ? states[info->state] : "gone";
    holds = !state || iso_one_of(is, state) || iso_found(inquiry, "it is %s", is);
    if (holds && info)
        holds = iso_number_holds(inquiry, "last", info->last_seq) &&
                iso_number_holds(inquiry, "next", info->next_seq) &&
                iso_number_holds(inquiry, "unsettled", info->unsettled);
    ph_streams_free(list);
    return holds;
}

/* order KEY NAME…: these are the messages of the stream, numbered without a gap. */
static bool check_order(struct inquiry *inquiry)
{
    const struct iso_command *what = inquiry->what;
    ph_messages *list = NULL;
    bool holds = true;
    size_t count;

    OK(ph_stream_read(inquiry->engine->setup.store, PH_OWN_TX, PH_OUTBOX, inquiry->engine->world.ns,
                      what->words[1], 0, 0, 0, &list, &t_err));
    count = ph_messages_count(list);
    if (count != what->count - 2)
        holds = iso_found(inquiry, "there are %zu", count);
    for (size_t i = 0; holds && i < count; i++) {
        const ph_delivery *message = ph_messages_at(list, i)->message;

        if (message->seq != (int64_t)i + 1 || strcmp(message->payload, what->words[i + 2]) != 0)
            holds =
                iso_found(inquiry, "number %lld is %s", (long long)message->seq, message->payload);
    }
    ph_messages_free(list);
    return holds;
}

/* instance NAME live|left|evicted|gone */
static bool check_instance(struct inquiry *inquiry)
{
    static const char *const states[] = { "", "live", "left", "evicted" };
    ph_owner id = iso_owner(inquiry->what->words[1]);
    ph_instances *list = NULL;
    const char *is = "gone";

    OK(ph_instance_list(inquiry->engine->setup.store, PH_OWN_TX,
                        T_OPTS(ph_instance_list_opts, .ended_too = true), 0, &list, &t_err));
    for (size_t i = 0; i < ph_instances_count(list); i++) {
        const ph_instance_info *info = ph_instances_at(list, i);

        if (memcmp(&info->id, &id, sizeof(id)) == 0)
            is = states[info->state];
    }
    ph_instances_free(list);
    return iso_one_of(is, inquiry->what->words[2]) || iso_found(inquiry, "it is %s", is);
}

/* checkpoint STREAM CONSUMER KEY=RANGE… */
static bool check_checkpoint(struct inquiry *inquiry)
{
    const struct iso_command *what = inquiry->what;
    ph_checkpoints *list = NULL;
    const ph_checkpoint_info *info;
    bool holds;

    OK(ph_checkpoint_list(inquiry->engine->setup.store, PH_OWN_TX,
                          T_OPTS(ph_checkpoint_list_opts, .door = door_of(inquiry),
                                 .ns = inquiry->engine->world.ns, .stream = what->words[1],
                                 .consumer = what->words[2]),
                          0, &list, &t_err));
    info = ph_checkpoints_at(list, 0);
    holds = iso_number_holds(inquiry, "seq", info ? info->seq : 0) &&
            iso_number_holds(inquiry, "ahead", info ? info->ahead : 0) &&
            iso_number_holds(inquiry, "error", info ? info->error_seq : 0);
    ph_checkpoints_free(list);
    return holds;
}

/* receptor NAME RECEPTOR completed|failed|none [attempts=RANGE] */
static bool check_receptor(struct inquiry *inquiry)
{
    const struct iso_command *what = inquiry->what;
    ph_work_id id = iso_world_id(&inquiry->engine->world, what->words[1]);
    ph_receptors *list = NULL;
    const char *is = "none";
    int attempts = 0;

    OK(ph_receptor_list(inquiry->engine->setup.store, PH_OWN_TX,
                        T_OPTS(ph_receptor_list_opts, .work_id = id), 0, &list, &t_err));
    for (size_t i = 0; i < ph_receptors_count(list); i++) {
        const ph_receptor_info *info = ph_receptors_at(list, i);

        if (strcmp(info->receptor, what->words[2]) != 0)
            continue;
        is = info->completed ? "completed" : "failed";
        attempts = info->attempts;
    }
    ph_receptors_free(list);
    return (iso_one_of(is, what->words[3]) || iso_found(inquiry, "it is %s", is)) &&
           iso_number_holds(inquiry, "attempts", attempts);
}

const struct iso_assertion iso_work_assertions[] = {
    { "stream", 3, check_stream },         { "order", 2, check_order },
    { "instance", 3, check_instance },     { "receptor", 4, check_receptor },
    { "checkpoint", 4, check_checkpoint },
};
const size_t iso_work_assertion_count = sizeof(iso_work_assertions) / sizeof(*iso_work_assertions);
