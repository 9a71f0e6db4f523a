/* claim_args_test.c - arguments of ph_outbox_claim, its batch, its transaction, many at once. */
#include "common.h"

#include <stdlib.h>

static int try_claim(ph_store *store, const ph_claim_opts *opts)
{
    ph_batch *const untouched = (ph_batch *)&t_err;
    ph_batch *batch = untouched;
    int r = ph_outbox_claim(store, PH_OWN_TX, ph_owner_new(), opts, 0, &batch, &t_err);

    if (r < 0)
        CHECK(batch == untouched);
    else
        ph_batch_free(batch);
    return r;
}

TEST(the_defaults_are_fifty_messages_for_thirty_seconds)
{
    ph_store *store = t_open(NULL);
    ph_enqueued e[60];
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 60, e);
    batch = claim_with(store, ph_owner_new(), NULL);
    REQ_INT("OBX-117", ph_batch_count(batch), 50);
    REQ_INT("OBX-116", see(store, e[0].work_id).locked_until, T_EPOCH + 30 * T_SECOND);
    ph_batch_free(batch);
}

TEST(lease_and_batch_size_at_their_edges)
{
    static const int bad_leases[] = { -1, PH_LEASE_MAX_S + 1, INT32_MIN, INT32_MAX };
    static const int bad_sizes[] = { -1, PH_BATCH_MAX + 1, INT32_MIN, INT32_MAX };
    static const int leases[] = { 1, 10, 300, PH_LEASE_MAX_S };
    static const int sizes[] = { 1, 100, PH_BATCH_MAX }, got[] = { 1, 100, 202 };
    ph_store *store = t_open(NULL);

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 4; i++) {
        ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
        ph_enqueued e = t_enqueue(store, "orders", "x");

        opts.lease_s = bad_leases[i];
        REQ_INT("OBX-116", try_claim(store, &opts), PH_EINVAL);
        CHECK(strstr(t_err.message, "lease_s") != NULL);
        opts.lease_s = 0;
        opts.batch_size = bad_sizes[i];
        REQ_INT("OBX-117", try_claim(store, &opts), PH_EINVAL);
        CHECK(strstr(t_err.message, "batch_size") != NULL);
        CHECK_INT(see(store, e.work_id).status, PH_READY);
        opts.batch_size = 0;
        opts.lease_s = leases[i];
        REQ_INT("OBX-116", try_claim(store, &opts), 0);
        REQ_INT("OBX-116", see(store, e.work_id).locked_until, T_EPOCH + leases[i] * T_SECOND);
    }
    for (int i = 0; i < 3; i++) {
        ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
        ph_batch *batch;

        put_many(store, "orders", 101, NULL);
        opts.batch_size = sizes[i];
        batch = claim_with(store, ph_owner_new(), &opts);
        REQ_INT("OBX-117", ph_batch_count(batch), got[i]);
        ph_batch_free(batch);
    }
}

TEST(topics_and_namespace_at_their_edges)
{
    static const char *topics[1001];
    ph_store *store = t_open(NULL);
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;

    for (int i = 0; i < 1001; i++)
        topics[i] = "a";
    opts.topics = topics;
    CHECK_INT(try_claim(store, &opts), PH_EINVAL);
    opts.topic_count = 1001;
    CHECK_INT(try_claim(store, &opts), PH_EINVAL);
    opts.topic_count = 1000;
    CHECK_INT(try_claim(store, &opts), 0);
    topics[3] = NULL;
    CHECK_INT(try_claim(store, &opts), PH_EINVAL);
    topics[3] = "";
    CHECK_INT(try_claim(store, &opts), PH_EINVAL);
    topics[3] = "\xff";
    CHECK_INT(try_claim(store, &opts), PH_EINVAL);
    opts.topics = NULL; /* then the count is not looked at */
    CHECK_INT(try_claim(store, &opts), 0);
    opts.ns = "\xff";
    CHECK_INT(try_claim(store, &opts), PH_EINVAL);
    opts.ns = repeated("n", 256);
    CHECK_INT(try_claim(store, &opts), PH_EINVAL);
    opts.ns = repeated("n", 255);
    CHECK_INT(try_claim(store, &opts), 0);
}

TEST(pointers_owner_size_and_timeout_are_checked)
{
    static const ph_owner nobody;
    ph_store *store = t_open(NULL);
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;

    t_enqueue(store, "orders", "x");
    CHECK_INT(ph_outbox_claim(NULL, PH_OWN_TX, owner, NULL, 0, &batch, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_claim(store, PH_OWN_TX, owner, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_claim(store, PH_OWN_TX, nobody, NULL, 0, &batch, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "owner") != NULL);
    CHECK_INT(ph_outbox_claim(store, PH_OWN_TX, owner, NULL, -5, &batch, NULL), PH_EINVAL);
    opts.size = 3;
    CHECK_INT(ph_outbox_claim(store, PH_OWN_TX, owner, &opts, 0, &batch, NULL), PH_EINVAL);
    CHECK(batch == NULL);
    opts.size = sizeof(size_t);
    opts.lease_s = -1; /* outside the size given: not there */
    CHECK_INT(ph_outbox_claim(store, PH_OWN_TX, owner, &opts, 1000, &batch, NULL), 0);
    CHECK_INT(ph_batch_count(batch), 1);
    ph_batch_free(batch);
}

TEST(a_batch_outlives_its_store)
{
    ph_store *store = t_open(NULL);
    ph_batch *batch;

    put_many(store, "orders", 3, NULL);
    batch = t_claim(store, ph_owner_new(), 3);
    ph_close(store);
    CHECK_STR(payloads(batch), "0 1 2");
    CHECK_STR(ph_batch_at(batch, 2)->topic, "orders");
    CHECK(ph_batch_at(batch, 3) == NULL);
    CHECK(ph_batch_at(batch, (size_t)-1) == NULL);
    CHECK(ph_batch_at(NULL, 0) == NULL);
    CHECK_INT(ph_batch_count(NULL), 0);
    ph_batch_free(batch);
    ph_batch_free(NULL);
}

TEST(fences_rise_and_are_never_used_again)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[2], again;

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 2, NULL);
    refs[0] = take_one(store, owner);
    refs[1] = take_one(store, owner);
    CHECK_INT(refs[0].fence, 1);
    CHECK_INT(refs[1].fence, 2);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 2);
    again = take_one(store, owner);
    CHECK_INT(again.fence, 3);
    CHECK_INT(again.attempts, 2);
}

/* --------------------------------------------------- in the caller's transaction */

TEST(a_claim_that_is_rolled_back_never_was)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;
    ph_enqueued e = t_enqueue(store, "orders", "x");
    struct seen s;

    t_begin(conn);
    OK(ph_outbox_claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 1);
    ph_batch_free(batch);
    t_rollback(conn);
    s = see(store, e.work_id);
    CHECK_INT(s.status, PH_READY);
    CHECK_INT(s.attempts, 0);
    CHECK_INT(s.history_count, 0);
    CHECK_INT(claimable(store, 1), 1);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_claim_holds_once_the_caller_commits)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;
    ph_enqueued e = t_enqueue(store, "orders", "x");

    t_begin(conn);
    OK(ph_outbox_claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err));
    CHECK_INT(see(store, e.work_id).status, PH_READY); /* for everybody else */
    t_commit(conn);
    CHECK_INT(see(store, e.work_id).status, PH_IN_PROGRESS);
    CHECK_INT(claimable(store, 1), 0);
    CHECK_INT(t_ack_all(store, owner, batch), 1);
    t_disconnect(conn);
}

TEST(a_message_can_be_enqueued_claimed_and_acked_in_one_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_message m = a_message("orders", "x");
    ph_batch *batch = NULL;
    ph_lease_ref ref;
    ph_outcome outcome;
    ph_enqueued e;

    t_begin(conn);
    OK(ph_enqueue(store, t_tx(conn), &m, 0, &e, &t_err));
    OK(ph_outbox_claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 1);
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    OK(ph_outbox_ack(store, t_tx(conn), owner, &ref, 1, 0, &outcome, &t_err));
    CHECK_INT(outcome, PH_OUTCOME_ACKED);
    t_commit(conn);
    CHECK_INT(see(store, e.work_id).status, PH_DONE);
    ph_batch_free(batch);
    t_check_places(conn);
    t_disconnect(conn);
}

/* ---------------------------------------------------------------- many at once */

enum { WORKERS = 4, MESSAGES = 400, BATCH = 7 };

struct tally {
    int claimed_by[MESSAGES]; /* how often */
    int over_full;
};

static void work(int index, void *argument)
{
    struct tally *tally = argument;
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();

    (void)index;
    for (int empty = 0; empty < 2;) {
        ph_batch *batch = t_claim(store, owner, BATCH);
        size_t count = ph_batch_count(batch);

        if (count > BATCH)
            __atomic_add_fetch(&tally->over_full, 1, __ATOMIC_SEQ_CST);
        for (size_t i = 0; i < count; i++)
            __atomic_add_fetch(&tally->claimed_by[atoi(ph_batch_at(batch, i)->payload)], 1,
                               __ATOMIC_SEQ_CST);
        empty = count ? 0 : empty + 1;
        CHECK_INT(t_ack_all(store, owner, batch), count);
    }
    ph_close(store);
}

TEST(concurrent_workers_share_the_messages_without_overlap_or_gap)
{
    struct tally *tally = shared_memory(sizeof(*tally));
    ph_store *store = t_open(NULL);
    struct t_conn *conn;

    put_many(store, "orders", MESSAGES, NULL);
    ph_close(store);
    in_processes(WORKERS, work, tally);
    for (int i = 0; i < MESSAGES; i++)
        REQ_INT("OBX-017 OBX-100 OBX-101", tally->claimed_by[i], 1);
    REQ_INT("OBX-026", tally->over_full, 0);
    conn = t_connect();
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status = 'done'"), MESSAGES);
    t_check_places(conn);
    t_disconnect(conn);
}
