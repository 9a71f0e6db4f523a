/* flow.c - see flow.h. What a race has left behind may look right and be stuck: a stream without a
 * token, or with one that nobody ever takes. So the rest is worked off, by someone who has nothing
 * to do with the sessions. */
#include "flow.h"

#define STREAMS_MAX 8
#define LOOKS_MAX 20
#define LOOK_S 600 /* longer than any lease or delay in a spec */

struct flow {
    struct iso_engine *engine;
    struct {
        char key[32];
        ph_door door;
        int64_t seq; /* of the last one that came */
    } streams[STREAMS_MAX];
    size_t count;
    char *why;
    size_t size;
};

/* Notes that this one came; false if one behind it had come before. */
static bool in_order(struct flow *flow, ph_door door, const ph_delivery *delivery)
{
    size_t i = 0;

    if (!delivery->stream)
        return true;
    while (i < flow->count &&
           (flow->streams[i].door != door || strcmp(flow->streams[i].key, delivery->stream) != 0))
        i++;
    CHECK(i < STREAMS_MAX);
    if (i == flow->count) {
        snprintf(flow->streams[i].key, sizeof(flow->streams[i].key), "%s", delivery->stream);
        flow->streams[i].door = door;
        flow->count++;
    }
    if (delivery->seq <= flow->streams[i].seq) {
        snprintf(flow->why, flow->size, "afterwards %s (number %lld) came behind number %lld",
                 delivery->payload, (long long)delivery->seq, (long long)flow->streams[i].seq);
        return false;
    }
    flow->streams[i].seq = delivery->seq;
    return true;
}

/* Claims and acks once; *ret_count: how many came. */
static bool look(struct flow *flow, ph_door door, size_t *ret_count)
{
    ph_store *store = flow->engine->setup.store;
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = iso_owner("afterwards");
    ph_lease_ref refs[50];
    ph_outcome outcomes[50];
    ph_batch *batch = NULL;
    bool ok = true;

    opts.ns = flow->engine->world.ns;
    OK(door == PH_INBOX ? ph_inbox_claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err)
                        : ph_outbox_claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err));
    *ret_count = ph_batch_count(batch);
    for (size_t i = 0; i < *ret_count; i++) {
        ok = ok && in_order(flow, door, ph_batch_at(batch, i));
        refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    }
    OK(door == PH_INBOX
           ? ph_inbox_ack(store, PH_OWN_TX, owner, refs, *ret_count, 0, outcomes, &t_err)
           : ph_outbox_ack(store, PH_OWN_TX, owner, refs, *ret_count, 0, outcomes, &t_err));
    for (size_t i = 0; ok && i < *ret_count; i++) {
        ok = outcomes[i] == PH_OUTCOME_ACKED;
        if (!ok)
            snprintf(flow->why, flow->size, "afterwards an ack of number %lld of a run was %s",
                     (long long)ph_batch_at(batch, i)->seq, ph_outcome_text(outcomes[i]));
    }
    ph_batch_free(batch);
    return ok;
}

/* Only a dead head may hold up a stream. */
static bool all_went(struct flow *flow, ph_door door)
{
    static const char *const states[] = { "idle", "ready", "scheduled", "in progress", "blocked" };
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;
    ph_streams *list = NULL;
    bool ok = true;

    opts.door = door;
    opts.ns = flow->engine->world.ns;
    OK(ph_stream_list(flow->engine->setup.store, PH_OWN_TX, &opts, 0, &list, &t_err));
    for (size_t i = 0; ok && i < ph_streams_count(list); i++) {
        const ph_stream_info *info = ph_streams_at(list, i);

        ok = info->state == PH_STREAM_BLOCKED;
        if (!ok)
            snprintf(flow->why, flow->size, "afterwards the stream %s stands still: %s, from %lld",
                     info->stream, states[info->state], (long long)info->next_seq);
    }
    ph_streams_free(list);
    return ok;
}

/* Without a stream there is nothing to do. */
static bool door_flows(struct flow *flow, ph_door door)
{
    char sql[120];
    size_t count = 1;
    bool ok = true;

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM {t}stream s JOIN {t}queue q ON q.id = s.queue WHERE q.door = %d",
             (int)door);
    if (t_number(flow->engine->setup.conn, sql) == 0)
        return true;
    for (int i = 0; ok && i < LOOKS_MAX && count > 0; i++) {
        t_clock_advance(flow->engine->setup.store, LOOK_S * T_SECOND);
        ok = look(flow, door, &count);
    }
    return ok && all_went(flow, door);
}

bool iso_streams_flow(struct iso_engine *engine, char *ret_why, size_t size)
{
    struct flow flow = { .engine = engine, .why = ret_why, .size = size };

    return door_flows(&flow, PH_OUTBOX) && door_flows(&flow, PH_INBOX);
}
