/* worker.c - claims steps and settles them in every way; some are left to their leases. */
#include "crowd.h"

static ph_batch *claim(ph_store *store, ph_owner owner, int count)
{
    static const char *const topics[] = { STEP };
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;

    opts.topics = topics;
    opts.topic_count = 1;
    opts.lease_s = LEASE_S;
    opts.batch_size = count;
    return claim_with(store, owner, &opts);
}

static ph_settle_verb any_verb(void)
{
    unsigned what = t_dice(100);

    return what < 72 ? PH_ACK : what < 84 ? PH_FAIL : what < 95 ? PH_ABANDON : PH_RELEASE;
}

/* Settles in a transaction of its own, or in one of the caller's, which may be rolled back or meet
 * a conflict. */
static void settle_some(ph_store *store, struct t_conn *conn, ph_owner owner,
                        const ph_settlement *items, size_t count)
{
    bool guest = t_dice(6) == 0;
    int r;

    if (count == 0)
        return;
    if (guest)
        t_begin(conn);
    r = ph_outbox_settle(store, guest ? t_tx(conn) : PH_OWN_TX, owner, items, count, 0, NULL,
                         &t_err);
    if (guest && (r == PH_ECONFLICT || t_dice(4) == 0)) {
        t_rollback(conn);
        return;
    }
    OK(r);
    if (guest)
        t_commit(conn);
}

static void settle_batch(ph_store *store, struct t_conn *conn, ph_owner owner,
                         const ph_batch *batch)
{
    ph_settlement items[64] = { 0 };
    size_t count = 0, first;

    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        if (t_dice(25) == 0)
            continue; /* forgotten */
        items[count].lease = ph_lease_ref_of(ph_batch_at(batch, i));
        items[count].verb = any_verb();
        items[count++].error = "so it goes";
    }
    for (size_t i = count; i > 1; i--) { /* in any order */
        size_t other = t_dice((unsigned)i);
        ph_settlement one = items[i - 1];

        items[i - 1] = items[other];
        items[other] = one;
    }
    first = count ? t_dice((unsigned)count + 1) : 0;
    settle_some(store, conn, owner, items, first);
    if (t_dice(3) == 0)
        t_nap_ms(t_dice(5));
    settle_some(store, conn, owner, items + first, count - first);
}

void work(struct crowd *crowd)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    int idle = 0;

    while (!atomic_load(&crowd->produced) || idle < 5) {
        ph_batch *batch = claim(store, owner, 1 + (int)t_dice(40));

        idle = ph_batch_count(batch) ? 0 : idle + 1;
        if (idle)
            t_nap_ms(2 + t_dice(10));
        settle_batch(store, conn, owner, batch);
        ph_batch_free(batch);
    }
    t_disconnect(conn);
    ph_close(store);
}

void drain(ph_store *store)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_owner owner = ph_owner_new();

    do {
        ph_batch *batch;

        t_clock_advance(store, 1000 * T_SECOND);
        reap(store);
        while (ph_batch_count(batch = claim(store, owner, 500)) > 0)
            t_ack_all(store, owner, batch);
        ph_batch_free(batch);
        OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    } while (counts.in_progress + counts.scheduled > 0);
}
