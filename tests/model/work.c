/* work.c - the steps of producers and workers. */
#include "run.h"

#define DRAFTS_MAX 16
#define LIST_MAX 6

/* ------------------------------------------------------------------- enqueue */

static struct m_draft draft_of(struct run *run)
{
    struct m_draft draft = {
        .ns = chance(run, 60) ? 0 : roll(run, M_NAMESPACES),
        .topic = roll(run, M_TOPICS),
        .number = run->drafts++,
        .key = chance(run, 35) ? roll(run, M_KEYS) : -1,
        .correlated = chance(run, 30),
        .headed = chance(run, 20),
        .level = chance(run, 50) ? 1 : roll(run, 4),
        .max_attempts = chance(run, 60) ? 0 : 1 + roll(run, 3),
        .due_at = ONE_OF(run, 0, 0, 0, -3600, -1, 1, 5, 90),
        .expires_at = chance(run, 75) ? 0 : ONE_OF(run, -1, 2, 30, 120),
        .stream = chance(run, 50) ? roll(run, M_STREAMS) : -1,
    };

    /* Whether a claim that buries a head also takes the next one is left open. */
    if (draft.stream >= 0 && !draft.max_attempts)
        draft.max_attempts = 2 + roll(run, 3);
    if (draft.stream >= 0)
        draft.expires_at = 0;

    draft.tenant = (draft.key < 0 || draft.key == M_TENANT_KEY) && chance(run, 30);
    if (draft.due_at)
        draft.due_at = run->model.now + draft.due_at * M_SECOND;
    if (draft.expires_at)
        draft.expires_at = run->model.now + draft.expires_at * M_SECOND;
    if (draft.expires_at && draft.due_at >= draft.expires_at)
        draft.due_at = 0;
    for (size_t i = 0; i < sizeof(draft.message_id.b) && draft.number % 4 == 0; i++)
        draft.message_id.b[i] = (uint8_t)(1 + roll(run, 255));
    return draft;
}

static ph_message message_from(const struct m_draft *draft, const struct words *words)
{
    ph_message message = PH_MESSAGE_INIT;

    message.topic = m_topics[draft->topic];
    message.payload = words->payload;
    message.ns = draft->ns ? m_namespaces[draft->ns] : NULL;
    message.tenant_id = draft->tenant ? &m_tenant : NULL;
    message.dedupe_key = words->key;
    message.correlation_id = words->correlation;
    message.headers = *words->headers ? words->headers : NULL;
    message.message_id = ph_id_is_zero(draft->message_id.b) ? NULL : &draft->message_id;
    message.priority = m_priorities[draft->level];
    message.due_at = draft->due_at;
    message.expires_at = draft->expires_at;
    message.max_attempts = draft->max_attempts;
    message.stream = draft->stream < 0 ? NULL : m_streams[draft->stream];
    return message;
}

static bool enqueued_as_expected(struct run *run, const struct m_draft *draft,
                                 const ph_enqueued *got)
{
    int index;
    bool is_new = m_enqueue(&run->model, draft, &index);
    struct m_message *message = &run->model.messages[index];

    say(run, " %d%s", index, is_new ? "" : " again");
    if (!same_int(run, "is_new", index, got->is_new, is_new))
        return false;
    if (!is_new)
        return memcmp(got->work_id.b, message->id.b, 16) == 0 &&
                       memcmp(got->message_id.b, message->message_id.b, 16) == 0
                   ? true
                   : differ(run, "message %d: the duplicate has other ids", index);
    if (message_of(&run->model, got->work_id.b) >= 0 || ph_id_is_zero(got->work_id.b))
        return differ(run, "message %d: its work id is not new", index);
    if (message->draft.message_id.b[0] &&
        memcmp(got->message_id.b, message->draft.message_id.b, 16) != 0)
        return differ(run, "message %d: its message id is not the given one", index);
    if (index > 0 && memcmp(got->work_id.b, message[-1].id.b, 6) <= 0)
        return differ(run, "message %d: its work id is not above the one before", index);
    message->id = got->work_id;
    message->message_id = got->message_id;
    return true;
}

bool step_enqueue(struct run *run)
{
    int room = DRAFTS_MAX - run->model.message_count;
    int count = chance(run, 65) ? 1 : 2 + roll(run, 4);
    struct m_draft drafts[5];
    struct words words[5];
    ph_message messages[5];
    ph_enqueued got[5];

    if (count > room)
        count = room;
    if (count < 1)
        return true;
    for (int i = 0; i < count; i++) {
        drafts[i] = draft_of(run);
        words[i] = words_of(&drafts[i]);
        messages[i] = message_from(&drafts[i], &words[i]);
    }
    say(run, "enqueue");
    if (!went_well(run,
                   count == 1 ? ph_enqueue(run->store, tx_of(run), messages, 0, got, &t_err)
                              : ph_enqueue_many(run->store, tx_of(run), messages, (size_t)count, 0,
                                                got, &t_err),
                   "enqueue"))
        return false;
    for (int i = 0; i < count; i++) {
        if (!enqueued_as_expected(run, &drafts[i], &got[i]))
            return false;
        say(run, "(ns %d topic %d stream %d key %d level %d max %d due %+lld expires %+lld)",
            drafts[i].ns, drafts[i].topic, drafts[i].stream, drafts[i].key, drafts[i].level,
            drafts[i].max_attempts,
            (long long)(drafts[i].due_at ? drafts[i].due_at - run->model.now : 0),
            (long long)(drafts[i].expires_at ? drafts[i].expires_at - run->model.now : 0));
    }
    return true;
}

/* --------------------------------------------------------------------- claim */

static bool claimed_as_expected(struct run *run, struct m_claim *claim, const ph_batch *batch)
{
    int taken[M_MESSAGES], handed[M_MESSAGES], count, got = (int)ph_batch_count(batch);

    if (got > 0)
        claim->fence = ph_batch_at(batch, 0)->fence;
    if (got > 0 && claim->fence <= run->model.newest_fence)
        return differ(run, "fence %lld is not above %lld", (long long)claim->fence,
                      (long long)run->model.newest_fence);
    if (got > run->model.message_count)
        return differ(run, "claimed %d of %d messages", got, run->model.message_count);
    for (int i = 0; i < got; i++)
        handed[i] = message_of(&run->model, ph_batch_at(batch, (size_t)i)->work_id.b);
    claim->got = t_is_pg() ? handed : NULL;
    claim->got_count = got;
    count = m_claim(&run->model, claim, taken);
    claim->got = NULL;
    for (int i = 0; i < got && i < count; i++) {
        const ph_delivery *delivery = ph_batch_at(batch, (size_t)i);
        int index = handed[i];

        if (index != taken[i])
            return differ(run, "claimed %d at place %d under fence %lld, should be %d", index, i,
                          (long long)claim->fence, taken[i]);
        if (!same_delivery(run, index, delivery))
            return false;
        say(run, " %d", index);
    }
    if (got != count)
        return differ(run, "claimed %d messages, should be %d", got, count);
    if (got > 0)
        run->model.newest_fence = claim->fence;
    say(run, " fence %lld", (long long)claim->fence);
    return true;
}

/* A claim as the model and as the store take it. */
struct request {
    struct m_claim claim;
    ph_claim_opts opts;
    const char *topics[M_TOPICS];
};

static void request_claim(struct run *run, struct request *request)
{
    struct m_claim *claim = &request->claim;
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;

    *claim = (struct m_claim){
        .owner = roll(run, M_OWNERS),
        .lease_s = (int)ONE_OF(run, 1, 5, 30, 60, 300),
        .batch_size = (int)ONE_OF(run, 1, 2, 3, 5, 10, 50),
        .ns = chance(run, 70) ? 0 : roll(run, M_NAMESPACES),
        .topics = chance(run, 75) ? M_ANY_TOPIC : 1 + (unsigned)roll(run, (int)M_ANY_TOPIC),
        .fence = 1,
    };
    opts.lease_s = claim->lease_s == 30 ? 0 : claim->lease_s;
    opts.batch_size = claim->batch_size == 50 ? 0 : claim->batch_size;
    opts.ns = claim->ns ? m_namespaces[claim->ns] : NULL;
    for (int i = 0; i < M_TOPICS && claim->topics != M_ANY_TOPIC; i++) {
        if (claim->topics & 1u << i)
            request->topics[opts.topic_count++] = m_topics[i];
    }
    opts.topics = claim->topics != M_ANY_TOPIC ? request->topics : NULL;
    request->opts = opts;
}

static void say_claim(struct run *run, const struct m_claim *claim)
{
    say(run, "claim (owner %d lease %d size %d ns %d topics %u)", claim->owner, claim->lease_s,
        claim->batch_size, claim->ns, claim->topics);
}

/* A store may begin its next claim where its last full batch began. Only what comes back in
 * the same microsecond could lie before that, so time goes on. */
static void go_on_after(struct run *run, const struct m_claim *claim, const ph_batch *batch)
{
    if (!run->in_tx && ph_batch_count(batch) == (size_t)claim->batch_size)
        set_clock(run, run->model.now + 1);
}

bool look_at_tokens(struct run *run)
{
    static const char *const nothing[] = { "no such topic" };
    bool ok = true;

    for (int ns = 0; ok && ns < M_NAMESPACES; ns++) {
        struct m_claim claim = { .lease_s = 30, .batch_size = 50, .ns = ns };
        ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
        int taken[M_MESSAGES];
        ph_batch *batch = NULL;

        if (!m_tokens_wait(&run->model, ns))
            continue;
        opts.ns = m_namespaces[ns];
        opts.topics = nothing;
        opts.topic_count = 1;
        ok =
            went_well(
                run, ph_outbox_claim(run->store, tx_of(run), owner_of(0), &opts, 0, &batch, &t_err),
                "claim of nothing") &&
            same_int(run, "claimed of nothing", -1, (int64_t)ph_batch_count(batch),
                     m_claim(&run->model, &claim, taken));
        m_tokens_look(&run->model, ns);
        ph_batch_free(batch);
    }
    return ok;
}

bool step_claim(struct run *run)
{
    struct request request;
    ph_batch *batch = NULL;
    bool ok;

    if (run->model.lease_count >= M_LEASES)
        return true;
    request_claim(run, &request);
    say_claim(run, &request.claim);
    ok = went_well(run,
                   ph_outbox_claim(run->store, tx_of(run), owner_of(request.claim.owner),
                                   &request.opts, 0, &batch, &t_err),
                   "claim") &&
         claimed_as_expected(run, &request.claim, batch);
    if (ok)
        go_on_after(run, &request.claim, batch);
    ph_batch_free(batch);
    return ok;
}

/* -------------------------------------------------------------------- settle */

static const char *const verb_names[] = { "", "ack", "abandon", "fail", "release" };

/* Mostly a message that is leased. */
static int pick(struct run *run)
{
    int start = roll(run, run->model.message_count);

    for (int i = 0; i < run->model.message_count && !chance(run, 8); i++) {
        int index = (start + i) % run->model.message_count;

        if (run->model.messages[index].place == M_LEASED)
            return index;
    }
    return start;
}

static struct m_item item_of(struct run *run)
{
    struct m_item item = {
        .message = chance(run, 5) ? -1 : pick(run),
        .verb = (ph_settle_verb)(1 + roll(run, 4)),
        .error = roll(run, M_ERRORS),
        .delay_ms = ONE_OF(run, PH_DELAY_POLICY, PH_DELAY_POLICY, 0, 500, 5000, 3600000),
    };
    const struct m_message *message = item.message < 0 ? NULL : &run->model.messages[item.message];

    if (message && chance(run, 70))
        item.fence = message->last_fence;
    else
        item.fence = chance(run, 60) ? M_NO_FENCE : 1 + roll(run, 40);
    return item;
}

/* An id that was never handed out: of nobody, or the next of kin of a real one. */
static ph_work_id stranger(struct run *run)
{
    ph_work_id id = run->model.messages[0].id;

    id.b[15] = (uint8_t)(id.b[15] ^ 1);
    if (chance(run, 50))
        memset(id.b, 0x5a, sizeof(id.b));
    return id;
}

static int list_of(struct run *run, struct m_item *items, ph_lease_ref *refs)
{
    int count = 1 + roll(run, LIST_MAX);

    for (int i = 0; i < count; i++) {
        items[i] = item_of(run);
        refs[i] = (ph_lease_ref){ .fence = items[i].fence };
        refs[i].work_id =
            items[i].message < 0 ? stranger(run) : run->model.messages[items[i].message].id;
        say(run, " %d", items[i].message);
        if (items[i].fence)
            say(run, "@%lld", (long long)items[i].fence);
    }
    return count;
}

/* Mostly the one who holds the first. */
static int settler(struct run *run, const struct m_item *items)
{
    int holder = items[0].message < 0 ? -1 : run->model.messages[items[0].message].owner;

    return holder >= 0 && chance(run, 85) ? holder : roll(run, M_OWNERS);
}

static bool same_outcomes(struct run *run, const struct m_item *items, int count,
                          const ph_outcome *got, const ph_outcome *want)
{
    for (int i = 0; i < count; i++) {
        if (got[i] != want[i])
            return differ(run, "item %d (message %d): outcome %s, should be %s", i,
                          items[i].message, ph_outcome_text(got[i]), ph_outcome_text(want[i]));
        say(run, " %s", ph_outcome_text(got[i]));
    }
    return true;
}

static int settle_alike(struct run *run, ph_owner owner, const struct m_item *like,
                        const ph_lease_ref *refs, size_t count, ph_outcome *got)
{
    ph_store *store = run->store;
    ph_tx tx = tx_of(run);

    switch (like->verb) {
    case PH_ACK:
        return ph_outbox_ack(store, tx, owner, refs, count, 0, got, &t_err);
    case PH_FAIL:
        return ph_outbox_fail(store, tx, owner, refs, count, m_errors[like->error], 0, got, &t_err);
    case PH_RELEASE:
        return ph_outbox_release(store, tx, owner, refs, count, 0, got, &t_err);
    case PH_ABANDON:
        break;
    }
    return ph_outbox_abandon(store, tx, owner, refs, count, m_errors[like->error], like->delay_ms,
                             0, got, &t_err);
}

static void settlements_of(const struct m_item *items, const ph_lease_ref *refs, size_t count,
                           ph_settlement *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] =
            (ph_settlement){ refs[i], items[i].verb, m_errors[items[i].error], items[i].delay_ms };
}

static int settle_mixed(struct run *run, ph_owner owner, const struct m_item *items,
                        const ph_lease_ref *refs, size_t count, ph_outcome *got)
{
    ph_settlement settlements[LIST_MAX] = { 0 };

    settlements_of(items, refs, count, settlements);
    return ph_outbox_settle(run->store, tx_of(run), owner, settlements, count, 0, got, &t_err);
}

static void say_item(struct run *run, const struct m_item *item)
{
    say(run, " %s", verb_names[item->verb]);
    if (item->verb == PH_ABANDON || item->verb == PH_RELEASE)
        say(run, "(%lld ms)", (long long)item->delay_ms);
}

bool step_settle(struct run *run)
{
    struct m_item items[LIST_MAX];
    ph_lease_ref refs[LIST_MAX];
    ph_outcome got[LIST_MAX], want[LIST_MAX];
    bool alike = chance(run, 50);
    int owner, count;

    if (run->model.message_count == 0)
        return true;
    say(run, "settle");
    count = list_of(run, items, refs);
    owner = settler(run, items);
    say(run, " by %d:", owner);
    for (int i = 0; i < count; i++) {
        if (alike) {
            items[i].verb = items[0].verb;
            items[i].error = items[0].error;
            items[i].delay_ms = items[0].verb == PH_RELEASE ? 0 : items[0].delay_ms;
        }
        say_item(run, &items[i]);
    }
    say(run, ":");
    run->model.tells_again = !run->in_tx;
    if (!went_well(run,
                   alike ? settle_alike(run, owner_of(owner), items, refs, (size_t)count, got)
                         : settle_mixed(run, owner_of(owner), items, refs, (size_t)count, got),
                   "settle"))
        return false;
    m_settle(&run->model, owner, items, count, want);
    return same_outcomes(run, items, count, got, want);
}

/* Settles, then claims what may have come back just now. */
bool step_exchange(struct run *run)
{
    struct m_item items[LIST_MAX];
    ph_lease_ref refs[LIST_MAX];
    ph_settlement settlements[LIST_MAX] = { 0 };
    ph_outcome got[LIST_MAX], want[LIST_MAX];
    struct request request;
    ph_batch *batch = NULL;
    int count = 0;
    bool ok;

    if (run->model.lease_count >= M_LEASES || run->model.message_count == 0)
        return true;
    say(run, "exchange");
    request_claim(run, &request);
    if (chance(run, 80)) {
        count = list_of(run, items, refs);
        request.claim.owner = settler(run, items);
    }
    for (int i = 0; i < count; i++)
        say_item(run, &items[i]);
    settlements_of(items, refs, (size_t)count, settlements);
    say(run, ", ");
    say_claim(run, &request.claim);
    say(run, ":");
    run->model.tells_again = !run->in_tx;
    ok = went_well(run,
                   ph_outbox_exchange(run->store, tx_of(run), owner_of(request.claim.owner),
                                      settlements, (size_t)count, &request.opts, 0, got, &batch,
                                      &t_err),
                   "exchange");
    if (ok) {
        m_settle(&run->model, request.claim.owner, items, count, want);
        ok = same_outcomes(run, items, count, got, want) &&
             claimed_as_expected(run, &request.claim, batch);
    }
    if (ok)
        go_on_after(run, &request.claim, batch);
    ph_batch_free(batch);
    return ok;
}

bool step_renew(struct run *run)
{
    struct m_item items[LIST_MAX];
    ph_lease_ref refs[LIST_MAX];
    ph_outcome got[LIST_MAX], want[LIST_MAX];
    int owner, count, lease_s = (int)ONE_OF(run, 1, 10, 30, 100, 3600);

    if (run->model.message_count == 0)
        return true;
    say(run, "renew");
    count = list_of(run, items, refs);
    owner = settler(run, items);
    say(run, " by %d for %d s:", owner, lease_s);
    if (!went_well(run,
                   ph_outbox_renew(run->store, tx_of(run), owner_of(owner), refs, (size_t)count,
                                   lease_s == 30 ? 0 : lease_s, 0, got, &t_err),
                   "renew"))
        return false;
    m_renew(&run->model, owner, items, count, lease_s, want);
    return same_outcomes(run, items, count, got, want);
}

bool step_reap(struct run *run)
{
    int64_t got = -1, want;

    say(run, "reap:");
    if (!went_well(run, ph_outbox_reap_expired(run->store, tx_of(run), 0, &got, &t_err), "reap"))
        return false;
    want = m_reap(&run->model);
    say(run, " %lld", (long long)got);
    return got == want ||
           differ(run, "reap answered %lld, should be %lld", (long long)got, (long long)want);
}
