/* batch.c - the one call: all parts of an exchange, one after the other under one write lock. The
 * parts are the verbs, once they have it. */
#include "core/id.h"
#include "store/sqlite/claiming.h"
#include "store/sqlite/consumer.h"
#include "store/sqlite/under_lock.h"
#include "store/sqlite/instance.h"
#include "store/sqlite/receptor.h"
#include "store/sqlite/store_message.h"
#include "store/sqlite/verbs.h"

struct working {
    struct ph__sqlite_tx *tx;
    struct ph__work_batch *batch;
};

static bool brings_nothing(const struct ph__work_part *part)
{
    return part->settle_count == 0 && part->renew_count == 0 && part->message_count == 0;
}

static int look_for(struct ph__sqlite_tx *tx, const struct ph__work_part *part)
{
    return part->claim ? ph__claim_look(tx, part->claim, part->batch) : 0;
}

/* 1 if the call has anything to do; 0 is the usual answer of an idle one. Takes no lock. */
static int look_first(struct ph__call *call, const struct ph__work_batch *batch)
{
    struct ph__sqlite_tx tx;
    int found, r;

    if (call->connection || !brings_nothing(&batch->outbox) || !brings_nothing(&batch->inbox) ||
        batch->receptor_count > 0 || batch->checkpoint_count > 0)
        return 1;
    r = ph__sqlite_begin_read(&tx, call);
    if (r < 0)
        return r;
    found = batch->instance.service ? ph__instance_look(&tx, &batch->instance) : 0;
    if (found == 0)
        found = look_for(&tx, &batch->outbox);
    if (found == 0)
        found = look_for(&tx, &batch->inbox);
    r = ph__sqlite_end(&tx, found < 0 ? found : 0);
    return r < 0 ? r : found;
}

static int settle(struct working *w, ph_door door, const struct ph__work_part *part)
{
    if (part->settle_count == 0)
        return 0;
    return ph__settle_under_lock(w->tx, door, w->batch->instance.id, part->settle,
                                 part->settle_count, part->ret_settled, w->batch->keep);
}

static int store(struct working *w, ph_door door, const struct ph__work_part *part)
{
    if (part->message_count == 0)
        return 0;
    return ph__enqueue_under_lock(w->tx, door, part->messages, part->message_count,
                                  part->ret_enqueued);
}

static int renew(struct working *w, ph_door door, const struct ph__work_part *part)
{
    if (part->renew_count == 0)
        return 0;
    return ph__renew_under_lock(w->tx, door, w->batch->instance.id, part->renew, part->renew_count,
                                w->batch->instance.lease_s, part->ret_renewed);
}

/* The number of the first message that this call has stored. All higher ones are of this call, too,
 * since no other connection can write. */
static int64_t first_stored(const struct ph__work_part *part)
{
    int64_t number;
    uint64_t salt;

    for (size_t i = 0; i < part->message_count; i++) {
        if (part->ret_enqueued[i].is_new &&
            ph__id_split(part->ret_enqueued[i].work_id, &number, &salt))
            return number;
    }
    return INT64_MAX;
}

/* Messages whose worker was lost are leased apart; *ret_lost: how often that was. */
static int times_lost(struct working *w, const ph_batch *batch, int64_t *ret_lost)
{
    struct ph__query query;

    *ret_lost = 0;
    if (batch->count == 0 || batch->count > PH__LOST_GROUP_MAX || batch->items[0].attempts == 1)
        return 0;
    query = ph__query(w->tx, PH__SQL_lease_lost);
    ph__query_int(&query, batch->items[0].fence);
    return ph__query_one(&query, ret_lost, 0);
}

static int mark(struct working *w, const struct ph__work_part *part)
{
    int64_t first = first_stored(part), number = 0, lost;
    uint64_t salt;
    int r = times_lost(w, part->batch, &lost);

    for (size_t i = 0; r == 0 && i < part->batch->count; i++) {
        ph_delivery *item = &part->batch->items[i];

        if (ph__id_split(item->work_id, &number, &salt) && number >= first)
            item->flags |= PH_WORK_NEW;
        if (lost > 0)
            item->flags |= PH_WORK_ORPHAN;
        if (item->retry_count > 0)
            item->flags |= PH_WORK_RETRY;
    }
    return r;
}

static int claim(struct working *w, const struct ph__work_part *part)
{
    int r;

    if (!part->claim)
        return 0;
    r = ph__claim_under_lock(w->tx, part->claim, part->batch);
    return r < 0 || !w->batch->instance.service ? r : mark(w, part);
}

static int work(struct working *w)
{
    struct ph__work_batch *b = w->batch;
    int r = 0;

    if (b->instance.service)
        r = ph__instance_beat(w->tx, &b->instance, &b->ret_registered, &b->ret_evicted,
                              &b->ret_evicted_one);
    /* Results first: an ack may delete the messages that they are about. */
    if (r == 0)
        r = ph__receptors_keep(w->tx, b->receptors, b->receptor_count);
    if (r == 0)
        r = ph__checkpoints_keep(w->tx, b->checkpoints, b->checkpoint_count);
    if (r == 0)
        r = settle(w, PH_OUTBOX, &b->outbox);
    if (r == 0)
        r = settle(w, PH_INBOX, &b->inbox);
    if (r == 0)
        r = renew(w, PH_OUTBOX, &b->outbox);
    if (r == 0)
        r = renew(w, PH_INBOX, &b->inbox);
    if (r == 0)
        r = store(w, PH_OUTBOX, &b->outbox);
    if (r == 0)
        r = store(w, PH_INBOX, &b->inbox);
    if (r == 0)
        r = claim(w, &b->outbox);
    return r < 0 ? r : claim(w, &b->inbox);
}

int ph__sqlite_work_batch(struct ph__call *call, struct ph__work_batch *batch)
{
    struct ph__sqlite_tx tx;
    struct working w = { &tx, batch };
    int r = look_first(call, batch);

    batch->ret_registered = false;
    batch->ret_evicted = 0;
    if (r <= 0)
        return r;
    r = ph__sqlite_begin_write(&tx, call);
    return r < 0 ? r : ph__sqlite_end(&tx, work(&w));
}
