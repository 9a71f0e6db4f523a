/* exchange_test.c - settle and claim in one call: both or neither, each with its own answer; and
 * releases that defer. */
#include "common.h"

#include <stdlib.h>

/* Settles these and claims up to n; must succeed. */
static ph_batch *exchange(ph_store *store, ph_tx tx, ph_owner owner, const ph_settlement *items,
                          size_t count, int n, ph_outcome *ret_outcomes)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;

    opts.batch_size = n;
    OK(ph_outbox_exchange(store, tx, owner, items, count, &opts, 0, ret_outcomes, &batch, &t_err));
    return batch;
}

TEST(an_exchange_settles_and_then_claims)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_settlement items[4] = { { .verb = PH_ACK },
                               { .verb = PH_ABANDON, .error = "once more" },
                               { .verb = PH_FAIL, .error = "never" },
                               { .verb = PH_RELEASE, .delay_ms = 5000 } };
    ph_outcome outcomes[4];
    ph_enqueued e[6];
    ph_lease_ref refs[4];
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    put_many(store, "o", 6, e);
    CHECK_INT(take(store, owner, 4, refs), 4);
    t_clock_advance(store, T_SECOND);
    for (size_t i = 0; i < 4; i++)
        items[i].lease = refs[i];
    batch = exchange(store, PH_OWN_TX, owner, items, 4, 10, outcomes);
    CHECK_INT(outcomes[0], PH_OUTCOME_ACKED);
    CHECK_INT(outcomes[1], PH_OUTCOME_ABANDONED);
    CHECK_INT(outcomes[2], PH_OUTCOME_FAILED);
    CHECK_INT(outcomes[3], PH_OUTCOME_RELEASED);
    CHECK_STR(payloads(batch), "4 5 1"); /* what was abandoned without delay is due again, last */
    CHECK_INT(ph_batch_at(batch, 2)->attempts, 2);
    CHECK_INT(ph_batch_at(batch, 2)->retry_count, 1);
    CHECK_STR(ph_batch_at(batch, 2)->last_error, "once more");
    CHECK(ph_batch_at(batch, 0)->fence > refs[0].fence);
    CHECK_INT(see(store, e[0].work_id).status, PH_DONE);
    CHECK_INT(see(store, e[1].work_id).status, PH_IN_PROGRESS);
    CHECK_INT(see(store, e[2].work_id).status, PH_FAILED);
    CHECK_INT(see(store, e[3].work_id).next_attempt_at, T_EPOCH + 6 * T_SECOND);
    ph_batch_free(batch);
    t_check_places(conn);
}

TEST(an_exchange_without_settlements_is_a_claim)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    batch = exchange(store, PH_OWN_TX, owner, NULL, 0, 10, NULL);
    CHECK_INT(ph_batch_count(batch), 0);
    ph_batch_free(batch);
    put_many(store, "o", 3, NULL);
    batch = exchange(store, PH_OWN_TX, owner, NULL, 0, 2, NULL);
    CHECK_STR(payloads(batch), "0 1");
    CHECK_INT(t_ack_all(store, owner, batch), 2);
}

TEST(an_exchange_without_claim_only_settles)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_settlement item = { .verb = PH_ACK };
    ph_batch *batch = (ph_batch *)&item; /* must stay as it is */
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;

    put_many(store, "o", 2, NULL);
    item.lease = take_one(store, owner);
    OK(ph_outbox_exchange(store, PH_OWN_TX, owner, &item, 1, NULL, 0, &outcome, &batch, &t_err));
    CHECK_INT(outcome, PH_OUTCOME_ACKED);
    CHECK(batch == (ph_batch *)&item);
    OK(ph_outbox_exchange(store, PH_OWN_TX, owner, NULL, 0, NULL, 0, NULL, NULL, &t_err));
    CHECK_INT(claimable(store, 10), 1);
}

TEST(an_exchange_answers_each_item)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new(), other = ph_owner_new();
    ph_settlement items[5] = { { .verb = PH_ACK },
                               { .verb = PH_ACK },
                               { .verb = PH_ACK },
                               { .verb = PH_ACK },
                               { .verb = PH_FAIL } };
    ph_outcome outcomes[5];
    ph_batch *batch;

    put_many(store, "o", 3, NULL);
    items[0].lease = take_one(store, other); /* not ours */
    items[1].lease = take_one(store, owner);
    items[2].lease = items[1].lease;
    items[2].lease.fence += 1000;    /* not that claim */
    items[3].lease.work_id.b[0] = 9; /* not there */
    items[4].lease = items[1].lease; /* given again: the first one counts */
    batch = exchange(store, PH_OWN_TX, owner, items, 5, 10, outcomes);
    CHECK_INT(outcomes[0], PH_OUTCOME_STALE);
    CHECK_INT(outcomes[1], PH_OUTCOME_ACKED);
    CHECK_INT(outcomes[3], PH_OUTCOME_UNKNOWN);
    CHECK_INT(outcomes[4], PH_OUTCOME_ACKED);
    CHECK_STR(payloads(batch), "2");
    ph_batch_free(batch);
    CHECK_INT(see(store, items[0].lease.work_id).status, PH_IN_PROGRESS);
}

TEST(an_exchange_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_settlement item = { .verb = PH_ACK };
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;
    ph_batch *batch;

    put_many(store, "o", 2, NULL);
    item.lease = take_one(store, owner);
    t_begin(conn);
    batch = exchange(store, t_tx(conn), owner, &item, 1, 10, &outcome);
    CHECK_INT(outcome, PH_OUTCOME_ACKED);
    CHECK_STR(payloads(batch), "1");
    ph_batch_free(batch);
    t_rollback(conn);
    CHECK_INT(see(store, item.lease.work_id).status, PH_IN_PROGRESS);
    t_begin(conn);
    batch = exchange(store, t_tx(conn), owner, NULL, 0, 10, NULL);
    CHECK_STR(payloads(batch), "1");
    ph_batch_free(batch);
    t_rollback(conn);
    t_begin(conn);
    batch = exchange(store, t_tx(conn), owner, &item, 1, 10, &outcome);
    t_commit(conn);
    CHECK_INT(see(store, item.lease.work_id).status, PH_DONE);
    CHECK_INT(t_ack_all(store, owner, batch), 1);
    t_check_places(conn);
}

/* The claim's table is away for a moment: then nothing is settled either. */
TEST(an_exchange_that_cannot_claim_has_not_settled)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_settlement item = { .verb = PH_ACK };
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;
    ph_batch *batch = NULL;

    put_many(store, "o", 2, NULL);
    item.lease = take_one(store, owner);
    t_sql(conn, "ALTER TABLE {t}pending RENAME TO {p}away");
    CHECK(ph_outbox_exchange(store, PH_OWN_TX, owner, &item, 1, &opts, 0, &outcome, &batch,
                             &t_err) < 0);
    CHECK(!(t_err.flags & PH_UNKNOWN));
    CHECK(batch == NULL);
    CHECK_INT(outcome, PH_OUTCOME_UNKNOWN);
    t_sql(conn, "ALTER TABLE {t}away RENAME TO {p}pending");
    CHECK_INT(see(store, item.lease.work_id).status, PH_IN_PROGRESS);
    batch = exchange(store, PH_OWN_TX, owner, &item, 1, 10, &outcome);
    CHECK_INT(outcome, PH_OUTCOME_ACKED);
    CHECK_STR(payloads(batch), "1");
    ph_batch_free(batch);
}

TEST(bad_arguments_leave_everything_as_it_was)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new(), nobody = { { 0 } };
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_settlement items[2] = { { .verb = PH_ACK }, { .verb = (ph_settle_verb)9 } };
    ph_outcome outcomes[2] = { PH_OUTCOME_UNKNOWN, PH_OUTCOME_UNKNOWN };
    ph_batch *batch = NULL;

    put_many(store, "o", 2, NULL);
    items[0].lease = take_one(store, owner);
    items[1].lease = items[0].lease;
    CHECK_INT(
        ph_outbox_exchange(store, PH_OWN_TX, owner, items, 2, &opts, 0, outcomes, &batch, &t_err),
        PH_EINVAL);
    CHECK_INT(
        ph_outbox_exchange(store, PH_OWN_TX, nobody, items, 1, &opts, 0, outcomes, &batch, &t_err),
        PH_EINVAL);
    CHECK_INT(
        ph_outbox_exchange(store, PH_OWN_TX, owner, NULL, 1, &opts, 0, outcomes, &batch, &t_err),
        PH_EINVAL);
    CHECK_INT(
        ph_outbox_exchange(store, PH_OWN_TX, owner, items, 1, &opts, 0, outcomes, NULL, &t_err),
        PH_EINVAL);
    opts.batch_size = -1;
    CHECK_INT(
        ph_outbox_exchange(store, PH_OWN_TX, owner, items, 1, &opts, 0, outcomes, &batch, &t_err),
        PH_EINVAL);
    CHECK(batch == NULL);
    CHECK_INT(outcomes[0], PH_OUTCOME_UNKNOWN);
    CHECK_INT(see(store, items[0].lease.work_id).status, PH_IN_PROGRESS);
    CHECK_INT(claimable(store, 10), 1);
}

/* A worker's loop: each batch is acked together with the claim of the next. */
TEST(a_queue_is_drained_by_exchanges)
{
    enum { MESSAGES = 500, BATCH = 20 };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_settlement items[BATCH];
    ph_outcome outcomes[BATCH];
    size_t count = 0, next = 0;

    put_many(store, "o", MESSAGES, NULL);
    for (;;) {
        ph_batch *batch = exchange(store, PH_OWN_TX, owner, items, count, BATCH, outcomes);

        for (size_t i = 0; i < count; i++)
            CHECK_INT(outcomes[i], PH_OUTCOME_ACKED);
        count = ph_batch_count(batch);
        for (size_t i = 0; i < count; i++) {
            CHECK_INT(atoi(ph_batch_at(batch, i)->payload), (int)next++);
            items[i] = (ph_settlement){ .verb = PH_ACK };
            items[i].lease = ph_lease_ref_of(ph_batch_at(batch, i));
        }
        ph_batch_free(batch);
        if (count == 0)
            break;
    }
    CHECK_INT(next, MESSAGES);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status = 'done'"), MESSAGES);
    t_check_places(conn);
}

/* ------------------------------------------------------------ deferred releases */

TEST(a_release_with_a_delay_defers_and_refunds)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_enqueued e;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    e = t_enqueue(store, "o", "x");
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_RELEASE, "not kept", 1500),
              PH_OUTCOME_RELEASED);
    s = see(store, e.work_id);
    REQ_INT("OBX-055", s.status, PH_READY);
    REQ_INT("OBX-055", s.attempts, 0);
    CHECK_INT(s.retry_count, 0);
    CHECK_INT(s.next_attempt_at, T_EPOCH + 1500000);
    CHECK_STR(s.kinds, "released");
    CHECK(!s.has_error);
    t_clock_set(store, T_EPOCH + 1499999);
    CHECK_INT(claimable(store, 10), 0);
    t_clock_set(store, T_EPOCH + 1500000);
    CHECK_INT(take_one(store, owner).attempts, 1);
}

static int64_t an_hour(void *context, int retry_count, int attempts)
{
    (void)context;
    (void)retry_count;
    (void)attempts;
    return 3600000;
}

TEST(a_release_without_a_delay_is_due_at_once)
{
    static const int64_t delays[] = { 0, PH_DELAY_POLICY };
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_store *store;

    opts.schema = t_schema();
    opts.deploy_schema = true;
    opts.backoff = an_hour; /* is not asked */
    store = t_open(&opts);
    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "o", "x");
    for (size_t i = 0; i < 2; i++) {
        ph_lease_ref ref = take_one(store, owner);

        CHECK_INT(ref.attempts, 1);
        CHECK_INT(settle(store, owner, ref, PH_RELEASE, NULL, delays[i]), PH_OUTCOME_RELEASED);
        CHECK_INT(see(store, ref.work_id).next_attempt_at, T_EPOCH);
    }
}

/* Deferring is no failure: it never spends the attempts. */
TEST(a_message_can_be_deferred_for_ever)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_enqueued e;

    t_clock_set(store, T_EPOCH);
    set_max_attempts(store, 1);
    e = t_enqueue(store, "o", "x");
    for (int i = 0; i < 5; i++) {
        CHECK_INT(settle(store, owner, take_one(store, owner), PH_RELEASE, NULL, 1000),
                  PH_OUTCOME_RELEASED);
        t_clock_advance(store, T_SECOND);
    }
    CHECK_INT(see(store, e.work_id).attempts, 0);
    CHECK_INT(claimable(store, 10), 1);
}
