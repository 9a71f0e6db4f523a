/* steer.c - the model's side of what operators do. */
#include "model.h"

/* Which of these is put back next: of a stream the one with the lowest number. -1: none. */
static int next_retried(const struct model *model, const int *messages, int count)
{
    int next = -1;

    for (int i = 0; i < count; i++) {
        const struct m_message *message = messages[i] < 0 ? NULL : &model->messages[messages[i]];
        const struct m_message *best = next < 0 ? NULL : &model->messages[messages[next]];

        if (message && message->place == M_DEAD && message->retried_as < 0 &&
            (!best || message->seq < best->seq))
            next = i;
    }
    return next;
}

void m_dead_retry(struct model *model, const int *messages, int count, int *ret_new)
{
    for (int i = 0; i < count; i++)
        ret_new[i] = -1;
    for (int i; (i = next_retried(model, messages, count)) >= 0;) {
        struct m_message *dead = &model->messages[messages[i]];
        struct m_message *again = &model->messages[model->message_count];

        *again = (struct m_message){
            .draft = dead->draft,
            .message_id = dead->message_id,
            .created_at = model->now,
            .due = model->now,
            .owner = -1,
            .retried_as = -1,
        };
        again->draft.due_at = 0;
        if (again->draft.expires_at <= model->now)
            again->draft.expires_at = 0;
        if (dead->draft.key >= 0) {
            struct m_key *key = &model->keys[dead->draft.ns][dead->draft.topic][dead->draft.key];

            if (key->taken && key->message == messages[i])
                key->message = model->message_count;
        }
        if (m_lane_unblock(model, messages[i]))
            again->seq = dead->seq; /* it is the head once more */
        else
            m_lane_enter(model, again);
        dead->retried_as = ret_new[i] = model->message_count++;
    }
}

/* The message is gone, and its stream goes on if it was in the way. */
static void forget(struct model *model, int index)
{
    struct m_message *message = &model->messages[index];
    bool blocked = m_lane_unblock(model, index);

    message->place = M_GONE;
    if (blocked)
        m_lane_go_on(model, message->draft.ns, message->draft.stream);
    m_lane_forget(model, message->draft.ns, message->draft.stream);
}

int64_t m_dead_discard(struct model *model, const int *messages, int count)
{
    int64_t deleted = 0;

    for (int i = 0; i < count; i++) {
        if (messages[i] < 0 || model->messages[messages[i]].place != M_DEAD)
            continue;
        forget(model, messages[i]);
        deleted++;
    }
    return deleted;
}

void m_queue_set(struct model *model, int ns, const ph_queue_settings *settings)
{
    struct m_queue *queue = &model->queues[ns];

    queue->exists = true;
    if (settings->backoff != PH_BACKOFF_KEEP && settings->backoff != queue->backoff) {
        queue->backoff = settings->backoff;
        queue->base_ms = 1000;
        queue->max_ms = settings->backoff == PH_BACKOFF_EXPONENTIAL ? 60000 : 300000;
    }
    if (settings->backoff_base_ms)
        queue->base_ms = settings->backoff_base_ms;
    if (settings->backoff_max_ms)
        queue->max_ms = settings->backoff_max_ms;
    if (settings->max_attempts)
        queue->max_attempts = settings->max_attempts;
    if (settings->max_lease_s)
        queue->max_lease_s = settings->max_lease_s;
    if (settings->retention_s)
        queue->retention_s = settings->retention_s;
    if (settings->dead_retention_s)
        queue->dead_retention_s = settings->dead_retention_s;
    if (settings->dedupe_retention_s)
        queue->dedupe_retention_s = settings->dedupe_retention_s;
    if (settings->delete_on_ack)
        queue->delete_on_ack = settings->delete_on_ack > 0;
    if (settings->dead_head)
        queue->dead_head = settings->dead_head;
    for (int s = 0; settings->dead_head == PH_DEAD_HEAD_SKIP && s < M_STREAMS; s++) {
        if (model->streams[ns][s].blocked &&
            m_lane_unblock(model, model->streams[ns][s].blocked - 1))
            m_lane_go_on(model, ns, s);
    }
}

void m_queue_pause(struct model *model, int ns, bool paused)
{
    model->queues[ns].exists = true;
    model->queues[ns].paused = paused;
}

static bool is_in_use(const struct model *model, int ns)
{
    for (int k = 0; k < model->message_count; k++) {
        if (model->messages[k].draft.ns == ns && model->messages[k].place != M_GONE)
            return true;
    }
    for (int topic = 0; topic < M_TOPICS; topic++) {
        for (int k = 0; k < M_KEYS; k++) {
            if (model->keys[ns][topic][k].taken)
                return true;
        }
    }
    for (int s = 0; s < M_STREAMS; s++) {
        if (model->streams[ns][s].empty) /* its token is due later: the clock was set back */
            return true;
    }
    return false;
}

int m_queue_delete(struct model *model, int ns)
{
    bool existed = model->queues[ns].exists;
    bool marked = model->keeps_queues && (existed || model->queues[ns].marked);

    if (existed)
        m_tokens_look(model, ns);
    if (is_in_use(model, ns))
        return PH_ESTATE;
    m_queue_reset(model, ns);
    model->queues[ns].marked = marked;
    return existed;
}

static void forget_keys(struct model *model, int ns)
{
    int64_t keep_s = model->queues[ns].dedupe_retention_s;

    for (int topic = 0; topic < M_TOPICS; topic++) {
        for (int k = 0; k < M_KEYS; k++) {
            struct m_key *key = &model->keys[ns][topic][k];

            if (key->taken && keep_s != PH_FOREVER &&
                key->since <= model->now - keep_s * M_SECOND &&
                model->messages[key->message].place == M_GONE)
                key->taken = false;
        }
    }
}

int64_t m_retention(struct model *model)
{
    int64_t deleted = 0;

    for (int k = 0; k < model->message_count; k++) {
        struct m_message *message = &model->messages[k];
        const struct m_queue *queue = &model->queues[message->draft.ns];
        int64_t keep_s = message->place == M_DONE   ? queue->retention_s
                         : message->place == M_DEAD ? queue->dead_retention_s
                                                    : PH_FOREVER;

        if (keep_s == PH_FOREVER || message->ended_at > model->now - keep_s * M_SECOND)
            continue;
        forget(model, k);
        deleted++;
    }
    for (int ns = 0; ns < M_NAMESPACES; ns++)
        forget_keys(model, ns);
    return deleted;
}

void m_count(const struct model *model, int ns, ph_queue_counts *ret_counts)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    int64_t oldest = model->now;

    for (int k = 0; k < model->message_count; k++) {
        const struct m_message *message = &model->messages[k];

        if (ns >= 0 && message->draft.ns != ns)
            continue;
        if (message->place == M_PENDING && message->due <= model->now) {
            counts.ready++;
            oldest = message->due < oldest ? message->due : oldest;
        }
        counts.scheduled += message->place == M_PENDING && message->due > model->now;
        counts.in_progress += message->place == M_LEASED;
        counts.parked += message->place == M_PARKED;
        counts.expired_leases +=
            message->place == M_LEASED && m_lease_of(model, message)->until < model->now;
        counts.dead += message->place == M_DEAD && message->retried_as < 0;
    }
    counts.oldest_ready_ms = (model->now - oldest) / 1000;
    *ret_counts = counts;
}
