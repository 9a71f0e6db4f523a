/* exchange.c - the one call: settles the decided works, renews leases, claims the next messages,
 * and beats the heart, in one round trip. */
#include "dispatch/poll/poll.h"

#include "core/batch.h"
#include "core/error.h"
#include "util/alloc.h"

#include <string.h>

/* One call, while it is made. */
struct call {
    struct ph__poller *poller;
    struct ph__db *db;
    struct ph__work_batch batch;
    struct ph__claim claims[PH__SIDES];
    struct ph__batch *batches[PH__SIDES]; /* NULL: nothing is claimed there */
    struct ph__renewal *renewal;
    ph_owner owner;
    bool ends; /* nothing is claimed any more */
};

static struct ph__work_part *part_of(struct call *call, int door)
{
    return door == PH_INBOX ? &call->batch.inbox : &call->batch.outbox;
}

/* Said once for each topic; with the log's lock held. */
static const char *no_handler_text(ph_dispatcher *dispatcher, const char *topic)
{
    for (size_t i = 0; i < dispatcher->logging.warned_count; i++) {
        if (strcmp(dispatcher->logging.warned_topics[i], topic) == 0)
            return NULL;
    }
    if (dispatcher->logging.warned_count == PH__WARNED_TOPICS_MAX)
        return NULL;
    dispatcher->logging.warned_topics[dispatcher->logging.warned_count] = ph__strdup(topic);
    dispatcher->logging.warned_count +=
        dispatcher->logging.warned_topics[dispatcher->logging.warned_count] != NULL;
    return dispatcher->logging.warned_count < PH__WARNED_TOPICS_MAX
               ? "no handler for this topic; its messages are put off"
               : "no handler for this topic; further such topics are not named";
}

static void warn_once(const struct ph_work *work)
{
    ph_dispatcher *dispatcher = work->batch->dispatcher;
    const char *text;

    pthread_mutex_lock(&dispatcher->logging.lock);
    text = no_handler_text(dispatcher, work->delivery->topic);
    pthread_mutex_unlock(&dispatcher->logging.lock);
    if (text)
        ph__say(work->batch->db, PH_LOG_WARN, text, work, NULL, NULL);
}

static void add_batch(struct ph__batch *batch)
{
    ph_dispatcher *dispatcher = batch->dispatcher;

    for (size_t i = 0; i < batch->count; i++) {
        if (batch->works[i].no_handler)
            warn_once(&batch->works[i]);
    }
    ph__lock(dispatcher);
    if (memcmp(batch->owner.b, batch->db->heart.owner.b, sizeof(batch->owner.b)) != 0)
        ph__batch_lose(batch); /* we were evicted meanwhile */
    ph__batch_add(batch);
    ph__unlock(dispatcher);
}

/* Makes room for the messages before it claims them. */
static int ask(struct call *call, int door, const struct ph__exchange_io *io, ph_error *err)
{
    const ph_dispatcher *dispatcher = call->db->dispatcher;
    const struct ph__side *side = &dispatcher->handlers.sides[door];
    struct ph__work_part *part = part_of(call, door);
    int room = io->room[door];

    if (room == 0 || call->ends)
        return 0;
    call->batches[door] = ph__batch_new(call->db, (ph_door)door, call->owner, room);
    part->batch = ph__alloc_zero(1, sizeof(*part->batch));
    if (!call->batches[door] || !part->batch)
        return ph__fail_memory(err);
    call->claims[door] = (struct ph__claim){
        .door = (ph_door)door,
        .owner = call->owner,
        .lease_s = dispatcher->opts.lease_s,
        .batch_size = room,
        .ns = dispatcher->opts.ns,
        .topics = side->topics,
        .topic_count = side->topics ? side->count : 0,
        .partition_count = dispatcher->opts.partition_count,
        .max_partitions = dispatcher->opts.max_partitions,
        .last = io->last[door],
    };
    if (io->any_stream) /* no limit is needed where a claim is of no more messages than that */
        call->claims[door].partition_count = call->claims[door].max_partitions = 0;
    part->claim = &call->claims[door];
    return 0;
}

static void take(struct call *call, int door, struct ph__exchange_io *io, int64_t asked_us)
{
    struct ph__work_part *part = part_of(call, door);

    io->claimed[door] = (int)ph_batch_count(part->batch);
    io->more[door] = part->batch && part->batch->more;
    io->last_waits[door] = part->batch && part->batch->last_waits;
    io->last_came[door] = part->batch && part->batch->last;
    if (io->claimed[door] == 0)
        return;
    for (size_t i = 0; i < part->batch->count && !io->plain; i++)
        io->plain = !part->batch->items[i].stream;
    ph__batch_fill(call->batches[door], part->batch, asked_us);
    call->batches[door]->last = io->last_came[door];
    add_batch(call->batches[door]);
    part->batch = NULL;
    call->batches[door] = NULL;
}

/* The second poller has come for nothing: the first was quicker. */
static bool is_pointless(struct call *call, const struct ph__exchange_io *io)
{
    return !io->settled && !call->batch.outbox.claim && !call->batch.inbox.claim;
}

static int make(struct call *call, struct ph__exchange_io *io, ph_error *err)
{
    struct ph__db *db = call->db;
    struct ph__poller *poller = call->poller;
    int64_t asked_us = ph__boot_us();
    int r = 0;

    if (io->renew)
        r = ph__renewal_begin(db, &call->batch, &call->renewal, err);
    if (r < 0)
        return r;
    ph__lock(db->dispatcher);
    call->owner = db->heart.owner;
    if (io->settle)
        ph__settle_begin(&poller->settle, db, &call->batch);
    io->settled = poller->settle.count > 0;
    io->alone = db->dispatcher->works.in_flight == poller->settle.count;
    /* Messages that a stop has just released must not come back with the same call. */
    call->ends = db->dispatcher->phase.stopping || db->leaving;
    poller->settle.claims = !call->ends && io->room[PH_OUTBOX] + io->room[PH_INBOX] > 0;
    ph__unlock(db->dispatcher);
    call->batch.instance = ph__instance_of(db, call->owner);
    for (int door = 0; door < PH__SIDES && r == 0; door++)
        r = ask(call, door, io, err);
    if (r == 0 && poller->store && is_pointless(call, io))
        return 0;
    if (r == 0)
        r = ph__work_batch(poller->store ? poller->store : db->store, &call->batch,
                           db->health.limit_ms, err);
    /* A handler must never find that its message's store cannot be used. */
    if (r == 0 && !poller->store && (io->settle || !db->health.exchange_failed))
        ph__db_succeeded(db);
    ph__settle_end(&poller->settle, db, r, err);
    ph__renewal_end(db, call->renewal, r, asked_us);
    for (int door = 0; door < PH__SIDES && r == 0; door++)
        take(call, door, io, asked_us);
    return r;
}

int ph__exchange(struct ph__poller *poller, struct ph__db *db, struct ph__exchange_io *io,
                 ph_error *err)
{
    struct call call = { .poller = poller, .db = db };
    int r = make(&call, io, err);

    for (int door = 0; door < PH__SIDES; door++) {
        ph_batch_free(part_of(&call, door)->batch);
        ph__dealloc(call.batches[door]);
    }
    if (r == 0 && !poller->store)
        db->heart.registered = true;
    return r;
}
