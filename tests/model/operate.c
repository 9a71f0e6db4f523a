/* operate.c - the steps of operators, and of those who only look. */
#include "run.h"

#define LIST_MAX 4

/* ------------------------------------------------------------- dead letters */

/* Mostly dead ones; sometimes others, one twice, or one that never was. */
static int ids_of(struct run *run, int *ret_messages, ph_work_id *ret_ids)
{
    int count = 1 + roll(run, LIST_MAX);

    for (int i = 0; i < count; i++) {
        int index = roll(run, run->model.message_count);

        for (int k = 0; k < run->model.message_count && !chance(run, 10); k++) {
            if (run->model.messages[index].place == M_DEAD)
                break;
            index = (index + 1) % run->model.message_count;
        }
        ret_messages[i] = chance(run, 5) ? -1 : index;
        memset(ret_ids[i].b, 0x5a, sizeof(ret_ids[i].b));
        if (ret_messages[i] >= 0)
            ret_ids[i] = run->model.messages[index].id;
        say(run, " %d", ret_messages[i]);
    }
    return count;
}

static bool retried_as_expected(struct run *run, int message, int want, const ph_work_id *got)
{
    struct m_message *again;

    say(run, " %d", want);
    if (want < 0)
        return ph_id_is_zero(got->b) || differ(run, "message %d: was retried", message);
    if (ph_id_is_zero(got->b))
        return differ(run, "message %d: was not retried", message);
    if (message_of(&run->model, got->b) >= 0)
        return differ(run, "message %d: retried as one that was there already", message);
    again = &run->model.messages[want];
    again->id = *got;
    return true;
}

bool step_dead_retry(struct run *run)
{
    int messages[LIST_MAX], want[LIST_MAX], count;
    ph_work_id ids[LIST_MAX], got[LIST_MAX];

    if (run->model.message_count == 0 || run->model.message_count > M_MESSAGES - LIST_MAX)
        return true;
    say(run, "dead_retry");
    count = ids_of(run, messages, ids);
    if (!went_well(run, ph_dead_retry(run->store, tx_of(run), ids, (size_t)count, 0, got, &t_err),
                   "dead_retry"))
        return false;
    m_dead_retry(&run->model, messages, count, want);
    say(run, " as");
    for (int i = 0; i < count; i++) {
        if (!retried_as_expected(run, messages[i], want[i], &got[i]))
            return false;
    }
    return true;
}

bool step_dead_discard(struct run *run)
{
    int messages[LIST_MAX], count;
    ph_work_id ids[LIST_MAX];
    int64_t got = -1, want;

    if (run->model.message_count == 0)
        return true;
    say(run, "dead_discard");
    count = ids_of(run, messages, ids);
    if (!went_well(run,
                   ph_dead_discard(run->store, tx_of(run), ids, (size_t)count, 0, &got, &t_err),
                   "dead_discard"))
        return false;
    want = m_dead_discard(&run->model, messages, count);
    say(run, ": %lld", (long long)got);
    return got == want ||
           differ(run, "discarded %lld, should be %lld", (long long)got, (long long)want);
}

/* -------------------------------------------------------------------- queues */

bool step_queue_set(struct run *run)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    int ns = roll(run, M_NAMESPACES);

    settings.max_attempts = chance(run, 40) ? (int)ONE_OF(run, 1, 2, 3, 10) : 0;
    settings.max_lease_s = chance(run, 30) ? (int)ONE_OF(run, 10, 45, PH_LEASE_MAX_S) : 0;
    settings.retention_s = chance(run, 30) ? ONE_OF(run, 1, 3600, PH_FOREVER) : 0;
    settings.dead_retention_s = chance(run, 30) ? ONE_OF(run, 1, 3600, PH_FOREVER) : 0;
    settings.dedupe_retention_s = chance(run, 30) ? ONE_OF(run, 1, 3600, PH_FOREVER) : 0;
    settings.delete_on_ack = chance(run, 30) ? (int)ONE_OF(run, 1, -1) : 0;
    settings.backoff = chance(run, 30) ? (ph_backoff)ONE_OF(run, 1, 2, 2) : PH_BACKOFF_KEEP;
    settings.backoff_base_ms = chance(run, 20) ? ONE_OF(run, 1, 700, 100000) : 0;
    settings.backoff_max_ms = chance(run, 20) ? ONE_OF(run, 1, 5001, 100000) : 0;
    settings.dead_head = chance(run, 30) ? (ph_dead_head)ONE_OF(run, 1, 2, 2) : PH_DEAD_HEAD_KEEP;
    say(run,
        "queue_set (ns %d dead_head %d max_attempts %d max_lease %d retention %lld dead %lld "
        "dedupe %lld "
        "delete_on_ack %d backoff %d base %lld max %lld)",
        ns, (int)settings.dead_head, settings.max_attempts, settings.max_lease_s,
        (long long)settings.retention_s, (long long)settings.dead_retention_s,
        (long long)settings.dedupe_retention_s, settings.delete_on_ack, (int)settings.backoff,
        (long long)settings.backoff_base_ms, (long long)settings.backoff_max_ms);
    m_queue_set(&run->model, ns, &settings);
    return went_well(
        run, ph_outbox_queue_set(run->store, tx_of(run), m_namespaces[ns], &settings, 0, &t_err),
        "queue_set");
}

bool step_pause(struct run *run)
{
    int ns = roll(run, M_NAMESPACES);
    bool pause = chance(run, 30);

    say(run, "%s (ns %d)", pause ? "pause" : "resume", ns);
    m_queue_pause(&run->model, ns, pause);
    return went_well(run,
                     (pause ? ph_outbox_queue_pause : ph_outbox_queue_resume)(
                         run->store, tx_of(run), ns ? m_namespaces[ns] : NULL, 0, &t_err),
                     "pause");
}

bool step_queue_delete(struct run *run)
{
    int ns = roll(run, M_NAMESPACES), want = m_queue_delete(&run->model, ns), got;
    bool deleted = false;

    got = ph_outbox_queue_delete(run->store, tx_of(run), m_namespaces[ns], 0, &deleted, &t_err);
    say(run, "queue_delete (ns %d): %d", ns, got);
    if (want == PH_ESTATE && got == PH_ESTATE)
        return true;
    return went_well(run, got, "queue_delete") &&
           (deleted == (want == 1) ||
            differ(run, "the queue of ns %d: deleted is %d, should be %d", ns, deleted, want));
}

bool step_retention(struct run *run)
{
    int64_t got = -1, want;

    say(run, "retention:");
    if (!went_well(run, ph_retention_run(run->store, tx_of(run), 0, 0, &got, &t_err), "retention"))
        return false;
    want = m_retention(&run->model);
    say(run, " %lld", (long long)got);
    return got == want ||
           differ(run, "retention deleted %lld, should be %lld", (long long)got, (long long)want);
}

/* ---------------------------------------------------------------------- look */

bool step_count(struct run *run)
{
    ph_queue_counts got = PH_QUEUE_COUNTS_INIT, want;
    int ns = roll(run, M_NAMESPACES + 1) - 1;

    say(run, "count (ns %d)", ns);
    if (!went_well(run,
                   ph_outbox_count(run->store, tx_of(run), ns < 0 ? NULL : m_namespaces[ns], 0,
                                   &got, &t_err),
                   "count"))
        return false;
    m_count(&run->model, ns, &want);
    return same_int(run, "ready", ns, got.ready, want.ready) &&
           same_int(run, "scheduled", ns, got.scheduled, want.scheduled) &&
           same_int(run, "in_progress", ns, got.in_progress, want.in_progress) &&
           same_int(run, "dead", ns, got.dead, want.dead) &&
           same_int(run, "parked", ns, got.parked, want.parked) &&
           same_int(run, "expired_leases", ns, got.expired_leases, want.expired_leases) &&
           same_int(run, "oldest_ready_ms", ns, got.oldest_ready_ms, want.oldest_ready_ms);
}

static bool same_history(struct run *run, int index, const ph_message_info *got)
{
    static const char *const kinds[] = { "abandoned", "failed", "released", "lost", "expired" };
    const struct m_message *want = &run->model.messages[index];

    if (!same_int(run, "history_count", index, (int64_t)got->history_count, want->history_count))
        return false;
    for (int i = 0; i < want->history_count; i++) {
        const ph_attempt *entry = &got->history[i];
        const struct m_attempt *past = &want->history[i];

        if (!same_text(run, "history: kind", index, entry->kind, kinds[past->kind]) ||
            !same_int(run, "history: attempt", index, entry->attempt, past->attempt) ||
            !same_text(run, "history: error", index, entry->error, m_errors[past->error]) ||
            !same_int(run, "history: at", index, entry->at, past->at) ||
            !same_int(run, "history: next_due_at", index, entry->next_due_at, past->next_due))
            return false;
        if (memcmp(entry->owner.b, owner_of(past->owner).b, 16) != 0)
            return differ(run, "message %d: history: another owner at %d", index, i);
    }
    return true;
}

static bool same_info(struct run *run, int index, const ph_message_info *got)
{
    static const char *const reasons[] = { NULL, "failed", "attempts", "lost", "expired" };
    const struct m_message *want = &run->model.messages[index];
    const struct m_lease *lease = m_lease_of(&run->model, want);
    ph_work_id retried = { { 0 } };

    if (want->retried_as >= 0)
        retried = run->model.messages[want->retried_as].id;
    if (memcmp(got->retried_as.b, retried.b, 16) != 0)
        return differ(run, "message %d: another retried_as", index);
    if (memcmp(got->owner.b, owner_of(want->owner).b, 16) != 0)
        return differ(run, "message %d: another owner", index);
    return same_delivery(run, index, got->message) &&
           same_int(run, "status", index, got->state, want->place) &&
           same_int(run, "requested_due_at", index, got->requested_due_at, want->draft.due_at) &&
           same_int(run, "expires_at", index, got->expires_at, want->draft.expires_at) &&
           same_int(run, "locked_until", index, got->locked_until, lease ? lease->until : 0) &&
           same_int(run, "processed_at", index, got->processed_at,
                    want->place == M_DONE ? want->ended_at : 0) &&
           same_int(run, "updated_at", index, got->updated_at, m_updated_at(want)) &&
           same_int(run, "next_attempt_at", index, got->next_attempt_at,
                    want->place == M_PENDING ? want->due : 0) &&
           same_text(run, "dead_reason", index, got->dead_reason, reasons[want->reason]) &&
           same_history(run, index, got);
}

bool step_find(struct run *run)
{
    ph_message_info *info = NULL;
    int index, r;
    bool ok;

    if (run->model.message_count == 0)
        return true;
    index = roll(run, run->model.message_count);
    say(run, "find %d", index);
    r = ph_outbox_find(run->store, tx_of(run), run->model.messages[index].id, 0, &info, &t_err);
    if (run->model.messages[index].place == M_GONE)
        ok = r == PH_ENOTFOUND ||
             differ(run, "message %d: find answered %d, but it is gone", index, r);
    else
        ok = went_well(run, r, "find") && same_info(run, index, info);
    ph_message_info_free(info);
    return ok;
}
