/* lane.c - the model's side of streams. */
#include "model.h"

const char *const m_streams[M_STREAMS] = { "s", "S " };

struct m_stream *m_stream_of(struct model *model, const struct m_message *message)
{
    return message->draft.stream < 0 ? NULL
                                     : &model->streams[message->draft.ns][message->draft.stream];
}

static bool is_of(const struct m_message *message, int ns, int stream)
{
    return message->place != M_GONE && message->draft.ns == ns && message->draft.stream == stream;
}

static bool is_busy(const struct model *model, int ns, int stream)
{
    const struct m_stream *lane = &model->streams[ns][stream];

    if (lane->blocked > 0 || lane->empty)
        return true;
    for (int k = 0; k < model->message_count; k++) {
        const struct m_message *message = &model->messages[k];

        if (is_of(message, ns, stream) &&
            (message->place == M_PENDING || message->place == M_LEASED))
            return true;
    }
    return false;
}

/* The first message that is parked, or -1. */
static int first_parked(const struct model *model, int ns, int stream)
{
    int first = -1;

    for (int k = 0; k < model->message_count; k++) {
        const struct m_message *message = &model->messages[k];

        if (is_of(message, ns, stream) && message->place == M_PARKED &&
            (first < 0 || message->seq < model->messages[first].seq))
            first = k;
    }
    return first;
}

/* Of an idle stream without a message nothing is remembered. */
void m_lane_forget(struct model *model, int ns, int stream)
{
    bool any = stream < 0 || is_busy(model, ns, stream);

    for (int k = 0; !any && k < model->message_count; k++)
        any = is_of(&model->messages[k], ns, stream);
    if (!any)
        model->streams[ns][stream].last_seq = 0;
}

static bool make_head(struct model *model, int ns, int stream)
{
    int first = first_parked(model, ns, stream);
    struct m_message *head = first < 0 ? NULL : &model->messages[first];

    if (!head)
        return false;
    head->place = M_PENDING;
    head->due = head->draft.due_at > model->now ? head->draft.due_at : model->now;
    head->attempts = head->lost = 0;
    return true;
}

void m_lane_go_on(struct model *model, int ns, int stream)
{
    if (make_head(model, ns, stream))
        return;
    model->streams[ns][stream].empty = model->keeps_tokens;
    model->streams[ns][stream].empty_due = model->now;
    m_lane_forget(model, ns, stream);
}

void m_lane_enter(struct model *model, struct m_message *message)
{
    struct m_stream *lane = m_stream_of(model, message);

    if (!lane)
        return;
    message->place = M_GONE; /* so that it does not count itself */
    message->place =
        is_busy(model, message->draft.ns, message->draft.stream) ? M_PARKED : M_PENDING;
    message->seq = ++lane->last_seq;
}

void m_lane_died(struct model *model, int index)
{
    const struct m_message *message = &model->messages[index];
    struct m_stream *lane = m_stream_of(model, message);

    if (!lane)
        return;
    if (model->queues[message->draft.ns].dead_head == PH_DEAD_HEAD_BLOCK)
        lane->blocked = index + 1;
    else
        m_lane_go_on(model, message->draft.ns, message->draft.stream);
}

bool m_lane_unblock(struct model *model, int index)
{
    struct m_stream *lane = m_stream_of(model, &model->messages[index]);
    bool blocks = lane && lane->blocked == index + 1;

    if (blocks)
        lane->blocked = 0;
    return blocks;
}

void m_park(struct m_message *message)
{
    message->place = M_PARKED;
    message->owner = -1;
    message->fence = 0;
    message->attempts = message->lost = 0;
}

bool m_tokens_wait(const struct model *model, int ns)
{
    const struct m_queue *queue = &model->queues[ns];

    for (int s = 0; queue->exists && !queue->paused && s < M_STREAMS; s++) {
        if (model->streams[ns][s].empty && model->streams[ns][s].empty_due <= model->now)
            return true;
    }
    return false;
}

void m_tokens_look(struct model *model, int ns)
{
    for (int s = 0; s < M_STREAMS; s++) {
        struct m_stream *lane = &model->streams[ns][s];

        if (!lane->empty || lane->empty_due > model->now)
            continue;
        lane->empty = false;
        if (!make_head(model, ns, s))
            m_lane_forget(model, ns, s);
    }
}

/* --------------------------------------------------------------------- claim */

/* What may follow this message in its run; -1: nothing. */
static int follower(const struct model *model, const struct m_claim *claim,
                    const struct m_message *last)
{
    int next = first_parked(model, last->draft.ns, last->draft.stream);
    const struct m_message *message = next < 0 ? NULL : &model->messages[next];

    return message && message->draft.due_at <= model->now &&
                   (claim->topics & 1u << message->draft.topic)
               ? next
               : -1;
}

int m_follow(struct model *model, const struct m_claim *claim, int last, int most, int *ret_taken)
{
    int count = 0;

    if (model->messages[last].draft.stream < 0)
        return 0;
    while (count < most && (last = follower(model, claim, &model->messages[last])) >= 0) {
        model->messages[last].due = model->now;
        m_take(model, claim, last);
        ret_taken[count++] = last;
    }
    return count;
}

/* -------------------------------------------------------------------- settle */

/* The messages of the run that this one is in, in order, from the first that is not settled. */
static int run_of(const struct model *model, const struct m_message *of, int *ret_run)
{
    int count = 0;

    for (int k = 0; k < model->message_count; k++) {
        const struct m_message *message = &model->messages[k];
        int at = count;

        if (message->place != M_LEASED || message->fence != of->fence ||
            !is_of(message, of->draft.ns, of->draft.stream))
            continue;
        for (; at > 0 && message->seq < model->messages[ret_run[at - 1]].seq; at--)
            ret_run[at] = ret_run[at - 1];
        ret_run[at] = k;
        count++;
    }
    return count;
}

static void park_rest(struct model *model, const int *run, int from, int count,
                      const struct m_item *const *asked, ph_outcome *const *outcomes)
{
    for (int i = from; i < count; i++) {
        m_park(&model->messages[run[i]]);
        if (asked && asked[i] && asked[i]->verb == PH_RELEASE)
            *outcomes[i] = PH_OUTCOME_RELEASED;
    }
}

/* asked, outcomes: of each message of the run, or NULL. Outcomes are stale until it is their turn. */
static void settle_run(struct model *model, const int *run, int count,
                       const struct m_item *const *asked, ph_outcome *const *outcomes)
{
    int ns = model->messages[run[0]].draft.ns, stream = model->messages[run[0]].draft.stream;
    int at = 0;

    for (; at < count && asked[at] && asked[at]->verb == PH_ACK; at++)
        *outcomes[at] = m_settle_one(model, &model->messages[run[at]], asked[at]);
    if (at == count) {
        m_lane_go_on(model, ns, stream);
    } else if (asked[at]) {
        park_rest(model, run, at + 1, count, asked, outcomes);
        *outcomes[at] = m_settle_one(model, &model->messages[run[at]], asked[at]);
        if (model->messages[run[at]].place == M_DEAD)
            m_lane_died(model, run[at]);
    } else {
        while (at < count && !(asked[at] && asked[at]->verb == PH_RELEASE))
            at++;
        park_rest(model, run, at, count, asked, outcomes);
    }
}

void m_settle_runs(struct model *model, const struct m_item *const *asked,
                   ph_outcome *const *outcomes)
{
    bool seen[M_MESSAGES] = { false };

    for (int k = 0; k < model->message_count; k++) {
        const struct m_item *items[M_MESSAGES];
        ph_outcome *answers[M_MESSAGES];
        int run[M_MESSAGES], count;

        if (!asked[k] || seen[k] || model->messages[k].draft.stream < 0)
            continue;
        count = run_of(model, &model->messages[k], run);
        for (int i = 0; i < count; i++) {
            items[i] = asked[run[i]];
            answers[i] = outcomes[run[i]];
            seen[run[i]] = true;
        }
        settle_run(model, run, count, items, answers);
    }
}

int m_lane_lost(struct model *model, int index)
{
    int run[M_MESSAGES], count;

    if (model->messages[index].draft.stream < 0)
        return index;
    count = run_of(model, &model->messages[index], run);
    park_rest(model, run, 1, count, NULL, NULL);
    return run[0];
}
