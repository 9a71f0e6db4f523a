/* idle_test.c - a worker with nothing to do disturbs nobody; a deferred message waits. */
#include "seam.h"

static int exchange(ph_store *store, ph_owner owner, const ph_settlement *items, size_t count,
                    size_t *ret_claimed)
{
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    int r =
        ph_outbox_exchange(store, PH_OWN_TX, owner, items, count, &claim, 50, NULL, &batch, &t_err);

    *ret_claimed = ph_batch_count(batch);
    ph_batch_free(batch);
    return r;
}

TEST(an_idle_exchange_takes_no_lock_and_writes_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    long long before;
    size_t claimed;

    t_enqueue(store, "topic", "payload");
    t_ack_all(store, owner, t_claim(store, owner, 1));
    before = t_number(conn, "PRAGMA data_version");
    t_begin(conn); /* somebody holds the write lock */
    for (int i = 0; i < 10; i++) {
        OK(exchange(store, owner, NULL, 0, &claimed));
        CHECK_INT(claimed, 0);
    }
    t_rollback(conn);
    OK(exchange(store, owner, NULL, 0, &claimed));
    CHECK_INT(t_number(conn, "PRAGMA data_version"), before);
}

TEST(an_exchange_is_one_commit)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_settlement item = { .verb = PH_ACK };
    ph_batch *batch;
    long long before;
    size_t claimed;

    t_enqueue(store, "topic", "first");
    batch = t_claim(store, owner, 1);
    item.lease = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    t_enqueue(store, "topic", "second");
    before = t_number(conn, "PRAGMA data_version");
    OK(exchange(store, owner, &item, 1, &claimed));
    CHECK_INT(claimed, 1);
    CHECK_INT(t_number(conn, "PRAGMA data_version"), before + 1);
    t_check_places(conn);
}

TEST(an_exchange_that_cannot_have_the_lock_changes_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_settlement item = { .verb = PH_ACK };
    ph_batch *batch;
    size_t claimed;

    t_enqueue(store, "topic", "first");
    t_enqueue(store, "topic", "second");
    batch = t_claim(store, owner, 1);
    item.lease = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    t_begin(conn);
    CHECK_INT(exchange(store, owner, &item, 1, &claimed), PH_EBUSY);
    CHECK(t_err.flags & PH_RETRY);
    t_rollback(conn);
    CHECK_STR(t_view(conn, item.lease.work_id, "status"), "in_progress");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending"), 1);
}
