#include "model.h"

#include <string.h>

const char *const m_namespaces[M_NAMESPACES] = { "", "billing", "Größe 2" };
const ph_priority m_priorities[4] = { PH_PRIORITY_URGENT, PH_PRIORITY_NORMAL, PH_PRIORITY_LOW,
                                      PH_PRIORITY_BULK };
const char *const m_topics[M_TOPICS] = { "order.created", "Order.created", "mail" };
const char *const m_keys[M_KEYS] = { "a", "b", "A", "a ", "0123456789abcdef0123456789abcdef/к" };
const char *const m_errors[M_ERRORS] = { NULL, "boom", "line one\nline 'two' %s", "" };

const ph_tenant_id m_tenant = { { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45,
                                  0x67, 0x89, 0xab, 0xcd, 0xef } };

static const struct m_queue default_queue = {
    .max_attempts = 10,
    .max_lease_s = PH_LEASE_MAX_S,
    .backoff = PH_BACKOFF_EXPONENTIAL,
    .base_ms = 1000,
    .max_ms = 60000,
    .retention_s = 7 * 86400,
    .dead_retention_s = PH_FOREVER,
    .dedupe_retention_s = 7 * 86400,
    .dead_head = PH_DEAD_HEAD_SKIP,
};

void m_init(struct model *model, int64_t now)
{
    memset(model, 0, sizeof(*model));
    model->now = now;
    for (int i = 0; i < M_NAMESPACES; i++)
        m_queue_reset(model, i);
}

void m_queue_reset(struct model *model, int ns)
{
    model->queues[ns] = default_queue;
}

/* --------------------------------------------------------------------- shown */

int m_level(const struct m_message *message)
{
    return message->draft.level;
}

static int history_count_of(const struct m_message *message, enum m_kind kind)
{
    int count = 0;

    for (int i = 0; i < message->history_count; i++)
        count += message->history[i].kind == kind;
    return count;
}

int m_attempts_shown(const struct m_message *message)
{
    if (message->place == M_PENDING || message->place == M_LEASED || message->place == M_PARKED)
        return message->attempts;
    return history_count_of(message, M_ABANDONED) + history_count_of(message, M_FAILED) +
           history_count_of(message, M_LOST) + (message->place == M_DONE);
}

int m_retry_count(const struct m_message *message)
{
    return history_count_of(message, M_ABANDONED);
}

int m_last_error(const struct m_message *message)
{
    for (int i = message->history_count - 1; i >= 0; i--) {
        if (message->history[i].kind == M_ABANDONED || message->history[i].kind == M_FAILED)
            return message->history[i].error;
    }
    return 0;
}

/* The latest of its times, also after the clock has stepped back. */
int64_t m_updated_at(const struct m_message *message)
{
    int64_t latest = message->place == M_LEASED ? message->claimed_at
                     : message->place == M_PENDING || message->place == M_PARKED
                         ? message->created_at
                         : message->ended_at;

    if (message->created_at > latest)
        latest = message->created_at;
    for (int i = 0; i < message->history_count; i++) {
        if (message->history[i].at > latest)
            latest = message->history[i].at;
    }
    return latest;
}

const struct m_lease *m_lease_of(const struct model *model, const struct m_message *message)
{
    for (int i = 0; message->place == M_LEASED && i < model->lease_count; i++) {
        if (model->leases[i].fence == message->fence)
            return &model->leases[i];
    }
    return NULL;
}

/* -------------------------------------------------------------------- moving */

static int limit_of(const struct model *model, const struct m_message *message)
{
    return message->draft.max_attempts ? message->draft.max_attempts
                                       : model->queues[message->draft.ns].max_attempts;
}

static void note(struct model *model, struct m_message *message, enum m_kind kind, int error,
                 int owner, int64_t next_due)
{
    message->history[message->history_count++] = (struct m_attempt){
        .kind = kind,
        .attempt = message->attempts,
        .error = error,
        .owner = owner,
        .at = model->now,
        .next_due = next_due,
    };
}

static void end(struct model *model, struct m_message *message, enum m_place place,
                enum m_reason reason, int owner)
{
    message->place = place;
    message->reason = reason;
    message->owner = owner;
    message->fence = 0;
    message->ended_at = model->now;
}

static void bury(struct model *model, struct m_message *message, enum m_reason reason, int owner)
{
    end(model, message, M_DEAD, reason, owner);
}

static void come_back(struct m_message *message, int64_t due)
{
    message->place = M_PENDING;
    message->owner = -1;
    message->fence = 0;
    message->due = due;
    message->due_low = 0;
}

/* A lease whose last message was settled goes. */
static void drop_empty_leases(struct model *model)
{
    int kept = 0;

    for (int i = 0; i < model->lease_count; i++) {
        bool open = false;

        for (int k = 0; k < model->message_count && !open; k++)
            open = model->messages[k].place == M_LEASED &&
                   model->messages[k].fence == model->leases[i].fence;
        if (open)
            model->leases[kept++] = model->leases[i];
    }
    model->lease_count = kept;
}

/* ------------------------------------------------------------------- enqueue */

bool m_enqueue(struct model *model, const struct m_draft *draft, int *ret_index)
{
    struct m_message *message = &model->messages[model->message_count];
    struct m_key *key = draft->key < 0 ? NULL : &model->keys[draft->ns][draft->topic][draft->key];

    model->queues[draft->ns].exists = true;
    if (key && key->taken) {
        *ret_index = key->message;
        return false;
    }
    *message = (struct m_message){
        .draft = *draft,
        .created_at = model->now,
        .due = draft->due_at > model->now ? draft->due_at : model->now,
        .owner = -1,
        .retried_as = -1,
    };
    m_lane_enter(model, message);
    *ret_index = model->message_count++;
    if (key)
        *key = (struct m_key){ true, *ret_index, model->now };
    return true;
}

/* --------------------------------------------------------------------- claim */

static void lose(struct model *model, int index, int owner)
{
    struct m_message *message = &model->messages[index];
    bool spent = message->attempts >= limit_of(model, message);

    note(model, message, M_LOST, 0, owner, spent ? 0 : model->now);
    if (spent) {
        bury(model, message, M_DEAD_LOST, owner);
        m_lane_died(model, index);
    } else {
        come_back(message, model->now);
        message->lost++;
    }
}

int64_t m_reap(struct model *model)
{
    int64_t count = 0;

    for (int k = 0; k < model->message_count; k++) {
        const struct m_lease *lease = m_lease_of(model, &model->messages[k]);

        count += lease && lease->until < model->now;
    }
    for (int k = 0; k < model->message_count; k++) {
        const struct m_lease *lease = m_lease_of(model, &model->messages[k]);

        if (lease && lease->until < model->now)
            lose(model, m_lane_lost(model, k), lease->owner);
    }
    drop_empty_leases(model);
    return count;
}

static bool goes_before(const struct m_message *a, const struct m_message *b, bool reversed)
{
    if (m_level(a) != m_level(b))
        return (m_level(a) < m_level(b)) != reversed;
    if (a->due != b->due)
        return a->due < b->due;
    return memcmp(a->id.b, b->id.b, 6) < 0; /* the number is in front */
}

/* The due messages that a claim walks, in order. */
static int walk_of(const struct model *model, const struct m_claim *claim, int *ret_walk)
{
    bool reversed = claim->fence % 16 == 0;
    int count = 0;

    for (int k = 0; k < model->message_count; k++) {
        const struct m_message *message = &model->messages[k];
        int at = count;

        if (message->place != M_PENDING || message->draft.ns != claim->ns ||
            message->due > model->now || !(claim->topics & 1u << message->draft.topic))
            continue;
        for (; at > 0 && goes_before(message, &model->messages[ret_walk[at - 1]], reversed); at--)
            ret_walk[at] = ret_walk[at - 1];
        ret_walk[at] = k;
        count++;
    }
    return count;
}

/* True if the message was buried instead of handed out. */
static bool buried_on_the_way(struct model *model, struct m_message *message)
{
    if (message->draft.expires_at && message->draft.expires_at <= model->now) {
        note(model, message, M_EXPIRED, 0, -1, 0);
        bury(model, message, M_DEAD_EXPIRED, -1);
        return true;
    }
    if (message->attempts >= limit_of(model, message)) {
        bury(model, message, M_DEAD_ATTEMPTS, -1);
        return true;
    }
    return false;
}

void m_take(struct model *model, const struct m_claim *claim, int index)
{
    struct m_message *message = &model->messages[index];

    message->place = M_LEASED;
    message->owner = claim->owner;
    message->fence = message->last_fence = claim->fence;
    message->attempts++;
    message->claimed_at = model->now;
}

/* Runs of streams, while they grow. */
struct runs {
    int count;
    struct {
        int length, messages[M_MESSAGES];
    } at[M_MESSAGES];
};

static int grow(struct model *model, const struct m_claim *claim, struct runs *runs, int run,
                int most)
{
    int length = runs->at[run].length, lost = model->messages[runs->at[run].messages[0]].lost;
    int more = m_follow(model, claim, runs->at[run].messages[length - 1], most,
                        runs->at[run].messages + length);

    for (int i = length; i < length + more; i++) /* a lease has one count of losses for all */
        model->messages[runs->at[run].messages[i]].lost = lost;
    runs->at[run].length += more;
    return more;
}

/* How long the store has made the run with this head. */
static int length_got(const struct model *model, const struct m_claim *claim, int head)
{
    int stream = model->messages[head].draft.stream, first = 0, end;

    while (first < claim->got_count && claim->got[first] != head)
        first++;
    for (end = first; end < claim->got_count; end++) {
        if (claim->got[end] < 0 || model->messages[claim->got[end]].draft.stream != stream)
            break;
    }
    return end - first;
}

/* How many may follow a head before the other rows have had their turn. */
static int followers_max(const struct model *model, const struct m_claim *claim, int head,
                         bool is_first, int room)
{
    int most = claim->batch_size >= 5 ? claim->batch_size / 5 - 1 : 0, got;

    most = most < room ? most : room;
    if (is_first || !claim->got || model->messages[head].draft.stream < 0)
        return most;
    got = length_got(model, claim, head) - 1;
    return got < 0 ? 0 : got < most ? got : most;
}

/* How many messages go together whose worker was lost. */
static int group_max(int lost, int batch_size)
{
    int most = lost == 1 ? 8 : 1;

    return most < batch_size ? most : batch_size;
}

/* Walks the rows; true if it came to their end with room left. */
static bool walk(struct model *model, const struct m_claim *claim, struct runs *runs, int *room)
{
    int rows[M_MESSAGES], count = walk_of(model, claim, rows);

    for (int i = 0; i<count && * room> 0; i++) {
        struct m_message *message = &model->messages[rows[i]];

        if (buried_on_the_way(model, message))
            continue;
        if (runs->count > 0 && message->lost != model->messages[runs->at[0].messages[0]].lost)
            return false;
        if (message->lost > 0 && runs->count == 0)
            *room = group_max(message->lost, *room);
        m_take(model, claim, rows[i]);
        runs->at[runs->count].length = 1;
        runs->at[runs->count].messages[0] = rows[i];
        --*room;
        if (message->lost == 0)
            *room -= grow(model, claim, runs, runs->count,
                          followers_max(model, claim, rows[i], runs->count == 0, *room));
        runs->count++;
    }
    return *room > 0;
}

int m_claim(struct model *model, const struct m_claim *claim, int *ret_taken)
{
    const struct m_queue *queue = &model->queues[claim->ns];
    int taken = 0, room = claim->batch_size;
    struct runs runs = { .count = 0 };
    bool more;

    if ((!queue->exists && !queue->marked) || queue->paused)
        return 0;
    m_reap(model);
    more = walk(model, claim, &runs, &room);
    for (int i = 0; i < runs.count; i++) {
        if (more)
            room -= grow(model, claim, &runs, i, room);
        for (int k = 0; k < runs.at[i].length; k++)
            ret_taken[taken++] = runs.at[i].messages[k];
    }
    if (taken > 0)
        model->leases[model->lease_count++] = (struct m_lease){
            claim->fence, model->now,   model->now + claim->lease_s * M_SECOND,
            claim->ns,    claim->owner,
        };
    return taken;
}

/* -------------------------------------------------------------------- settle */

/* The message that the owner holds, or NULL and the outcome that says why not. */
static struct m_message *held(struct model *model, int owner, const struct m_item *item,
                              ph_outcome *ret_outcome)
{
    struct m_message *message = item->message < 0 ? NULL : &model->messages[item->message];

    *ret_outcome = !message || message->place == M_GONE ? PH_OUTCOME_UNKNOWN : PH_OUTCOME_STALE;
    if (!message || message->place != M_LEASED || message->owner != owner ||
        (item->fence != M_NO_FENCE && item->fence != message->fence))
        return NULL;
    return message;
}

/* An ack of what the same owner has acked, under the same fence if one is given. */
static bool is_acked_again(const struct model *model, int owner, const struct m_item *item)
{
    const struct m_message *message = item->message < 0 ? NULL : &model->messages[item->message];

    return model->tells_again && message && item->verb == PH_ACK && message->place == M_DONE &&
           message->owner == owner &&
           (item->fence == M_NO_FENCE || item->fence == message->last_fence);
}

/* min(base × 2^n, max) without overflow. */
static int64_t doubled(int64_t base_ms, int n, int64_t max_ms)
{
    for (; n > 0 && base_ms < max_ms; n--)
        base_ms *= 2;
    return base_ms < max_ms ? base_ms : max_ms;
}

static ph_outcome abandon(struct model *model, struct m_message *message, const struct m_item *item)
{
    const struct m_queue *queue = &model->queues[message->draft.ns];
    int64_t low_us = item->delay_ms * 1000, high_us = low_us;
    int owner = message->owner;

    if (message->attempts >= limit_of(model, message)) {
        note(model, message, M_ABANDONED, item->error, owner, 0);
        bury(model, message, M_DEAD_ATTEMPTS, owner);
        return PH_OUTCOME_DEAD;
    }
    if (item->delay_ms == PH_DELAY_POLICY && queue->backoff == PH_BACKOFF_EXPONENTIAL) {
        low_us = high_us =
            1000 * doubled(queue->base_ms, m_retry_count(message) + 1, queue->max_ms);
    } else if (item->delay_ms == PH_DELAY_POLICY) {
        high_us = 1000 * doubled(queue->base_ms, message->attempts - 1, queue->max_ms);
        low_us = high_us / 2;
    }
    note(model, message, M_ABANDONED, item->error, owner, model->now + high_us);
    come_back(message, model->now + high_us);
    message->due_low = low_us < high_us ? model->now + low_us : 0;
    message->lost = 0;
    return PH_OUTCOME_ABANDONED;
}

ph_outcome m_settle_one(struct model *model, struct m_message *message, const struct m_item *item)
{
    int owner = message->owner;
    int64_t due;

    switch (item->verb) {
    case PH_ACK:
        end(model, message, model->queues[message->draft.ns].delete_on_ack ? M_GONE : M_DONE,
            M_NOT_DEAD, owner);
        return PH_OUTCOME_ACKED;
    case PH_FAIL:
        note(model, message, M_FAILED, item->error, owner, 0);
        bury(model, message, M_DEAD_FAILED, owner);
        return PH_OUTCOME_FAILED;
    case PH_RELEASE:
        due = model->now + (item->delay_ms > 0 ? item->delay_ms * 1000 : 0);
        note(model, message, M_RELEASED, 0, owner, due);
        come_back(message, due);
        message->attempts--;
        return PH_OUTCOME_RELEASED;
    case PH_ABANDON:
        break;
    }
    return abandon(model, message, item);
}

/* The first item of the list with the same id; index itself if there is none before it. */
static int first_like(const struct m_item *items, int index)
{
    for (int i = 0; i < index && items[index].message >= 0; i++) {
        if (items[i].message == items[index].message)
            return i;
    }
    return index;
}

void m_settle(struct model *model, int owner, const struct m_item *items, int count,
              ph_outcome *ret_outcomes)
{
    const struct m_item *asked[M_MESSAGES] = { NULL };
    ph_outcome *answers[M_MESSAGES] = { NULL };

    for (int i = 0; i < count; i++) {
        struct m_message *message =
            first_like(items, i) < i ? NULL : held(model, owner, &items[i], &ret_outcomes[i]);

        if (message && message->draft.stream < 0) {
            ret_outcomes[i] = m_settle_one(model, message, &items[i]);
        } else if (message) {
            asked[items[i].message] = &items[i];
            answers[items[i].message] = &ret_outcomes[i];
            ret_outcomes[i] = PH_OUTCOME_STALE;
        } else if (is_acked_again(model, owner, &items[i])) {
            ret_outcomes[i] = PH_OUTCOME_ACKED;
        }
    }
    m_settle_runs(model, asked, answers);
    for (int i = 0; i < count; i++)
        ret_outcomes[i] = ret_outcomes[first_like(items, i)];
    drop_empty_leases(model);
}

void m_renew(struct model *model, int owner, const struct m_item *items, int count, int lease_s,
             ph_outcome *ret_outcomes)
{
    for (int i = 0; i < count; i++) {
        const struct m_message *message = NULL;
        int first = first_like(items, i);
        int64_t cap, until;

        if (first < i)
            ret_outcomes[i] = ret_outcomes[first];
        else
            message = held(model, owner, &items[i], &ret_outcomes[i]);
        for (int l = 0; message && l < model->lease_count; l++) {
            struct m_lease *lease = &model->leases[l];

            if (lease->fence != message->fence)
                continue;
            cap = lease->claimed_at + model->queues[lease->ns].max_lease_s * M_SECOND;
            if (cap <= model->now)
                continue;
            until = model->now + lease_s * M_SECOND;
            if (until > cap)
                until = cap;
            if (until > lease->until)
                lease->until = until;
            ret_outcomes[i] = PH_OUTCOME_RENEWED;
        }
    }
}
