/* settle.c - settles leased messages. The write lock makes it simple: a lease is still as it was
 * read when it is written.
 *
 * A run of a stream is settled from its front, in whatever order the items come: the settlements of
 * its messages are gathered, and made when all items have been looked at. */
#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/done_row.h"
#include "store/sqlite/under_lock.h"
#include "store/sqlite/held.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/stream_row.h"
#include "store/sqlite/verbs.h"
#include "util/assert.h"

struct settling {
    struct ph__sqlite_tx *tx;
    struct ph__arena arena;
    struct ph__held_set held;
    struct ph__queue_row queue;
    bool keep;
    const ph_settlement *items;
    ph_outcome *outcomes;
};

static int count_retries(struct settling *s, int64_t id, int *ret_count)
{
    struct ph__query query = ph__query(s->tx, PH__SQL_retry_count);
    int64_t count = 0;
    int r;

    ph__query_int(&query, id);
    r = ph__query_one(&query, &count, 0);
    *ret_count = (int)count;
    return r;
}

/* When an abandoned message is due again. */
static int due_after(struct settling *s, const ph_settlement *item, int64_t id, int attempts,
                     int64_t *ret_due)
{
    int64_t delay_us = item->delay_ms * 1000;
    int retries, r = 0;

    if (item->delay_ms == PH_DELAY_POLICY) {
        r = count_retries(s, id, &retries);
        if (r == 0)
            delay_us = ph__queue_backoff_us(&s->queue, retries + 1, attempts);
    }
    *ret_due = s->tx->now + delay_us;
    return r;
}

static int give_back(struct settling *s, const struct ph__attempt_entry *entry,
                     const struct ph__hold *hold, int64_t due, bool refund)
{
    const struct ph__lease_row *lease = &hold->held->lease;
    struct ph__attempt_entry logged = *entry;
    struct ph__pending_row row = {
        .queue = lease->queue,
        .level = hold->facts.level,
        .due = due,
        .id = entry->id,
        .attempts = entry->attempt - refund,
        .lost = refund ? lease->lost : 0,
        .topic = hold->facts.topic,
        .stream = hold->stream,
    };
    int r;

    logged.next_due = &due;
    r = ph__log_attempt(s->tx, &logged);
    return r < 0 ? r : ph__put_pending(s->tx, &row);
}

static int kill_off(struct settling *s, const struct ph__attempt_entry *entry,
                    const struct ph__hold *hold, enum ph__dead_reason reason)
{
    int64_t queue = hold->held->lease.queue;
    struct ph__pending_row head = { .queue = queue,
                                    .level = hold->facts.level,
                                    .id = entry->id,
                                    .topic = hold->facts.topic,
                                    .stream = hold->stream };
    int r = ph__log_attempt(s->tx, entry);

    if (r == 0)
        r = ph__bury(s->tx, entry->id, queue, reason, entry->owner);
    if (r < 0 || !hold->stream)
        return r;
    r = ph__queue_by_id(s->tx, queue, &s->queue);
    return r < 0 ? r : ph__stream_head_died(s->tx, s->queue.dead_head, &head, hold->seq);
}

static int abandon(struct settling *s, const ph_settlement *item, const struct ph__hold *hold,
                   const struct ph__attempt_entry *entry, ph_outcome *ret_outcome)
{
    int64_t due;
    int max, r = ph__queue_by_id(s->tx, hold->held->lease.queue, &s->queue);

    if (r < 0)
        return r;
    max = hold->facts.max_attempts ? hold->facts.max_attempts : s->queue.max_attempts;
    if (entry->attempt >= max) {
        *ret_outcome = PH_OUTCOME_DEAD;
        return kill_off(s, entry, hold, PH__DEAD_ATTEMPTS);
    }
    *ret_outcome = PH_OUTCOME_ABANDONED;
    r = due_after(s, item, entry->id, entry->attempt, &due);
    return r < 0 ? r : give_back(s, entry, hold, due, false);
}

/* Acks are gathered, and written when all items have been looked at. */
static int ack(struct settling *s, const struct ph__hold *hold)
{
    struct ph__held *held = hold->held;

    if (!held->acked)
        held->acked = ph__arena_alloc(&s->arena, held->lease.count * sizeof(*held->acked));
    if (!held->acked)
        return ph__fail_memory(s->tx->call->err);
    PH__ASSERT(!held->acked[hold->position]);
    held->acked[hold->position] = true;
    held->acked_count++;
    return 0;
}

/* How long a released message is deferred: usually not at all. */
static int64_t deferral_us(const ph_settlement *item)
{
    return item->delay_ms > 0 ? item->delay_ms * 1000 : 0;
}

static int apply(struct settling *s, const ph_settlement *item, const struct ph__hold *hold,
                 ph_outcome *ret_outcome)
{
    const struct ph__lease_row *lease = &hold->held->lease;
    struct ph__attempt_entry entry = {
        .id = lease->ids[hold->position],
        .attempt = ph__lease_attempts(lease, hold->position),
        .error = item->error,
        .owner = &lease->owner,
    };

    switch (item->verb) {
    case PH_ACK:
        *ret_outcome = PH_OUTCOME_ACKED;
        return ack(s, hold);
    case PH_ABANDON:
        entry.kind = PH__ABANDONED;
        return abandon(s, item, hold, &entry, ret_outcome);
    case PH_FAIL:
        entry.kind = PH__FAILED;
        *ret_outcome = PH_OUTCOME_FAILED;
        return kill_off(s, &entry, hold, PH__DEAD_FAILED);
    case PH_RELEASE:
        entry.kind = PH__RELEASED;
        *ret_outcome = PH_OUTCOME_RELEASED;
        return give_back(s, &entry, hold, s->tx->now + deferral_us(item), true);
    }
    return ph__fail(s->tx->call->err, PH_EINVAL, "verb %d is not a ph_settle_verb",
                    (int)item->verb);
}

/* The message leaves its lease. */
static void let_go(struct ph__held *held, size_t position)
{
    PH__ASSERT(held->lease.settled[position] == '0');
    PH__ASSERT(held->lease.open > 0);
    held->lease.settled[position] = '1';
    held->lease.open--;
    held->changed = true;
}

/* A settlement of a message in a run; until its turn comes, the outcome is stale. */
static int ask(struct settling *s, const struct ph__hold *hold, size_t index)
{
    struct ph__held *held = hold->held;

    if (!held->asked)
        held->asked = ph__arena_alloc(&s->arena, held->lease.count * sizeof(*held->asked));
    if (!held->asked)
        return ph__fail_memory(s->tx->call->err);
    held->asked[hold->position] = index + 1;
    return 0;
}

/* An ack of a message that this owner has acked before. Not inside a transaction of the caller's:
 * that may have written the effect of the message for the second time, and must be rolled back. */
static int ack_again(struct settling *s, size_t index)
{
    const ph_settlement *item = &s->items[index];
    int64_t number;
    uint64_t salt;
    int r;

    if (item->verb != PH_ACK || s->outcomes[index] != PH_OUTCOME_STALE ||
        !(s->tx->own || s->tx->implicit || s->tx->call->store->begun) ||
        !ph__id_split(item->lease.work_id, &number, &salt))
        return 0;
    r = ph__was_acked(s->tx, number, &s->held.owner, item->lease.fence);
    if (r > 0)
        s->outcomes[index] = PH_OUTCOME_ACKED;
    return r < 0 ? r : 0;
}

static int settle_one(struct settling *s, size_t index)
{
    const ph_settlement *item = &s->items[index];
    struct ph__hold hold;
    int r = ph__held_find(&s->held, &item->lease, &hold);

    s->outcomes[index] = hold.outcome;
    if (r < 0 || !hold.held)
        return r < 0 ? r : ack_again(s, index);
    if (hold.held->lease.in_run && hold.held->lease.in_run[hold.position])
        return ask(s, &hold, index);
    r = apply(s, item, &hold, &s->outcomes[index]);
    let_go(hold.held, hold.position);
    return r;
}

/* The first message of a run that is not settled: it is the head of its stream. Anything but an
 * ack ends the run. */
static int settle_head(struct settling *s, struct ph__held *held, const struct ph__lease_run *run,
                       size_t at, size_t index)
{
    struct ph__hold hold = { .held = held,
                             .position = run->places[at],
                             .stream = run->stream,
                             .seq = run->first_seq + (int64_t)at };
    int r = 0;

    PH__ASSERT(hold.seq > 0 && hold.stream > 0 && hold.position < held->lease.count);
    if (s->items[index].verb != PH_ACK)
        r = ph__message_facts(s->tx, held->lease.ids[hold.position], &hold.facts);
    if (r == 0)
        r = apply(s, &s->items[index], &hold, &s->outcomes[index]);
    let_go(held, hold.position);
    return r;
}

/* Parks the rest of a run, from a place on, as if it had not been claimed. */
static void park(struct settling *s, struct ph__held *held, const struct ph__lease_run *run,
                 size_t at)
{
    for (; at < run->count; at++) {
        size_t position = run->places[at], index = held->asked[position];

        if (held->lease.settled[position] != '0')
            continue;
        let_go(held, position);
        if (index && s->items[index - 1].verb == PH_RELEASE)
            s->outcomes[index - 1] = PH_OUTCOME_RELEASED;
    }
}

static int settle_run(struct settling *s, struct ph__held *held, const struct ph__lease_run *run)
{
    size_t at = ph__run_first(&held->lease, run), end = ph__lease_run_end(&held->lease, run);
    size_t index = 0;
    int r = 0;

    PH__ASSERT(at <= run->count && end <= run->count);
    if (at >= end)
        return 0;
    for (; r == 0 && at < end; at++) {
        index = held->asked[run->places[at]];
        if (!index)
            break;
        r = settle_head(s, held, run, at, index - 1);
        if (s->items[index - 1].verb != PH_ACK) {
            park(s, held, run, at + 1);
            return r;
        }
    }
    if (r < 0)
        return r;
    if (at == end) /* all acked: the stream goes on behind them */
        return ph__stream_go_on(s->tx, run->stream, run->first_seq + (int64_t)end - 1);
    for (; at < end; at++) { /* in the middle nothing but a release counts */
        index = held->asked[run->places[at]];
        if (index && s->items[index - 1].verb == PH_RELEASE) {
            park(s, held, run, at);
            break;
        }
    }
    return 0;
}

static int settle_runs(struct settling *s, struct ph__held *held)
{
    int r = 0;

    for (size_t i = 0; held->asked && r == 0 && i < held->lease.run_count; i++)
        r = settle_run(s, held, &held->lease.runs[i]);
    return r;
}

static int write_acks(struct settling *s, const struct ph__held *held)
{
    const struct ph__lease_row *lease = &held->lease;
    struct ph__queue_row queue;
    int64_t *ids;
    size_t count = 0;
    int r;

    if (held->acked_count == 0)
        return 0;
    ids = ph__arena_alloc(&s->arena, held->acked_count * sizeof(*ids));
    if (!ids)
        return ph__fail_memory(s->tx->call->err);
    for (size_t i = 0; i < lease->count; i++) {
        if (held->acked[i])
            ids[count++] = lease->ids[i];
    }
    PH__ASSERT(count == held->acked_count);
    r = ph__queue_by_id(s->tx, lease->queue, &s->queue);
    queue = s->queue;
    queue.delete_on_ack = queue.delete_on_ack && !s->keep;
    if (r == 0)
        r = ph__steps_ended(s->tx, ids, count, false);
    if (r == 0 && queue.delete_on_ack) /* a deleted message can no longer be counted */
        r = ph__steps_count(s->tx);
    return r < 0 ? r : ph__put_done(s->tx, &queue, &lease->owner, lease->fence, ids, count);
}

/* The lease's row goes with its last open message. */
static int write_lease(struct settling *s, const struct ph__lease_row *lease)
{
    struct ph__query query =
        ph__query(s->tx, lease->open == 0 ? PH__SQL_lease_delete : PH__SQL_lease_settle);

    PH__ASSERT(lease->open == ph__lease_unsettled(lease));
    ph__query_int(&query, lease->fence);
    if (lease->open > 0) {
        ph__query_int(&query, (int64_t)lease->open);
        ph__query_text(&query, lease->settled);
    }
    return ph__query_run(&query);
}

static int settle_all(struct settling *s, size_t count)
{
    const size_t *firsts;
    int r =
        ph__held_firsts(s->items, sizeof(*s->items), count, &s->arena, s->tx->call->err, &firsts);

    for (size_t i = 0; r == 0 && i < count; i++) {
        if (!firsts || firsts[i] == i)
            r = settle_one(s, i);
    }
    for (struct ph__held *held = s->held.first; r == 0 && held; held = held->next) {
        r = settle_runs(s, held);
        if (r < 0 || !held->changed)
            continue;
        r = write_acks(s, held);
        if (r == 0)
            r = write_lease(s, &held->lease);
    }
    for (size_t i = 0; r == 0 && firsts && i < count; i++)
        s->outcomes[i] = s->outcomes[firsts[i]];
    return r < 0 ? r : ph__steps_count(s->tx);
}

int ph__settle_under_lock(struct ph__sqlite_tx *tx, ph_door door, ph_owner owner,
                          const ph_settlement *items, size_t count, ph_outcome *ret_outcomes,
                          bool keep)
{
    struct settling s = { .tx = tx, .keep = keep, .items = items, .outcomes = ret_outcomes };
    int r;

    PH__ASSERT(tx->writes);
    ph__held_init(&s.held, tx, &s.arena, door, owner);
    r = settle_all(&s, count);
    ph__arena_free(&s.arena);
    return r;
}

int ph__sqlite_settle(struct ph__call *call, ph_door door, ph_owner owner,
                      const ph_settlement *items, size_t count, ph_outcome *ret_outcomes)
{
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    return ph__sqlite_end(
        &tx, ph__settle_under_lock(&tx, door, owner, items, count, ret_outcomes, false));
}
